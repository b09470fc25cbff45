# SPDX-License-Identifier: GPL-2.0-only
# What one does with a fresh clone: each target sets up what it needs.

.PHONY: help setup bench test lint clean

help:
	@echo 'make bench   set up what is missing, then measure: ./ringside bench $$(ARGS)'
	@echo 'make test    set up, then lint and all tests'
	@echo 'make lint    set up, then lint only'
	@echo 'make setup   only set up what ./ringside needs'
	@echo 'make clean   remove what was built here (the cache stays)'
	@echo
	@echo 'ARGS="--nic e1000 --rate 20000" is passed to ./ringside bench.'
	@echo 'RINGSIDE_OFFLINE=1 never touches the network.'

setup:
	@tools/setup/run bench

bench: setup
	@./ringside bench $(ARGS)

test:
	@tools/setup/run test
	@tests/run

lint:
	@tools/setup/run test
	@tools/lint/run

clean:
	rm -rf build

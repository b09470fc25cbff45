# SPDX-License-Identifier: GPL-2.0-only
# What one does with a fresh clone: each target sets up what it needs.

.PHONY: help setup bench kunit test lint perf settings zoo ledgers counting soak peers clean

help:
	@echo 'make bench   set up what is missing, then measure: ./ringside bench $$(ARGS)'
	@echo 'make test    set up, then lint and all tests'
	@echo 'make kunit   set up, then the KUnit suites of the reference driver on UML'
	@echo 'make perf    measure the bench itself, write docs/performance.md'
	@echo 'make settings  measure the reference driver, write docs/reference-driver.md'
	@echo 'make zoo     build many drivers counted (TREE=DIR: another source); write docs/ledger-drivers.md'
	@echo 'make ledgers  measure builds of tulip and 8139too by line, write docs/ledger.md'
	@echo 'make counting  measure what counting an access costs, write docs/ledger.md'
	@echo 'make soak    the reference driver in a debug kernel; write docs/reference-driver.md'
	@echo 'make peers   the kernel'"'"'s selftests on it; write docs/kernel-selftests.md'
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

kunit:
	@tools/setup/run packages kunit
	@./ringside kunit $(ARGS)

test:
	@tools/setup/run test
	@tests/run

lint:
	@tools/setup/run test
	@tools/lint/run

perf: setup
	@PYTHONPATH=tools /usr/bin/python3 -B tools/perf/perf.py

settings: setup
	@PYTHONPATH=tools /usr/bin/python3 -B tools/settings/settings.py

zoo: setup
	@tools/zoo/run $(TREE)

ledgers: setup
	@PYTHONPATH=tools /usr/bin/python3 -B tools/ledgers/ledgers.py

counting: setup
	@PYTHONPATH=tools /usr/bin/python3 -B tools/counting/counting.py

soak:
	@tools/setup/run test
	@tools/setup/run packages kunit
	@PYTHONPATH=tools /usr/bin/python3 -B tools/soak/soak.py

peers:
	@tools/setup/run test
	@tools/setup/run packages peers
	@PYTHONPATH=tools /usr/bin/python3 -B tools/peers/peers.py

clean:
	rm -rf build

/* SPDX-License-Identifier: GPL-2.0-only */
/* What is counted between a start mark and a stop mark, and its JSON. */
#ifndef RINGSIDE_WINDOW_H
#define RINGSIDE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "symbols.h"

/* An index, so that counting needs no branch that the host cannot predict. */
enum { ACCESS_LOAD, ACCESS_STORE, ACCESS_KINDS };

/*
 * Data accesses of one function: all of them, and those of devices among them.
 * Aligned to the host's cache line: one is in use at a time.
 */
struct accesses {
	uint64_t all[ACCESS_KINDS];
	uint64_t mmio[ACCESS_KINDS];
	uint64_t misses[CACHE_LEVELS];
} __attribute__((aligned(64)));

/* Which counter of a function the translated code increments. */
enum { COUNT_INSNS, COUNT_CALLS, COUNTS };

struct mmio_page {
	uint64_t phys;
	uint64_t accesses[ACCESS_KINDS];
};

/* @packets[k]: how many polls handed up k packets. */
struct napi {
	uint64_t polls;
	uint64_t *packets;
	size_t packets_len;
};

struct irq_desc {
	uint64_t addr;	/* 0 when the handler loaded nothing */
	uint64_t count;
};

/* The index in accesses[] and in the counters of what is no kernel function. */
#define SLOT_USER 0
/* The entry of symbols.functions[i] is SLOT_KERNEL + i. */
#define SLOT_KERNEL 1

struct window {
	bool open;
	size_t slots;
	struct accesses *accesses;
	struct mmio_page *mmio;
	size_t mmio_n;
	struct napi *napi;	/* one for each napi= range, then one for none */
	struct irq_desc *irqs;
	size_t irqs_n;
	uint64_t packet_calls;
	uint64_t dma_marks;
	uint64_t dma_lines;
};

/* Returns 0, or -1 when out of memory. */
int window_init(struct window *window, size_t slots, size_t napi_ranges);

/* Set all figures to 0. */
void window_clear(struct window *window, size_t napi_ranges);

/* Counting ends the process with a message when there is no memory left. */
void window_count_mmio(struct window *window, uint64_t phys, unsigned int kind);
void window_count_irq(struct window *window, uint64_t desc);
void window_count_poll(struct napi *napi, uint64_t packets);

/*
 * Append the figures to the windows written so far and replace options->out.
 * @counters: COUNTS for each slot. Returns 0, or -1 after a line on stderr.
 */
int window_write(struct window *window, const struct options *options,
		 const struct symbols *symbols, const uint64_t *counters);

#endif

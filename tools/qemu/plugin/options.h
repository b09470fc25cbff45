/* SPDX-License-Identifier: GPL-2.0-only */
/* The plugin's arguments. */
#ifndef RINGSIDE_OPTIONS_H
#define RINGSIDE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"

/* [start, end) */
struct range {
	uint64_t start;
	uint64_t end;
};

struct ranges {
	struct range *range;
	size_t n;
};

/* What the cache model does where a device has written. */
enum dma { DMA_CACHED, DMA_COLD, DMA_LLC };

struct options {
	const char *symbols;
	const char *out;
	const char *poll;
	const char *irq;
	const char *packet;
	struct ranges napi;
	struct ranges ioremap;	/* where device memory may be mapped */
	uint64_t kernel_start;
	struct cache_geometry cache[CACHE_LEVELS];
	bool cache_on;
	enum dma dma;
	uint64_t dma_bytes;	/* a device writes so many at most, from the start on */
	uint64_t direct_map;	/* where the kernel has physical address 0 */
};

/*
 * Parse key=value arguments. Returns 0, or -1 after writing one line on stderr
 * that names the argument that is wrong or missing.
 */
int options_parse(struct options *options, int argc, char **argv);

#endif

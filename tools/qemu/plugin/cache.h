/* SPDX-License-Identifier: GPL-2.0-only */
/* A model of three data cache levels: which of them miss for a line. */
#ifndef RINGSIDE_CACHE_H
#define RINGSIDE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum { CACHE_L1D, CACHE_L2, CACHE_LLC, CACHE_LEVELS };

struct cache_geometry {
	uint64_t size_bytes;
	uint64_t ways;
	uint64_t line_bytes;
};

/* @lines holds the line numbers of each set, most recently used first. */
struct cache_level {
	uint64_t *lines;
	uint64_t set_mask;
	uint64_t ways;
};

struct cache {
	struct cache_level level[CACHE_LEVELS];
	unsigned int line_shift;
	uint64_t line_bytes;
};

/*
 * Returns NULL when the levels can be built, or else what is wrong with them.
 * Sets and lines are powers of two and all levels have the same line.
 */
const char *cache_geometry_error(const struct cache_geometry geometry[CACHE_LEVELS]);

/* @geometry must be without error. Returns 0, or -1 when out of memory. */
int cache_init(struct cache *cache, const struct cache_geometry geometry[CACHE_LEVELS]);
void cache_destroy(struct cache *cache);

/* Make every level empty. */
void cache_clear(struct cache *cache);

/* Whether @line is in L1d; it is then the most recently used one of its set. */
bool cache_l1d_search(struct cache *cache, uint64_t line);

/*
 * Bring in @line after it missed in L1d: look through the levels below in
 * order, and put it into each that did not have it. Returns how many levels
 * missed, L1d included: 1 to CACHE_LEVELS. A line that a lower level evicts
 * stays in the levels above.
 */
unsigned int cache_fill(struct cache *cache, uint64_t line);

/*
 * A device wrote @line: no cache has it any more, or with @to_llc the last
 * level alone does.
 */
void cache_device_wrote(struct cache *cache, uint64_t line, bool to_llc);

/* The common case, kept inline: the line its set used last. */
static inline bool cache_l1d_again(const struct cache *cache, uint64_t line)
{
	const struct cache_level *l1d = &cache->level[CACHE_L1D];

	return l1d->lines[(line & l1d->set_mask) * l1d->ways] == line;
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
/* Set-associative caches with true LRU, indexed and tagged by virtual address. */
#include <stdlib.h>
#include <string.h>

#include "cache.h"

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static uint64_t cache_sets(const struct cache_geometry *geometry)
{
	return geometry->size_bytes / geometry->line_bytes / geometry->ways;
}

const char *cache_geometry_error(const struct cache_geometry geometry[CACHE_LEVELS])
{
	for (int i = 0; i < CACHE_LEVELS; i++) {
		const struct cache_geometry *g = &geometry[i];

		if (g->line_bytes < 16 || g->line_bytes > 4096 || !is_power_of_two(g->line_bytes))
			return "LINE must be a power of two from 16 to 4096";
		if (g->line_bytes != geometry[0].line_bytes)
			return "LINE must be the same for l1d, l2 and llc";
		if (!g->ways || g->ways > 64)
			return "WAYS must be from 1 to 64";
		if (g->size_bytes > 1ULL << 30)
			return "SIZE must be at most 1 GiB";
		if (g->size_bytes % (g->ways * g->line_bytes) || !is_power_of_two(cache_sets(g)))
			return "SIZE must be WAYS * LINE * a power of two";
	}
	return NULL;
}

int cache_init(struct cache *cache, const struct cache_geometry geometry[CACHE_LEVELS])
{
	memset(cache, 0, sizeof(*cache));
	cache->line_bytes = geometry[0].line_bytes;
	cache->line_shift = (unsigned int)__builtin_ctzll(cache->line_bytes);
	for (int i = 0; i < CACHE_LEVELS; i++) {
		struct cache_level *level = &cache->level[i];
		uint64_t sets = cache_sets(&geometry[i]);

		level->set_mask = sets - 1;
		level->ways = geometry[i].ways;
		level->lines = malloc(sets * level->ways * sizeof(*level->lines));
		if (!level->lines) {
			cache_destroy(cache);
			return -1;
		}
	}
	cache_clear(cache);
	return 0;
}

void cache_destroy(struct cache *cache)
{
	for (int i = 0; i < CACHE_LEVELS; i++) {
		free(cache->level[i].lines);
		cache->level[i].lines = NULL;
	}
}

void cache_clear(struct cache *cache)
{
	for (int i = 0; i < CACHE_LEVELS; i++) {
		struct cache_level *level = &cache->level[i];

		/* All ones is the number of no line: a line is an address shifted right. */
		memset(level->lines, 0xff,
		       (level->set_mask + 1) * level->ways * sizeof(*level->lines));
	}
}

static uint64_t *level_set(struct cache_level *level, uint64_t line)
{
	return &level->lines[(line & level->set_mask) * level->ways];
}

/* Put @line first and move the @before lines that were ahead of it back by one. */
static void set_promote(uint64_t *set, uint64_t before, uint64_t line)
{
	for (; before; before--)
		set[before] = set[before - 1];
	set[0] = line;
}

static bool level_search(struct cache_level *level, uint64_t line)
{
	uint64_t *set = level_set(level, line);

	for (uint64_t way = 0; way < level->ways; way++) {
		if (set[way] == line) {
			set_promote(set, way, line);
			return true;
		}
	}
	return false;
}

static void level_insert(struct cache_level *level, uint64_t line)
{
	set_promote(level_set(level, line), level->ways - 1, line);
}

/* What was ahead of @line stays, what was behind moves up; the last way is free. */
static void level_remove(struct cache_level *level, uint64_t line)
{
	uint64_t *set = level_set(level, line);
	uint64_t way = 0;

	while (way < level->ways && set[way] != line)
		way++;
	if (way == level->ways)
		return;
	for (; way + 1 < level->ways; way++)
		set[way] = set[way + 1];
	set[way] = UINT64_MAX;
}

void cache_device_wrote(struct cache *cache, uint64_t line, bool to_llc)
{
	for (int i = 0; i < CACHE_LEVELS; i++)
		level_remove(&cache->level[i], line);
	if (to_llc)
		level_insert(&cache->level[CACHE_LLC], line);
}

bool cache_l1d_search(struct cache *cache, uint64_t line)
{
	return level_search(&cache->level[CACHE_L1D], line);
}

unsigned int cache_fill(struct cache *cache, uint64_t line)
{
	unsigned int misses = 1;

	level_insert(&cache->level[CACHE_L1D], line);
	for (; misses < CACHE_LEVELS; misses++) {
		struct cache_level *level = &cache->level[misses];

		if (level_search(level, line))
			break;
		level_insert(level, line);
	}
	return misses;
}

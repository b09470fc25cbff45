// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the plugin's cache model on the host: geometry as arguments (SIZE WAYS
 * LINE for each level), one hexadecimal address per line on stdin; writes how
 * many levels missed for each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cache.h"

static unsigned int missed_levels(struct cache *cache, uint64_t addr)
{
	uint64_t line = addr >> cache->line_shift;

	if (cache_l1d_again(cache, line) || cache_l1d_search(cache, line))
		return 0;
	return cache_fill(cache, line);
}

int main(int argc, char **argv)
{
	struct cache_geometry geometry[CACHE_LEVELS];
	struct cache cache;
	const char *error;
	uint64_t addr;

	if (argc != 1 + 3 * CACHE_LEVELS)
		return 2;
	for (int i = 0; i < CACHE_LEVELS; i++) {
		geometry[i].size_bytes = strtoull(argv[1 + 3 * i], NULL, 10);
		geometry[i].ways = strtoull(argv[2 + 3 * i], NULL, 10);
		geometry[i].line_bytes = strtoull(argv[3 + 3 * i], NULL, 10);
	}
	error = cache_geometry_error(geometry);
	if (error) {
		puts(error);
		return 1;
	}
	if (cache_init(&cache, geometry))
		return 3;
	while (scanf("%" SCNx64, &addr) == 1)
		printf("%u\n", missed_levels(&cache, addr));
	cache_destroy(&cache);
	return 0;
}

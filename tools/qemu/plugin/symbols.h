/* SPDX-License-Identifier: GPL-2.0-only */
/* Which function an address of kernel code belongs to. */
#ifndef RINGSIDE_SYMBOLS_H
#define RINGSIDE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct function {
	uint64_t start;
	uint64_t end;
	const char *module;	/* NULL when this is no function */
	const char *name;
};

/*
 * In order of address without gaps: what lies between functions is an entry
 * too, with no name, so that every address has exactly one entry.
 */
struct symbols {
	struct function *functions;
	size_t n;
	char *text;
};

/*
 * Read lines of "HEXADDR MODULE NAME", ascending. Returns 0, or -1 after
 * writing one line on stderr that says what is wrong.
 */
int symbols_read(struct symbols *symbols, const char *path);

/* The index in functions[] of the entry that holds @addr. */
size_t symbols_find(const struct symbols *symbols, uint64_t addr);

#endif

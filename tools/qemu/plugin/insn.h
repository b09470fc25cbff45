/* SPDX-License-Identifier: GPL-2.0-only */
/* What has to be known of an x86 instruction from its bytes. */
#ifndef RINGSIDE_INSN_H
#define RINGSIDE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No x86 instruction is longer. */
#define INSN_MAX_BYTES 15

/* The guest's marks: nopl MARK(%rax), which does nothing. */
#define MARK_START 0x52530001u
#define MARK_STOP 0x52530002u

struct insn {
	uint64_t addr;
	size_t len;
	uint8_t bytes[INSN_MAX_BYTES];
};

/* Returns MARK_START, MARK_STOP, or 0 when @insn is no mark. */
uint32_t insn_mark(const struct insn *insn);

/*
 * Whether @insn returns, or jumps (not calls) to an address outside
 * [start, end): where a function is left, tail calls and return thunks too.
 */
bool insn_leaves(const struct insn *insn, uint64_t start, uint64_t end);

/* Whether @insn returns from an interrupt. */
bool insn_is_iret(const struct insn *insn);

/*
 * Whether @insn surely runs to its end and on to the next one: it touches no
 * memory and raises no exception. False when not known.
 */
bool insn_is_plain(const struct insn *insn);

#endif

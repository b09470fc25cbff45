/* SPDX-License-Identifier: GPL-2.0-only */
/* The one place that knows how plugin API 1 and API 4 differ. */
#ifndef RINGSIDE_COMPAT_H
#define RINGSIDE_COMPAT_H

#include "qemu_api.h"

/*
 * Counters that translated code increments itself, without a call. Returns 0
 * or -1 when there is no memory for them.
 */
int compat_counters_init(size_t n);

/* The counters of vCPU 0: the only one there is, as cost.c insists. */
uint64_t *compat_counters(void);

/* Add @n to counter @index each time @insn is begun. */
void compat_count(struct qemu_plugin_insn *insn, size_t index, uint64_t n);

/*
 * Call @cb with @data after every load and store of @insn. @last: it is the
 * last instruction of its block.
 */
void compat_watch_memory(struct qemu_plugin_insn *insn, qemu_plugin_mem_cb cb, void *data,
			 bool last);

/*
 * Call @cb when @insn, a function's first, is begun; compat_arguments() works
 * in it. False when this interface cannot read registers.
 */
bool compat_watch_entry(struct qemu_plugin_insn *insn, qemu_plugin_exec_cb cb);

/* The first two arguments of the function that is entered; false if not to be had. */
bool compat_arguments(uint64_t arguments[2]);

/* Copy the first bytes of @insn to @dest; returns how many, at most @len. */
size_t compat_insn_bytes(const struct qemu_plugin_insn *insn, uint8_t *dest, size_t len);

#endif

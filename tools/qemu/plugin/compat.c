// SPDX-License-Identifier: GPL-2.0-only
/* Inline counters and instruction bytes, by plugin API version. */
#include <stdlib.h>
#include <string.h>

#include "compat.h"

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API;

#if PLUGIN_API == 1

static uint64_t *counters;

int compat_counters_init(size_t n)
{
	counters = calloc(n, sizeof(*counters));
	return counters ? 0 : -1;
}

uint64_t *compat_counters(void)
{
	return counters;
}

void compat_count(struct qemu_plugin_insn *insn, size_t index, uint64_t n)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
						   &counters[index], n);
}

static void no_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
}

/*
 * One callback for loads and stores: QEMU 7.2 hands loads to those that ask
 * for stores, and stores to everyone.
 *
 * It also forgets to take the callbacks back when a block is left by its last
 * instruction, so that the stack frame of the next interrupt would be reported
 * as that instruction's. Such accesses, made by QEMU's helpers, stop at the
 * first callback that asks for another direction: none asks for this one.
 */
void compat_watch_memory(struct qemu_plugin_insn *insn, qemu_plugin_mem_cb cb, void *data,
			 bool last)
{
	const enum qemu_plugin_mem_rw neither = (enum qemu_plugin_mem_rw)4;

	if (last)
		qemu_plugin_register_vcpu_mem_cb(insn, no_access, QEMU_PLUGIN_CB_NO_REGS,
						 neither, NULL);
	qemu_plugin_register_vcpu_mem_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 data);
}

bool compat_watch_entry(struct qemu_plugin_insn *insn, qemu_plugin_exec_cb cb)
{
	return false;
}

bool compat_arguments(uint64_t arguments[2])
{
	return false;
}

size_t compat_insn_bytes(const struct qemu_plugin_insn *insn, uint8_t *dest, size_t len)
{
	size_t size = qemu_plugin_insn_size(insn);

	if (size < len)
		len = size;
	memcpy(dest, qemu_plugin_insn_data(insn), len);
	return len;
}

#else

static struct qemu_plugin_scoreboard *score;

int compat_counters_init(size_t n)
{
	/*
	 * One element holds all counters of a vCPU. A power of two, since
	 * translated code multiplies the vCPU's number by the element's size.
	 */
	size_t size = sizeof(uint64_t);

	while (size < n * sizeof(uint64_t))
		size *= 2;
	score = qemu_plugin_scoreboard_new(size);
	return score ? 0 : -1;
}

uint64_t *compat_counters(void)
{
	return qemu_plugin_scoreboard_find(score, 0);
}

void compat_count(struct qemu_plugin_insn *insn, size_t index, uint64_t n)
{
	struct qemu_plugin_u64 entry = { score, index * sizeof(uint64_t) };

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							    entry, n);
}

void compat_watch_memory(struct qemu_plugin_insn *insn, qemu_plugin_mem_cb cb, void *data,
			 bool last)
{
	qemu_plugin_register_vcpu_mem_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 data);
}

bool compat_watch_entry(struct qemu_plugin_insn *insn, qemu_plugin_exec_cb cb)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_R_REGS, NULL);
	return true;
}

static bool find_registers(struct qemu_plugin_register *found[2])
{
	static const char * const names[] = { "rdi", "rsi" };
	struct g_array *registers = qemu_plugin_get_registers();
	const struct qemu_plugin_reg_descriptor *all = registers->data;

	for (unsigned int i = 0; i < registers->len; i++)
		for (int k = 0; k < 2; k++)
			if (!found[k] && !strcmp(all[i].name, names[k]))
				found[k] = all[i].handle;
	g_array_free(registers, 1);
	return found[0] && found[1];
}

bool compat_arguments(uint64_t arguments[2])
{
	static struct qemu_plugin_register *registers[2];
	static struct g_array *buffer;

	if (!buffer)
		buffer = g_byte_array_new();
	if (!registers[1] && !find_registers(registers))
		return false;
	for (int k = 0; k < 2; k++) {
		g_byte_array_set_size(buffer, 0);
		if (qemu_plugin_read_register(registers[k], buffer) != sizeof(*arguments))
			return false;
		memcpy(&arguments[k], buffer->data, sizeof(*arguments));
	}
	return true;
}

size_t compat_insn_bytes(const struct qemu_plugin_insn *insn, uint8_t *dest, size_t len)
{
	return qemu_plugin_insn_data(insn, dest, len);
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU plugin that counts what kernel code does between two marks of the guest:
 * instructions, data accesses and modelled cache misses by function, register
 * accesses, polls and interrupts.
 *
 * Meant for one vCPU with -icount, where the same snapshot gives the same
 * figures to the last bit. An instruction is counted when it is begun: one that
 * faults counts again when it is repeated, and a repeated string instruction
 * counts for each repetition and once more at its end, as in QEMU's own icount.
 * An access is counted when it has been done; those that the processor makes on
 * its own, to deliver an interrupt and to return from it, are not counted.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "compat.h"
#include "insn.h"
#include "message.h"
#include "options.h"
#include "symbols.h"
#include "window.h"

/* What a function is hooked for: the names of options. */
enum { HOOK_NONE, HOOK_POLL, HOOK_IRQ, HOOK_PACKET, HOOK_DMA };

/* The function that drivers/iotally calls for what a device has written. */
#define DMA_MARK "iotally_dma_device_wrote"

/* The poll and the interrupt that are being handled. */
struct progress {
	bool in_poll;
	bool in_irq;
	bool irq_unnamed;	/* has not loaded anything yet */
	struct napi *napi;	/* NULL until a load names it */
	uint64_t packets;
};

struct access_info {
	qemu_plugin_meminfo_t info;
	uint32_t size_bytes;	/* 0 when the entry is not in use */
	unsigned int kind;
};

/* Instructions in a row that one counter update stands for. */
struct group {
	struct qemu_plugin_insn *first;
	size_t slot;
	uint64_t n;
};

/* A block of guest code at the instruction that is being translated. */
struct translation {
	struct group group;
	struct qemu_plugin_insn *handle;
	uint64_t page;	/* of the block's first instruction */
	bool plain;
	bool last;
};

static struct options options;
static struct symbols symbols;
static struct cache cache;
static struct window window;
static struct progress progress;
static uint8_t *hooks;

/* Data accesses */

/*
 * What QEMU says of an access, by its opaque description. There are few of
 * these, and to ask QEMU twice for each access would be half of the cost.
 */
static const struct access_info *access_info(qemu_plugin_meminfo_t info)
{
	static struct access_info known[256];
	/* Fibonacci hashing: 2^32 divided by the golden ratio, top 8 bits. */
	struct access_info *entry = &known[info * UINT32_C(2654435769) >> 24];

	if (entry->info != info || !entry->size_bytes) {
		entry->info = info;
		entry->size_bytes = 1U << qemu_plugin_mem_size_shift(info);
		entry->kind = qemu_plugin_mem_is_store(info) ? ACCESS_STORE : ACCESS_LOAD;
	}
	return entry;
}

static bool is_mmio(qemu_plugin_meminfo_t info, uint64_t addr, uint64_t *phys)
{
	struct qemu_plugin_hwaddr *hwaddr;
	const struct ranges *r = &options.ioremap;
	size_t i = 0;

	while (i < r->n && (addr < r->range[i].start || addr >= r->range[i].end))
		i++;
	if (i == r->n)
		return false;
	hwaddr = qemu_plugin_get_hwaddr(info, addr);
	if (!hwaddr || !qemu_plugin_hwaddr_is_io(hwaddr))
		return false;
	*phys = qemu_plugin_hwaddr_phys_addr(hwaddr);
	return true;
}

static void miss(struct accesses *a, uint64_t line)
{
	unsigned int missed = cache_fill(&cache, line);

	for (unsigned int i = 0; i < missed; i++)
		a->misses[i]++;
}

/*
 * A device page is asked for only when L1d misses: its lines are never put
 * there, so they miss each time, and what hits is memory.
 */
static __attribute__((noinline)) void access_slow(struct accesses *a, qemu_plugin_meminfo_t info,
						  uint64_t addr, uint64_t last_line)
{
	uint64_t line = addr >> cache.line_shift;
	uint64_t phys;

	if (!cache_l1d_search(&cache, line)) {
		if (is_mmio(info, addr, &phys)) {
			a->mmio[access_info(info)->kind]++;
			window_count_mmio(&window, phys, access_info(info)->kind);
			return;
		}
		miss(a, line);
	}
	if (last_line != line && !cache_l1d_search(&cache, last_line))
		miss(a, last_line);
}

static inline void access_data(struct accesses *a, qemu_plugin_meminfo_t info, uint64_t addr)
{
	const struct access_info *access;
	uint64_t line, last_line;

	if (!window.open)
		return;
	access = access_info(info);
	a->all[access->kind]++;
	line = addr >> cache.line_shift;
	last_line = (addr + access->size_bytes - 1) >> cache.line_shift;
	if (line != last_line || !cache_l1d_again(&cache, line))
		access_slow(a, info, addr, last_line);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t addr, void *data)
{
	access_data(data, info, addr);
}

/* Polls and interrupts */

static void end_poll(void)
{
	if (!progress.in_poll)
		return;
	progress.in_poll = false;
	window_count_poll(progress.napi ? progress.napi : &window.napi[options.napi.n],
			  progress.packets);
}

static void end_irq(void)
{
	if (progress.irq_unnamed)
		window_count_irq(&window, 0);
	progress.irq_unnamed = false;
	progress.in_irq = false;
}

static void on_poll_entry(unsigned int vcpu, void *data)
{
	if (!window.open)
		return;
	end_poll();
	/* Softirqs run after interrupt handlers, never inside. */
	end_irq();
	progress.in_poll = true;
	progress.napi = NULL;
	progress.packets = 0;
}

static void on_poll_leave(unsigned int vcpu, void *data)
{
	end_poll();
}

static void on_poll_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t addr,
			   void *data)
{
	const struct ranges *r = &options.napi;

	if (progress.in_poll && !progress.napi && access_info(info)->kind == ACCESS_LOAD) {
		for (size_t i = 0; i < r->n; i++)
			if (addr >= r->range[i].start && addr < r->range[i].end)
				progress.napi = &window.napi[i];
	}
	access_data(data, info, addr);
}

static void on_irq_entry(unsigned int vcpu, void *data)
{
	if (!window.open)
		return;
	end_irq();
	progress.in_irq = true;
	progress.irq_unnamed = true;
}

static void on_irq_leave(unsigned int vcpu, void *data)
{
	end_irq();
}

static void on_irq_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t addr, void *data)
{
	if (progress.irq_unnamed && access_info(info)->kind == ACCESS_LOAD) {
		window_count_irq(&window, addr);
		progress.irq_unnamed = false;
	}
	access_data(data, info, addr);
}

static void on_packet(unsigned int vcpu, void *data)
{
	if (!window.open)
		return;
	window.packet_calls++;
	/* A handler that interrupts a poll may hand up frames of another device. */
	if (progress.in_poll && !progress.in_irq)
		progress.packets++;
}

/*
 * A counted driver tells that a device has written, by calling a function with
 * the address and the length; the caches know the same memory by the address
 * that the kernel has it at.
 */
static void on_device_wrote(unsigned int vcpu, void *data)
{
	uint64_t arguments[2], start, line;

	if (!window.open)
		return;
	if (!compat_arguments(arguments)) {
		message("cannot read the arguments of %s", DMA_MARK);
		exit(EXIT_FAILURE);
	}
	window.dma_marks++;
	/* A buffer is as long as the longest frame, most frames are not. */
	if (arguments[1] > options.dma_bytes)
		arguments[1] = options.dma_bytes;
	start = options.direct_map + arguments[0];
	for (line = start >> cache.line_shift;
	     arguments[1] && line <= (start + arguments[1] - 1) >> cache.line_shift; line++) {
		cache_device_wrote(&cache, line, options.dma == DMA_LLC);
		window.dma_lines++;
	}
}

/* The window */

static void on_start(unsigned int vcpu, void *data)
{
	/*
	 * A start mark in a window begins the counts anew and leaves the caches
	 * as they are: what came before it was the warm-up.
	 */
	if (!window.open)
		cache_clear(&cache);
	window_clear(&window, options.napi.n);
	memset(compat_counters(), 0, window.slots * COUNTS * sizeof(uint64_t));
	memset(&progress, 0, sizeof(progress));
	window.open = true;
}

static void on_stop(unsigned int vcpu, void *data)
{
	if (!window.open) {
		message("stop mark without a start mark");
		return;
	}
	end_poll();
	end_irq();
	window.open = false;
	window_write(&window, &options, &symbols, compat_counters());
}

/* Translation */

static void end_group(struct group *group)
{
	if (group->n)
		compat_count(group->first, group->slot * COUNTS + COUNT_INSNS, group->n);
	group->n = 0;
}

static void watch_insn(struct qemu_plugin_insn *handle, qemu_plugin_exec_cb cb)
{
	qemu_plugin_register_vcpu_insn_exec_cb(handle, cb, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

/* Returns what is to be called on the data accesses of the instruction. */
static qemu_plugin_mem_cb hook_insn(struct qemu_plugin_insn *handle, const struct insn *insn,
				    const struct function *f, uint8_t hook)
{
	bool entry = insn->addr == f->start;
	bool leaves = insn_leaves(insn, f->start, f->end);

	switch (hook) {
	case HOOK_POLL:
		if (entry)
			watch_insn(handle, on_poll_entry);
		if (leaves)
			watch_insn(handle, on_poll_leave);
		return on_poll_access;
	case HOOK_IRQ:
		if (entry)
			watch_insn(handle, on_irq_entry);
		if (leaves)
			watch_insn(handle, on_irq_leave);
		return on_irq_access;
	case HOOK_PACKET:
		if (entry)
			watch_insn(handle, on_packet);
		break;
	case HOOK_DMA:
		if (entry)
			compat_watch_entry(handle, on_device_wrote);
		break;
	}
	return on_access;
}

static void count_kernel_insn(struct translation *t, const struct insn *insn, size_t index)
{
	const struct function *f = &symbols.functions[index];
	size_t slot = SLOT_KERNEL + index;
	struct group *group = &t->group;

	/*
	 * Translation takes back a last instruction that reaches into the next
	 * page, and its counter, but not that of a group it is in. QEMU 7.2
	 * still shows it here, without the bytes in the next page.
	 */
	if (group->slot != slot || (insn->addr + INSN_MAX_BYTES - 1) >> 12 != t->page)
		end_group(group);
	if (!group->n)
		group->first = t->handle;
	group->slot = slot;
	group->n++;
	if (!t->plain)
		end_group(group);

	if (f->name && insn->addr == f->start)
		compat_count(t->handle, slot * COUNTS + COUNT_CALLS, 1);
}

static void translate_insn(struct translation *t)
{
	struct insn insn = { .addr = qemu_plugin_insn_vaddr(t->handle) };
	qemu_plugin_mem_cb access = on_access;
	size_t slot = SLOT_USER;
	uint32_t mark;

	insn.len = compat_insn_bytes(t->handle, insn.bytes, sizeof(insn.bytes));
	mark = insn_mark(&insn);
	if (mark) {
		end_group(&t->group);
		watch_insn(t->handle, mark == MARK_START ? on_start : on_stop);
		return;
	}
	t->plain = insn_is_plain(&insn);
	if (insn.addr >= options.kernel_start) {
		size_t index = symbols_find(&symbols, insn.addr);

		slot = SLOT_KERNEL + index;
		count_kernel_insn(t, &insn, index);
		access = hook_insn(t->handle, &insn, &symbols.functions[index], hooks[index]);
	}
	if (!t->plain && !insn_is_iret(&insn))
		compat_watch_memory(t->handle, access, &window.accesses[slot], t->last);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct translation t = { 0 };

	for (size_t i = 0; i < n; i++) {
		t.handle = qemu_plugin_tb_get_insn(tb, i);
		t.last = i == n - 1;
		if (i == 0)
			t.page = qemu_plugin_insn_vaddr(t.handle) >> 12;
		translate_insn(&t);
	}
	end_group(&t.group);
}

/* Set-up */

/* A name that is nowhere would be counted as 0 for ever. */
static int hook_function(const char *option, const char *name, uint8_t hook)
{
	bool found = false;

	for (size_t i = 0; i < symbols.n; i++) {
		const struct function *f = &symbols.functions[i];

		if (!f->name || strcmp(f->name, name))
			continue;
		if (hooks[i]) {
			message("%s=%s is hooked already", option, name);
			return -1;
		}
		hooks[i] = hook;
		found = true;
	}
	if (!found) {
		message("%s=%s is not in symbols=%s", option, name, options.symbols);
		return -1;
	}
	return 0;
}

static int set_up_cache(void)
{
	/*
	 * Without the model its first level still remembers pages that are
	 * memory, so that device pages are told from them at little cost.
	 */
	static const struct cache_geometry pages[CACHE_LEVELS] = {
		{ 4096 * 256, 4, 4096 }, { 4096, 1, 4096 }, { 4096, 1, 4096 },
	};

	return cache_init(&cache, options.cache_on ? options.cache : pages);
}

static int set_up(void)
{
	size_t slots;

	if (symbols_read(&symbols, options.symbols))
		return -1;
	slots = SLOT_KERNEL + symbols.n;
	hooks = calloc(symbols.n, sizeof(*hooks));
	if (!hooks || set_up_cache() || window_init(&window, slots, options.napi.n) ||
	    compat_counters_init(slots * COUNTS)) {
		message("no memory to count in");
		return -1;
	}
	if (hook_function("poll", options.poll, HOOK_POLL) ||
	    hook_function("irq", options.irq, HOOK_IRQ) ||
	    hook_function("packet", options.packet, HOOK_PACKET))
		return -1;
	if (options.dma != DMA_CACHED && hook_function("dma", DMA_MARK, HOOK_DMA))
		return -1;
	return 0;
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_target *target,
				      int argc, char **argv)
{
	if (!target->system_emulation || strcmp(target->target_name, "x86_64")) {
		message("only qemu-system-x86_64 can be measured");
		return -1;
	}
	if (target->system.smp_vcpus != 1) {
		message("one vCPU can be measured, not %d", target->system.smp_vcpus);
		return -1;
	}
	if (options_parse(&options, argc, argv) || set_up())
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}

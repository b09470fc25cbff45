/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * iotally: counts every register access of an unmodified driver source by line.
 *
 * How a driver is built counted (drivers/iotally/build does it):
 *
 *   1. Build drivers/iotally for the kernel: iotally.ko and its Module.symvers.
 *   2. Build the driver for the same kernel with
 *
 *        make -C HEADERS M=DRIVER \
 *             NOSTDINC_FLAGS="-nostdinc -I.../drivers/iotally/include" \
 *             KBUILD_EXTRA_SYMBOLS=.../iotally/Module.symvers MODULE.ko
 *
 * The folder include/ holds linux/io.h, linux/pci.h and linux/dma-mapping.h.
 * Each includes the kernel's own file of that name and then
 * replaces its accessors by the macros of accessors_*.h. It stands before the
 * kernel's folders, so the header is forced into every translation unit at the
 * very place where the unit gets the accessors. A plain -include would pull
 * <linux/printk.h> in before the driver can define its pr_fmt().
 *
 * The macros are function-like: a driver that takes the address of an accessor
 * gets the kernel's. What it calls through that pointer is not counted. An
 * accessor in an inline of another header is a site of that header. A macro of
 * the driver, such as RTL_R16(), is the site where it is used.
 *
 * A site is a static object in section __iotally_sites, named iotally_site.N,
 * which is how the module finds it when the driver is loaded (kallsyms).
 *
 * Files in debugfs, docs/ledger.md says more:
 *
 *   sites	line 1 "# iotally 1", line 2 "#" and the names of the columns, then
 *		one line for each site, space and context that has a count:
 *		module file line function operation space(mmio|port|config)
 *		direction(read|write) address register context count bytes,
 *		separated by tabs. register is the text of the address argument,
 *		runs of white space as one space, "\", tab and newline as "\\",
 *		"\t" and "\n". A site without a count is one line with context
 *		"-" and count 0. address is that of the first access: physical
 *		for mmio, port number, offset for config; "-" when never.
 *   histograms	the same for cycles, when "histogram" is on
 *   reset, mark, trace, histogram, bus, dma_marks: switches
 */
#ifndef IOTALLY_H
#define IOTALLY_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/percpu-defs.h>
#include <asm/percpu.h>
#ifdef CONFIG_X86_64
#include <asm/asm.h>
#endif

/* Cookies of ioport_map() are below it, as lib/iomap.c has it. */
#define IOTALLY_PORTS 0x40000UL

enum iotally_space {
	IOTALLY_MMIO,
	IOTALLY_PORT,
	IOTALLY_CONFIG,
	IOTALLY_EITHER,			/* memory or port, known by the address */
};

enum iotally_direction {
	IOTALLY_READ,
	IOTALLY_WRITE,
};

/* How an access is done by the slow way; 0 for all that are not of one register. */
enum iotally_operation {
	IOTALLY_OPERATION_NONE,
#define IOTALLY_OPERATION_READ(op, type, address_type, space) IOTALLY_DO_##op,
#define IOTALLY_OPERATION_WRITE(op, type, address_type, space) IOTALLY_DO_##op,
#define IOTALLY_ALL_OPERATIONS
#include "operations.h"
#undef IOTALLY_ALL_OPERATIONS
#undef IOTALLY_OPERATION_READ
#undef IOTALLY_OPERATION_WRITE
};

struct iotally_entry;

/*
 * One place in the source that accesses a register. counts is NULL until the
 * first access, and while anything but counting is asked for: then the slow way
 * is taken.
 */
struct iotally_site {
	unsigned long __percpu *counts;
	struct iotally_entry *entry;
	const char *file;
	const char *function;
	const char *operation;
	const char *expression;
	u32 line;
	u8 size;			/* bytes of an access, 0: it depends */
	u8 space;
	u8 direction;
	u8 how;				/* enum iotally_operation */
};

/* Which part of the kernel runs, times two: slot of that context for memory. */
DECLARE_PER_CPU(unsigned long, iotally_context);

/* Does an access of one register with all that is asked for; gives the value read. */
u64 iotally_access(unsigned long address, struct iotally_site *site, u64 value);

/* The same around an access that is done in between: when it began, and the rest. */
u64 iotally_before(void);
void iotally_after(struct iotally_site *site, unsigned long address, unsigned long count,
		   unsigned long bytes, u64 value, u64 begin);

/* Accesses that the device sees when the kernel copies to or from it, or fills it. */
unsigned long iotally_copy_accesses(unsigned long address, size_t bytes);
unsigned long iotally_set_accesses(size_t bytes);

#ifdef CONFIG_X86_64
/* iotally_access() for a caller that keeps its registers. Never called from C. */
void iotally_access_thunk(void);
#define IOTALLY_CALLED iotally_access_thunk

/*
 * A call that the compiler knows of would make it save registers on the usual
 * way too, several instructions for each access.
 */
static __always_inline u64 iotally_slow(struct iotally_site *site, unsigned long address,
					u64 value)
{
	asm volatile("call iotally_access_thunk"
		     : "+a" (value), ASM_CALL_CONSTRAINT
		     : "D" (address), "S" (site)
		     : "cc", "memory");
	return value;
}
#else
#define IOTALLY_CALLED iotally_access

static __always_inline u64 iotally_slow(struct iotally_site *site, unsigned long address,
					u64 value)
{
	return iotally_access(address, site, value);
}
#endif

/* Types of addresses in operations.h. */
#define IOTALLY_MEMORY const __volatile__ void __iomem *
#define IOTALLY_MEMORY_TO __volatile__ void __iomem *
#define IOTALLY_COOKIE const void __iomem *
#define IOTALLY_COOKIE_TO void __iomem *

/* Operations of a block, of the configuration space: done by the source itself. */
#define IOTALLY_SITE(op, bytes, where, way, text) \
	IOTALLY_SITE_DONE(#op, IOTALLY_OPERATION_NONE, bytes, \
			  IOTALLY_##where, IOTALLY_##way, text)
#define IOTALLY_REGISTER(op, bytes, where, way, text) \
	IOTALLY_SITE_DONE(#op, IOTALLY_DO_##op, bytes, \
			  IOTALLY_##where, IOTALLY_##way, text)

#define IOTALLY_SITE_DONE(op, done, bytes, place, way, text) ({			\
	static struct iotally_site iotally_site __section("__iotally_sites")	\
	__aligned(8) = {							\
		.file = __FILE__,						\
		.function = __func__,						\
		.operation = op,						\
		.expression = text,						\
		.line = __LINE__,						\
		.size = bytes,							\
		.space = place,						\
		.direction = way,						\
		.how = done,							\
	};									\
	&iotally_site;								\
})

/* By space: slot of an access, from that for memory. */
#define IOTALLY_SLOT_MMIO(slot, address) (slot)
#define IOTALLY_SLOT_PORT(slot, address) ((slot) + 1)
#define IOTALLY_SLOT_EITHER(slot, address) iotally_slot(slot, address)

static __always_inline unsigned long iotally_slot(unsigned long slot, unsigned long address)
{
#ifdef CONFIG_X86_64
	/* The compiler takes two instructions more, from every ioread32(). */
	asm("cmp %2, %1\n\t"
	    "adc $0, %0"
	    : "+r" (slot)
	    : "r" (address), "i" (IOTALLY_PORTS)
	    : "cc");
	return slot;
#else
	return slot + (address < IOTALLY_PORTS);
#endif
}

/* Counts one access; false when the slow way must do it. */
#define IOTALLY_COUNT(site, space, address) ({					\
	unsigned long __percpu *counts = READ_ONCE((site)->counts);		\
	unsigned long slot;							\
										\
	if (likely(counts)) {							\
		slot = this_cpu_read(iotally_context);				\
		this_cpu_inc(counts[IOTALLY_SLOT_##space(slot, address)]);	\
	}									\
	counts;									\
})

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a register access costs, and what many sites on many processors count.
 *
 * The same source is built as it is and counted (drivers/iotally/build). All is
 * done while the module is loaded, and said in the kernel's log:
 *
 *   meter: cost OPERATION SPACE INSTRUCTIONS	of one access in a loop
 *   meter: crowd SITES PROCESSORS ROUNDS	each processor met each site so often
 *   meter: apart BYTES		between the counts of one site of any two processors
 *
 * tools/counting/counting.py reads them.
 */
#include <linux/cpumask.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <asm/tsc.h>

/* Nothing listens there, and a write would change nothing. */
#define QUIET_PORT 0x80
#define REGISTER_BYTES 0x1000

static unsigned long long memory;
module_param(memory, ullong, 0400);
MODULE_PARM_DESC(memory, "physical address of a device's registers");

static unsigned int readable;
module_param(readable, uint, 0400);
MODULE_PARM_DESC(readable, "offset of a register that may be read at any time");

static unsigned int writable;
module_param(writable, uint, 0400);
MODULE_PARM_DESC(writable, "offset of a register that may be written at any time");

static unsigned int passes = 1000;
module_param(passes, uint, 0400);
MODULE_PARM_DESC(passes, "accesses that are timed; as many before them are not");

static unsigned int rounds;
module_param(rounds, uint, 0400);
MODULE_PARM_DESC(rounds, "how often each processor meets each of the many sites; 0: not");

struct target {
	void __iomem *read;
	void __iomem *write;
	void __iomem *port;
};

/* In the vm lab's virtual time a cycle is an instruction. */
static __always_inline u64 timed(const struct target *at, void (*access)(const struct target *at))
{
	unsigned int left = passes;
	u64 begin = rdtsc_ordered();

	do
		access(at);
	while (--left);
	return rdtsc_ordered() - begin;
}

static __always_inline void do_readl(const struct target *at)
{
	readl(at->read);
}

static u64 meter_readl(const struct target *at)
{
	return timed(at, do_readl);
}

static __always_inline void do_writel(const struct target *at)
{
	writel(0x8100, at->write);
}

static u64 meter_writel(const struct target *at)
{
	return timed(at, do_writel);
}

static __always_inline void do_inb(const struct target *at)
{
	inb(QUIET_PORT);
}

static u64 meter_inb(const struct target *at)
{
	return timed(at, do_inb);
}

static __always_inline void do_ioread32(const struct target *at)
{
	ioread32(at->read);
}

static u64 meter_ioread32(const struct target *at)
{
	return timed(at, do_ioread32);
}

static __always_inline void do_ioread8(const struct target *at)
{
	ioread8(at->port);
}

static u64 meter_ioread8(const struct target *at)
{
	return timed(at, do_ioread8);
}

static __always_inline void do_iowrite32(const struct target *at)
{
	iowrite32(0x8100, at->write);
}

static u64 meter_iowrite32(const struct target *at)
{
	return timed(at, do_iowrite32);
}

static const struct {
	const char *operation;
	const char *space;
	u64 (*measure)(const struct target *at);
} meters[] = {
	{ "readl", "mmio", meter_readl },
	{ "writel", "mmio", meter_writel },
	{ "inb", "port", meter_inb },
	{ "ioread32", "mmio", meter_ioread32 },
	{ "ioread8", "port", meter_ioread8 },
	{ "iowrite32", "mmio", meter_iowrite32 },
};

static int measure_costs(void)
{
	struct target at = {};
	unsigned long flags;
	void __iomem *base;
	unsigned int i;
	u64 cycles;

	base = ioremap(memory, REGISTER_BYTES);
	if (!base)
		return -ENOMEM;
	at.read = base + readable;
	at.write = base + writable;
	at.port = ioport_map(QUIET_PORT, 1);
	for (i = 0; i < ARRAY_SIZE(meters); i++) {
		local_irq_save(flags);
		/* The first access of a site is another way. */
		meters[i].measure(&at);
		cycles = meters[i].measure(&at);
		local_irq_restore(flags);
		pr_info("meter: cost %s %s %llu\n", meters[i].operation, meters[i].space,
			div_u64(cycles + passes / 2, passes));
	}
	ioport_unmap(at.port);
	iounmap(base);
	return 0;
}

/* Sites by the thousand, each on a place of memory that is no device's. */
static u32 place;

#define SITES_1 readl((void __iomem *)&place)
#define SITES_5 (SITES_1, SITES_1, SITES_1, SITES_1, SITES_1)
#define SITES_25 (SITES_5, SITES_5, SITES_5, SITES_5, SITES_5)
#define SITES_125 (SITES_25, SITES_25, SITES_25, SITES_25, SITES_25)
#define SITES_625 (SITES_125, SITES_125, SITES_125, SITES_125, SITES_125)
#define CROWD_SITES 625

static noinline u32 crowd_1(void)
{
	return SITES_625;
}

static noinline u32 crowd_2(void)
{
	return SITES_625;
}

static noinline u32 crowd_3(void)
{
	return SITES_625;
}

static noinline u32 crowd_4(void)
{
	return SITES_625;
}

static u32 (* const crowds[])(void) = { crowd_1, crowd_2, crowd_3, crowd_4 };

static void meet_all(void *unused)
{
	unsigned int i, round;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < ARRAY_SIZE(crowds); i++)
			crowds[i]();
}

#ifdef IOTALLY_H
/* A site as the accessors make them, but one whose counts can be looked at. */
static void tell_distance(void)
{
	struct iotally_site *site = IOTALLY_REGISTER(readl, 4, MMIO, READ, "looked at");
	unsigned long apart = ULONG_MAX;
	unsigned long a, b;
	int cpu, other;

	iotally_slow(site, (unsigned long)&place, 0);
	if (!site->counts)
		return;
	for_each_possible_cpu(cpu)
		for_each_possible_cpu(other) {
			a = (unsigned long)per_cpu_ptr(site->counts, cpu);
			b = (unsigned long)per_cpu_ptr(site->counts, other);
			if (cpu != other)
				apart = min(apart, a > b ? a - b : b - a);
		}
	pr_info("meter: apart %lu\n", apart);
}
#else
static void tell_distance(void)
{
}
#endif

static int __init meter_init(void)
{
	int error = 0;

	if (!passes)
		return -EINVAL;
	if (memory)
		error = measure_costs();
	if (!error && rounds) {
		on_each_cpu(meet_all, NULL, 1);
		pr_info("meter: crowd %lu %u %u\n", CROWD_SITES * ARRAY_SIZE(crowds),
			num_online_cpus(), rounds);
		tell_distance();
	}
	return error;
}

static void __exit meter_exit(void)
{
}

module_init(meter_init);
module_exit(meter_exit);

MODULE_DESCRIPTION("Costs of register accesses, and many sites on many processors");
MODULE_LICENSE("GPL");

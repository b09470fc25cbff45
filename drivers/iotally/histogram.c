// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the accesses of a site took: a histogram of cycles by powers of two.
 *
 * Each power is cut into eight, so that a median taken from it is good to an
 * eighth; the file shows whole powers.
 */
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "tally.h"

#define PARTS 8
/* 2^24 cycles are milliseconds: more is no access. */
#define POWERS 25

struct tally_histogram {
	u32 calls[POWERS * PARTS];
};

/* The part that holds so many cycles; below 8 each value has its own. */
static unsigned int part_of(u64 cycles)
{
	unsigned int power;

	if (cycles < PARTS)
		return cycles;
	power = ilog2(cycles);
	if (power >= POWERS)
		return POWERS * PARTS - 1;
	return power * PARTS + (cycles >> (power - ilog2(PARTS))) % PARTS;
}

/* The middle of what a part holds. */
static u64 cycles_of(unsigned int part)
{
	unsigned int power = part / PARTS;
	u64 width;

	if (part < PARTS)
		return part;
	width = BIT_ULL(power - ilog2(PARTS));
	return BIT_ULL(power) + part % PARTS * width + width / 2;
}

int tally_histogram_make(struct iotally_entry *entry)
{
	if (!entry->histogram)
		entry->histogram = alloc_percpu(struct tally_histogram);
	return entry->histogram ? 0 : -ENOMEM;
}

void tally_histogram_add(struct iotally_entry *entry, u64 cycles)
{
	struct tally_histogram __percpu *histogram = READ_ONCE(entry->histogram);

	if (histogram)
		this_cpu_inc(histogram->calls[part_of(cycles)]);
}

void tally_histogram_reset(struct iotally_entry *entry)
{
	int cpu;

	if (!entry->histogram)
		return;
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(entry->histogram, cpu), 0, sizeof(struct tally_histogram));
}

static u64 calls_in(const struct iotally_entry *entry, unsigned int part)
{
	u64 calls = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		calls += per_cpu_ptr(entry->histogram, cpu)->calls[part];
	return calls;
}

static u64 median_cycles(const struct iotally_entry *entry, u64 calls)
{
	unsigned int part;
	u64 below = 0;

	for (part = 0; part < POWERS * PARTS; part++) {
		below += calls_in(entry, part);
		if (2 * below >= calls)
			break;
	}
	return cycles_of(part);
}

/* Power 0 is the cycles 0 and 1, power 1 those up to 3, and so on. */
static unsigned int power_of(unsigned int part)
{
	if (part < PARTS)
		return part ? ilog2(part) : 0;
	return part / PARTS;
}

/* Calls, median in ns, and "cycles:calls" for each power that has some. */
void tally_histogram_show(struct seq_file *file, const struct iotally_entry *entry)
{
	u64 powers[POWERS] = {};
	u64 calls = 0;
	unsigned int i;
	char before = '\t';

	for (i = 0; i < POWERS * PARTS; i++)
		powers[power_of(i)] += calls_in(entry, i);
	for (i = 0; i < POWERS; i++)
		calls += powers[i];
	if (!calls) {
		seq_puts(file, "\t0\t-\t-\n");
		return;
	}
	seq_printf(file, "\t%llu\t%llu", calls,
		   div64_u64(median_cycles(entry, calls) * 1000000, tally_cycles_per_ms()));
	for (i = 0; i < POWERS; i++) {
		if (!powers[i])
			continue;
		seq_printf(file, "%c%llu:%llu", before, i ? BIT_ULL(i) : 0, powers[i]);
		before = ',';
	}
	seq_putc(file, '\n');
}

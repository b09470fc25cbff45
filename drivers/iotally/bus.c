// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of the bus, for virtual time, in which an access is one instruction.
 *
 * A read, a port write and an access to the configuration space end when the
 * bus has done them and all writes before. A write to memory is posted: it
 * takes the bus but not the processor, unless the posting buffer is full.
 */
#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "tally.h"

/*
 * Figures in ns, fixed by arithmetic and never tuned (docs/ledger.md).
 *
 * pci33: clocks of 30 ns. Read: 2 to be granted the bus, 1 address, 1 turn
 * around, 8 until the first data (PCI 2.3 allows a target 16), 1 data, 1 idle:
 * 14. A write, memory or port: 2 + 1 + 2 (medium DEVSEL) + 1 idle: 6.
 * Depth: the 4 requests that an 82443BX host bridge queues (its data sheet); that
 * as many writes wait for the bus is inferred.
 *
 * pcix133: clocks of 7.5 ns. A read is split. Request: 2 granted, 1 address,
 * 1 attributes, 2 decode, 1 response, 1 idle: 8; 16 for the device, as PCI-X
 * allows for the first data; the completion is 8 again: 32. A port write is
 * split as well. A write to memory: 8. Depth as pci33, for want of a figure.
 *
 * pcie3 (x8, 7.88 bytes per ns): the median round trip of a 64 byte read in
 * pcie-bench (Neugebauer et al., SIGCOMM 2018, 547 ns on NFP6000-HSW, quoted from memory), less its
 * 108 bytes on the wire (14 ns), plus those of a register read: request 20 and
 * completion 24 (6 ns). It is the device that reads there; the way is the same.
 * A posted write: 24 bytes. A port write is a request of 24 and a completion of
 * 20 bytes.
 *
 * pcie1 (x1, 0.25 bytes per ns): the same with 44 bytes in 176 ns, 24 in 96 ns.
 *
 * Depth of both: 16, header credits that every root port has; an assumption.
 */
static const struct bus {
	const char *name;
	u32 read_ns;
	u32 port_write_ns;
	u32 posted_write_ns;
	u32 depth;
} buses[] = {
	{ "none" },
	{ "pci33", 14 * 30, 6 * 30, 6 * 30, 4 },
	{ "pcix133", 32 * 75 / 10, 32 * 75 / 10, 8 * 75 / 10, 4 },
	{ "pcie1", 547 - 14 + 176, 547 - 14 + 176, 96, 16 },
	{ "pcie3", 547 - 14 + 6, 547 - 14 + 6, 3, 16 },
};

/* The same in cycles, for the bus that was chosen. */
static const struct bus *chosen = &buses[0];
static u64 read_cycles;
static u64 port_write_cycles;
static u64 posted_write_cycles;
static u64 buffer_cycles;

/* When the bus has done all that it was given. */
static atomic64_t bus_free;

static u64 to_cycles(u32 ns)
{
	return div64_u64(ns * tally_cycles_per_ms(), 1000000);
}

int tally_bus_choose(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(buses); i++)
		if (!strcmp(name, buses[i].name))
			break;
	if (i == ARRAY_SIZE(buses))
		return -EINVAL;
	chosen = &buses[i];
	read_cycles = to_cycles(chosen->read_ns);
	port_write_cycles = to_cycles(chosen->port_write_ns);
	posted_write_cycles = to_cycles(chosen->posted_write_ns);
	buffer_cycles = posted_write_cycles * chosen->depth;
	atomic64_set(&bus_free, 0);
	tally_switch(TALLY_BUS, i > 0);
	return 0;
}

const char *tally_bus_name(void)
{
	return chosen->name;
}

/*
 * Lasts until the bus has done so many accesses that began then; a function of
 * its own, so that tools can tell its instructions.
 */
noinline void iotally_bus_wait(u64 begin, unsigned int space, unsigned int direction,
			       unsigned long count)
{
	bool posted = direction == IOTALLY_WRITE && space == IOTALLY_MMIO;
	s64 before = atomic64_read(&bus_free);
	u64 takes = posted_write_cycles;
	u64 until;

	if (!posted)
		takes = direction == IOTALLY_READ ? read_cycles : port_write_cycles;
	do
		until = max_t(u64, before, begin) + count * takes;
	while (!atomic64_try_cmpxchg(&bus_free, &before, until));
	if (posted)
		until -= buffer_cycles;
	while ((s64)(tally_cycles() - until) < 0)
		barrier();
}

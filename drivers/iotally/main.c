// SPDX-License-Identifier: GPL-2.0-only
/* iotally: the module that keeps the counts; its parts start and stop here. */
#include <linux/module.h>
#include <linux/ktime.h>
#include <linux/delay.h>

#include "tally.h"

/* How fast the cycle counter runs, for what is told or given in ns. */
u64 tally_cycles_per_ms(void)
{
#ifdef CONFIG_X86
	return tsc_khz;
#else
	u64 ns = ktime_get_ns();
	u64 cycles = tally_cycles();

	mdelay(10);
	cycles = tally_cycles() - cycles;
	return div64_u64(cycles * NSEC_PER_MSEC, ktime_get_ns() - ns);
#endif
}

static int __init iotally_init(void)
{
	int error = tally_context_init();

	if (error)
		return error;
	error = tally_files_init();
	if (error)
		goto no_files;
	error = tally_sites_init();
	if (error)
		goto no_sites;
	return 0;
no_sites:
	tally_files_exit();
no_files:
	tally_context_exit();
	return error;
}

static void __exit iotally_exit(void)
{
	tally_files_exit();
	tally_context_exit();
	tally_sites_exit();
}

module_init(iotally_init);
module_exit(iotally_exit);

MODULE_DESCRIPTION("Counts register accesses of drivers by source line");
MODULE_LICENSE("GPL");

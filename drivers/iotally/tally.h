/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the module share. Drivers see iotally.h only. */
#ifndef IOTALLY_TALLY_H
#define IOTALLY_TALLY_H

#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/timex.h>
#ifdef CONFIG_X86
#include <asm/msr.h>
#include <asm/tsc.h>
#endif

#include "iotally.h"

enum tally_context {
	TALLY_CONTROL,
	TALLY_IRQ,
	TALLY_POLL,
	TALLY_TRANSMIT,
	TALLY_TIMER,
	TALLY_CONTEXTS
};

/* Slots of a site: for each context one of memory (or config), one of ports. */
#define TALLY_SPACES 2
#define TALLY_SLOTS (TALLY_CONTEXTS * TALLY_SPACES)

/* Why the slow way is taken. */
#define TALLY_TRACE BIT(0)
#define TALLY_HISTOGRAM BIT(1)
#define TALLY_BUS BIT(2)

struct tally_histogram;

/* A site as the module keeps it, also when the driver is gone. */
struct iotally_entry {
	struct iotally_site *site;	/* in the driver; stale when that is gone */
	const char *file;
	const char *function;
	const char *operation;
	const char *expression;
	u32 line;
	u8 size;
	u8 space;
	u8 direction;
	u8 hit;				/* spaces of which the address is known, a bit each */
	u64 address[TALLY_SPACES];
	/* Counts, then bytes if the size of an access varies. */
	unsigned long __percpu *counts;
	u64 base[2 * TALLY_SLOTS];	/* counts at the last reset */
	u64 frozen[2 * TALLY_SLOTS];	/* counts when they were frozen */
	struct tally_histogram __percpu *histogram;
};

struct tally_module {
	struct list_head list;
	struct module *module;		/* NULL when it is gone */
	char name[MODULE_NAME_LEN];
	char *texts;
	unsigned int nr;
	struct iotally_entry entries[];
};

/* Protects the list of modules, and what is switched. */
extern struct mutex tally_lock;
extern struct list_head tally_modules;
extern bool tally_frozen;

int tally_sites_init(void);
void tally_sites_exit(void);
void tally_reset(void);
void tally_reset_counts(void);
void tally_freeze(void);
void tally_switch(unsigned int why, bool on);
bool tally_switched(unsigned int why);
u64 tally_value(const struct iotally_entry *entry, unsigned int slot);
bool tally_counted(const struct module *module);

int tally_context_init(void);
void tally_context_exit(void);

int tally_files_init(void);
void tally_files_exit(void);

struct seq_file;

int tally_histogram_make(struct iotally_entry *entry);
void tally_histogram_add(struct iotally_entry *entry, u64 cycles);
void tally_histogram_reset(struct iotally_entry *entry);
void tally_histogram_show(struct seq_file *file, const struct iotally_entry *entry);

int tally_bus_choose(const char *name);
const char *tally_bus_name(void);
void iotally_bus_wait(u64 begin, unsigned int space, unsigned int direction,
		      unsigned long count);

void tally_dma_switch(bool on);
bool tally_dma_switched(void);

/* Cycles, read when everything before is done. */
static inline u64 tally_cycles(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return get_cycles();
#endif
}

u64 tally_cycles_per_ms(void);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites and their counts: found when a driver is loaded, kept when it goes.
 *
 * Everything is allocated before the driver runs, so that a site may be met for
 * the first time in a hard interrupt.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "tally.h"

/* __assign_str() lost its second argument in 6.10 (Kbuild looks). */
#ifdef TALLY_OLD_ASSIGN
#define TALLY_ASSIGN(name, text) __assign_str(name, text)
#else
#define TALLY_ASSIGN(name, text) __assign_str(name)
#endif
#define CREATE_TRACE_POINTS
#include "trace.h"

#define SITE_PREFIX "iotally_site."
#ifdef CONFIG_64BIT
/* Who reads the section of an object file (zoo, tests) knows it. */
static_assert(sizeof(struct iotally_site) == 56);
#endif

/* Of the list of modules, and of what is switched. */
DEFINE_MUTEX(tally_lock);
LIST_HEAD(tally_modules);
bool tally_frozen;

/* Reasons for the slow way, TALLY_*. */
static unsigned int tally_slow;

/* Where a place is, as the device's side of the bus names it. */
static u64 bus_address(const struct iotally_entry *entry, unsigned long address, bool port)
{
	if (entry->space == IOTALLY_CONFIG)
		return address;
	if (port)
		return address & 0xffff;
	if (is_vmalloc_addr((void *)address))
		return ((u64)vmalloc_to_pfn((void *)address) << PAGE_SHIFT) |
		       offset_in_page(address);
	return virt_addr_valid((void *)address) ? __pa(address) : address;
}

static bool is_port(const struct iotally_site *site, unsigned long address)
{
	return site->space == IOTALLY_PORT ||
	       (site->space == IOTALLY_EITHER && address < IOTALLY_PORTS);
}

/* What the bus sees of it. */
static unsigned int bus_space(const struct iotally_site *site, bool port)
{
	if (port)
		return IOTALLY_PORT;
	return site->space == IOTALLY_CONFIG ? IOTALLY_CONFIG : IOTALLY_MMIO;
}

/* From now on only counted, if nothing else is asked for. */
static void go_fast(struct iotally_site *site, const struct iotally_entry *entry)
{
	if (READ_ONCE(tally_slow))
		return;
	WRITE_ONCE(site->counts, entry->counts);
	/* Pairs with tally_switch(): one of both sees the other's write. */
	smp_mb();
	if (READ_ONCE(tally_slow))
		WRITE_ONCE(site->counts, NULL);
}

/* When an access began; 0 if nobody wants to know. */
u64 iotally_before(void)
{
	return READ_ONCE(tally_slow) & (TALLY_HISTOGRAM | TALLY_BUS) ? tally_cycles() : 0;
}
EXPORT_SYMBOL_GPL(iotally_before);

void iotally_after(struct iotally_site *site, unsigned long address, unsigned long count,
		   unsigned long bytes, u64 value, u64 begin)
{
	struct iotally_entry *entry = site->entry;
	unsigned int slow = READ_ONCE(tally_slow);
	bool port = is_port(site, address);
	unsigned long slot;

	if (WARN_ONCE(!entry, "iotally: a site was not found when its driver was loaded\n"))
		return;
	slot = this_cpu_read(iotally_context) + port;
	this_cpu_add(entry->counts[slot], count);
	if (!entry->size)
		this_cpu_add(entry->counts[TALLY_SLOTS + slot], bytes);
	if (!(READ_ONCE(entry->hit) & BIT(port))) {
		entry->address[port] = bus_address(entry, address, port);
		smp_wmb();	/* whoever sees hit sees the address */
		WRITE_ONCE(entry->hit, entry->hit | BIT(port));
	}
	if (slow & TALLY_TRACE)
		trace_iotally_access(entry, bus_address(entry, address, port), value, count);
	go_fast(site, entry);
	if (begin && slow & TALLY_BUS)
		iotally_bus_wait(begin, bus_space(site, port), site->direction, count);
	if (begin && slow & TALLY_HISTOGRAM)
		tally_histogram_add(entry, tally_cycles() - begin);
}
EXPORT_SYMBOL_GPL(iotally_after);

/* arch/x86/lib/iomem.c: up to a byte and a word to align, dwords, a word, a byte. */
unsigned long iotally_copy_accesses(unsigned long address, size_t bytes)
{
	unsigned long accesses = 0;

	if (bytes && address & 1) {
		accesses++;
		bytes--;
	}
	if (bytes > 1 && address & 2) {
		accesses++;
		bytes -= 2;
	}
	return accesses + bytes / 4 + !!(bytes & 2) + (bytes & 1);
}
EXPORT_SYMBOL_GPL(iotally_copy_accesses);

/* memset(): bytes if the processor is fast at that, else words and the rest by bytes. */
unsigned long iotally_set_accesses(size_t bytes)
{
#ifdef X86_FEATURE_FSRS
	if (boot_cpu_has(X86_FEATURE_FSRS))
		return bytes;
#endif
	return bytes / 8 + bytes % 8;
}
EXPORT_SYMBOL_GPL(iotally_set_accesses);

/* Since the start: of a slot, the bytes behind the counts. */
static u64 sum(const struct iotally_entry *entry, unsigned int slot)
{
	u64 total = 0;
	int cpu;

	if (slot >= TALLY_SLOTS && entry->size)
		return sum(entry, slot - TALLY_SLOTS) * entry->size;
	for_each_possible_cpu(cpu)
		total += READ_ONCE(*per_cpu_ptr(&entry->counts[slot], cpu));
	return total;
}

/* Since the last reset, until the freezing if there was one. */
u64 tally_value(const struct iotally_entry *entry, unsigned int slot)
{
	return tally_frozen ? entry->frozen[slot] : sum(entry, slot) - entry->base[slot];
}

static void each_slot(void (*act)(struct iotally_entry *entry, unsigned int slot))
{
	struct tally_module *module;
	unsigned int i, slot;

	list_for_each_entry(module, &tally_modules, list)
		for (i = 0; i < module->nr; i++)
			for (slot = 0; slot < 2 * TALLY_SLOTS; slot++)
				act(&module->entries[i], slot);
}

static void set_base(struct iotally_entry *entry, unsigned int slot)
{
	entry->base[slot] = sum(entry, slot);
}

static void set_frozen(struct iotally_entry *entry, unsigned int slot)
{
	entry->frozen[slot] = sum(entry, slot) - entry->base[slot];
}

/*
 * Counts are never written but by their own processor: a reset remembers where
 * they stood. Both may be called with interrupts off, and tally_lock held.
 */
void tally_reset_counts(void)
{
	each_slot(set_base);
	tally_frozen = false;
}

void tally_freeze(void)
{
	if (tally_frozen)
		return;
	each_slot(set_frozen);
	tally_frozen = true;
}

static void free_module_entries(struct tally_module *module)
{
	unsigned int i;

	for (i = 0; i < module->nr; i++) {
		free_percpu(module->entries[i].counts);
		free_percpu(module->entries[i].histogram);
	}
	kvfree(module->texts);
	kvfree(module);
}

/* All counts become 0, and drivers that are gone are forgotten. */
void tally_reset(void)
{
	struct tally_module *module, *next;
	unsigned int i;

	list_for_each_entry_safe(module, next, &tally_modules, list) {
		for (i = 0; i < module->nr; i++)
			tally_histogram_reset(&module->entries[i]);
		if (module->module)
			continue;
		list_del(&module->list);
		free_module_entries(module);
	}
	tally_reset_counts();
}

/* Takes every site to the slow way, or lets it be fast again. */
void tally_switch(unsigned int why, bool on)
{
	struct tally_module *module;
	unsigned int i;

	mutex_lock(&tally_lock);
	WRITE_ONCE(tally_slow, on ? tally_slow | why : tally_slow & ~why);
	smp_mb();	/* go_fast() */
	list_for_each_entry(module, &tally_modules, list)
		for (i = 0; module->module && i < module->nr; i++)
			if (tally_slow)
				WRITE_ONCE(module->entries[i].site->counts, NULL);
			else if (module->entries[i].hit)
				go_fast(module->entries[i].site, &module->entries[i]);
	mutex_unlock(&tally_lock);
}

bool tally_switched(unsigned int why)
{
	return READ_ONCE(tally_slow) & why;
}

int tally_trace_on(void)
{
	tally_switch(TALLY_TRACE, true);
	return 0;
}

void tally_trace_off(void)
{
	tally_switch(TALLY_TRACE, false);
}

/* Sites of a module by their symbols; sites may be NULL to count them. */
static unsigned int find_sites(struct module *module, struct iotally_site **sites)
{
	unsigned int nr = 0;
#ifdef CONFIG_KALLSYMS
	struct mod_kallsyms *table;
	unsigned int i;

	rcu_read_lock_sched();
	table = rcu_dereference_sched(module->kallsyms);
	for (i = 1; table && i < table->num_symtab; i++) {
		const typeof(*table->symtab) *symbol = &table->symtab[i];

		if (!strstarts(table->strtab + symbol->st_name, SITE_PREFIX))
			continue;
		if (sites)
			sites[nr] = (struct iotally_site *)symbol->st_value;
		nr++;
	}
	rcu_read_unlock_sched();
#endif
	return nr;
}

static int by_place(const void *a, const void *b)
{
	const struct iotally_site *x = *(struct iotally_site *const *)a;
	const struct iotally_site *y = *(struct iotally_site *const *)b;
	int order = strcmp(x->file, y->file);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static size_t texts_length(const struct iotally_site *site)
{
	return strlen(site->file) + strlen(site->function) + strlen(site->operation) +
	       strlen(site->expression) + 4;
}

static const char *keep(char **at, const char *text)
{
	size_t length = strlen(text) + 1;
	char *kept = memcpy(*at, text, length);

	*at += length;
	return kept;
}

static int fill(struct iotally_entry *entry, struct iotally_site *site, char **texts)
{
	size_t slots = site->size ? TALLY_SLOTS : 2 * TALLY_SLOTS;

	entry->site = site;
	entry->file = keep(texts, site->file);
	entry->function = keep(texts, site->function);
	entry->operation = keep(texts, site->operation);
	entry->expression = keep(texts, site->expression);
	entry->line = site->line;
	entry->size = site->size;
	entry->space = site->space;
	entry->direction = site->direction;
	entry->counts = __alloc_percpu(slots * sizeof(*entry->counts), sizeof(*entry->counts));
	if (!entry->counts)
		return -ENOMEM;
	if (tally_switched(TALLY_HISTOGRAM) && tally_histogram_make(entry))
		return -ENOMEM;
	site->entry = entry;
	return 0;
}

static int add_module(struct module *module, struct iotally_site **sites, unsigned int nr)
{
	struct tally_module *added = kvzalloc(struct_size(added, entries, nr), GFP_KERNEL);
	size_t length = 0;
	unsigned int i;
	char *texts;

	if (!added)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		length += texts_length(sites[i]);
	added->module = module;
	added->nr = nr;
	strscpy(added->name, module->name, sizeof(added->name));
	added->texts = kvmalloc(length, GFP_KERNEL);
	if (!added->texts)
		goto no_memory;
	texts = added->texts;
	for (i = 0; i < nr; i++)
		if (fill(&added->entries[i], sites[i], &texts))
			goto no_memory;
	list_add_tail(&added->list, &tally_modules);
	return 0;
no_memory:
	free_module_entries(added);
	return -ENOMEM;
}

static int module_comes(struct module *module)
{
	unsigned int nr = find_sites(module, NULL);
	struct iotally_site **sites;
	int error;

	if (!nr)
		return 0;
	sites = kvmalloc_array(nr, sizeof(*sites), GFP_KERNEL);
	if (!sites)
		return -ENOMEM;
	find_sites(module, sites);
	sort(sites, nr, sizeof(*sites), by_place, NULL);
	mutex_lock(&tally_lock);
	error = add_module(module, sites, nr);
	mutex_unlock(&tally_lock);
	kvfree(sites);
	return error;
}

static void module_goes(struct module *module)
{
	struct tally_module *known;

	mutex_lock(&tally_lock);
	list_for_each_entry(known, &tally_modules, list)
		if (known->module == module)
			known->module = NULL;
	mutex_unlock(&tally_lock);
}

/* Whether a driver has sites. */
bool tally_counted(const struct module *module)
{
	struct tally_module *known;
	bool counted = false;

	mutex_lock(&tally_lock);
	list_for_each_entry(known, &tally_modules, list)
		counted |= module && known->module == module;
	mutex_unlock(&tally_lock);
	return counted;
}

static int module_event(struct notifier_block *block, unsigned long state, void *data)
{
	if (state == MODULE_STATE_COMING)
		return notifier_from_errno(module_comes(data));
	if (state == MODULE_STATE_GOING)
		module_goes(data);
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = {
	.notifier_call = module_event,
};

int tally_sites_init(void)
{
	return register_module_notifier(&module_notifier);
}

void tally_sites_exit(void)
{
	unregister_module_notifier(&module_notifier);
	tally_reset();
}

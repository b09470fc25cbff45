// SPDX-License-Identifier: GPL-2.0-only
/* Marks that tell a cache model in QEMU what the device writes, and where. */
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "accessors_dma.h"
#include "tally.h"

/* Coherent memory of counted drivers, whether or not marks are on. */
struct coherent {
	struct list_head list;
	dma_addr_t address;
	size_t bytes;
};

static LIST_HEAD(areas);
static DEFINE_SPINLOCK(areas_lock);

bool iotally_dma_marks;
EXPORT_SYMBOL_GPL(iotally_dma_marks);

/* Read by a plugin at the entry, from the registers of the arguments. */
noinline __noclone void iotally_dma_device_wrote(dma_addr_t address, size_t bytes)
{
	asm volatile("" : : "r" (address), "r" (bytes) : "memory");
}
EXPORT_SYMBOL_GPL(iotally_dma_device_wrote);

noinline __noclone void iotally_dma_coherent(dma_addr_t address, size_t bytes, bool alive)
{
	asm volatile("" : : "r" (address), "r" (bytes), "r" ((int)alive) : "memory");
}
EXPORT_SYMBOL_GPL(iotally_dma_coherent);

/* One line of cache for a pool that was not made by a counted source. */
#define UNKNOWN_BYTES 64

struct pool {
	struct list_head list;
	const struct dma_pool *pool;
	size_t bytes;
};

static LIST_HEAD(pools);

void iotally_pool_add(const struct dma_pool *pool, size_t bytes)
{
	struct pool *added = kmalloc(sizeof(*added), GFP_ATOMIC);
	unsigned long flags;

	if (!added)
		return;
	added->pool = pool;
	added->bytes = bytes;
	spin_lock_irqsave(&areas_lock, flags);
	list_add_tail(&added->list, &pools);
	spin_unlock_irqrestore(&areas_lock, flags);
}
EXPORT_SYMBOL_GPL(iotally_pool_add);

void iotally_pool_remove(const struct dma_pool *pool)
{
	struct pool *known, *next;
	unsigned long flags;

	spin_lock_irqsave(&areas_lock, flags);
	list_for_each_entry_safe(known, next, &pools, list)
		if (known->pool == pool) {
			list_del(&known->list);
			kfree(known);
		}
	spin_unlock_irqrestore(&areas_lock, flags);
}
EXPORT_SYMBOL_GPL(iotally_pool_remove);

size_t iotally_pool_bytes(const struct dma_pool *pool)
{
	size_t bytes = UNKNOWN_BYTES;
	struct pool *known;
	unsigned long flags;

	spin_lock_irqsave(&areas_lock, flags);
	list_for_each_entry(known, &pools, list)
		if (known->pool == pool)
			bytes = known->bytes;
	spin_unlock_irqrestore(&areas_lock, flags);
	return bytes;
}
EXPORT_SYMBOL_GPL(iotally_pool_bytes);

void iotally_coherent_add(dma_addr_t address, size_t bytes)
{
	struct coherent *area = kmalloc(sizeof(*area), GFP_ATOMIC);
	unsigned long flags;

	if (area) {
		area->address = address;
		area->bytes = bytes;
		spin_lock_irqsave(&areas_lock, flags);
		list_add_tail(&area->list, &areas);
		spin_unlock_irqrestore(&areas_lock, flags);
	}
	if (READ_ONCE(iotally_dma_marks))
		iotally_dma_coherent(address, bytes, true);
}
EXPORT_SYMBOL_GPL(iotally_coherent_add);

void iotally_coherent_remove(dma_addr_t address)
{
	struct coherent *area, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&areas_lock, flags);
	list_for_each_entry(area, &areas, list)
		if (area->address == address) {
			found = area;
			list_del(&area->list);
			break;
		}
	spin_unlock_irqrestore(&areas_lock, flags);
	if (!found)
		return;
	if (READ_ONCE(iotally_dma_marks))
		iotally_dma_coherent(found->address, found->bytes, false);
	kfree(found);
}
EXPORT_SYMBOL_GPL(iotally_coherent_remove);

static void forget(void *address)
{
	iotally_coherent_remove((uintptr_t)address);
}

void iotally_coherent_add_managed(struct device *dev, dma_addr_t address, size_t bytes)
{
	/* Comes after the memory, so it goes before. */
	if (!devm_add_action(dev, forget, (void *)(uintptr_t)address))
		iotally_coherent_add(address, bytes);
}
EXPORT_SYMBOL_GPL(iotally_coherent_add_managed);

/* Switching on tells of all coherent memory there is, also when it was on. */
int tally_dma_switch(bool on)
{
	struct coherent *area;
	unsigned long flags;

	spin_lock_irqsave(&areas_lock, flags);
	WRITE_ONCE(iotally_dma_marks, on);
	if (on)
		list_for_each_entry(area, &areas, list)
			iotally_dma_coherent(area->address, area->bytes, true);
	spin_unlock_irqrestore(&areas_lock, flags);
	return 0;
}

void tally_dma_exit(void)
{
	struct coherent *area, *next;
	struct pool *pool, *next_pool;

	list_for_each_entry_safe(area, next, &areas, list)
		kfree(area);
	list_for_each_entry_safe(pool, next_pool, &pools, list)
		kfree(pool);
}

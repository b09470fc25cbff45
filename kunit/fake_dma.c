// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fake DMA API that bounces, keeps books and can fail.
 *
 * Every mapping has a buffer of its own that only the device sees, so that a
 * missing or too short sync, or an unmap that is forgotten, shows as stale
 * data. Addresses are never used twice.
 */

#include <linux/mm.h>

#include "fake_dma.h"

/* Far apart, and not what the memory's own address would be. */
#define FAKE_ADDRESS(index) (0x100000000ull + ((u64)(index) << 20))

static struct fake_dma *to_fake(struct rs_dma *dma)
{
	return container_of(dma, struct fake_dma, dma);
}

struct fake_mapping *fake_dma_find(struct fake_dma *fake, dma_addr_t addr)
{
	u64 index = (addr - FAKE_ADDRESS(0)) >> 20;

	if (addr < FAKE_ADDRESS(0) || addr != FAKE_ADDRESS(index) ||
	    index >= fake->used) {
		KUNIT_FAIL(fake->test, "%pad was never a mapping", &addr);
		return NULL;
	}
	return &fake->mappings[index];
}

static bool fake_fails(struct fake_dma *fake)
{
	fake->maps++;
	return fake->fail_from && fake->maps >= fake->fail_from &&
	       fake->maps - fake->fail_from < fake->fail_count;
}

static int fake_map(struct rs_dma *dma, struct page *page, size_t offset,
		    size_t size, enum dma_data_direction dir, dma_addr_t *addr)
{
	struct fake_dma *fake = to_fake(dma);
	struct fake_mapping *mapping = &fake->mappings[fake->used];

	/* What the DMA API leaves behind on failure must never be used. */
	*addr = DMA_MAPPING_ERROR;
	if (fake_fails(fake)) {
		fake->failed_page = page;
		fake->failed_page_refs = page_count(page);
		return -ENOMEM;
	}
	KUNIT_ASSERT_LT(fake->test, fake->used, FAKE_MAPPINGS);
	KUNIT_EXPECT_GT(fake->test, size, 0);

	mapping->memory = page_address(page) + offset;
	/* Not kunit_kzalloc(): it sleeps, and here a driver may not. */
	mapping->bounce = kzalloc(size, GFP_ATOMIC);
	KUNIT_ASSERT_NOT_NULL(fake->test, mapping->bounce);
	if (dir == DMA_TO_DEVICE)
		memcpy(mapping->bounce, mapping->memory, size);
	mapping->size = size;
	mapping->dir = dir;
	mapping->live = true;
	*addr = FAKE_ADDRESS(fake->used++);
	return 0;
}

static void fake_unmap(struct rs_dma *dma, dma_addr_t addr, size_t size,
		       enum dma_data_direction dir, bool page)
{
	struct fake_dma *fake = to_fake(dma);
	struct fake_mapping *mapping = fake_dma_find(fake, addr);

	fake->unmaps++;
	if (!mapping)
		return;
	KUNIT_EXPECT_TRUE_MSG(fake->test, mapping->live, "unmapped twice");
	KUNIT_EXPECT_FALSE_MSG(fake->test, mapping->pool,
			       "the pool's mapping is not the driver's to end");
	KUNIT_EXPECT_EQ(fake->test, mapping->size, size);
	KUNIT_EXPECT_EQ(fake->test, mapping->dir, dir);
	mapping->page = page;
	mapping->live = false;
	if (dir == DMA_FROM_DEVICE)
		memcpy(mapping->memory, mapping->bounce, mapping->size);
}

static void fake_sync(struct rs_dma *dma, dma_addr_t addr, size_t size,
		      enum dma_data_direction dir, bool to_device)
{
	struct fake_dma *fake = to_fake(dma);
	struct fake_mapping *mapping = fake_dma_find(fake, addr);

	fake->syncs[to_device]++;
	if (!mapping)
		return;
	KUNIT_EXPECT_TRUE_MSG(fake->test, mapping->live, "synced, not mapped");
	KUNIT_EXPECT_EQ(fake->test, mapping->dir, dir);
	KUNIT_ASSERT_LE(fake->test, size, mapping->size);
	if (!to_device)
		memcpy(mapping->memory, mapping->bounce, size);
}

static struct page *fake_pool_get(struct rs_dma *dma, dma_addr_t *addr)
{
	struct fake_dma *fake = to_fake(dma);
	struct page *page = alloc_page(GFP_ATOMIC);

	KUNIT_ASSERT_NOT_NULL(fake->test, page);
	if (fake_map(dma, page, NET_SKB_PAD, PAGE_SIZE - NET_SKB_PAD,
		     DMA_FROM_DEVICE, addr)) {
		__free_page(page);
		return NULL;
	}
	fake->mappings[fake->used - 1].pool = true;
	return page;
}

static void fake_pool_put(struct rs_dma *dma, struct page *page)
{
	struct fake_dma *fake = to_fake(dma);
	unsigned int i;

	for (i = 0; i < fake->used; i++) {
		struct fake_mapping *mapping = &fake->mappings[i];

		if (!mapping->live || !mapping->pool ||
		    mapping->memory != page_address(page) + NET_SKB_PAD)
			continue;
		mapping->live = false;
		__free_page(page);
		return;
	}
	KUNIT_FAIL(fake->test, "not a page of the pool, or put twice");
}

static const struct rs_dma_ops fake_dma_ops = {
	.map = fake_map,
	.unmap = fake_unmap,
	.sync = fake_sync,
	.pool_get = fake_pool_get,
	.pool_put = fake_pool_put,
};

static void fake_free(void *data)
{
	struct fake_dma *fake = data;
	unsigned int i;

	for (i = 0; i < fake->used; i++)
		kfree(fake->mappings[i].bounce);
}

struct fake_dma *fake_dma_new(struct kunit *test)
{
	struct fake_dma *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->test = test;
	fake->dma.fake = &fake_dma_ops;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, fake_free, fake));
	return fake;
}

/* Before the end of the case, where a loop would make too many. */
void fake_dma_free(struct fake_dma *fake)
{
	struct kunit *test = fake->test;

	kunit_release_action(test, fake_free, fake);
	kunit_kfree(test, fake);
}

/* Mappings that nobody has ended; a page handed up stays the pool's. */
unsigned int fake_dma_live(struct fake_dma *fake)
{
	unsigned int live = 0;
	unsigned int i;

	for (i = 0; i < fake->used; i++)
		live += fake->mappings[i].live;
	return live;
}

/* From now on the nth map call and the count - 1 after it fail. */
void fake_dma_fail(struct fake_dma *fake, unsigned int nth, unsigned int count)
{
	fake->fail_from = fake->maps + nth;
	fake->fail_count = count;
}

void fake_dma_write(struct fake_dma *fake, dma_addr_t addr, const void *data,
		    size_t size)
{
	struct fake_mapping *mapping = fake_dma_find(fake, addr);

	KUNIT_ASSERT_NOT_NULL(fake->test, mapping);
	KUNIT_ASSERT_TRUE_MSG(fake->test, mapping->live,
			      "the device was given an address not mapped");
	KUNIT_ASSERT_LE(fake->test, size, mapping->size);
	memcpy(mapping->bounce, data, size);
}

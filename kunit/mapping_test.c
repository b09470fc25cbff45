// SPDX-License-Identifier: GPL-2.0-only
/* Suite mapping: who maps, syncs and unmaps, and the way back. */

#include <kunit/test.h>
#include <linux/device.h>
#include <linux/etherdevice.h>
#include <linux/mm.h>

#include "../drivers/ringside/compat.h"
#include "fake_dma.h"

struct buf_param {
	u32 room;
	enum rs_buf_kind kind;
	bool in_napi;
};

static const struct buf_param buf_params[] = {
	{ 1536, RS_BUF_OWN, false }, { 1536, RS_BUF_OWN, true },
	{ 2048, RS_BUF_OWN, false }, { 2048, RS_BUF_OWN, true },
	{ 4096, RS_BUF_OWN, true }, { 8192, RS_BUF_OWN, true },
	{ 1, RS_BUF_OWN, true },
	{ 1536, RS_BUF_POOL, true }, { 2048, RS_BUF_POOL, true },
};

static void buf_name(const struct buf_param *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u bytes, %s, %s", param->room,
		 param->kind == RS_BUF_POOL ? "pool" : "own",
		 param->in_napi ? "napi" : "irq");
}

KUNIT_ARRAY_PARAM(buf, buf_params, buf_name);

static void bufs_setup(struct kunit *test, struct rs_bufs *bufs,
		       struct fake_dma *fake)
{
	const struct buf_param *param = test->param_value;

	KUNIT_ASSERT_EQ(test, 0, rs_bufs_init(bufs, &fake->dma, param->room));
	bufs->in_napi = param->in_napi;
}

static void mapping_layout(struct kunit *test)
{
	const struct buf_param *param = test->param_value;
	struct fake_dma *fake = fake_dma_new(test);
	struct rs_bufs bufs;

	bufs_setup(test, &bufs, fake);
	KUNIT_EXPECT_GE(test, bufs.headroom, NET_SKB_PAD);
	KUNIT_EXPECT_EQ(test, param->room, bufs.room);
	KUNIT_EXPECT_GE(test, bufs.size, SKB_DATA_ALIGN(bufs.headroom + bufs.room) +
			SKB_DATA_ALIGN(sizeof(struct skb_shared_info)));
}

static void mapping_no_room(struct kunit *test)
{
	struct fake_dma *fake = fake_dma_new(test);
	struct rs_bufs bufs;

	KUNIT_EXPECT_EQ(test, -EINVAL, rs_bufs_init(&bufs, &fake->dma, 0));
}

static void mapping_get_and_put(struct kunit *test)
{
	const struct buf_param *param = test->param_value;
	struct fake_dma *fake = fake_dma_new(test);
	struct rs_buf buf = {};
	struct fake_mapping *mapping;
	struct rs_bufs bufs;

	bufs_setup(test, &bufs, fake);
	local_bh_disable();
	KUNIT_ASSERT_EQ(test, 0, rs_buf_get(&bufs, &buf, param->kind));
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, param->kind, buf.kind);
	KUNIT_EXPECT_EQ(test, 1, fake_dma_live(fake));
	mapping = fake_dma_find(fake, buf.addr);
	KUNIT_ASSERT_NOT_NULL(test, mapping);
	KUNIT_EXPECT_EQ(test, DMA_FROM_DEVICE, mapping->dir);
	KUNIT_EXPECT_PTR_EQ(test, rs_buf_data(&bufs, &buf), mapping->memory);
	if (param->kind == RS_BUF_OWN)
		KUNIT_EXPECT_EQ(test, param->room, mapping->size);

	rs_buf_put(&bufs, &buf);
	KUNIT_EXPECT_EQ(test, RS_BUF_NONE, buf.kind);
	KUNIT_EXPECT_EQ(test, 0, fake_dma_live(fake));
	/* an empty slot can be put, as often as one likes */
	rs_buf_put(&bufs, &buf);
	KUNIT_EXPECT_EQ(test, param->kind == RS_BUF_OWN, fake->unmaps);
}

/* A failed map leaves no buffer, no mapping and no memory behind. */
static void mapping_get_fails(struct kunit *test)
{
	const struct buf_param *param = test->param_value;
	struct rs_buf buf = { .kind = RS_BUF_NONE };
	struct fake_dma *fake = fake_dma_new(test);
	struct rs_bufs bufs;

	bufs_setup(test, &bufs, fake);
	fake_dma_fail(fake, 1, 1);
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, -ENOMEM, rs_buf_get(&bufs, &buf, param->kind));
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, RS_BUF_NONE, buf.kind);
	KUNIT_EXPECT_EQ(test, 0, fake->used);
	KUNIT_EXPECT_EQ(test, 0, fake->unmaps);
	/* page fragments share their page, so a free shows in its count */
	if (bufs.size <= PAGE_SIZE && param->kind == RS_BUF_OWN)
		KUNIT_EXPECT_EQ(test, fake->failed_page_refs - 1,
				page_count(fake->failed_page));
}

static void mapping_hand_up(struct kunit *test)
{
	const struct buf_param *param = test->param_value;
	struct fake_dma *fake = fake_dma_new(test);
	u32 len = min(param->room, 60u);
	struct rs_buf buf = {};
	struct rs_bufs bufs;
	struct sk_buff *skb;
	u8 frame[60];
	void *data;

	memset(frame, 0xa5, sizeof(frame));
	bufs_setup(test, &bufs, fake);
	local_bh_disable();
	KUNIT_ASSERT_EQ(test, 0, rs_buf_get(&bufs, &buf, param->kind));
	data = rs_buf_data(&bufs, &buf);
	fake_dma_write(fake, buf.addr, frame, len);
	skb = rs_buf_hand_up(&bufs, &buf, len);
	local_bh_enable();

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, RS_BUF_NONE, buf.kind);
	KUNIT_EXPECT_EQ(test, len, skb->len);
	KUNIT_EXPECT_PTR_EQ(test, data, (void *)skb->data);
	KUNIT_EXPECT_EQ(test, bufs.headroom, skb_headroom(skb));
	KUNIT_EXPECT_MEMEQ(test, skb->data, frame, len);
	/* the whole room stays inside the skb, shared info behind it */
	KUNIT_EXPECT_GE(test, skb_end_offset(skb), bufs.headroom + bufs.room);
	if (param->kind == RS_BUF_OWN) {
		KUNIT_EXPECT_EQ(test, 0, fake_dma_live(fake));
		KUNIT_EXPECT_EQ(test, 1, fake->unmaps);
		KUNIT_EXPECT_FALSE(test, skb->pp_recycle);
	} else {
		KUNIT_EXPECT_EQ(test, 1, fake_dma_live(fake));
		KUNIT_EXPECT_EQ(test, 0, fake->unmaps);
		KUNIT_EXPECT_EQ(test, 1, fake->syncs[0]);
		KUNIT_EXPECT_TRUE(test, skb->pp_recycle);
	}
	kfree_skb(skb);
}

static void mapping_sync(struct kunit *test)
{
	const struct buf_param *param = test->param_value;
	struct fake_dma *fake = fake_dma_new(test);
	struct rs_buf buf = {};
	struct rs_bufs bufs;
	u8 *data;

	bufs_setup(test, &bufs, fake);
	local_bh_disable();
	KUNIT_ASSERT_EQ(test, 0, rs_buf_get(&bufs, &buf, param->kind));
	local_bh_enable();
	data = rs_buf_data(&bufs, &buf);
	*data = 0;
	fake_dma_write(fake, buf.addr, "x", 1);
	KUNIT_EXPECT_EQ(test, 0, *data);
	rs_buf_sync_for_cpu(&bufs, &buf, 1);
	KUNIT_EXPECT_EQ(test, 'x', *data);
	KUNIT_EXPECT_EQ(test, 1, fake->syncs[0]);
	KUNIT_EXPECT_EQ(test, 0, fake->syncs[1]);
	rs_buf_sync_for_device(&bufs, &buf, 1);
	KUNIT_EXPECT_EQ(test, 1, fake->syncs[0]);
	KUNIT_EXPECT_EQ(test, 1, fake->syncs[1]);
	rs_buf_put(&bufs, &buf);
}

static const unsigned int frag_params[] = { 0, 1, 2, 3, 8, 16, MAX_SKB_FRAGS };

static void frag_name(const unsigned int *frags, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u fragments", *frags);
}

KUNIT_ARRAY_PARAM(frag, frag_params, frag_name);

static struct sk_buff *packet_new(struct kunit *test, unsigned int frags)
{
	struct sk_buff *skb = alloc_skb(128, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	memset(skb_put(skb, 100), 0x11, 100);
	for (i = 0; i < frags; i++) {
		struct page *page = alloc_page(GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, page);
		/* unequal sizes and offsets, so that none stands for another */
		skb_add_rx_frag(skb, i, page, 8 * i, 200 + i, PAGE_SIZE);
	}
	return skb;
}

static void mapping_pieces(struct kunit *test)
{
	unsigned int frags = *(const unsigned int *)test->param_value;
	struct rs_piece pieces[MAX_SKB_FRAGS + 1] = {};
	struct sk_buff *skb = packet_new(test, frags);
	struct fake_dma *fake = fake_dma_new(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, (int)frags + 1,
			rs_pieces_map(&fake->dma, skb, pieces));
	KUNIT_EXPECT_EQ(test, frags + 1, fake_dma_live(fake));
	for (i = 0; i <= frags; i++) {
		struct fake_mapping *mapping;
		void *memory = skb->data;

		if (i)
			memory = skb_frag_address(&skb_shinfo(skb)->frags[i - 1]);
		mapping = fake_dma_find(fake, pieces[i].addr);
		KUNIT_ASSERT_NOT_NULL(test, mapping);
		KUNIT_EXPECT_PTR_EQ(test, memory, mapping->memory);
		KUNIT_EXPECT_EQ(test, i ? 199 + i : 100, pieces[i].len);
		KUNIT_EXPECT_EQ(test, DMA_TO_DEVICE, mapping->dir);
		rs_piece_unmap(&fake->dma, &pieces[i]);
		KUNIT_EXPECT_EQ(test, i > 0, mapping->page);
	}
	KUNIT_EXPECT_EQ(test, 0, fake_dma_live(fake));
	/* a second unmap of the same pieces does nothing */
	for (i = 0; i <= frags; i++)
		rs_piece_unmap(&fake->dma, &pieces[i]);
	KUNIT_EXPECT_EQ(test, frags + 1, fake->unmaps);
	kfree_skb(skb);
}

/* The nth map fails, for all n: nothing stays mapped, nothing is unmapped twice. */
static void mapping_pieces_unwind(struct kunit *test)
{
	unsigned int frags = *(const unsigned int *)test->param_value;
	struct rs_piece pieces[MAX_SKB_FRAGS + 1] = {};
	struct sk_buff *skb = packet_new(test, frags);
	unsigned int nth;

	for (nth = 1; nth <= frags + 1; nth++) {
		struct fake_dma *fake = fake_dma_new(test);

		fake_dma_fail(fake, nth, 1);
		KUNIT_EXPECT_EQ(test, -ENOMEM,
				rs_pieces_map(&fake->dma, skb, pieces));
		KUNIT_EXPECT_EQ(test, nth, fake->maps);
		KUNIT_EXPECT_EQ(test, nth - 1, fake->unmaps);
		KUNIT_EXPECT_EQ(test, 0, fake_dma_live(fake));
		fake_dma_free(fake);
	}
	kfree_skb(skb);
}

static void drop_device(void *dev)
{
	root_device_unregister(dev);
}

/* The same calls on a real device, through the kernel's own DMA API. */
static void mapping_real_dma(struct kunit *test)
{
	struct rs_piece pieces[MAX_SKB_FRAGS + 1] = {};
	struct sk_buff *skb = packet_new(test, 3);
	struct rs_dma dma = {};
	struct rs_buf buf = {};
	struct rs_bufs bufs;
	int i;

	dma.dev = root_device_register("ringside-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(dma.dev));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_device,
							   dma.dev));
	if (dma_coerce_mask_and_coherent(dma.dev, DMA_BIT_MASK(64))) {
		kfree_skb(skb);
		kunit_skip(test, "no DMA on this architecture");
	}

	KUNIT_ASSERT_EQ(test, 4, rs_pieces_map(&dma, skb, pieces));
	for (i = 0; i < 4; i++)
		rs_piece_unmap(&dma, &pieces[i]);
	kfree_skb(skb);

	KUNIT_ASSERT_EQ(test, 0, rs_bufs_init(&bufs, &dma, 2048));
	KUNIT_ASSERT_EQ(test, 0, rs_buf_get(&bufs, &buf, RS_BUF_OWN));
	rs_buf_sync_for_cpu(&bufs, &buf, 60);
	rs_buf_sync_for_device(&bufs, &buf, 60);
	skb = rs_buf_hand_up(&bufs, &buf, 60);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	kfree_skb(skb);
	KUNIT_ASSERT_EQ(test, 0, rs_buf_get(&bufs, &buf, RS_BUF_OWN));
	rs_buf_put(&bufs, &buf);
}

/* A page goes to the stack and comes back, still mapped, from a real pool. */
static void mapping_real_pool(struct kunit *test)
{
	struct page_pool_params params = {
		.pool_size = 4,
		.nid = NUMA_NO_NODE,
		.flags = PP_FLAG_DMA_MAP,
		.dma_dir = DMA_FROM_DEVICE,
	};
	struct rs_dma dma = {};
	struct rs_buf buf = {};
	struct rs_bufs bufs;
	struct sk_buff *skb;
	dma_addr_t addr;

	dma.dev = root_device_register("ringside-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(dma.dev));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_device,
							   dma.dev));
	if (dma_coerce_mask_and_coherent(dma.dev, DMA_BIT_MASK(64)))
		kunit_skip(test, "no DMA on this architecture");
	params.dev = dma.dev;
	KUNIT_ASSERT_EQ(test, 0, rs_bufs_init(&bufs, &dma, 1536));
	bufs.in_napi = true;
	bufs.pool = page_pool_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(bufs.pool));

	local_bh_disable();
	KUNIT_EXPECT_EQ(test, 0, rs_buf_get(&bufs, &buf, RS_BUF_POOL));
	addr = buf.addr;
	skb = rs_buf_hand_up(&bufs, &buf, 60);
	kfree_skb(skb);
	/* the pool's cache may hold others before it; it must come again */
	KUNIT_EXPECT_EQ(test, 0, rs_buf_get(&bufs, &buf, RS_BUF_POOL));
	KUNIT_EXPECT_EQ(test, bufs.headroom, buf.addr & ~PAGE_MASK);
	KUNIT_EXPECT_EQ(test, bufs.headroom, addr & ~PAGE_MASK);
	local_bh_enable();
	rs_buf_put(&bufs, &buf);
	page_pool_destroy(bufs.pool);
}

static struct kunit_case mapping_cases[] = {
	KUNIT_CASE_PARAM(mapping_layout, buf_gen_params),
	KUNIT_CASE(mapping_no_room),
	KUNIT_CASE_PARAM(mapping_get_and_put, buf_gen_params),
	KUNIT_CASE_PARAM(mapping_get_fails, buf_gen_params),
	KUNIT_CASE_PARAM(mapping_hand_up, buf_gen_params),
	KUNIT_CASE_PARAM(mapping_sync, buf_gen_params),
	KUNIT_CASE_PARAM(mapping_pieces, frag_gen_params),
	KUNIT_CASE_PARAM(mapping_pieces_unwind, frag_gen_params),
	KUNIT_CASE(mapping_real_dma),
	KUNIT_CASE(mapping_real_pool),
	{}
};

static struct kunit_suite mapping_suite = {
	.name = "mapping",
	.test_cases = mapping_cases,
};

kunit_test_suite(mapping_suite);

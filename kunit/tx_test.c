// SPDX-License-Identifier: GPL-2.0-only
/* Suite tx: map, post, complete, stop and wake. */

#include <linux/etherdevice.h>
#include <linux/mm.h>

#include "fake_nic.h"

#define RING 64
#define NEED (MAX_SKB_FRAGS + 1)

static struct fake_nic *nic_open(struct kunit *test, u32 size, u32 spare, u32 need)
{
	struct fake_nic *nic = fake_nic_new(test);

	fake_tx_open(nic, size, spare, need);
	return nic;
}

static struct sk_buff *packet_new(struct kunit *test, u32 len, unsigned int frags)
{
	struct sk_buff *skb = alloc_skb(2048, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	/* old memory behind the packet, which must not be sent */
	memset(skb->data, 0xee, skb_tailroom(skb));
	memset(skb_put(skb, len), 0x11, len);
	for (i = 0; i < frags; i++) {
		struct page *page = alloc_page(GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, page);
		skb_add_rx_frag(skb, i, page, 0, 64 + i, PAGE_SIZE);
	}
	return skb;
}

static const unsigned int frag_params[] = { 0, 1, 2, 5, MAX_SKB_FRAGS };

static void frag_name(const unsigned int *frags, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u fragments", *frags);
}

KUNIT_ARRAY_PARAM(frag, frag_params, frag_name);

/* Many packets of one shape through a ring that wraps: all sent, all freed. */
static void tx_packets(struct kunit *test)
{
	unsigned int frags = *(const unsigned int *)test->param_value;
	struct fake_nic *nic = nic_open(test, RING, 1, NEED);
	unsigned int i;

	for (i = 0; i < 40; i++) {
		struct sk_buff *skb = packet_new(test, 100, frags);

		skb_get(skb);
		KUNIT_EXPECT_EQ(test, NETDEV_TX_OK,
				rs_tx_xmit(&nic->tx, skb, false));
		KUNIT_EXPECT_EQ(test, frags + 1, rs_ring_used(&nic->tx.ring));
		KUNIT_EXPECT_EQ(test, frags + 1, fake_dma_live(nic->dma));
		KUNIT_EXPECT_EQ(test, 0, rs_tx_complete(&nic->tx, 0));
		KUNIT_EXPECT_EQ(test, 1, fake_transmit(nic, 2));
		KUNIT_EXPECT_EQ(test, 1, rs_tx_complete(&nic->tx, 0));
		KUNIT_EXPECT_EQ(test, 0, fake_dma_live(nic->dma));
		KUNIT_EXPECT_EQ(test, 1, refcount_read(&skb->users));
		kfree_skb(skb);
	}
	KUNIT_EXPECT_EQ(test, 40, rs_tx_stat(&nic->tx, RS_TX_PACKETS));
	KUNIT_EXPECT_EQ(test, 40, nic->tx_doorbells);
	KUNIT_EXPECT_EQ(test, 0, rs_tx_stat(&nic->tx, RS_TX_BUSY));
	fake_tx_close(nic);
}

/* The nth map fails, for all n: the packet is dropped and counted, no more. */
static void tx_nth_map_fails(struct kunit *test)
{
	unsigned int frags = *(const unsigned int *)test->param_value;
	unsigned int nth;

	for (nth = 1; nth <= frags + 1; nth++) {
		struct fake_nic *nic = nic_open(test, RING, 1, NEED);
		struct sk_buff *skb = packet_new(test, 100, frags);

		skb_get(skb);
		fake_dma_fail(nic->dma, nth, 1);
		KUNIT_EXPECT_EQ(test, NETDEV_TX_OK,
				rs_tx_xmit(&nic->tx, skb, false));
		KUNIT_EXPECT_EQ(test, 1, refcount_read(&skb->users));
		kfree_skb(skb);
		KUNIT_EXPECT_EQ(test, 0, fake_dma_live(nic->dma));
		KUNIT_EXPECT_EQ(test, 0, rs_ring_used(&nic->tx.ring));
		KUNIT_EXPECT_EQ(test, 0, fake_transmit(nic, 1));
		KUNIT_EXPECT_EQ(test, 1, rs_tx_stat(&nic->tx, RS_TX_MAP_FAILED));
		/* the next packet goes out */
		rs_tx_xmit(&nic->tx, packet_new(test, 100, frags), false);
		KUNIT_EXPECT_EQ(test, 1, fake_transmit(nic, 1));
		KUNIT_EXPECT_EQ(test, 1, rs_tx_complete(&nic->tx, 0));
		fake_tx_close(nic);
	}
}

static const u32 pad_params[] = { 14, 15, 42, 59, 60, 61 };

static void pad_name(const u32 *len, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u bytes", *len);
}

KUNIT_ARRAY_PARAM(pad, pad_params, pad_name);

/* Short frames reach the wire with 60 bytes, zeroes behind the data. */
static void tx_pads(struct kunit *test)
{
	u32 len = *(const u32 *)test->param_value;
	struct fake_nic *nic = nic_open(test, RING, 0, NEED);
	struct fake_mapping *mapping;
	u32 i;

	rs_tx_xmit(&nic->tx, packet_new(test, len, 0), false);
	KUNIT_EXPECT_EQ(test, max(len, 60u), nic->tx_desc[0].len);
	mapping = fake_dma_find(nic->dma, nic->tx_desc[0].addr);
	KUNIT_ASSERT_NOT_NULL(test, mapping);
	for (i = 0; i < mapping->size; i++)
		KUNIT_EXPECT_EQ(test, i < len ? 0x11 : 0,
				((u8 *)mapping->bounce)[i]);
	fake_transmit(nic, 1);
	rs_tx_complete(&nic->tx, 0);
	KUNIT_EXPECT_EQ(test, max(len, 60u), rs_tx_stat(&nic->tx, RS_TX_BYTES));
	fake_tx_close(nic);
}

struct room_param {
	u32 size, spare, need;
};

static const struct room_param room_params[] = {
	{ 4, 0, 1 }, { 4, 1, 1 }, { 8, 0, 3 }, { 64, 0, NEED }, { 64, 1, NEED },
	{ 128, 1, NEED },
};

static void room_name(const struct room_param *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u slots, %u spare, %u needed",
		 param->size, param->spare, param->need);
}

KUNIT_ARRAY_PARAM(room, room_params, room_name);

/* The queue stops before a packet might not fit, and never says busy. */
static void tx_stops_and_wakes(struct kunit *test)
{
	const struct room_param *param = test->param_value;
	struct fake_nic *nic = nic_open(test, param->size, param->spare, param->need);
	u32 limit = param->size - param->spare;
	unsigned int sent = 0, round;

	for (round = 0; round < 3; round++) {
		unsigned int freed = 0;

		while (!netif_tx_queue_stopped(nic->tx.queue)) {
			KUNIT_ASSERT_LE(test, sent, 3 * param->size);
			KUNIT_EXPECT_EQ(test, NETDEV_TX_OK,
					rs_tx_xmit(&nic->tx, packet_new(test, 60, 0), false));
			sent++;
		}
		KUNIT_EXPECT_EQ(test, param->need - 1, rs_ring_free(&nic->tx.ring));
		/* one at a time, until the largest packet fits with room to spare */
		while (netif_tx_queue_stopped(nic->tx.queue)) {
			KUNIT_ASSERT_LT(test, freed++, limit);
			KUNIT_ASSERT_EQ(test, 1, fake_transmit(nic, 1));
			KUNIT_ASSERT_EQ(test, 1, rs_tx_complete(&nic->tx, 0));
		}
		KUNIT_EXPECT_EQ(test, min(2 * param->need, limit),
				rs_ring_free(&nic->tx.ring));
		KUNIT_EXPECT_EQ(test, round + 1, rs_tx_stat(&nic->tx, RS_TX_STOPPED));
		KUNIT_EXPECT_EQ(test, round + 1, rs_tx_stat(&nic->tx, RS_TX_WOKEN));
	}
	KUNIT_EXPECT_EQ(test, 0, rs_tx_stat(&nic->tx, RS_TX_BUSY));
	fake_tx_close(nic);
	KUNIT_EXPECT_EQ(test, 0, fake_dma_live(nic->dma));
}

/* Called although the queue was stopped: busy, skb untouched, doorbell rung. */
static void tx_busy(struct kunit *test)
{
	const struct room_param *param = test->param_value;
	struct fake_nic *nic = nic_open(test, param->size, param->spare, param->need);
	struct sk_buff *skb = packet_new(test, 60, 0);
	unsigned int doorbells;

	while (!netif_tx_queue_stopped(nic->tx.queue))
		rs_tx_xmit(&nic->tx, packet_new(test, 60, 0), true);
	doorbells = nic->tx_doorbells;
	KUNIT_EXPECT_EQ(test, NETDEV_TX_BUSY, rs_tx_xmit(&nic->tx, skb, true));
	KUNIT_EXPECT_EQ(test, doorbells + 1, nic->tx_doorbells);
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&skb->users));
	KUNIT_EXPECT_EQ(test, 1, rs_tx_stat(&nic->tx, RS_TX_BUSY));
	KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(nic->tx.queue));
	kfree_skb(skb);
	fake_tx_close(nic);
	KUNIT_EXPECT_EQ(test, 0, fake_dma_live(nic->dma));
}

/* A doorbell put off for "more" is rung by the last packet, or by the stop. */
static void tx_doorbell_waits_for_more(struct kunit *test)
{
	struct fake_nic *nic = nic_open(test, RING, 1, NEED);
	unsigned int i;

	for (i = 0; i < 10; i++)
		rs_tx_xmit(&nic->tx, packet_new(test, 60, 0), true);
	KUNIT_EXPECT_EQ(test, 0, nic->tx_doorbells);
	rs_tx_xmit(&nic->tx, packet_new(test, 60, 0), false);
	KUNIT_EXPECT_EQ(test, 1, nic->tx_doorbells);

	while (!netif_tx_queue_stopped(nic->tx.queue))
		rs_tx_xmit(&nic->tx, packet_new(test, 60, 0), true);
	KUNIT_EXPECT_EQ(test, 2, nic->tx_doorbells);
	fake_tx_close(nic);
}

/* The last packet of a burst cannot be mapped: the burst is sent all the same. */
static void tx_doorbell_after_a_drop(struct kunit *test)
{
	struct fake_nic *nic = nic_open(test, RING, 1, NEED);

	rs_tx_xmit(&nic->tx, packet_new(test, 60, 0), true);
	KUNIT_EXPECT_EQ(test, 0, nic->tx_doorbells);
	fake_dma_fail(nic->dma, 1, 1);
	rs_tx_xmit(&nic->tx, packet_new(test, 60, 0), false);
	KUNIT_EXPECT_EQ(test, 1, nic->tx_doorbells);
	KUNIT_EXPECT_EQ(test, 1, fake_transmit(nic, 2));
	fake_tx_close(nic);
}

/* A packet is freed only when its last descriptor is back. */
static void tx_completes_whole_packets(struct kunit *test)
{
	unsigned int frags = *(const unsigned int *)test->param_value;
	struct fake_nic *nic = nic_open(test, RING, 0, NEED);
	unsigned int i;

	rs_tx_xmit(&nic->tx, packet_new(test, 60, frags), false);
	for (i = 0; i < frags; i++) {
		nic->tx_desc[i].device = false;
		KUNIT_EXPECT_EQ(test, 0, rs_tx_complete(&nic->tx, 0));
		KUNIT_EXPECT_EQ(test, frags + 1, fake_dma_live(nic->dma));
	}
	nic->tx_desc[frags].device = false;
	KUNIT_EXPECT_EQ(test, 1, rs_tx_complete(&nic->tx, 0));
	KUNIT_EXPECT_EQ(test, 0, fake_dma_live(nic->dma));
	KUNIT_EXPECT_EQ(test, 0, rs_tx_complete(&nic->tx, 0));
	fake_tx_close(nic);
}

/* Closing with packets in flight frees them and empties BQL's account. */
static void tx_close_in_flight(struct kunit *test)
{
	unsigned int frags = *(const unsigned int *)test->param_value;
	struct fake_nic *nic = nic_open(test, RING, 1, NEED);
	struct sk_buff *skb = packet_new(test, 100, frags);

	skb_get(skb);
	rs_tx_xmit(&nic->tx, skb, false);
	rs_tx_xmit(&nic->tx, packet_new(test, 100, frags), false);
#ifdef CONFIG_BQL
	KUNIT_EXPECT_EQ(test, 2 * skb->len, nic->tx.queue->dql.num_queued -
			nic->tx.queue->dql.num_completed);
#endif
	fake_tx_close(nic);
	KUNIT_EXPECT_EQ(test, 0, fake_dma_live(nic->dma));
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&skb->users));
#ifdef CONFIG_BQL
	KUNIT_EXPECT_EQ(test, nic->tx.queue->dql.num_queued,
			nic->tx.queue->dql.num_completed);
#endif
	kfree_skb(skb);
	/* and again, with nothing there */
	fake_tx_close(nic);
}

static void tx_sizes(struct kunit *test)
{
	struct fake_nic *nic = nic_open(test, RING, 1, NEED);

	fake_tx_close(nic);
	KUNIT_EXPECT_EQ(test, -EINVAL, rs_tx_init(&nic->tx, 16, 0, 17));
	KUNIT_EXPECT_EQ(test, -EINVAL, rs_tx_init(&nic->tx, 16, 1, 16));
	KUNIT_EXPECT_EQ(test, -EINVAL, rs_tx_init(&nic->tx, 16, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, rs_tx_init(&nic->tx, 17, 1, 4));
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE_PARAM(tx_packets, frag_gen_params),
	KUNIT_CASE_PARAM(tx_nth_map_fails, frag_gen_params),
	KUNIT_CASE_PARAM(tx_pads, pad_gen_params),
	KUNIT_CASE_PARAM(tx_stops_and_wakes, room_gen_params),
	KUNIT_CASE_PARAM(tx_busy, room_gen_params),
	KUNIT_CASE(tx_doorbell_waits_for_more),
	KUNIT_CASE(tx_doorbell_after_a_drop),
	KUNIT_CASE_PARAM(tx_completes_whole_packets, frag_gen_params),
	KUNIT_CASE_PARAM(tx_close_in_flight, frag_gen_params),
	KUNIT_CASE(tx_sizes),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "tx",
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);

MODULE_DESCRIPTION("KUnit suites of the Ringside reference driver");
MODULE_LICENSE("GPL");

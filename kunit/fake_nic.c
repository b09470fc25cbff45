// SPDX-License-Identifier: GPL-2.0-only
/* A fake NIC: descriptors in memory behind the driver's ring operations. */

#include <linux/etherdevice.h>
#include <net/pkt_sched.h>

#include "fake_nic.h"

static struct fake_nic *rx_to_nic(void *ctx)
{
	return container_of(ctx, struct fake_nic, rx);
}

static struct fake_nic *tx_to_nic(void *ctx)
{
	return container_of(ctx, struct fake_nic, tx);
}

static void fake_rx_arm(struct rs_rx *rx, u32 slot, dma_addr_t addr)
{
	struct fake_desc *desc = &rx_to_nic(rx)->rx_desc[slot];

	KUNIT_EXPECT_FALSE(rx_to_nic(rx)->test, desc->device);
	desc->addr = addr;
}

static void fake_rx_give(void *ctx, u32 slot)
{
	rx_to_nic(ctx)->rx_desc[slot].device = true;
}

static bool fake_rx_mine(void *ctx, u32 slot)
{
	return !rx_to_nic(ctx)->rx_desc[slot].device;
}

static void fake_rx_frame(struct rs_rx *rx, u32 slot, struct rs_frame *frame)
{
	*frame = rx_to_nic(rx)->rx_desc[slot].frame;
}

static void fake_rx_doorbell(struct rs_rx *rx, u32 slot)
{
	rx_to_nic(rx)->rx_doorbells++;
	rx_to_nic(rx)->rx_tail = slot;
}

static const struct rs_rx_ops fake_rx_ops = {
	.ring = {
		.fill = rs_rx_fill,
		.give = fake_rx_give,
		.mine = fake_rx_mine,
	},
	.arm = fake_rx_arm,
	.frame = fake_rx_frame,
	.doorbell = fake_rx_doorbell,
};

static void fake_tx_set(struct rs_tx *tx, u32 slot, const struct rs_piece *piece,
			bool first, bool last)
{
	struct fake_desc *desc = &tx_to_nic(tx)->tx_desc[slot];

	KUNIT_EXPECT_FALSE(tx_to_nic(tx)->test, desc->device);
	desc->addr = piece->addr;
	desc->len = piece->len;
	desc->first = first;
	desc->last = last;
}

static void fake_tx_give(void *ctx, u32 slot)
{
	tx_to_nic(ctx)->tx_desc[slot].device = true;
}

static bool fake_tx_mine(void *ctx, u32 slot)
{
	return !tx_to_nic(ctx)->tx_desc[slot].device;
}

static void fake_tx_doorbell(struct rs_tx *tx, u32 slot)
{
	tx_to_nic(tx)->tx_doorbells++;
}

static const struct rs_tx_ops fake_tx_ops = {
	.ring = { .give = fake_tx_give, .mine = fake_tx_mine },
	.set = fake_tx_set,
	.doorbell = fake_tx_doorbell,
};

static void fake_sink(struct rs_rx *rx, struct sk_buff *skb)
{
	struct fake_nic *nic = rx_to_nic(rx);

	KUNIT_ASSERT_LT(nic->test, nic->delivered, FAKE_MAX_FRAMES);
	nic->frames[nic->delivered++] = skb;
}

static void fake_free_frames(void *ctx)
{
	struct fake_nic *nic = ctx;
	unsigned int i;

	for (i = 0; i < nic->delivered; i++)
		kfree_skb(nic->frames[i]);
}

static void drop_netdev(void *netdev)
{
	free_netdev(netdev);
}

struct fake_nic *fake_nic_new(struct kunit *test)
{
	struct fake_nic *nic = kunit_kzalloc(test, sizeof(*nic), GFP_KERNEL);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, nic);
	nic->test = test;
	nic->dma = fake_dma_new(test);
	nic->netdev = alloc_etherdev(0);
	KUNIT_ASSERT_NOT_NULL(test, nic->netdev);
	err = kunit_add_action_or_reset(test, drop_netdev, nic->netdev);
	KUNIT_ASSERT_EQ(test, 0, err);
	err = kunit_add_action_or_reset(test, fake_free_frames, nic);
	KUNIT_ASSERT_EQ(test, 0, err);
	eth_hw_addr_set(nic->netdev, "\x02\x00\x00\x00\x00\x01");
	nic->napi.dev = nic->netdev;
	return nic;
}

/* With a spare slot, as 8254x has it: head == tail means empty. */
void fake_rx_open(struct fake_nic *nic, u32 size, u32 room)
{
	struct rs_rx *rx = &nic->rx;

	rx->ops = &fake_rx_ops;
	rx->netdev = nic->netdev;
	rx->napi = &nic->napi;
	rx->sink = fake_sink;
	rx->bufs.dma = &nic->dma->dma;
	u64_stats_init(&rx->syncp);
	KUNIT_ASSERT_LE(nic->test, size, FAKE_MAX_SLOTS);
	KUNIT_ASSERT_EQ(nic->test, 0, rs_rx_init(rx, size, 1, room));
	rx->bufs.in_napi = true;
	local_bh_disable();
	rs_rx_refill(rx);
	local_bh_enable();
}

void fake_rx_close(struct fake_nic *nic)
{
	rs_rx_exit(&nic->rx);
}

void fake_tx_open(struct fake_nic *nic, u32 size, u32 spare, u32 need)
{
	struct rs_tx *tx = &nic->tx;

	tx->ops = &fake_tx_ops;
	tx->netdev = nic->netdev;
	tx->queue = netdev_get_tx_queue(nic->netdev, 0);
	/* what registration would do: a wake schedules the qdisc */
	rcu_assign_pointer(tx->queue->qdisc, &noop_qdisc);
	tx->dma = &nic->dma->dma;
	u64_stats_init(&tx->xmit_syncp);
	u64_stats_init(&tx->done_syncp);
	KUNIT_ASSERT_LE(nic->test, size, FAKE_MAX_SLOTS);
	KUNIT_ASSERT_EQ(nic->test, 0, rs_tx_init(tx, size, spare, need));
	netif_tx_start_queue(tx->queue);
}

void fake_tx_close(struct fake_nic *nic)
{
	rs_tx_exit(&nic->tx);
}

bool fake_receive(struct fake_nic *nic, const void *data, u32 len,
		  const struct rs_frame *frame)
{
	u32 slot = nic->rx_next % nic->rx.ring.size;
	struct fake_desc *desc = &nic->rx_desc[slot];

	if (!desc->device)
		return false;
	fake_dma_write(nic->dma, desc->addr, data, len);
	desc->frame = *frame;
	desc->device = false;
	nic->rx_next++;
	return true;
}

void fake_frame_fill(u8 *data, u32 len, u8 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		data[i] = seed + 7 * i;
	if (len >= ETH_HLEN)
		memcpy(data + 12, "\x08\x00", 2);
}

bool fake_receive_good(struct fake_nic *nic, u32 len, u8 seed)
{
	struct rs_frame frame = {
		.len = len + ETH_FCS_LEN, .whole = true, .last = true,
	};
	u8 *data = kunit_kzalloc(nic->test, len + ETH_FCS_LEN, GFP_KERNEL);
	bool received;

	KUNIT_ASSERT_NOT_NULL(nic->test, data);
	fake_frame_fill(data, len, seed);
	received = fake_receive(nic, data, len + ETH_FCS_LEN, &frame);
	kunit_kfree(nic->test, data);
	return received;
}

u32 fake_poll(struct fake_nic *nic)
{
	u32 taken;

	local_bh_disable();
	taken = rs_rx_service(&nic->rx, 64);
	rs_rx_refill(&nic->rx);
	rs_rx_count(&nic->rx);
	local_bh_enable();
	return taken;
}

unsigned int fake_transmit(struct fake_nic *nic, unsigned int count)
{
	unsigned int sent = 0;

	while (sent < count) {
		struct fake_desc *desc;
		bool first = true;

		do {
			desc = &nic->tx_desc[nic->tx_next % nic->tx.ring.size];
			if (!desc->device)
				return sent;
			KUNIT_EXPECT_EQ(nic->test, first, desc->first);
			KUNIT_EXPECT_NOT_NULL(nic->test,
					      fake_dma_find(nic->dma, desc->addr));
			first = false;
			desc->device = false;
			nic->tx_next++;
		} while (!desc->last);
		sent++;
	}
	return sent;
}

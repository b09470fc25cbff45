// SPDX-License-Identifier: GPL-2.0-only
/* The transmit path over one ring: map, post, complete, stop and wake. */

#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "tx.h"

/**
 * rs_tx_init() - an empty transmit ring
 * @tx: netdev, queue, access, dma, ops and desc are set by the caller
 * @size: slots, a power of two
 * @spare: slots that must stay empty
 * @need: slots the largest packet takes
 *
 * Return: 0 or a negative error; -EINVAL if the largest packet does not fit.
 */
int rs_tx_init(struct rs_tx *tx, u32 size, u32 spare, u32 need)
{
	int err;

	err = rs_ring_init(&tx->ring, size, spare, &tx->ops->ring, tx);
	if (err)
		return err;
	if (!need || need > tx->ring.limit)
		return -EINVAL;
	tx->need = need;
	tx->slots = kvcalloc(size, sizeof(*tx->slots), GFP_KERNEL);
	return tx->slots ? 0 : -ENOMEM;
}

static void rs_tx_unmap(struct rs_tx *tx, u32 position, u32 count)
{
	u32 i;

	if (tx->copies)
		return;
	for (i = 0; i < count; i++) {
		u32 slot = rs_ring_slot(&tx->ring, position + i);

		rs_piece_unmap(tx->dma, &tx->slots[slot].piece);
	}
}

/*
 * Drop what is in flight and forget it, BQL's account included. The device
 * must have stopped and neither xmit nor completion may run.
 */
void rs_tx_exit(struct rs_tx *tx)
{
	struct rs_ring *ring = &tx->ring;

	if (!tx->slots)
		return;
	while (rs_ring_used(ring)) {
		struct rs_tx_slot *first;

		first = &tx->slots[rs_ring_slot(ring, ring->cons)];
		rs_tx_unmap(tx, ring->cons, first->count);
		dev_kfree_skb_any(first->skb);
		rs_ring_take(ring, first->count);
	}
	netdev_tx_reset_queue(tx->queue);
	kvfree(tx->slots);
	tx->slots = NULL;
}

static void rs_tx_count(struct rs_tx *tx, enum rs_tx_stat stat)
{
	unsigned long flags;

	flags = u64_stats_update_begin_irqsave(&tx->xmit_syncp);
	u64_stats_inc(&tx->stats[stat]);
	u64_stats_update_end_irqrestore(&tx->xmit_syncp, flags);
}

static void rs_tx_ring_doorbell(struct rs_tx *tx)
{
	tx->ops->doorbell(tx, rs_ring_slot(&tx->ring, tx->ring.prod));
}

/* The whole packet into the next slot's own memory. */
static int rs_tx_copy(struct rs_tx *tx, const struct sk_buff *skb,
		      struct rs_piece *piece)
{
	u32 offset = rs_ring_slot(&tx->ring, tx->ring.prod) * tx->copy_room;

	if (skb->len > tx->copy_room)
		return -EMSGSIZE;
	piece->addr = tx->copies_addr + offset;
	piece->len = skb->len;
	return skb_copy_bits(skb, 0, tx->copies + offset, skb->len) ?: 1;
}

/* Write the descriptors of a mapped packet and remember how to undo it. */
static void rs_tx_fill(struct rs_tx *tx, struct sk_buff *skb,
		       const struct rs_piece *pieces, int count)
{
	struct rs_tx_slot *first = NULL;
	int i;

	for (i = 0; i < count; i++) {
		u32 slot = rs_ring_slot(&tx->ring, tx->ring.prod + i);

		tx->slots[slot].piece = pieces[i];
		tx->slots[slot].skb = NULL;
		if (!i)
			first = &tx->slots[slot];
		tx->ops->set(tx, slot, &pieces[i], !i, i == count - 1);
	}
	first->skb = skb;
	first->bytes = skb->len;
	first->count = count;
}

/**
 * rs_tx_xmit() - send one packet; called under the queue's lock
 * @tx: the ring
 * @skb: the packet, taken over unless NETDEV_TX_BUSY is returned
 * @more: another packet follows at once, the doorbell may wait for it
 */
netdev_tx_t rs_tx_xmit(struct rs_tx *tx, struct sk_buff *skb, bool more)
{
	struct rs_piece pieces[MAX_SKB_FRAGS + 1];
	bool ring_now;
	int count;

	if (unlikely(rs_ring_free(&tx->ring) < tx->need)) {
		/* Earlier packets may still wait for the doorbell of this one. */
		rs_tx_ring_doorbell(tx);
		rs_ring_maybe_stop(&tx->ring, tx->queue, tx->need);
		rs_tx_count(tx, RS_TX_BUSY);
		return NETDEV_TX_BUSY;
	}

	/* Not all chips pad, and those that do send old memory. */
	if (skb_put_padto(skb, ETH_ZLEN))
		goto dropped;
	/* In software on every chip: see NETIF_F_HW_CSUM in netdev.c. */
	if (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(skb)) {
		rs_tx_count(tx, RS_TX_SUM_FAILED);
		dev_kfree_skb_any(skb);
		goto dropped;
	}
	count = tx->copies ? rs_tx_copy(tx, skb, pieces) :
			     rs_pieces_map(tx->dma, skb, pieces);
	if (unlikely(count < 0)) {
		rs_tx_count(tx, RS_TX_MAP_FAILED);
		dev_kfree_skb_any(skb);
		goto dropped;
	}

	rs_tx_fill(tx, skb, pieces, count);
	skb_tx_timestamp(skb);
	/* Accounted before the device can complete it; skb is not ours after. */
	ring_now = __netdev_tx_sent_queue(tx->queue, skb->len, more);
	rs_ring_give_chain(&tx->ring, count);
	if (rs_ring_maybe_stop(&tx->ring, tx->queue, tx->need)) {
		rs_tx_count(tx, RS_TX_STOPPED);
		ring_now = true;
	}
	if (ring_now)
		rs_tx_ring_doorbell(tx);
	return NETDEV_TX_OK;

dropped:
	if (!more)
		rs_tx_ring_doorbell(tx);
	return NETDEV_TX_OK;
}

/**
 * rs_tx_complete() - free what the device has sent; one caller at a time
 * @tx: the ring
 * @napi_budget: the poll's, 0 outside a poll
 *
 * Only the last descriptor of a packet is looked at: chips write the status
 * there, and some nowhere else.
 *
 * Return: packets freed.
 */
u32 rs_tx_complete(struct rs_tx *tx, int napi_budget)
{
	struct rs_ring *ring = &tx->ring;
	unsigned long flags;
	u32 packets = 0;
	u32 bytes = 0;
	u32 looked = 0;
	bool woken;

	/* Bounded by the ring: xmit may go on posting meanwhile. */
	while (looked < ring->size && rs_ring_used(ring)) {
		struct rs_tx_slot *first;
		u32 count;

		first = &tx->slots[rs_ring_slot(ring, ring->cons)];
		/* prod was read: what it covers has been written */
		smp_rmb();
		count = first->count;
		if (!rs_ring_returned(ring, ring->cons + count - 1))
			break;

		rs_tx_unmap(tx, ring->cons, count);
		packets++;
		bytes += first->bytes;
		napi_consume_skb(first->skb, napi_budget);
		first->skb = NULL;
		rs_ring_take(ring, count);
		looked += count;
	}
	if (!packets)
		return 0;

	netdev_tx_completed_queue(tx->queue, packets, bytes);
	woken = rs_ring_maybe_wake(ring, tx->queue,
				   min(2 * tx->need, ring->limit));
	flags = u64_stats_update_begin_irqsave(&tx->done_syncp);
	u64_stats_add(&tx->stats[RS_TX_PACKETS], packets);
	u64_stats_add(&tx->stats[RS_TX_BYTES], bytes);
	u64_stats_add(&tx->stats[RS_TX_WOKEN], woken);
	u64_stats_update_end_irqrestore(&tx->done_syncp, flags);
	return packets;
}

/* One counter, torn-free on 32-bit machines. */
u64 rs_tx_stat(struct rs_tx *tx, enum rs_tx_stat stat)
{
	struct u64_stats_sync *syncp = &tx->xmit_syncp;
	unsigned int start;
	u64 value;

	if (stat == RS_TX_PACKETS || stat == RS_TX_BYTES || stat == RS_TX_WOKEN)
		syncp = &tx->done_syncp;
	do {
		start = u64_stats_fetch_begin(syncp);
		value = u64_stats_read(&tx->stats[stat]);
	} while (u64_stats_fetch_retry(syncp, start));
	return value;
}

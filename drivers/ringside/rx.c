// SPDX-License-Identifier: GPL-2.0-only
/* The receive path over one ring: schemes, length checks, drop points. */

#include <linux/prefetch.h>
#include <linux/slab.h>

#include "rx_frame.h"

/**
 * rs_rx_init() - an empty ring of buffers of @room bytes
 * @rx: netdev, access, ops, desc and bufs.dma are set by the caller
 * @size: slots, a power of two
 * @spare: slots that must stay empty
 * @room: bytes per buffer that the device may write
 *
 * Return: 0 or a negative error.
 */
int rs_rx_init(struct rs_rx *rx, u32 size, u32 spare, u32 room)
{
	int err;

	err = rs_ring_init(&rx->ring, size, spare, &rx->ops->ring, rx);
	if (err)
		return err;
	err = rs_bufs_init(&rx->bufs, rx->bufs.dma, room);
	if (err)
		return err;
	rx->slots = kvcalloc(size, sizeof(*rx->slots), GFP_KERNEL);
	if (!rx->slots)
		return -ENOMEM;

	rx->discarding = false;
	rx->unrung = 0;
	/*
	 * A doorbell costs a register write, and 16 buffers of a large ring are
	 * soon filled; of a small ring never keep back more than a quarter.
	 */
	rx->doorbell_batch = min(16u, max(1u, size / 4));
	return 0;
}

/* Give back every buffer. The device must have stopped. */
void rs_rx_exit(struct rs_rx *rx)
{
	u32 i;

	if (!rx->slots)
		return;
	for (i = 0; i < rx->ring.size; i++)
		rs_buf_put(&rx->bufs, &rx->slots[i]);
	kvfree(rx->slots);
	rx->slots = NULL;
}

/* Count one of those that not every frame changes. */
void rs_rx_note(struct rs_rx *rx, enum rs_rx_stat stat)
{
	rx->fresh[stat]++;
	rx->unusual = true;
}

/* A slot keeps a buffer that was only copied from; else it gets a new one. */
int rs_rx_fill(void *ctx, u32 slot)
{
	struct rs_rx *rx = ctx;
	struct rs_buf *buf = &rx->slots[slot];

	if (buf->kind == RS_BUF_NONE) {
		enum rs_buf_kind kind = RS_BUF_OWN;
		int err;

		if (rx->scheme == RS_RX_PAGE_POOL)
			kind = RS_BUF_POOL;
		err = rs_buf_get(&rx->bufs, buf, kind);
		if (err) {
			rs_rx_note(rx, RS_RX_REFILL_FAILED);
			return err;
		}
	}
	rx->ops->arm(rx, slot, buf->addr);
	return 0;
}

/**
 * rs_rx_refill() - fill the ring and ring the doorbell when it is worth it
 * @rx: the ring
 *
 * Return: true if the device has no buffer at all. Then no interrupt will come
 * to try again, so the caller has to, a little later.
 */
bool rs_rx_refill(struct rs_rx *rx)
{
	struct rs_ring *ring = &rx->ring;

	if (rs_ring_free(ring))
		rx->unrung += rs_ring_refill(ring, ring->size);
	if (rx->ops->doorbell && rx->unrung &&
	    (rx->unrung >= rx->doorbell_batch ||
	     rs_ring_used(ring) - rx->unrung < ring->size / 4)) {
		rx->ops->doorbell(rx, rs_ring_slot(ring, ring->prod));
		rx->unrung = 0;
	}
	return !rs_ring_used(ring);
}

/*
 * Lengths come from the device and are not believed: a frame has at least an
 * Ethernet header, and its bytes lie within the buffer. A frame over several
 * buffers is longer than any that was allowed, so it is dropped whole, tail
 * included.
 */
static bool rs_rx_good(struct rs_rx *rx, const struct rs_frame *frame, u32 room)
{
	bool tail = rx->discarding;

	if (likely(frame->good && !tail &&
		   frame->len >= ETH_HLEN + ETH_FCS_LEN && frame->len <= room))
		return true;
	if (frame->good) {
		rx->discarding = false;
		if (!tail)
			rs_rx_note(rx, RS_RX_LENGTH_ERRORS);
		return false;
	}
	if (!frame->last || !frame->whole || tail) {
		rx->discarding = !frame->last;
		if (!tail)
			rs_rx_note(rx, RS_RX_LENGTH_ERRORS);
	} else if (frame->crc_error) {
		rs_rx_note(rx, RS_RX_CRC_ERRORS);
	} else if (frame->align_error) {
		rs_rx_note(rx, RS_RX_ALIGN_ERRORS);
	} else if (frame->fifo_error) {
		rs_rx_note(rx, RS_RX_FIFO_ERRORS);
	} else if (frame->length_error ||
		   frame->len < ETH_HLEN + ETH_FCS_LEN || frame->len > room) {
		rs_rx_note(rx, RS_RX_LENGTH_ERRORS);
	} else {
		return true;
	}
	return false;
}

static struct sk_buff *rs_rx_copy(struct rs_rx *rx, struct rs_buf *buf, u32 len)
{
	struct sk_buff *skb = rs_rx_alloc(rx, len);

	if (unlikely(!skb))
		return NULL;
	rs_buf_sync_for_cpu(&rx->bufs, buf, len);
	skb_put_data(skb, rs_buf_data(&rx->bufs, buf), len);
	rs_buf_sync_for_device(&rx->bufs, buf, len);
	rx->fresh[RS_RX_COPIED]++;
	return skb;
}

static bool rs_rx_copies(const struct rs_rx *rx, u32 len)
{
	switch (rx->scheme) {
	case RS_RX_COPY:
		return true;
	case RS_RX_COPYBREAK:
		return len <= rx->copybreak;
	default:
		return false;
	}
}

/* A drop point is set; true if the frame goes to the stack to be dropped there. */
bool rs_rx_drops(struct rs_rx *rx, struct sk_buff *skb)
{
	if (rx->drop == RS_DROP_DRIVER) {
		rs_rx_note(rx, RS_RX_DROPPED);
		dev_kfree_skb_any(skb);
		return false;
	}
	if (rx->drop == RS_DROP_STACK_RAW) {
		skb->dev = rx->netdev;
		skb->pkt_type = PACKET_OTHERHOST;
		skb_reset_mac_header(skb);
	} else {
		eth_type_trans(skb, rx->netdev);
	}
	skb->protocol = htons(RS_ETH_P_NOBODY);
	return true;
}

/* Take one slot that came back; a buffer that stays here is posted at once. */
static void rs_rx_one(struct rs_rx *rx, u32 slot)
{
	struct rs_buf buf = rx->slots[slot];
	struct sk_buff *skb = NULL;
	struct rs_frame frame;

	frame.good = false;
	rx->ops->frame(rx, slot, &frame);
	rx->slots[slot].kind = RS_BUF_NONE;
	rs_ring_take(&rx->ring, 1);

	if (likely(rs_rx_good(rx, &frame, rx->bufs.room))) {
		u32 len = frame.len - ETH_FCS_LEN;

		if (rx->prefetch)
			net_prefetch(rs_buf_data(&rx->bufs, &buf));
		if (rs_rx_copies(rx, len)) {
			skb = rs_rx_copy(rx, &buf, len);
		} else {
			skb = rs_buf_hand_up(&rx->bufs, &buf, len);
			if (skb)
				rx->fresh[RS_RX_HANDED_UP]++;
		}
		if (unlikely(!skb))
			rs_rx_note(rx, RS_RX_NO_MEMORY);
	}

	if (buf.kind != RS_BUF_NONE) {
		/* A slot was just taken, and the one at prod has no buffer. */
		rx->slots[rs_ring_slot(&rx->ring, rx->ring.prod)] = buf;
		if (!rs_ring_post(&rx->ring))
			rx->unrung++;
	}
	if (skb)
		rs_rx_deliver(rx, skb, skb->len);
}

/* Those that not every frame changes. */
void rs_rx_count_unusual(struct rs_rx *rx)
{
	int i;

	for (i = RS_RX_USUAL; i < RS_RX_STATS; i++) {
		u64_stats_add(&rx->stats[i], rx->fresh[i]);
		rx->fresh[i] = 0;
	}
	rx->unusual = false;
}

/* rs_rx_service() of a chip with a buffer in every slot. */
u32 rs_rx_service_slots(struct rs_rx *rx, u32 budget)
{
	u32 taken = 0;

	while (taken < budget) {
		int slot = rs_ring_next(&rx->ring);

		if (slot < 0)
			break;
		rs_rx_one(rx, slot);
		taken++;
	}
	return taken;
}

/* One counter, torn-free on 32-bit machines. */
u64 rs_rx_stat(struct rs_rx *rx, enum rs_rx_stat stat)
{
	unsigned int start;
	u64 value;

	do {
		start = u64_stats_fetch_begin(&rx->syncp);
		value = u64_stats_read(&rx->stats[stat]);
	} while (u64_stats_fetch_retry(&rx->syncp, start));
	return value;
}

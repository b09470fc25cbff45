// SPDX-License-Identifier: GPL-2.0-only
/* A descriptor ring as indices only: who owns which slot, and when that changes. */

#include <linux/errno.h>
#include <linux/log2.h>

#include "ring.h"

/**
 * rs_ring_init() - start with an empty ring that the driver owns wholly
 * @ring: the ring
 * @size: slots, a power of two
 * @spare: slots that must stay empty (1 where the device reads head == tail
 *	as empty, 0 where every descriptor has an owner bit)
 * @ops: the descriptors
 * @ctx: handed to @ops
 *
 * Return: 0, or -EINVAL for a size that cannot be.
 */
int rs_ring_init(struct rs_ring *ring, u32 size, u32 spare,
		 const struct rs_ring_ops *ops, void *ctx)
{
	if (!is_power_of_2(size) || spare >= size)
		return -EINVAL;

	ring->size = size;
	ring->limit = size - spare;
	ring->prod = 0;
	ring->cons = 0;
	ring->ops = ops;
	ring->ctx = ctx;
	return 0;
}

/**
 * rs_ring_post() - prepare the next slot and hand it to the device
 * @ring: the ring
 *
 * Return: 0, -ENOSPC when the ring is full, or what fill returned; then the
 * slot is still the driver's.
 */
int rs_ring_post(struct rs_ring *ring)
{
	u32 slot = rs_ring_slot(ring, ring->prod);
	int err;

	if (!rs_ring_free(ring))
		return -ENOSPC;
	err = ring->ops->fill(ring->ctx, slot);
	if (err)
		return err;

	/* The device must see the address before it sees that the slot is its. */
	dma_wmb();
	ring->ops->give(ring->ctx, slot);
	WRITE_ONCE(ring->prod, ring->prod + 1);
	return 0;
}

/**
 * rs_ring_refill() - post slots until the ring is full or one cannot be filled
 * @ring: the ring
 * @max: stop after so many, to bound the work of one poll
 *
 * Return: the number posted.
 */
u32 rs_ring_refill(struct rs_ring *ring, u32 max)
{
	u32 posted = 0;

	while (posted < max && !rs_ring_post(ring))
		posted++;
	return posted;
}

/**
 * rs_ring_give_chain() - hand over the next slots, which the caller has filled
 * @ring: the ring
 * @count: slots of one packet, at least 1 and at most rs_ring_free()
 *
 * The first goes last: a device that reads ahead stops at a descriptor it does
 * not own, so it never finds the head of a packet whose tail is not there yet.
 */
void rs_ring_give_chain(struct rs_ring *ring, u32 count)
{
	u32 i;

	/* Everything the slots point to and say, before anything is given. */
	dma_wmb();
	for (i = count - 1; i; i--)
		ring->ops->give(ring->ctx, rs_ring_slot(ring, ring->prod + i));
	/* The tail before the head. */
	dma_wmb();
	ring->ops->give(ring->ctx, rs_ring_slot(ring, ring->prod));

	/* Pairs with the acquire in rs_ring_returned(). */
	smp_store_release(&ring->prod, ring->prod + count);
}

/**
 * rs_ring_returned() - has the device handed back the slot at a position?
 * @ring: the ring
 * @position: a position, not a slot
 *
 * Return: false for a position not in flight, whatever its descriptor says: an
 * empty slot's owner bit is the driver's too.
 */
bool rs_ring_returned(const struct rs_ring *ring, u32 position)
{
	/* Pairs with the release in rs_ring_give_chain(). */
	u32 in_flight = smp_load_acquire(&ring->prod) - ring->cons;

	if (position - ring->cons >= in_flight)
		return false;
	if (!ring->ops->mine(ring->ctx, rs_ring_slot(ring, position)))
		return false;

	/* What the device wrote besides the owner bit is read after the bit. */
	dma_rmb();
	return true;
}

/* The slot that came back first, or -1 when none did. */
int rs_ring_next(const struct rs_ring *ring)
{
	if (!rs_ring_returned(ring, ring->cons))
		return -1;
	return rs_ring_slot(ring, ring->cons);
}

/**
 * rs_ring_stays_stopped() - the second look, after the queue was stopped
 * @ring: the transmit ring
 * @queue: its queue, stopped
 * @need: slots the largest packet takes
 *
 * Stopped, then look again; the completion frees, then looks whether stopped.
 *
 * Return: false if slots came free meanwhile and the queue runs again.
 */
bool rs_ring_stays_stopped(struct rs_ring *ring, struct netdev_queue *queue,
			   u32 need)
{
	/* With one here and one in the completion, one sees the other. */
	smp_mb();
	if (likely(rs_ring_free(ring) < need))
		return true;

	netif_tx_start_queue(queue);
	return false;
}

/**
 * rs_ring_maybe_stop() - stop the queue when the next packet might not fit
 * @ring: the transmit ring
 * @queue: its queue
 * @need: slots the largest packet takes
 *
 * Return: true if the queue is left stopped; the caller then must not put off
 * its doorbell, since no further packet will ring it.
 */
bool rs_ring_maybe_stop(struct rs_ring *ring, struct netdev_queue *queue,
			u32 need)
{
	if (likely(rs_ring_free(ring) >= need))
		return false;

	netif_tx_stop_queue(queue);
	return rs_ring_stays_stopped(ring, queue, need);
}

/**
 * rs_ring_maybe_wake() - wake a stopped queue when the largest packet fits
 * @ring: the transmit ring
 * @queue: its queue
 * @need: slots that must be free; more than one packet's, or each completion
 *	would wake the queue for a single packet
 *
 * Return: true if it woke the queue.
 */
bool rs_ring_maybe_wake(struct rs_ring *ring, struct netdev_queue *queue,
			u32 need)
{
	/* Pairs with the barrier in rs_ring_stays_stopped(). */
	smp_mb();
	if (likely(!netif_tx_queue_stopped(queue)))
		return false;
	if (rs_ring_free(ring) < need)
		return false;

	netif_tx_wake_queue(queue);
	return true;
}

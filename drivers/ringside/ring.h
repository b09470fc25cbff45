/* SPDX-License-Identifier: GPL-2.0-only */
/* A descriptor ring as indices only: who owns which slot, and when that changes. */
#ifndef RINGSIDE_RING_H
#define RINGSIDE_RING_H

#include <linux/netdevice.h>
#include <linux/types.h>

/* What a ring asks of its descriptors. */
struct rs_ring_ops {
	/* Prepare a slot; the device must not see it as its own yet. */
	int (*fill)(void *ctx, u32 slot);
	/* Hand a prepared slot to the device. */
	void (*give)(void *ctx, u32 slot);
	/* Has the device handed the slot back? */
	bool (*mine)(void *ctx, u32 slot);
};

/*
 * Positions run freely and wrap at 2^32; the slot is the position modulo the
 * size, a power of two. One context moves prod, one context moves cons, and
 * each reads the other's without a lock.
 */
struct rs_ring {
	u32 size;
	u32 limit;	/* slots that may be in flight: size minus the spare ones */
	u32 prod;	/* next position to hand to the device */
	u32 cons;	/* next position expected back */
	const struct rs_ring_ops *ops;
	void *ctx;
};

static inline u32 rs_ring_slot(const struct rs_ring *ring, u32 position)
{
	return position & (ring->size - 1);
}

/* Slots in flight. The caller moves one of the two ends, so the other is racy. */
static inline u32 rs_ring_used(const struct rs_ring *ring)
{
	return READ_ONCE(ring->prod) - READ_ONCE(ring->cons);
}

/* Slots that can be posted: who sees one free sees its last user gone. */
static inline u32 rs_ring_free(const struct rs_ring *ring)
{
	/* Pairs with the release in rs_ring_take(). */
	u32 cons = smp_load_acquire(&ring->cons);

	return ring->limit - (ring->prod - cons);
}

/* The driver is done with the oldest slots; they can be posted again. */
static inline void rs_ring_take(struct rs_ring *ring, u32 count)
{
	/* Pairs with the acquire in rs_ring_free(). */
	smp_store_release(&ring->cons, ring->cons + count);
}

int rs_ring_init(struct rs_ring *ring, u32 size, u32 spare,
		 const struct rs_ring_ops *ops, void *ctx);

int rs_ring_post(struct rs_ring *ring);
u32 rs_ring_refill(struct rs_ring *ring, u32 max);
void rs_ring_give_chain(struct rs_ring *ring, u32 count);

int rs_ring_next(const struct rs_ring *ring);
bool rs_ring_returned(const struct rs_ring *ring, u32 position);

bool rs_ring_maybe_stop(struct rs_ring *ring, struct netdev_queue *queue,
			u32 need);
bool rs_ring_stays_stopped(struct rs_ring *ring, struct netdev_queue *queue,
			   u32 need);
bool rs_ring_maybe_wake(struct rs_ring *ring, struct netdev_queue *queue,
			u32 need);

#endif

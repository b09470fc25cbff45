/* SPDX-License-Identifier: GPL-2.0-only */
/* The transmit path over one ring: map, post, complete, stop and wake. */
#ifndef RINGSIDE_TX_H
#define RINGSIDE_TX_H

#include <linux/netdevice.h>
#include <linux/u64_stats_sync.h>

#include "mapping.h"
#include "ring.h"

enum rs_tx_stat {
	RS_TX_PACKETS,
	RS_TX_BYTES,
	RS_TX_STOPPED,
	RS_TX_WOKEN,
	RS_TX_BUSY,		/* queue ran although nothing fits: must stay 0 */
	RS_TX_MAP_FAILED,
	RS_TX_SUM_FAILED,
	RS_TX_STATS,
};

struct rs_tx;

/* The transmit descriptors of a chip; ring.fill is not used. */
struct rs_tx_ops {
	struct rs_ring_ops ring;
	/* write a descriptor, do not hand it over */
	void (*set)(struct rs_tx *tx, u32 slot, const struct rs_piece *piece,
		    bool first, bool last);
	/* positions up to @slot (not included) are posted: start sending */
	void (*doorbell)(struct rs_tx *tx, u32 slot);
};

struct rs_tx_slot {
	struct rs_piece piece;
	struct sk_buff *skb;	/* in the first slot of a packet, else NULL */
	u32 bytes;		/* of the packet, as told to BQL */
	u32 count;		/* slots of the packet, in its first slot */
};

struct rs_tx {
	struct rs_ring ring;
	const struct rs_tx_ops *ops;
	void *desc;
	struct rs_tx_slot *slots;
	struct rs_dma *dma;
	struct rs_access *access;
	struct net_device *netdev;
	struct netdev_queue *queue;
	u32 need;	/* slots of the largest packet */
	/*
	 * Coherent memory of copy_room bytes per slot, for a chip that does not
	 * take a packet where it lies. Else NULL, and packets are mapped.
	 */
	void *copies;
	dma_addr_t copies_addr;
	u32 copy_room;

	/* xmit counts under the queue's lock, completion in its own context */
	u64_stats_t stats[RS_TX_STATS];
	struct u64_stats_sync xmit_syncp;
	struct u64_stats_sync done_syncp;
};

int rs_tx_init(struct rs_tx *tx, u32 size, u32 spare, u32 need);
void rs_tx_exit(struct rs_tx *tx);
netdev_tx_t rs_tx_xmit(struct rs_tx *tx, struct sk_buff *skb, bool more);
u32 rs_tx_complete(struct rs_tx *tx, int napi_budget);
u64 rs_tx_stat(struct rs_tx *tx, enum rs_tx_stat stat);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* The receive path over one ring: schemes, length checks, drop points. */
#ifndef RINGSIDE_RX_H
#define RINGSIDE_RX_H

#include <linux/netdevice.h>
#include <linux/u64_stats_sync.h>

#include "mapping.h"
#include "ring.h"

/* What happens to the buffer of a received frame. */
enum rs_rx_scheme {
	RS_RX_COPYBREAK,	/* up to the threshold copied, longer ones handed up */
	RS_RX_COPY,		/* stays mapped, the frame is copied out */
	RS_RX_MAP,		/* unmapped and handed up, another is mapped */
	RS_RX_PAGE_POOL,	/* handed up, comes back mapped from the pool */
};

/* Where a good frame ends. */
enum rs_drop {
	RS_DROP_NONE,
	RS_DROP_STACK,		/* stack entry, after eth_type_trans() */
	RS_DROP_STACK_RAW,	/* stack entry, without reading the frame */
	RS_DROP_DRIVER,		/* freed here */
};

/* No protocol of this number exists (reserved by IANA), so nobody takes it. */
#define RS_ETH_P_NOBODY 0xffff

/* What a descriptor says about the buffer it covers. */
struct rs_frame {
	u32 len;	/* bytes written, FCS included */
	/* whole and without any error: then nothing below need be set */
	bool good;
	bool whole;	/* the frame begins and ends in this buffer */
	bool last;	/* the frame ends in this buffer */
	bool crc_error;
	bool align_error;
	bool fifo_error;
	bool length_error;
};

enum rs_rx_stat {
	RS_RX_PACKETS,
	RS_RX_BYTES,
	RS_RX_COPIED,
	RS_RX_HANDED_UP,
	RS_RX_USUAL,		/* those above change with every frame */
	RS_RX_RUNTS = RS_RX_USUAL,	/* shorter than ETH_ZLEN and passed on */
	RS_RX_DROPPED,		/* drop point in the driver */
	RS_RX_NO_MEMORY,
	RS_RX_REFILL_FAILED,
	RS_RX_LENGTH_ERRORS,
	RS_RX_CRC_ERRORS,
	RS_RX_ALIGN_ERRORS,
	RS_RX_FIFO_ERRORS,
	RS_RX_RESTARTS,		/* receiver lost its place and started anew */
	RS_RX_STATS,
};

struct rs_rx;

/* The receive descriptors of a chip; ring.fill is rs_rx_fill(). */
struct rs_rx_ops {
	struct rs_ring_ops ring;
	/* write the buffer's address, do not hand it over */
	void (*arm)(struct rs_rx *rx, u32 slot, dma_addr_t addr);
	void (*frame)(struct rs_rx *rx, u32 slot, struct rs_frame *frame);
	/* tell the device how far it may go; NULL if it polls the owner bits */
	void (*doorbell)(struct rs_rx *rx, u32 slot);
	/*
	 * For a chip with one buffer for all frames, else NULL: rs_rx_service()
	 * by rs_rx_copy_frame(). Then only ring.fill and ring.give are called.
	 */
	u32 (*service)(struct rs_rx *rx, u32 budget);
};

struct rs_rx {
	struct rs_ring ring;
	const struct rs_rx_ops *ops;
	void *desc;
	struct rs_buf *slots;
	struct rs_bufs bufs;
	struct rs_access *access;
	struct net_device *netdev;
	struct napi_struct *napi;	/* NULL in scheme irq */
	/* where frames go instead of the stack, in tests */
	void (*sink)(struct rs_rx *rx, struct sk_buff *skb);

	enum rs_rx_scheme scheme;
	u32 copybreak;
	enum rs_drop drop;
	bool prefetch;
	bool gro;
	bool discarding;	/* inside a frame that spans buffers */
	u32 unrung;		/* posted since the last doorbell */
	u32 at;			/* next header in one buffer for all frames */
	u32 doorbell_batch;

	u64 fresh[RS_RX_STATS];	/* of this call, not yet in stats */
	bool unusual;		/* some of fresh[] from RS_RX_USUAL on is not 0 */
	u64_stats_t stats[RS_RX_STATS];
	struct u64_stats_sync syncp;
};

int rs_rx_init(struct rs_rx *rx, u32 size, u32 spare, u32 room);
void rs_rx_exit(struct rs_rx *rx);
int rs_rx_fill(void *ctx, u32 slot);
bool rs_rx_refill(struct rs_rx *rx);
u32 rs_rx_service_slots(struct rs_rx *rx, u32 budget);
void rs_rx_note(struct rs_rx *rx, enum rs_rx_stat stat);
bool rs_rx_drops(struct rs_rx *rx, struct sk_buff *skb);
void rs_rx_count_unusual(struct rs_rx *rx);
u64 rs_rx_stat(struct rs_rx *rx, enum rs_rx_stat stat);

/**
 * rs_rx_service() - take up to @budget buffers, or frames, that came back
 * @rx: the ring
 * @budget: poll weight; bounds the call in scheme irq too
 *
 * The caller refills.
 *
 * Return: the number taken.
 */
static inline u32 rs_rx_service(struct rs_rx *rx, u32 budget)
{
	if (rx->ops->service)
		return rx->ops->service(rx, budget);
	return rs_rx_service_slots(rx, budget);
}

/* Move the counts of this call where readers see them. */
static inline void rs_rx_count(struct rs_rx *rx)
{
	unsigned long flags;
	int i;

	flags = u64_stats_update_begin_irqsave(&rx->syncp);
	for (i = 0; i < RS_RX_USUAL; i++) {
		u64_stats_add(&rx->stats[i], rx->fresh[i]);
		rx->fresh[i] = 0;
	}
	if (unlikely(rx->unusual))
		rs_rx_count_unusual(rx);
	u64_stats_update_end_irqrestore(&rx->syncp, flags);
}

#endif

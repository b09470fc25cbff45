/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers and their mappings: who maps, syncs and unmaps, and the way back. */
#ifndef RINGSIDE_MAPPING_H
#define RINGSIDE_MAPPING_H

#include <linux/skbuff.h>

#include "access.h"

struct page_pool;
struct napi_struct;

enum rs_buf_kind {
	RS_BUF_NONE,	/* no buffer here */
	RS_BUF_OWN,	/* allocated, mapped and unmapped by this driver */
	RS_BUF_POOL,	/* a page of the pool, which keeps it mapped */
};

/* One receive buffer, mapped as long as it has a kind. */
struct rs_buf {
	void *head;
	dma_addr_t addr;	/* of head + headroom */
	enum rs_buf_kind kind;
};

/* What all buffers of one receive ring have in common. */
struct rs_bufs {
	struct rs_dma *dma;
	struct page_pool *pool;	/* NULL unless the scheme is page_pool */
	u32 headroom;		/* kept free for the stack */
	u32 room;		/* bytes the device may write */
	u32 size;		/* the whole buffer, skb_shared_info included */
	bool in_napi;		/* every caller runs in softirq context */
};

int rs_bufs_init(struct rs_bufs *bufs, struct rs_dma *dma, u32 room);
int rs_buf_get(struct rs_bufs *bufs, struct rs_buf *buf, enum rs_buf_kind kind);
void rs_buf_put(struct rs_bufs *bufs, struct rs_buf *buf);
void rs_buf_sync_for_cpu(struct rs_bufs *bufs, struct rs_buf *buf, u32 len);
void rs_buf_sync_for_device(struct rs_bufs *bufs, struct rs_buf *buf, u32 len);
struct sk_buff *rs_buf_hand_up(struct rs_bufs *bufs, struct rs_buf *buf,
			       u32 len);

static inline void *rs_buf_data(const struct rs_bufs *bufs,
				const struct rs_buf *buf)
{
	return buf->head + bufs->headroom;
}

/* One mapped piece of a packet to send. */
struct rs_piece {
	dma_addr_t addr;
	u32 len;	/* 0 if nothing is mapped */
	bool page;	/* mapped as a page: the head is not, the fragments are */
};

int rs_pieces_map(struct rs_dma *dma, const struct sk_buff *skb,
		  struct rs_piece *pieces);
void rs_piece_unmap(struct rs_dma *dma, struct rs_piece *piece);

#endif

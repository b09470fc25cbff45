// SPDX-License-Identifier: GPL-2.0-only
/* Buffers and their mappings: who maps, syncs and unmaps, and the way back. */

#include <linux/mm.h>
#include <linux/netdevice.h>

#include "compat.h"
#include "mapping.h"

static int rs_map(struct rs_dma *dma, void *data, size_t size,
		  enum dma_data_direction dir, dma_addr_t *addr)
{
	if (dma->fake)
		return dma->fake->map(dma, virt_to_page(data),
				      offset_in_page(data), size, dir, addr);
	*addr = dma_map_single(dma->dev, data, size, dir);
	return dma_mapping_error(dma->dev, *addr) ? -ENOMEM : 0;
}

static int rs_map_frag(struct rs_dma *dma, const skb_frag_t *frag,
		       dma_addr_t *addr)
{
	if (dma->fake)
		return dma->fake->map(dma, skb_frag_page(frag),
				      skb_frag_off(frag), skb_frag_size(frag),
				      DMA_TO_DEVICE, addr);
	*addr = skb_frag_dma_map(dma->dev, frag, 0, skb_frag_size(frag),
				 DMA_TO_DEVICE);
	return dma_mapping_error(dma->dev, *addr) ? -ENOMEM : 0;
}

static void rs_unmap(struct rs_dma *dma, dma_addr_t addr, size_t size,
		     enum dma_data_direction dir, bool page)
{
	if (dma->fake)
		dma->fake->unmap(dma, addr, size, dir, page);
	else if (page)
		dma_unmap_page(dma->dev, addr, size, dir);
	else
		dma_unmap_single(dma->dev, addr, size, dir);
}

/**
 * rs_bufs_init() - work out the layout of a ring's buffers
 * @bufs: the buffers
 * @dma: the device that writes them
 * @room: bytes the device may write, as the chip is told
 *
 * headroom | room | skb_shared_info, each aligned as build_skb() wants it.
 * The headroom has no NET_IP_ALIGN: half of the chips want aligned buffers.
 * The size of skb_shared_info follows CONFIG_MAX_SKB_FRAGS, so it is never
 * written down as a number.
 *
 * Return: 0, or -EINVAL for no room.
 */
int rs_bufs_init(struct rs_bufs *bufs, struct rs_dma *dma, u32 room)
{
	if (!room)
		return -EINVAL;

	bufs->dma = dma;
	bufs->pool = NULL;
	bufs->headroom = NET_SKB_PAD;
	bufs->room = room;
	bufs->size = SKB_DATA_ALIGN(bufs->headroom + room) +
		     SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	bufs->in_napi = false;
	return 0;
}

/*
 * Fragments of a page are cheap but end at the page; larger buffers are pages
 * of their own, compound so that skb_free_frag() frees them all.
 */
static void *rs_buf_alloc(struct rs_bufs *bufs)
{
	if (bufs->size > PAGE_SIZE)
		return (void *)__get_free_pages(GFP_ATOMIC | __GFP_COMP |
						__GFP_NOWARN,
						get_order(bufs->size));
	if (bufs->in_napi)
		return napi_alloc_frag(bufs->size);
	return netdev_alloc_frag(bufs->size);
}

static u32 rs_buf_frag_size(const struct rs_bufs *bufs, const struct rs_buf *buf)
{
	if (buf->kind == RS_BUF_POOL)
		return PAGE_SIZE;
	if (bufs->size > PAGE_SIZE)
		return PAGE_SIZE << get_order(bufs->size);
	return bufs->size;
}

static int rs_buf_get_pool(struct rs_bufs *bufs, struct rs_buf *buf)
{
	struct rs_dma *dma = bufs->dma;
	dma_addr_t addr;
	struct page *page;

	if (dma->fake) {
		page = dma->fake->pool_get(dma, &addr);
	} else {
		page = page_pool_dev_alloc_pages(bufs->pool);
		if (page)
			addr = page_pool_get_dma_addr(page) + bufs->headroom;
	}
	if (!page)
		return -ENOMEM;

	buf->head = page_address(page);
	buf->addr = addr;
	buf->kind = RS_BUF_POOL;
	return 0;
}

/**
 * rs_buf_get() - allocate a buffer that the device can write
 * @bufs: the ring's buffers
 * @buf: set on success, untouched otherwise
 * @kind: RS_BUF_OWN or RS_BUF_POOL
 *
 * Return: 0 or -ENOMEM, with nothing left allocated or mapped.
 */
int rs_buf_get(struct rs_bufs *bufs, struct rs_buf *buf, enum rs_buf_kind kind)
{
	dma_addr_t addr;
	void *head;

	if (kind == RS_BUF_POOL)
		return rs_buf_get_pool(bufs, buf);

	head = rs_buf_alloc(bufs);
	if (!head)
		return -ENOMEM;
	if (rs_map(bufs->dma, head + bufs->headroom, bufs->room,
		   DMA_FROM_DEVICE, &addr)) {
		skb_free_frag(head);
		return -ENOMEM;
	}

	buf->head = head;
	buf->addr = addr;
	buf->kind = RS_BUF_OWN;
	return 0;
}

static void rs_pool_put(struct rs_bufs *bufs, struct rs_buf *buf)
{
	struct page *page = virt_to_page(buf->head);

	if (bufs->dma->fake)
		bufs->dma->fake->pool_put(bufs->dma, page);
	else
		page_pool_put_full_page(bufs->pool, page, false);
}

/* Unmap and free whatever is there; a slot without a buffer is fine. */
void rs_buf_put(struct rs_bufs *bufs, struct rs_buf *buf)
{
	if (buf->kind == RS_BUF_OWN) {
		rs_unmap(bufs->dma, buf->addr, bufs->room, DMA_FROM_DEVICE,
			 false);
		skb_free_frag(buf->head);
	} else if (buf->kind == RS_BUF_POOL) {
		rs_pool_put(bufs, buf);
	}
	buf->kind = RS_BUF_NONE;
}

static void rs_buf_sync(struct rs_bufs *bufs, struct rs_buf *buf, u32 len,
			bool to_device)
{
	struct rs_dma *dma = bufs->dma;

	if (dma->fake)
		dma->fake->sync(dma, buf->addr, len, DMA_FROM_DEVICE,
				to_device);
	else if (to_device)
		dma_sync_single_for_device(dma->dev, buf->addr, len,
					   DMA_FROM_DEVICE);
	else
		dma_sync_single_for_cpu(dma->dev, buf->addr, len,
					DMA_FROM_DEVICE);
}

/* Let the CPU read @len bytes that the device wrote. */
void rs_buf_sync_for_cpu(struct rs_bufs *bufs, struct rs_buf *buf, u32 len)
{
	rs_buf_sync(bufs, buf, len, false);
}

/* Give the same bytes back to the device; the buffer was only read. */
void rs_buf_sync_for_device(struct rs_bufs *bufs, struct rs_buf *buf, u32 len)
{
	rs_buf_sync(bufs, buf, len, true);
}

/**
 * rs_buf_hand_up() - turn a received buffer into an skb
 * @bufs: the ring's buffers
 * @buf: the buffer; on success its slot is empty
 * @len: bytes of the frame, at most the room
 *
 * The skb is built before the buffer is unmapped, so that on failure the
 * mapped buffer can go back to the device. That is safe: build_skb() writes
 * behind the room only, where the device and a bounce buffer never write.
 *
 * Return: the skb, or NULL with the buffer still mapped and the caller's.
 */
struct sk_buff *rs_buf_hand_up(struct rs_bufs *bufs, struct rs_buf *buf,
			       u32 len)
{
	u32 frag_size = rs_buf_frag_size(bufs, buf);
	struct sk_buff *skb;

	if (bufs->in_napi)
		skb = napi_build_skb(buf->head, frag_size);
	else
		skb = build_skb(buf->head, frag_size);
	if (unlikely(!skb))
		return NULL;

	if (buf->kind == RS_BUF_POOL) {
		rs_buf_sync_for_cpu(bufs, buf, len);
		/* The page goes back to the pool, still mapped, when freed. */
		skb_mark_for_recycle(skb);
	} else {
		rs_unmap(bufs->dma, buf->addr, bufs->room, DMA_FROM_DEVICE,
			 false);
	}
	buf->kind = RS_BUF_NONE;

	skb_reserve(skb, bufs->headroom);
	skb_put(skb, len);
	return skb;
}

/* Undo one piece, and remember that it is undone. */
void rs_piece_unmap(struct rs_dma *dma, struct rs_piece *piece)
{
	if (!piece->len)
		return;
	rs_unmap(dma, piece->addr, piece->len, DMA_TO_DEVICE, piece->page);
	piece->len = 0;
}

/**
 * rs_pieces_map() - map a packet's head and all its fragments
 * @dma: the device that reads them
 * @skb: the packet
 * @pieces: room for one more than the packet has fragments
 *
 * Return: the number of pieces, or -ENOMEM with nothing left mapped.
 */
int rs_pieces_map(struct rs_dma *dma, const struct sk_buff *skb,
		  struct rs_piece *pieces)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	int count = 0;
	int i;

	if (rs_map(dma, skb->data, skb_headlen(skb), DMA_TO_DEVICE,
		   &pieces[0].addr))
		return -ENOMEM;
	pieces[0].len = skb_headlen(skb);
	pieces[0].page = false;
	count++;

	for (i = 0; i < info->nr_frags; i++) {
		const skb_frag_t *frag = &info->frags[i];

		if (rs_map_frag(dma, frag, &pieces[count].addr))
			goto unwind;
		pieces[count].len = skb_frag_size(frag);
		pieces[count].page = true;
		count++;
	}
	return count;

unwind:
	while (count--)
		rs_piece_unmap(dma, &pieces[count]);
	return -ENOMEM;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of one good frame; inline, for it is the hot end of each path. */
#ifndef RINGSIDE_RX_FRAME_H
#define RINGSIDE_RX_FRAME_H

#include <linux/etherdevice.h>
#include <linux/prefetch.h>

#include "rx.h"

static inline struct sk_buff *rs_rx_alloc(struct rs_rx *rx, u32 len)
{
	if (rx->bufs.in_napi)
		return napi_alloc_skb(rx->napi, len);
	return netdev_alloc_skb_ip_align(rx->netdev, len);
}

static inline void rs_rx_enter_stack(struct rs_rx *rx, struct sk_buff *skb)
{
	if (rx->sink)
		rx->sink(rx, skb);
	else if (!rx->bufs.in_napi)
		netif_rx(skb);
	else if (rx->gro && rx->drop == RS_DROP_NONE)
		napi_gro_receive(rx->napi, skb);
	else
		netif_receive_skb(skb);	/* GRO would read the headers */
}

static inline
void rs_rx_deliver(struct rs_rx *rx, struct sk_buff *skb, u32 len)
{
	if (rx->drop == RS_DROP_NONE)
		skb->protocol = eth_type_trans(skb, rx->netdev);
	else if (!rs_rx_drops(rx, skb))
		return;

	rx->fresh[RS_RX_PACKETS]++;
	rx->fresh[RS_RX_BYTES] += len;
	if (len < ETH_ZLEN)
		rs_rx_note(rx, RS_RX_RUNTS);
	rs_rx_enter_stack(rx, skb);
}

/**
 * rs_rx_copy_frame() - deliver a frame that lies in one buffer with others
 * @rx: counters and delivery; its slots are not used
 * @data: the frame
 * @len: its bytes, FCS included: at least a header, and within the buffer
 */
static inline
void rs_rx_copy_frame(struct rs_rx *rx, const void *data, u32 len)
{
	struct sk_buff *skb;

	len -= ETH_FCS_LEN;
	if (rx->prefetch)
		net_prefetch((void *)data);
	skb = rs_rx_alloc(rx, len);
	if (unlikely(!skb)) {
		rs_rx_note(rx, RS_RX_NO_MEMORY);
		return;
	}
	/* Allocated for just this, so there is room. */
	__skb_put_data(skb, data, len);
	rx->fresh[RS_RX_COPIED]++;
	rs_rx_deliver(rx, skb, len);
}

#endif

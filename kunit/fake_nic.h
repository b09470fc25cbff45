/* SPDX-License-Identifier: GPL-2.0-only */
/* A fake NIC: descriptors in memory behind the driver's ring operations. */
#ifndef RINGSIDE_FAKE_NIC_H
#define RINGSIDE_FAKE_NIC_H

#include <kunit/test.h>

#include "../drivers/ringside/rx.h"
#include "../drivers/ringside/tx.h"
#include "fake_dma.h"

#define FAKE_MAX_SLOTS 256
#define FAKE_MAX_FRAMES 1024

struct fake_desc {
	dma_addr_t addr;
	bool device;
	bool first, last;
	u32 len;
	struct rs_frame frame;
};

struct fake_nic {
	struct kunit *test;
	struct fake_dma *dma;
	struct net_device *netdev;
	struct napi_struct napi;
	struct rs_rx rx;
	struct rs_tx tx;
	struct fake_desc rx_desc[FAKE_MAX_SLOTS];
	struct fake_desc tx_desc[FAKE_MAX_SLOTS];
	u32 rx_next;		/* where the device writes next */
	u32 tx_next;
	unsigned int rx_doorbells, tx_doorbells;
	u32 rx_tail;		/* of the last doorbell */
	/* what reached the stack */
	unsigned int delivered;
	struct sk_buff *frames[FAKE_MAX_FRAMES];
};

struct fake_nic *fake_nic_new(struct kunit *test);
void fake_rx_open(struct fake_nic *nic, u32 size, u32 room);
void fake_tx_open(struct fake_nic *nic, u32 size, u32 spare, u32 need);
void fake_rx_close(struct fake_nic *nic);
void fake_tx_close(struct fake_nic *nic);

/* The device: receive one frame; false if it has no buffer. */
bool fake_receive(struct fake_nic *nic, const void *data, u32 len,
		  const struct rs_frame *frame);
bool fake_receive_good(struct fake_nic *nic, u32 len, u8 seed);
/* The driver's poll: take, refill, count. */
u32 fake_poll(struct fake_nic *nic);
/* The device: send up to count packets, and check how they were handed over. */
unsigned int fake_transmit(struct fake_nic *nic, unsigned int count);

void fake_frame_fill(u8 *data, u32 len, u8 seed);

#endif

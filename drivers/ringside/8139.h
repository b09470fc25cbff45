/* SPDX-License-Identifier: GPL-2.0-only */
/* What RTL8139C and RTL8139C+ have in common: registers, and what they are for. */
#ifndef RINGSIDE_8139_H
#define RINGSIDE_8139_H

#include "ringside.h"

/* Registers, named as in the data sheets. */
#define RTL_IDR0	0x00	/* station address, 6 bytes */
#define RTL_IDR4	0x04
#define RTL_MAR0	0x08	/* multicast hash, 8 bytes */
#define RTL_MAR4	0x0c
#define RTL_CR		0x37
#define   RTL_CR_RST	BIT(4)
#define   RTL_CR_RE	BIT(3)
#define   RTL_CR_TE	BIT(2)
#define RTL_IMR		0x3c
#define RTL_ISR		0x3e
#define   RTL_ROK	BIT(0)
#define   RTL_RER	BIT(1)
#define   RTL_TOK	BIT(2)
#define   RTL_TER	BIT(3)
#define   RTL_RXOVW	BIT(4)	/* no receive memory (C+: no descriptor) */
#define   RTL_LINKCHG	BIT(5)
#define   RTL_FOVW	BIT(6)	/* receive FIFO overflow */
#define RTL_TCR		0x40
#define   RTL_TCR_IFG	(BIT(24) | BIT(25))	/* 960 ns, the standard gap */
#define   RTL_TCR_MXDMA	(6u << 8)		/* bursts of 1024 bytes */
#define RTL_RCR		0x44
#define   RTL_RCR_AAP	BIT(0)	/* all physical addresses */
#define   RTL_RCR_APM	BIT(1)	/* ours */
#define   RTL_RCR_AM	BIT(2)	/* multicast, by hash */
#define   RTL_RCR_AB	BIT(3)	/* broadcast */
#define   RTL_RCR_ACCEPT	0x3f	/* those, runts and errors */
#define   RTL_RCR_MXDMA	(6u << 8)
#define   RTL_RCR_RXFTH	(7u << 13)	/* a whole frame before the bus is asked */
#define RTL_MPC		0x4c	/* missed packets, 24 bits; a write clears */
#define RTL_9346CR	0x50
#define   RTL_UNLOCK	0xc0
#define RTL_MSR		0x58
#define   RTL_MSR_LINKB	BIT(2)	/* 0: link */

int rtl_reset(struct rs_dev *rs);
int rtl_read_address(struct rs_dev *rs, u8 *address);
u32 rtl_set_addresses(struct rs_dev *rs);
bool rtl_link(struct rs_dev *rs);
u32 rtl_missed(struct rs_dev *rs);
void rtl_other(struct rs_dev *rs, u32 events);

#endif

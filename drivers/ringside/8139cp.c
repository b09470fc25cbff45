// SPDX-License-Identifier: GPL-2.0-only
/* RTL8139C+ in descriptor ("C+") mode: registers and descriptors. */

#include <linux/delay.h>

#include "8139.h"

/* Registers that only descriptor mode has. */
#define CP_TNPDS	0x20	/* transmit ring, 8 bytes */
#define CP_TPPOLL	0xd9
#define   CP_TPPOLL_NPQ	BIT(6)
#define CP_CPCR		0xe0
#define   CP_CPCR_TXE	BIT(0)
#define   CP_CPCR_RXE	BIT(1)
#define   CP_CPCR_MULRW	BIT(3)	/* PCI memory read multiple and so on */
#define CP_RDSAR	0xe4	/* receive ring, 8 bytes */

/* Descriptor, both directions; the last of a ring says so. */
struct cp_desc {
	__le32 status;
	__le32 vlan;
	__le64 addr;
};

#define CP_OWN		BIT(31)	/* the chip's */
#define CP_EOR		BIT(30)	/* end of ring */
#define CP_FS		BIT(29)	/* first segment of a frame */
#define CP_LS		BIT(28)	/* last segment */
#define CP_RX_FAE	BIT(27)	/* frame alignment error */
#define CP_RX_FOVF	BIT(22)	/* FIFO overflowed */
#define CP_RX_RES	BIT(20)	/* error summary */
#define CP_RX_CRC	BIT(18)
#define CP_RX_LEN	0x1fff

#define CP_MAX_FRAME	4096	/* longer ones are cut by the chip */

static u32 cp_end_of_ring(const struct rs_ring *ring, u32 slot)
{
	return slot == ring->size - 1 ? CP_EOR : 0;
}

static bool cp_mine(const void *ring_desc, u32 slot)
{
	const struct cp_desc *desc = ring_desc;

	return !(READ_ONCE(desc[slot].status) & cpu_to_le32(CP_OWN));
}

static void cp_rx_arm(struct rs_rx *rx, u32 slot, dma_addr_t addr)
{
	struct cp_desc *desc = rx->desc;

	desc[slot].vlan = 0;
	desc[slot].addr = cpu_to_le64(addr);
}

static void cp_rx_give(void *ctx, u32 slot)
{
	struct rs_rx *rx = ctx;
	struct cp_desc *desc = rx->desc;

	WRITE_ONCE(desc[slot].status,
		   cpu_to_le32(CP_OWN | cp_end_of_ring(&rx->ring, slot) |
			       rx->bufs.room));
}

static bool cp_rx_mine(void *ctx, u32 slot)
{
	struct rs_rx *rx = ctx;

	return cp_mine(rx->desc, slot);
}

static void cp_rx_frame(struct rs_rx *rx, u32 slot, struct rs_frame *frame)
{
	struct cp_desc *desc = rx->desc;
	u32 status = le32_to_cpu(READ_ONCE(desc[slot].status));
	bool error = status & CP_RX_RES;

	frame->len = status & CP_RX_LEN;
	if (likely((status & (CP_FS | CP_LS | CP_RX_RES)) == (CP_FS | CP_LS))) {
		frame->good = true;
		return;
	}
	frame->last = status & CP_LS;
	frame->whole = (status & (CP_FS | CP_LS)) == (CP_FS | CP_LS);
	frame->crc_error = error && (status & CP_RX_CRC);
	frame->align_error = error && (status & CP_RX_FAE);
	frame->fifo_error = error && (status & CP_RX_FOVF);
	frame->length_error = error;	/* runt or too long, if none of these */
}

static const struct rs_rx_ops cp_rx_ops = {
	.ring = { .fill = rs_rx_fill, .give = cp_rx_give, .mine = cp_rx_mine },
	.arm = cp_rx_arm,
	.frame = cp_rx_frame,
};

static void cp_tx_set(struct rs_tx *tx, u32 slot, const struct rs_piece *piece,
		      bool first, bool last)
{
	struct cp_desc *desc = tx->desc;
	u32 status = piece->len | cp_end_of_ring(&tx->ring, slot);

	if (first)
		status |= CP_FS;
	if (last)
		status |= CP_LS;
	desc[slot].vlan = 0;
	desc[slot].addr = cpu_to_le64(piece->addr);
	WRITE_ONCE(desc[slot].status, cpu_to_le32(status));
}

static void cp_tx_give(void *ctx, u32 slot)
{
	struct rs_tx *tx = ctx;
	struct cp_desc *desc = tx->desc;

	WRITE_ONCE(desc[slot].status, desc[slot].status | cpu_to_le32(CP_OWN));
}

static bool cp_tx_mine(void *ctx, u32 slot)
{
	struct rs_tx *tx = ctx;

	return cp_mine(tx->desc, slot);
}

static void cp_tx_doorbell(struct rs_tx *tx, u32 slot)
{
	rs_write8(tx->access, CP_TPPOLL, CP_TPPOLL_NPQ);
}

static const struct rs_tx_ops cp_tx_ops = {
	.ring = { .give = cp_tx_give, .mine = cp_tx_mine },
	.set = cp_tx_set,
	.doorbell = cp_tx_doorbell,
};

/* The chip wants buffers of whole quadwords. */
static u32 cp_rx_room(u32 frame)
{
	return ALIGN(frame, 8);
}

static void cp_rx_mode(struct rs_dev *rs)
{
	rs_write32(&rs->access, RTL_RCR, RTL_RCR_MXDMA | RTL_RCR_RXFTH |
					 rtl_set_addresses(rs));
}

static void cp_start(struct rs_dev *rs)
{
	struct rs_access *access = &rs->access;

	/* C+ mode comes first: before it the ring registers are others. */
	rs_write16(access, CP_CPCR, CP_CPCR_MULRW | CP_CPCR_RXE | CP_CPCR_TXE);
	rs_write32(access, CP_RDSAR, lower_32_bits(rs->rx_desc_addr));
	rs_write32(access, CP_RDSAR + 4, upper_32_bits(rs->rx_desc_addr));
	rs_write32(access, CP_TNPDS, lower_32_bits(rs->tx_desc_addr));
	rs_write32(access, CP_TNPDS + 4, upper_32_bits(rs->tx_desc_addr));
	rs_write8(access, RTL_CR, RTL_CR_RE | RTL_CR_TE);
	rs_write32(access, RTL_TCR, RTL_TCR_IFG | RTL_TCR_MXDMA);
}

static void cp_stop(struct rs_dev *rs)
{
	rs_write8(&rs->access, RTL_CR, 0);
	rs_write16(&rs->access, CP_CPCR, 0);
	/* The read flushes; a burst of 1024 bytes takes 8 us on a 33 MHz bus. */
	rs_read8(&rs->access, RTL_CR);
	usleep_range(20, 40);
}

static const u32 cp_regs[] = {
	RTL_IDR0, RTL_IDR4, RTL_MAR0, RTL_MAR4, CP_TNPDS, CP_TNPDS + 4, 0x34,
	RTL_IMR, RTL_TCR, RTL_RCR, RTL_9346CR, RTL_MSR, CP_CPCR, CP_RDSAR,
	CP_RDSAR + 4,
};

const struct rs_chip rs_chip_8139cp = {
	.name = "RTL8139C+",
	.caps = RS_CAP_PORT_IO | RS_CAP_SG,
	.port_bar = 0,
	.mmio_bar = 1,
	.reg_bytes = 0x100,
	.regs = cp_regs,
	.reg_count = ARRAY_SIZE(cp_regs),
	.irq = { .status = RTL_ISR, .mask = RTL_IMR, .bytes = 2 },
	.events = {
		.poll = RTL_ROK | RTL_RER | RTL_RXOVW | RTL_FOVW | RTL_TOK | RTL_TER,
		.other = RTL_LINKCHG,
	},
	.desc_bytes = sizeof(struct cp_desc),
	.desc_align = 256,
	.ring_min = 16,
	.ring_max = 64,		/* the chip counts no further */
	.ring_default = 64,
	.rx_ops = &cp_rx_ops,
	.tx_ops = &cp_tx_ops,
	.max_frame = CP_MAX_FRAME,
	.rx_room = cp_rx_room,
	.reset = rtl_reset,
	.read_address = rtl_read_address,
	.start = cp_start,
	.stop = cp_stop,
	.rx_mode = cp_rx_mode,
	.link = rtl_link,
	.other = rtl_other,
	.missed = rtl_missed,
};

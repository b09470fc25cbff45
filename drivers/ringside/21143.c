// SPDX-License-Identifier: GPL-2.0-only
/* DEC 21143: registers and descriptors. */

#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/mii.h>

#include "ringside.h"

/* Registers, named as in the 21143 hardware reference manual. */
#define DC_CSR0		0x00	/* bus mode */
#define   DC_SWR	BIT(0)	/* software reset */
#define   DC_PBL_16	(16u << 8)	/* bursts of 16 longwords */
#define   DC_CAL_16	(2u << 14)	/* aligned to 16 longwords */
#define DC_CSR1		0x08	/* transmit poll demand */
#define DC_CSR2		0x10	/* receive poll demand */
#define DC_CSR3		0x18	/* receive ring */
#define DC_CSR4		0x20	/* transmit ring */
#define DC_CSR5		0x28	/* status */
#define   DC_TI		BIT(0)	/* transmitted */
#define   DC_RI		BIT(6)	/* received */
#define   DC_RU		BIT(7)	/* no receive buffer: receive is suspended */
#define   DC_AIS	BIT(15)	/* some abnormal event */
#define   DC_NIS	BIT(16)	/* some normal event */
#define   DC_STATES	(7u << 17 | 7u << 20)	/* both processes, 0 if stopped */
#define DC_CSR6		0x30	/* operation mode */
#define   DC_SR		BIT(1)	/* receive */
#define   DC_PR		BIT(6)	/* promiscuous */
#define   DC_PM		BIT(7)	/* all multicast */
#define   DC_FD		BIT(9)	/* full duplex */
#define   DC_ST		BIT(13)	/* transmit */
#define   DC_PS		BIT(18)	/* the MII port */
#define   DC_HBD	BIT(19)	/* no heartbeat */
#define   DC_SF		BIT(21)	/* store and forward */
#define   DC_MBO	BIT(25)	/* must be one */
#define DC_CSR7		0x38	/* interrupt enable */
#define DC_CSR8		0x40	/* missed frames, 16 bits; reading clears */
#define DC_CSR9		0x48	/* serial ROM and MII management */
#define   DC_SROM_CS	BIT(0)
#define   DC_SROM_CK	BIT(1)
#define   DC_SROM_DI	BIT(2)
#define   DC_SROM_DO	BIT(3)
#define   DC_SROM_SR	BIT(11)	/* select */
#define   DC_SROM_RD	BIT(14)
#define   DC_MDC	BIT(16)
#define   DC_MDO	BIT(17)
#define   DC_MII_READ	BIT(18)
#define   DC_MDI	BIT(19)
#define DC_CSR11	0x58	/* timer, interrupt mitigation */
#define DC_CSR12	0x60	/* SIA status */
#define   DC_LS100	BIT(1)	/* 0: link */
#define   DC_LS10	BIT(2)	/* 0: link */

#define DC_SROM_READ	6	/* start bit and opcode of a 93C46 */
#define DC_SROM_ADDRESS	10	/* word of the station address */

/* Descriptors, one buffer each. */
struct dc_desc {
	__le32 status;
	__le32 control;
	__le32 buffer1;
	__le32 buffer2;
};

#define DC_OWN		BIT(31)	/* the chip's */
#define DC_RX_OF	BIT(0)	/* FIFO overflow */
#define DC_RX_CE	BIT(1)	/* CRC error */
#define DC_RX_DB	BIT(2)	/* dribbling bits */
#define DC_RX_LS	BIT(8)	/* last descriptor of a frame */
#define DC_RX_FS	BIT(9)	/* first descriptor */
#define DC_RX_ES	BIT(15)	/* error summary */
#define DC_RX_FL(status) ((status) >> 16 & 0x3fff)
#define DC_RX_RER	BIT(25)	/* end of ring */
#define DC_TX_TER	BIT(25)	/* end of ring */
#define DC_TX_SET	BIT(27)	/* setup frame */
#define DC_TX_FS	BIT(29)	/* first segment */
#define DC_TX_LS	BIT(30)	/* last segment */
#define DC_TX_IC	BIT(31)	/* interrupt on completion */

#define DC_MAX_FRAME	(VLAN_ETH_FRAME_LEN + ETH_FCS_LEN)
#define DC_TRIES	1000

/* A setup frame fills the address filter: 16 addresses, 2 bytes per word. */
#define DC_SETUP_WORDS	48

struct dc_setup {
	struct dc_desc desc;
	__le32 filter[DC_SETUP_WORDS];
};

static bool dc_mine(const struct dc_desc *desc)
{
	return !(READ_ONCE(desc->status) & cpu_to_le32(DC_OWN));
}

static void dc_rx_arm(struct rs_rx *rx, u32 slot, dma_addr_t addr)
{
	struct dc_desc *desc = rx->desc;
	u32 end = slot == rx->ring.size - 1 ? DC_RX_RER : 0;

	desc[slot].control = cpu_to_le32(rx->bufs.room | end);
	desc[slot].buffer1 = cpu_to_le32(addr);
	desc[slot].buffer2 = 0;
}

static void dc_rx_give(void *ctx, u32 slot)
{
	struct rs_rx *rx = ctx;
	struct dc_desc *desc = rx->desc;

	WRITE_ONCE(desc[slot].status, cpu_to_le32(DC_OWN));
}

static bool dc_rx_mine(void *ctx, u32 slot)
{
	struct rs_rx *rx = ctx;
	struct dc_desc *desc = rx->desc;

	return dc_mine(&desc[slot]);
}

static void dc_rx_frame(struct rs_rx *rx, u32 slot, struct rs_frame *frame)
{
	struct dc_desc *desc = rx->desc;
	u32 status = le32_to_cpu(READ_ONCE(desc[slot].status));
	bool error = status & DC_RX_ES;

	frame->len = DC_RX_FL(status);
	if (likely((status & (DC_RX_FS | DC_RX_LS | DC_RX_ES)) ==
		   (DC_RX_FS | DC_RX_LS))) {
		frame->good = true;
		return;
	}
	frame->last = status & DC_RX_LS;
	frame->whole = (status & (DC_RX_FS | DC_RX_LS)) == (DC_RX_FS | DC_RX_LS);
	frame->crc_error = error && (status & DC_RX_CE);
	frame->align_error = error && (status & DC_RX_DB);
	frame->fifo_error = error && (status & DC_RX_OF);
	frame->length_error = error;
}

static const struct rs_rx_ops dc_rx_ops = {
	.ring = { .fill = rs_rx_fill, .give = dc_rx_give, .mine = dc_rx_mine },
	.arm = dc_rx_arm,
	.frame = dc_rx_frame,
};

static void dc_tx_set(struct rs_tx *tx, u32 slot, const struct rs_piece *piece,
		      bool first, bool last)
{
	struct dc_desc *desc = tx->desc;
	u32 control = piece->len;

	if (slot == tx->ring.size - 1)
		control |= DC_TX_TER;
	if (first)
		control |= DC_TX_FS;
	if (last)
		control |= DC_TX_LS | DC_TX_IC;
	WRITE_ONCE(desc[slot].status, 0);
	desc[slot].control = cpu_to_le32(control);
	desc[slot].buffer1 = cpu_to_le32(piece->addr);
	desc[slot].buffer2 = 0;
}

static void dc_tx_give(void *ctx, u32 slot)
{
	struct rs_tx *tx = ctx;
	struct dc_desc *desc = tx->desc;

	WRITE_ONCE(desc[slot].status, cpu_to_le32(DC_OWN));
}

static bool dc_tx_mine(void *ctx, u32 slot)
{
	struct rs_tx *tx = ctx;
	struct dc_desc *desc = tx->desc;

	return dc_mine(&desc[slot]);
}

static void dc_tx_doorbell(struct rs_tx *tx, u32 slot)
{
	rs_write32(tx->access, DC_CSR1, 0);
}

static const struct rs_tx_ops dc_tx_ops = {
	.ring = { .give = dc_tx_give, .mine = dc_tx_mine },
	.set = dc_tx_set,
	.doorbell = dc_tx_doorbell,
};

/* Whole longwords, and at most 2047 bytes fit the field. */
static u32 dc_rx_room(u32 frame)
{
	return ALIGN(frame, 4);
}

static int dc_reset(struct rs_dev *rs)
{
	rs_write32(&rs->access, DC_CSR7, 0);
	rs_write32(&rs->access, DC_CSR6, 0);
	rs_write32(&rs->access, DC_CSR0, DC_SWR);
	rs_read32(&rs->access, DC_CSR0);
	/* 50 PCI cycles are 1.5 us at 33 MHz. */
	usleep_range(10, 20);
	rs_write32(&rs->access, DC_CSR0, DC_PBL_16 | DC_CAL_16);
	if (rs_read32(&rs->access, DC_CSR0) & DC_SWR)
		return -EIO;
	return 0;
}

/* One bit to the serial ROM, and the one that comes back. */
static u32 dc_srom_bit(struct rs_dev *rs, bool out)
{
	u32 lines = DC_SROM_SR | DC_SROM_RD | DC_SROM_CS |
		    (out ? DC_SROM_DI : 0);
	u32 in;

	rs_write32(&rs->access, DC_CSR9, lines);
	rs_read32(&rs->access, DC_CSR9);
	udelay(1);	/* a 93C46 takes 1 MHz at most */
	rs_write32(&rs->access, DC_CSR9, lines | DC_SROM_CK);
	in = rs_read32(&rs->access, DC_CSR9);
	udelay(1);
	rs_write32(&rs->access, DC_CSR9, lines);
	return !!(in & DC_SROM_DO);
}

static u16 dc_srom_read(struct rs_dev *rs, u32 word)
{
	u32 command = DC_SROM_READ << 6 | word;
	u16 value = 0;
	int bit;

	rs_write32(&rs->access, DC_CSR9, DC_SROM_SR | DC_SROM_RD);
	for (bit = 8; bit >= 0; bit--)
		dc_srom_bit(rs, command & BIT(bit));
	for (bit = 15; bit >= 0; bit--)
		value |= dc_srom_bit(rs, false) << bit;
	rs_write32(&rs->access, DC_CSR9, DC_SROM_SR | DC_SROM_RD);
	return value;
}

static int dc_read_address(struct rs_dev *rs, u8 *address)
{
	u32 i;

	for (i = 0; i < ETH_ALEN / 2; i++)
		put_unaligned_le16(dc_srom_read(rs, DC_SROM_ADDRESS + i),
				   address + 2 * i);
	return 0;
}

/* One bit to the PHY; the clock's other edge brings one back. */
static u32 dc_mii_bit(struct rs_dev *rs, u32 lines)
{
	rs_write32(&rs->access, DC_CSR9, lines);
	rs_read32(&rs->access, DC_CSR9);
	udelay(1);	/* 2.5 MHz at most */
	rs_write32(&rs->access, DC_CSR9, lines | DC_MDC);
	udelay(1);
	return !!(rs_read32(&rs->access, DC_CSR9) & DC_MDI);
}

static u16 dc_mii_read(struct rs_dev *rs, u32 phy, u32 reg)
{
	/* start 01, read 10, both addresses, as clause 22 of 802.3 has it */
	u32 command = 6 << 10 | phy << 5 | reg;
	u16 value = 0;
	int bit;

	for (bit = 0; bit < 32; bit++)
		dc_mii_bit(rs, DC_MDO);
	for (bit = 13; bit >= 0; bit--)
		dc_mii_bit(rs, command & BIT(bit) ? DC_MDO : 0);
	dc_mii_bit(rs, DC_MII_READ);	/* turnaround, the second half of it */
	for (bit = 15; bit >= 0; bit--)
		value |= dc_mii_bit(rs, DC_MII_READ) << bit;
	dc_mii_bit(rs, DC_MII_READ);
	return value;
}

static u32 dc_csr6(struct rs_dev *rs)
{
	u32 csr6 = DC_SR | DC_ST | DC_FD | DC_PS | DC_HBD | DC_SF | DC_MBO;

	if (rs->netdev->flags & IFF_PROMISC)
		csr6 |= DC_PR | DC_PM;
	/* The filter cannot change without the transmit ring, so it is all. */
	if ((rs->netdev->flags & IFF_ALLMULTI) || !netdev_mc_empty(rs->netdev))
		csr6 |= DC_PM;
	return csr6;
}

static void dc_rx_mode(struct rs_dev *rs)
{
	rs_write32(&rs->access, DC_CSR6, dc_csr6(rs));
}

static bool dc_wait_stopped(struct rs_dev *rs)
{
	unsigned int tries;

	for (tries = 0; tries < DC_TRIES; tries++) {
		if (!(rs_read32(&rs->access, DC_CSR5) & DC_STATES))
			return true;
		usleep_range(10, 20);
	}
	return false;
}

static void dc_stop(struct rs_dev *rs)
{
	rs_write32(&rs->access, DC_CSR6, DC_PS | DC_HBD | DC_SF | DC_MBO);
	if (!dc_wait_stopped(rs))
		netdev_warn(rs->netdev, "DMA does not stop\n");
}

/*
 * The filter is filled by sending a frame that goes nowhere. It has a ring of
 * its own, because the real one belongs to the transmit path.
 */
static void dc_load_filter(struct rs_dev *rs)
{
	struct dc_setup *setup = rs->extra;
	const u8 *address = rs->netdev->dev_addr;
	unsigned int tries;
	int i;

	for (i = 0; i < DC_SETUP_WORDS; i += 3) {
		/* ours, and broadcast in all the others */
		setup->filter[i] = cpu_to_le32(i ? 0xffff : get_unaligned_le16(address));
		setup->filter[i + 1] = cpu_to_le32(i ? 0xffff : get_unaligned_le16(address + 2));
		setup->filter[i + 2] = cpu_to_le32(i ? 0xffff : get_unaligned_le16(address + 4));
	}
	setup->desc.control = cpu_to_le32(DC_TX_SET | DC_TX_TER |
					  sizeof(setup->filter));
	setup->desc.buffer1 = cpu_to_le32(rs->extra_addr +
					  offsetof(struct dc_setup, filter));
	setup->desc.buffer2 = 0;
	dma_wmb();
	WRITE_ONCE(setup->desc.status, cpu_to_le32(DC_OWN));

	rs_write32(&rs->access, DC_CSR4, rs->extra_addr);
	rs_write32(&rs->access, DC_CSR6, DC_ST | DC_PS | DC_HBD | DC_SF | DC_MBO);
	rs_write32(&rs->access, DC_CSR1, 0);
	for (tries = 0; tries < DC_TRIES && !dc_mine(&setup->desc); tries++)
		usleep_range(10, 20);
	if (!dc_mine(&setup->desc))
		netdev_warn(rs->netdev, "address filter not loaded\n");
	dc_stop(rs);
	/* Nobody asked for the events of this. */
	rs_write32(&rs->access, DC_CSR5, DC_TI | DC_NIS | DC_AIS | BIT(1) | BIT(2));
}

static void dc_start(struct rs_dev *rs)
{
	dc_load_filter(rs);
	rs_write32(&rs->access, DC_CSR3, rs->rx_desc_addr);
	rs_write32(&rs->access, DC_CSR4, rs->tx_desc_addr);
	rs_write32(&rs->access, DC_CSR6, dc_csr6(rs));
	rs_write32(&rs->access, DC_CSR2, 0);
}

/* A PHY where there is one, else the chip's own transceiver. */
static bool dc_link(struct rs_dev *rs)
{
	u16 status = dc_mii_read(rs, 1, MII_BMSR);
	u32 sia;

	if (status != 0 && status != 0xffff)
		return status & BMSR_LSTATUS;
	sia = rs_read32(&rs->access, DC_CSR12);
	return !(sia & DC_LS100) || !(sia & DC_LS10);
}

static u32 dc_missed(struct rs_dev *rs)
{
	return rs_read32(&rs->access, DC_CSR8) & 0xffff;
}

/* After a refill: look at the descriptors again. */
static void dc_other(struct rs_dev *rs, u32 events)
{
	rs_write32(&rs->access, DC_CSR2, 0);
}

static const u32 dc_regs[] = {
	DC_CSR0, DC_CSR3, DC_CSR4, DC_CSR5, DC_CSR6, DC_CSR7, DC_CSR9, DC_CSR11,
	DC_CSR12,
};

const struct rs_chip rs_chip_21143 = {
	.name = "21143",
	.caps = RS_CAP_PORT_IO | RS_CAP_SG,
	.port_bar = 0,
	.mmio_bar = 1,
	.reg_bytes = 0x80,
	.regs = dc_regs,
	.reg_count = ARRAY_SIZE(dc_regs),
	.irq = { .status = DC_CSR5, .mask = DC_CSR7, .bytes = 4 },
	.events = {
		.poll = DC_TI | DC_RI | DC_NIS | DC_AIS,
		.other = DC_RU,
	},
	.desc_bytes = sizeof(struct dc_desc),
	.desc_align = 16,
	.extra_bytes = sizeof(struct dc_setup),
	.ring_min = 16,
	.ring_max = 1024,
	.ring_default = 128,
	.rx_ops = &dc_rx_ops,
	.tx_ops = &dc_tx_ops,
	.max_frame = DC_MAX_FRAME,
	.rx_room = dc_rx_room,
	.reset = dc_reset,
	.read_address = dc_read_address,
	.start = dc_start,
	.stop = dc_stop,
	.rx_mode = dc_rx_mode,
	.link = dc_link,
	.other = dc_other,
	.missed = dc_missed,
	.address_restarts = true,
};

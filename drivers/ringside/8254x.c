// SPDX-License-Identifier: GPL-2.0-only
/* Intel 82540EM, 82545EM and 82574L: registers and legacy descriptors. */

#include <linux/delay.h>
#include <linux/etherdevice.h>

#include "ringside.h"

/* Registers, named as in the 8254x and 82574 software manuals. */
#define E1_CTRL		0x0000
#define   E1_CTRL_ASDE	BIT(5)	/* speed from the PHY */
#define   E1_CTRL_SLU	BIT(6)	/* set link up */
#define   E1_CTRL_RST	BIT(26)
#define E1_STATUS	0x0008
#define   E1_STATUS_LU	BIT(1)
#define E1_CTRL_EXT	0x0018
#define   E1_CTRL_EXT_EIAME	BIT(24)	/* messages mask by EIAC */
#define   E1_CTRL_EXT_PBA	BIT(31)	/* no pending bits for masked vectors */
#define E1_ICR		0x00c0	/* reading acknowledges */
#define   E1_TXDW	BIT(0)
#define   E1_LSC	BIT(2)
#define   E1_RXDMT0	BIT(4)	/* few receive descriptors left */
#define   E1_RXO	BIT(6)	/* receiver overrun */
#define   E1_RXT0	BIT(7)
#define   E1_RXQ0	BIT(20)	/* 82574 */
#define   E1_TXQ0	BIT(22)
#define E1_ITR		0x00c4	/* units of 256 ns */
#define E1_ICS		0x00c8	/* writing ones sets causes */
#define E1_IMS		0x00d0
#define E1_IMC		0x00d8
#define E1_EIAC		0x00dc	/* 82574: causes that a message clears and masks */
#define E1_IVAR		0x00e4	/* 82574: the vector of each cause */
#define   E1_IVAR_RXQ0	BIT(3)	/* valid, vector 0 */
#define   E1_IVAR_TXQ0	BIT(11)
#define E1_EITR0	0x00e8	/* 82574: ITR of vector 0 */
#define E1_RCTL		0x0100
#define   E1_RCTL_EN	BIT(1)
#define   E1_RCTL_UPE	BIT(3)	/* unicast promiscuous */
#define   E1_RCTL_MPE	BIT(4)	/* multicast promiscuous */
#define   E1_RCTL_LPE	BIT(5)	/* frames longer than 1522 bytes */
#define   E1_RCTL_BAM	BIT(15)	/* broadcast */
#define   E1_RCTL_SECRC	BIT(26)	/* strip the FCS */
#define   E1_RCTL_4096	(3u << 16 | BIT(25))
#define   E1_RCTL_8192	(2u << 16 | BIT(25))
#define E1_TCTL		0x0400
#define   E1_TCTL_EN	BIT(1)
#define   E1_TCTL_PSP	BIT(3)	/* pad short packets */
#define   E1_TCTL_CT	(0x0fu << 4)	/* collision threshold, by 802.3 */
#define   E1_TCTL_COLD	(0x40u << 12)	/* collision distance, full duplex */
#define E1_TIPG		0x0410
#define   E1_TIPG_COPPER (10 | 8u << 10 | 6u << 20)	/* by the manual */
#define E1_RDBAL	0x2800
#define E1_RDBAH	0x2804
#define E1_RDLEN	0x2808
#define E1_RDH		0x2810
#define E1_RDT		0x2818
#define E1_RDTR		0x2820
#define E1_TDBAL	0x3800
#define E1_TDBAH	0x3804
#define E1_TDLEN	0x3808
#define E1_TDH		0x3810
#define E1_TDT		0x3818
#define E1_TIDV		0x3820
#define E1_MPC		0x4010	/* missed packets; reading clears */
#define E1_MTA		0x5200	/* 128 words of multicast hash */
#define   E1_MTA_WORDS	128
#define E1_RAL0		0x5400
#define E1_RAH0		0x5404
#define   E1_RAH_AV	BIT(31)	/* address valid */
#define E1_RFCTL	0x5008	/* 82574; reserved, harmless on 8254x */

struct e1_rx_desc {
	__le64 addr;
	__le16 len;
	__le16 sum;
	u8 status;
	u8 errors;
	__le16 vlan;
};

#define E1_RX_DD	BIT(0)	/* done: the driver's */
#define E1_RX_EOP	BIT(1)
#define E1_RX_CE	BIT(0)	/* CRC or alignment */
#define E1_RX_SE	BIT(1)	/* symbol */
#define E1_RX_SEQ	BIT(2)	/* sequence */
#define E1_RX_CXE	BIT(4)	/* carrier extension */
#define E1_RX_RXE	BIT(7)	/* data */
#define E1_RX_ERRORS	(E1_RX_CE | E1_RX_SE | E1_RX_SEQ | E1_RX_CXE | E1_RX_RXE)

struct e1_tx_desc {
	__le64 addr;
	__le16 len;
	u8 sum_offset;
	u8 command;
	u8 status;
	u8 sum_start;
	__le16 vlan;
};

#define E1_TX_EOP	BIT(0)
#define E1_TX_IFCS	BIT(1)	/* insert the FCS */
#define E1_TX_RS	BIT(3)	/* report status */
#define E1_TX_DD	BIT(0)

/* What fits without LPE. */
#define E1_STANDARD_FRAME 1522
/* RCTL knows 16384 too, but its buffers would be of 32 KiB. */
#define E1_MAX_FRAME	8192

static void e1_rx_arm(struct rs_rx *rx, u32 slot, dma_addr_t addr)
{
	struct e1_rx_desc *desc = rx->desc;

	desc[slot].addr = cpu_to_le64(addr);
	WRITE_ONCE(desc[slot].status, 0);
}

/* The tail register hands over, not the descriptor. */
static void e1_give(void *ctx, u32 slot)
{
}

static bool e1_rx_mine(void *ctx, u32 slot)
{
	struct rs_rx *rx = ctx;
	struct e1_rx_desc *desc = rx->desc;

	return READ_ONCE(desc[slot].status) & E1_RX_DD;
}

static void e1_rx_frame(struct rs_rx *rx, u32 slot, struct rs_frame *frame)
{
	struct e1_rx_desc *ring = rx->desc;
	struct e1_rx_desc *desc = &ring[slot];
	u8 errors = READ_ONCE(desc->errors);

	frame->len = le16_to_cpu(READ_ONCE(desc->len));
	if (likely((READ_ONCE(desc->status) & E1_RX_EOP) &&
		   !(errors & E1_RX_ERRORS))) {
		frame->good = true;
		return;
	}
	frame->last = READ_ONCE(desc->status) & E1_RX_EOP;
	/* there is no "first": whether a tail is one, the receive path knows */
	frame->whole = frame->last;
	frame->crc_error = errors & E1_RX_CE;
	frame->align_error = errors & (E1_RX_SE | E1_RX_SEQ | E1_RX_CXE);
	frame->fifo_error = errors & E1_RX_RXE;
	frame->length_error = false;
}

/*
 * 82574: the FCS is stripped. Left on, QEMU puts it into a descriptor of its
 * own, and every frame looks like one that spans buffers.
 */
static void e1_rx_frame_stripped(struct rs_rx *rx, u32 slot,
				 struct rs_frame *frame)
{
	e1_rx_frame(rx, slot, frame);
	frame->len += ETH_FCS_LEN;
}

static void e1_rx_doorbell(struct rs_rx *rx, u32 slot)
{
	rs_write32(rx->access, E1_RDT, slot);
}

static const struct rs_rx_ops e1_rx_ops = {
	.ring = { .fill = rs_rx_fill, .give = e1_give, .mine = e1_rx_mine },
	.arm = e1_rx_arm,
	.frame = e1_rx_frame,
	.doorbell = e1_rx_doorbell,
};

static const struct rs_rx_ops e1_rx_ops_stripped = {
	.ring = { .fill = rs_rx_fill, .give = e1_give, .mine = e1_rx_mine },
	.arm = e1_rx_arm,
	.frame = e1_rx_frame_stripped,
	.doorbell = e1_rx_doorbell,
};

static void e1_tx_set(struct rs_tx *tx, u32 slot, const struct rs_piece *piece,
		      bool first, bool last)
{
	struct e1_tx_desc *ring = tx->desc;
	struct e1_tx_desc *desc = &ring[slot];

	desc->addr = cpu_to_le64(piece->addr);
	desc->len = cpu_to_le16(piece->len);
	desc->sum_offset = 0;
	desc->command = E1_TX_IFCS | (last ? E1_TX_EOP | E1_TX_RS : 0);
	desc->sum_start = 0;
	desc->vlan = 0;
	WRITE_ONCE(desc->status, 0);
}

static bool e1_tx_mine(void *ctx, u32 slot)
{
	struct rs_tx *tx = ctx;
	struct e1_tx_desc *desc = tx->desc;

	return READ_ONCE(desc[slot].status) & E1_TX_DD;
}

static void e1_tx_doorbell(struct rs_tx *tx, u32 slot)
{
	rs_write32(tx->access, E1_TDT, slot);
}

static const struct rs_tx_ops e1_tx_ops = {
	.ring = { .give = e1_give, .mine = e1_tx_mine },
	.set = e1_tx_set,
	.doorbell = e1_tx_doorbell,
};

/* The chip knows these sizes only, and writes up to the size it is told. */
static u32 e1_rx_room(u32 frame)
{
	if (frame <= 2048)
		return 2048;
	return frame <= 4096 ? 4096 : 8192;
}

static int e1_reset(struct rs_dev *rs)
{
	struct rs_access *access = &rs->access;

	rs_write32(access, E1_IMC, 0xffffffff);
	rs_write32(access, E1_RCTL, 0);
	rs_write32(access, E1_TCTL, 0);
	rs_read32(access, E1_STATUS);
	usleep_range(10000, 20000);	/* pending bus transactions, by the manual */
	rs_write32(access, E1_CTRL, rs_read32(access, E1_CTRL) | E1_CTRL_RST);
	msleep(20);	/* EEPROM reload; no register may be touched before */
	if (rs_read32(access, E1_CTRL) & E1_CTRL_RST)
		return -ETIMEDOUT;

	rs_write32(access, E1_IMC, 0xffffffff);
	rs_read32(access, E1_ICR);
	return 0;
}

static int e1_read_address(struct rs_dev *rs, u8 *address)
{
	/* the reset loaded it from the EEPROM */
	put_unaligned_le32(rs_read32(&rs->access, E1_RAL0), address);
	put_unaligned_le16(rs_read32(&rs->access, E1_RAH0), address + 4);
	return 0;
}

/* Bits 47 to 36 of the address, as RCTL.MO 0 says. */
static u32 e1_hash(const u8 *address)
{
	return (address[4] >> 4 | address[5] << 4) & 0xfff;
}

static u32 e1_rctl(struct rs_dev *rs)
{
	u32 room = rs->rx.bufs.room;
	u32 rctl = E1_RCTL_EN | E1_RCTL_BAM;

	if (rs->chip->rx_ops == &e1_rx_ops_stripped)
		rctl |= E1_RCTL_SECRC;
	if (room > 4096)
		rctl |= E1_RCTL_8192;
	else if (room > 2048)
		rctl |= E1_RCTL_4096;
	if (rs->netdev->mtu + RS_FRAME_OVERHEAD > E1_STANDARD_FRAME)
		rctl |= E1_RCTL_LPE;
	if (rs->netdev->flags & IFF_PROMISC)
		rctl |= E1_RCTL_UPE | E1_RCTL_MPE;
	if (rs->netdev->flags & IFF_ALLMULTI)
		rctl |= E1_RCTL_MPE;
	return rctl;
}

static void e1_rx_mode(struct rs_dev *rs)
{
	const u8 *address = rs->netdev->dev_addr;
	u32 hash[E1_MTA_WORDS] = {};
	struct netdev_hw_addr *ha;
	int i;

	netdev_for_each_mc_addr(ha, rs->netdev)
		hash[e1_hash(ha->addr) >> 5] |= BIT(e1_hash(ha->addr) & 31);
	for (i = 0; i < E1_MTA_WORDS; i++)
		rs_write32(&rs->access, E1_MTA + 4 * i, hash[i]);
	rs_write32(&rs->access, E1_RAL0, get_unaligned_le32(address));
	rs_write32(&rs->access, E1_RAH0,
		   get_unaligned_le16(address + 4) | E1_RAH_AV);
	rs_write32(&rs->access, E1_RCTL, e1_rctl(rs));
}

/* One vector for both queues. The link is looked at by the watch. */
static void e1_route_irqs(struct rs_dev *rs)
{
	u32 ext = rs_read32(&rs->access, E1_CTRL_EXT) &
		  ~(E1_CTRL_EXT_EIAME | E1_CTRL_EXT_PBA);
	bool on = rs_has(rs, RS_FLAG_AUTO_MASK);

	if (on)
		ext |= E1_CTRL_EXT_EIAME | E1_CTRL_EXT_PBA;
	rs_write32(&rs->access, E1_EIAC, on ? E1_RXQ0 | E1_TXQ0 : 0);
	rs_write32(&rs->access, E1_IVAR, on ? E1_IVAR_RXQ0 | E1_IVAR_TXQ0 : 0);
	rs_write32(&rs->access, E1_CTRL_EXT, ext);
}

static void e1_start(struct rs_dev *rs)
{
	struct rs_access *access = &rs->access;

	rs_write32(access, E1_CTRL, rs_read32(access, E1_CTRL) | E1_CTRL_SLU |
				    E1_CTRL_ASDE);

	if (rs->chip->caps & RS_CAP_AUTO_MASK)
		e1_route_irqs(rs);
	rs_write32(access, E1_RFCTL, 0);	/* legacy descriptors */
	rs_write32(access, E1_RDBAL, lower_32_bits(rs->rx_desc_addr));
	rs_write32(access, E1_RDBAH, upper_32_bits(rs->rx_desc_addr));
	rs_write32(access, E1_RDLEN, rs->rx_size * sizeof(struct e1_rx_desc));
	rs_write32(access, E1_RDH, 0);
	rs_write32(access, E1_RDT, 0);
	rs_write32(access, E1_RDTR, 0);

	rs_write32(access, E1_TDBAL, lower_32_bits(rs->tx_desc_addr));
	rs_write32(access, E1_TDBAH, upper_32_bits(rs->tx_desc_addr));
	rs_write32(access, E1_TDLEN, rs->tx_size * sizeof(struct e1_tx_desc));
	rs_write32(access, E1_TDH, 0);
	rs_write32(access, E1_TDT, 0);
	rs_write32(access, E1_TIDV, 0);
	rs_write32(access, E1_TIPG, E1_TIPG_COPPER);
	rs_write32(access, E1_TCTL, E1_TCTL_EN | E1_TCTL_PSP | E1_TCTL_CT |
				    E1_TCTL_COLD);
}

static void e1_stop(struct rs_dev *rs)
{
	struct rs_access *access = &rs->access;

	rs_write32(access, E1_RCTL, 0);
	rs_write32(access, E1_TCTL, 0);
	rs_read32(access, E1_STATUS);
	usleep_range(10000, 20000);	/* DMA under way, by the manual */
}

static bool e1_link(struct rs_dev *rs)
{
	return rs_read32(&rs->access, E1_STATUS) & E1_STATUS_LU;
}

/*
 * Reading clears, by the manual; QEMU goes on counting. A second read that does
 * not show less tells which of the two it is.
 */
static u32 e1_missed(struct rs_dev *rs)
{
	u32 count = rs_read32(&rs->access, E1_MPC);
	u32 again = rs_read32(&rs->access, E1_MPC);
	u32 fresh;

	if (!again || again < count) {
		rs->missed_seen = 0;
		return count + again;
	}
	/* a reset clears it too */
	fresh = again - (again < rs->missed_seen ? 0 : rs->missed_seen);
	rs->missed_seen = again;
	return fresh;
}

static void e1_other(struct rs_dev *rs, u32 events)
{
	mod_delayed_work(system_wq, &rs->watch, 0);
}

/* ITR counts 256 ns and has 16 bits: 250 us are 976. */
static void e1_mitigate(struct rs_dev *rs, u32 usecs)
{
	u32 interval = min(usecs * 1000 / 256, 0xffffu);

	rs_write32(&rs->access, E1_ITR, interval);
	if (rs->chip->caps & RS_CAP_AUTO_MASK)
		rs_write32(&rs->access, E1_EITR0, interval);
}

static const u32 e1_regs[] = {
	E1_CTRL, E1_STATUS, E1_IMS, E1_RCTL, E1_TCTL, E1_RDBAL, E1_RDBAH,
	E1_RDLEN, E1_RDH, E1_RDT, E1_RDTR, E1_TDBAL, E1_TDBAH, E1_TDLEN,
	E1_TDH, E1_TDT, E1_TIDV, E1_RAL0, E1_RAH0,
};

#define E1_CHIP								\
	.mmio_bar = 0,							\
	.reg_bytes = 0x6000,						\
	.regs = e1_regs,						\
	.reg_count = ARRAY_SIZE(e1_regs),				\
	.irq = {							\
		.status = E1_ICR, .mask = E1_IMS, .set = E1_IMS,	\
		.clear = E1_IMC, .bytes = 4, .read_acks = true,		\
	},								\
	.events = {							\
		.poll = E1_RXT0 | E1_RXO | E1_RXDMT0 | E1_TXDW,		\
		.other = E1_LSC,					\
	},								\
	.desc_bytes = 16,						\
	.desc_align = 128,						\
	.ring_min = 64,							\
	.ring_max = 4096,						\
	.ring_default = 256,						\
	.spare = 1,							\
	.tx_ops = &e1_tx_ops,						\
	.max_frame = E1_MAX_FRAME,					\
	.rx_room = e1_rx_room,						\
	.reset = e1_reset,						\
	.read_address = e1_read_address,				\
	.start = e1_start,						\
	.stop = e1_stop,						\
	.rx_mode = e1_rx_mode,						\
	.link = e1_link,						\
	.other = e1_other,						\
	.missed = e1_missed,						\
	.mitigate = e1_mitigate

const struct rs_chip rs_chip_8254x = {
	.name = "8254x",
	.caps = RS_CAP_SG | RS_CAP_DMA64 | RS_CAP_RESTART,
	.rx_ops = &e1_rx_ops,
	E1_CHIP,
};

const struct rs_chip rs_chip_82574 = {
	.name = "82574L",
	.caps = RS_CAP_SG | RS_CAP_DMA64 | RS_CAP_RESTART | RS_CAP_MSI |
		RS_CAP_AUTO_MASK,
	.rx_ops = &e1_rx_ops_stripped,
	.auto_irq = {
		.status = E1_ICR, .mask = E1_IMS, .set = E1_IMS,
		.clear = E1_IMC, .raise = E1_ICS, .bytes = 4, .auto_mask = true,
	},
	.auto_events = { .poll = E1_RXQ0 | E1_TXQ0 },
	E1_CHIP,
};

// SPDX-License-Identifier: GPL-2.0-only
/* RTL8139C: one receive buffer for all frames, four transmit registers. */

#include <linux/bitrev.h>
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/sizes.h>

#include "8139.h"
#include "rx_frame.h"

/* Registers that RTL8139C+ in descriptor mode does not use. */
#define RTL_TSD0	0x10	/* transmit status, a word per slot */
#define   RTL_TSD_OWN	BIT(13)	/* ours: fetched; writing 0 sends */
#define   RTL_TSD_TUN	BIT(14)	/* FIFO ran empty: sent broken */
#define   RTL_TSD_TOK	BIT(15)
#define   RTL_TSD_TABT	BIT(30)	/* given up after too many collisions */
#define RTL_TSAD0	0x20	/* transmit address, a word per slot */
#define RTL_RBSTART	0x30	/* address of the receive buffer */
#define RTL_CAPR	0x38	/* read so far, less 16 */
#define RTL_CBR		0x3a	/* written so far */
#define   RTL_TCR_CLRABT	BIT(0)	/* send again what was given up */
#define   RTL_RCR_WRAP	BIT(7)	/* a frame runs on behind the end */
#define   RTL_RCR_32K	(2u << 11)

/* In front of each frame: status, and length << 16, FCS included. */
#define RTL_HEADER	4
#define RTL_RX_ROK	BIT(0)
#define RTL_RX_FAE	BIT(1)	/* frame alignment error */
#define RTL_RX_CRC	BIT(2)
#define RTL_RX_COMING	0xfff0	/* length of a frame not wholly there yet */

#define RTL_SLOTS	4
#define RTL_MIN_FRAME	(ETH_HLEN + ETH_FCS_LEN)
#define RTL_MAX_FRAME	1792	/* the chip sends no more */
#define RTL_RX_BYTES	SZ_32K
/* CBR may run up to CAPR; 16 and the tail of the last frame lie behind the end. */
#define RTL_RX_MEMORY	(RTL_RX_BYTES + 16 + SZ_2K)
#define RTL_CAPR_BIAS	16
/* Receive space is given back by the quarter, and at the end of each look. */
#define RTL_RX_BATCH	(RTL_RX_BYTES / 4)
/* The FIFO of 2 KB takes a whole frame, so it never runs empty; in 32 bytes. */
#define RTL_TSD_ERTXTH	((RTL_MAX_FRAME / 32) << 16)

#define RTL_RCR_CONFIG	(RTL_RCR_MXDMA | RTL_RCR_RXFTH | RTL_RCR_WRAP | \
			 RTL_RCR_32K)
#define RTL_TCR_CONFIG	(RTL_TCR_IFG | RTL_TCR_MXDMA)
#define RTL_TRIES	1000

/* The slots stand for the buffer as a whole, which stays the chip's. */
static int rtl_rx_fill(void *ctx, u32 slot)
{
	return 0;
}

static void rtl_rx_give(void *ctx, u32 slot)
{
}

/* Bytes the chip has written and we have not read; 0 if it is away. */
static u32 rtl_rx_waiting(struct rs_rx *rx)
{
	u32 written = rs_read16(rx->access, RTL_CBR);

	if (unlikely(written == 0xffff))
		return 0;
	/* With WRAP it may stand behind the end for the time of a frame. */
	return (ALIGN(written, 4) - rx->at) & (RTL_RX_BYTES - 1);
}

static void rtl_rx_give_back(struct rs_rx *rx)
{
	/* Frames are copied out before the chip may write over them. */
	mb();
	rs_write16(rx->access, RTL_CAPR, rx->at - RTL_CAPR_BIAS);
}

/*
 * After a header that cannot be, nobody knows where the next one is. The
 * receiver starts anew where the chip says, and what was waiting is lost.
 */
static void rtl_rx_restart(struct rs_rx *rx)
{
	struct rs_access *access = rx->access;
	u8 command = rs_read8(access, RTL_CR);
	unsigned int tries;

	rs_rx_note(rx, RS_RX_RESTARTS);
	rs_write8(access, RTL_CR, command & ~RTL_CR_RE);
	for (tries = 0; tries < RTL_TRIES; tries++) {
		if (!(rs_read8(access, RTL_CR) & RTL_CR_RE))
			break;
		udelay(1);
	}
	rs_write8(access, RTL_CR, command);
	/* The same value: QEMU's chip puts CBR to 0 here, a real one above. */
	rs_write32(access, RTL_RCR, rs_read32(access, RTL_RCR));
	rx->at = ALIGN(rs_read16(access, RTL_CBR), 4) & (RTL_RX_BYTES - 1);
	rtl_rx_give_back(rx);
}

/* Why a header cannot be believed; the chip keeps frames with errors to itself. */
static void rtl_rx_count_bad(struct rs_rx *rx, u32 header)
{
	if (header & RTL_RX_ROK)
		rs_rx_note(rx, RS_RX_LENGTH_ERRORS);
	else if (header & RTL_RX_CRC)
		rs_rx_note(rx, RS_RX_CRC_ERRORS);
	else if (header & RTL_RX_FAE)
		rs_rx_note(rx, RS_RX_ALIGN_ERRORS);
	else
		rs_rx_note(rx, RS_RX_LENGTH_ERRORS);
}

/* The bytes that a frame takes in the buffer. */
static u32 rtl_rx_bytes(u32 len)
{
	return ALIGN(RTL_HEADER + len, 4);
}

/* Where the next header is. */
static u32 rtl_rx_behind(const struct rs_rx *rx, u32 bytes)
{
	return (rx->at + bytes) & (RTL_RX_BYTES - 1);
}

/*
 * A header that is not of a whole frame as long as the MTU allows. A longer one
 * is passed over; false if this is as far as it goes for now.
 */
static noinline bool rtl_rx_odd(struct rs_rx *rx, u32 header)
{
	u32 len = header >> 16;

	if (len == RTL_RX_COMING)
		return false;
	/* CBR was read before the header, so it may be older: look again. */
	if (!(header & RTL_RX_ROK) || len < RTL_MIN_FRAME ||
	    len > RTL_MAX_FRAME || rtl_rx_bytes(len) > rtl_rx_waiting(rx)) {
		rtl_rx_count_bad(rx, header);
		rtl_rx_restart(rx);
		return false;
	}
	/* One that came since then is good, and has set its event. */
	if (len <= rx->bufs.room)
		return false;
	rs_rx_note(rx, RS_RX_LENGTH_ERRORS);
	rx->at = rtl_rx_behind(rx, rtl_rx_bytes(len));
	return true;
}

static u32 rtl_rx_service(struct rs_rx *rx, u32 budget)
{
	u32 waiting = rtl_rx_waiting(rx);
	u32 taken = 0;

	while (waiting && taken < budget) {
		u32 header = le32_to_cpup(rx->desc + rx->at);
		u32 len = header >> 16;
		u32 bytes = rtl_rx_bytes(len);
		u32 before;

		taken++;
		if (unlikely(!(header & RTL_RX_ROK) || len < RTL_MIN_FRAME ||
			     len > rx->bufs.room || bytes > waiting)) {
			if (!rtl_rx_odd(rx, header))
				break;
			waiting = rtl_rx_waiting(rx);
			continue;
		}
		rs_rx_copy_frame(rx, rx->desc + rx->at + RTL_HEADER, len);
		waiting -= bytes;
		before = rx->at;
		rx->at = rtl_rx_behind(rx, bytes);
		if (waiting && (rx->at ^ before) & RTL_RX_BATCH)
			rtl_rx_give_back(rx);
	}
	if (taken)
		rtl_rx_give_back(rx);
	return taken;
}

static const struct rs_rx_ops rtl_rx_ops = {
	.ring = { .fill = rtl_rx_fill, .give = rtl_rx_give },
	.service = rtl_rx_service,
};

/* The descriptors of the core are words in memory, for the registers' sake. */
static void rtl_tx_set(struct rs_tx *tx, u32 slot, const struct rs_piece *piece,
		       bool first, bool last)
{
	u32 *tsd = tx->desc;

	tsd[slot] = RTL_TSD_ERTXTH | piece->len;
}

static void rtl_tx_give(void *ctx, u32 slot)
{
	struct rs_tx *tx = ctx;
	u32 *tsd = tx->desc;

	rs_write32(tx->access, RTL_TSD0 + 4 * slot, tsd[slot]);
}

static bool rtl_tx_mine(void *ctx, u32 slot)
{
	struct rs_tx *tx = ctx;
	u32 status = rs_read32(tx->access, RTL_TSD0 + 4 * slot);

	if (status & (RTL_TSD_TOK | RTL_TSD_TUN))
		return true;
	if (status & RTL_TSD_TABT)
		rs_write32(tx->access, RTL_TCR, RTL_TCR_CONFIG | RTL_TCR_CLRABT);
	return false;
}

/* Writing the status has started it. */
static void rtl_tx_doorbell(struct rs_tx *tx, u32 slot)
{
}

static const struct rs_tx_ops rtl_tx_ops = {
	.ring = { .give = rtl_tx_give, .mine = rtl_tx_mine },
	.set = rtl_tx_set,
	.doorbell = rtl_tx_doorbell,
};

/* The chip is not told: a longer frame has its place behind the end too. */
static u32 rtl_rx_room(u32 frame)
{
	return ALIGN(frame, 4);
}

int rtl_reset(struct rs_dev *rs)
{
	unsigned int tries;

	rs_write16(&rs->access, RTL_IMR, 0);
	rs_write8(&rs->access, RTL_CR, RTL_CR_RST);
	for (tries = 0; tries < RTL_TRIES; tries++) {
		if (!(rs_read8(&rs->access, RTL_CR) & RTL_CR_RST))
			return 0;
		usleep_range(10, 20);
	}
	return -ETIMEDOUT;
}

int rtl_read_address(struct rs_dev *rs, u8 *address)
{
	int i;

	for (i = 0; i < ETH_ALEN; i++)
		address[i] = rs_read8(&rs->access, RTL_IDR0 + i);
	return 0;
}

/* The hash is the upper 6 bits of the address's CRC. */
static u32 rtl_hash(const u8 *address)
{
	return ether_crc(ETH_ALEN, address) >> 26;
}

/**
 * rtl_set_addresses() - write the station address and the multicast hash
 * @rs: the device
 *
 * Return: what RCR has to accept for them.
 */
u32 rtl_set_addresses(struct rs_dev *rs)
{
	u32 accept = RTL_RCR_APM | RTL_RCR_AM | RTL_RCR_AB;
	struct net_device *netdev = rs->netdev;
	const u8 *address = netdev->dev_addr;
	struct netdev_hw_addr *ha;
	u32 hash[2] = {};

	if (netdev->flags & IFF_PROMISC)
		accept |= RTL_RCR_AAP;
	if (netdev->flags & (IFF_PROMISC | IFF_ALLMULTI)) {
		hash[0] = 0xffffffff;
		hash[1] = 0xffffffff;
	} else {
		netdev_for_each_mc_addr(ha, netdev)
			hash[rtl_hash(ha->addr) >> 5] |= BIT(rtl_hash(ha->addr) & 31);
	}

	/* The address is locked like the configuration, and takes 32 bits only. */
	rs_write8(&rs->access, RTL_9346CR, RTL_UNLOCK);
	rs_write32(&rs->access, RTL_IDR0, get_unaligned_le32(address));
	rs_write32(&rs->access, RTL_IDR4, get_unaligned_le16(address + 4));
	rs_write8(&rs->access, RTL_9346CR, 0);
	rs_write32(&rs->access, RTL_MAR0, hash[0]);
	rs_write32(&rs->access, RTL_MAR4, hash[1]);
	return accept;
}

/*
 * A write of RCR puts QEMU's chip back to the start of the receive buffer, and
 * no data sheet says that a real one goes on. So a change takes a restart.
 */
static void rtl_rx_mode(struct rs_dev *rs)
{
	u32 accept = rtl_set_addresses(rs);
	u32 rcr = rs_read32(&rs->access, RTL_RCR);

	if (((rcr ^ accept) & RTL_RCR_ACCEPT) && rcr != 0xffffffff)
		rs_ask_restart(rs);
}

static void rtl_start(struct rs_dev *rs)
{
	struct rs_access *access = &rs->access;
	u32 slot;

	rs->rx.desc = rs->extra;
	rs->rx.at = 0;
	rs->tx.copies = rs->extra + RTL_RX_MEMORY;
	rs->tx.copies_addr = rs->extra_addr + RTL_RX_MEMORY;
	rs->tx.copy_room = RTL_MAX_FRAME;

	/* RCR and TCR are taken only by a receiver and a transmitter that are on. */
	rs_write32(access, RTL_RBSTART, rs->extra_addr);
	rs_write8(access, RTL_CR, RTL_CR_RE | RTL_CR_TE);
	rs_write32(access, RTL_TCR, RTL_TCR_CONFIG);
	rs_write32(access, RTL_RCR, RTL_RCR_CONFIG | rtl_set_addresses(rs));
	for (slot = 0; slot < RTL_SLOTS; slot++)
		rs_write32(access, RTL_TSAD0 + 4 * slot,
			   rs->tx.copies_addr + slot * RTL_MAX_FRAME);
}

static void rtl_stop(struct rs_dev *rs)
{
	rs_write8(&rs->access, RTL_CR, 0);
	/* The read flushes; a burst of 1024 bytes takes 8 us on a 33 MHz bus. */
	rs_read8(&rs->access, RTL_CR);
	usleep_range(20, 40);
}

bool rtl_link(struct rs_dev *rs)
{
	return !(rs_read8(&rs->access, RTL_MSR) & RTL_MSR_LINKB);
}

u32 rtl_missed(struct rs_dev *rs)
{
	u32 missed = rs_read32(&rs->access, RTL_MPC) & 0xffffff;

	if (missed)
		rs_write32(&rs->access, RTL_MPC, 0);
	return missed;
}

void rtl_other(struct rs_dev *rs, u32 events)
{
	mod_delayed_work(system_wq, &rs->watch, 0);
}

static const u32 rtl_regs[] = {
	RTL_IDR0, RTL_IDR4, RTL_MAR0, RTL_MAR4, RTL_TSD0, RTL_TSD0 + 4,
	RTL_TSD0 + 8, RTL_TSD0 + 12, RTL_TSAD0, RTL_TSAD0 + 4, RTL_TSAD0 + 8,
	RTL_TSAD0 + 12, RTL_RBSTART, 0x34, RTL_CAPR, RTL_IMR, RTL_TCR, RTL_RCR,
	RTL_9346CR, RTL_MSR,
};

const struct rs_chip rs_chip_8139 = {
	.name = "RTL8139C",
	.caps = RS_CAP_PORT_IO,
	.port_bar = 0,
	.mmio_bar = 1,
	.reg_bytes = 0x80,
	.regs = rtl_regs,
	.reg_count = ARRAY_SIZE(rtl_regs),
	.irq = { .status = RTL_ISR, .mask = RTL_IMR, .bytes = 2 },
	.events = {
		.poll = RTL_ROK | RTL_RER | RTL_RXOVW | RTL_FOVW | RTL_TOK |
			RTL_TER,
		.other = RTL_LINKCHG,
	},
	.desc_bytes = sizeof(u32),
	.desc_align = 256,
	.extra_bytes = RTL_RX_MEMORY + RTL_SLOTS * RTL_MAX_FRAME,
	.ring_min = RTL_SLOTS,
	.ring_max = RTL_SLOTS,
	.ring_default = RTL_SLOTS,
	.rx_ops = &rtl_rx_ops,
	.tx_ops = &rtl_tx_ops,
	.max_frame = RTL_MAX_FRAME,
	.rx_room = rtl_rx_room,
	.reset = rtl_reset,
	.read_address = rtl_read_address,
	.start = rtl_start,
	.stop = rtl_stop,
	.rx_mode = rtl_rx_mode,
	.link = rtl_link,
	.other = rtl_other,
	.missed = rtl_missed,
};

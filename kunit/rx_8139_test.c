// SPDX-License-Identifier: GPL-2.0-only
/* Suite rx_8139: one buffer for all frames, and transmit registers. */

#include <linux/etherdevice.h>
#include <linux/sizes.h>
#include <net/pkt_sched.h>

#include "../drivers/ringside/8139.h"
#include "fake_nic.h"

#define BYTES	SZ_32K
#define ROOM	1524		/* 1522 bytes of MTU 1500, tag and FCS, rounded up */
#define TSD0	0x10
#define TSAD0	0x20
#define CAPR	0x38
#define CBR	0x3a
#define GOOD	RS_RX_STATS	/* no error counter: the frame is delivered */

/* The chip, behind its registers. */
struct chip {
	struct rs_dev rs;
	struct kunit *test;
	bool rcr_rewinds;	/* QEMU's: a write of RCR does, else RE does */
	u8 cr;
	u32 rcr, tcr, tsd[4], tsad[4];
	u16 capr, cbr, isr;
	u16 lag;		/* the next read of CBR is older by so many bytes */
	bool away;
	unsigned int reads, writes, given;
	/* the last frame that reached the stack */
	unsigned int delivered;
	u32 len;
	u8 frame[2048];
};

static unsigned int restarts_asked;

void rs_ask_restart(struct rs_dev *rs)
{
	restarts_asked++;
}

static u32 chip_read(struct rs_access *access, u32 reg, unsigned int bytes)
{
	struct chip *chip = container_of(access, struct chip, rs.access);
	u16 lag = chip->lag;

	chip->reads++;
	if (chip->away)
		return bytes == 4 ? 0xffffffff : bytes == 2 ? 0xffff : 0xff;
	switch (reg) {
	case RTL_CR:
		return chip->cr;
	case RTL_RCR:
		return chip->rcr;
	case CBR:
		chip->lag = 0;
		return chip->cbr - lag;
	case TSD0 ... TSD0 + 12:
		return chip->tsd[(reg - TSD0) / 4];
	default:
		return 0;
	}
}

static void chip_write(struct rs_access *access, u32 reg, u32 value,
		       unsigned int bytes)
{
	struct chip *chip = container_of(access, struct chip, rs.access);

	chip->writes++;
	switch (reg) {
	case RTL_CR:
		if (value & ~chip->cr & RTL_CR_RE && !chip->rcr_rewinds)
			chip->cbr = 0;
		chip->cr = value;
		break;
	case RTL_RCR:
		chip->rcr = value;
		if (chip->rcr_rewinds)
			chip->cbr = 0;
		break;
	case RTL_TCR:
		chip->tcr = value;
		break;
	case CAPR:
		chip->capr = (value + 16) % BYTES;
		chip->given++;
		break;
	case TSD0 ... TSD0 + 12:
		chip->tsd[(reg - TSD0) / 4] = value;
		break;
	case TSAD0 ... TSAD0 + 12:
		chip->tsad[(reg - TSAD0) / 4] = value;
		break;
	}
}

static const struct rs_access_ops chip_ops = {
	.read = chip_read, .write = chip_write,
};

static void chip_sink(struct rs_rx *rx, struct sk_buff *skb)
{
	struct chip *chip = container_of(rx, struct chip, rs.rx);

	chip->delivered++;
	chip->len = skb->len + ETH_HLEN;
	KUNIT_ASSERT_LE(chip->test, chip->len, sizeof(chip->frame));
	memcpy(chip->frame, skb_mac_header(skb), chip->len);
	kfree_skb(skb);
}

static void chip_drop(void *data)
{
	struct chip *chip = data;

	rs_tx_exit(&chip->rs.tx);
	rs_rx_exit(&chip->rs.rx);
	free_netdev(chip->rs.netdev);
}

static struct chip *chip_new(struct kunit *test, bool rcr_rewinds)
{
	const struct rs_chip *ops = &rs_chip_8139;
	struct chip *chip = kunit_kzalloc(test, sizeof(*chip), GFP_KERNEL);
	struct rs_dev *rs;

	KUNIT_ASSERT_NOT_NULL(test, chip);
	rs = &chip->rs;
	chip->test = test;
	chip->rcr_rewinds = rcr_rewinds;
	rs->chip = ops;
	rs->access.fake = &chip_ops;
	rs->netdev = alloc_etherdev(0);
	KUNIT_ASSERT_NOT_NULL(test, rs->netdev);
	eth_hw_addr_set(rs->netdev, "\x02\x00\x00\x00\x00\x01");
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, chip_drop, chip));
	rs->napi.dev = rs->netdev;
	rs->extra = kunit_kzalloc(test, ops->extra_bytes, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rs->extra);
	rs->extra_addr = 0x10000;
	rs->rx = (struct rs_rx){
		.ops = ops->rx_ops, .netdev = rs->netdev, .napi = &rs->napi,
		.access = &rs->access, .sink = chip_sink, .scheme = RS_RX_COPY,
		.bufs.dma = &rs->dma,
	};
	u64_stats_init(&rs->rx.syncp);
	rs->tx = (struct rs_tx){
		.ops = ops->tx_ops, .netdev = rs->netdev, .dma = &rs->dma,
		.access = &rs->access,
		.queue = netdev_get_tx_queue(rs->netdev, 0),
		.desc = kunit_kzalloc(test, 4 * ops->desc_bytes, GFP_KERNEL),
	};
	u64_stats_init(&rs->tx.xmit_syncp);
	u64_stats_init(&rs->tx.done_syncp);
	rcu_assign_pointer(rs->tx.queue->qdisc, &noop_qdisc);
	KUNIT_ASSERT_NOT_NULL(test, rs->tx.desc);
	KUNIT_ASSERT_EQ(test, 0, rs_rx_init(&rs->rx, 4, 0, ops->rx_room(1522)));
	KUNIT_ASSERT_EQ(test, 0, rs_tx_init(&rs->tx, 4, 0, 1));
	netif_tx_start_queue(rs->tx.queue);
	KUNIT_EXPECT_FALSE(test, rs_rx_refill(&rs->rx));
	ops->start(rs);
	rs->rx.bufs.in_napi = true;
	chip->given = 0;
	return chip;
}

/* Both pointers at one place, as after as many frames. */
static void chip_move(struct chip *chip, u32 at)
{
	chip->cbr = at;
	chip->capr = at;
	chip->rs.rx.at = at;
}

/* A header that may lie, and @written bytes of frame behind it, FCS included. */
static bool chip_receive(struct chip *chip, u32 header, u32 written, u8 seed)
{
	u32 room = (chip->capr - chip->cbr) & (BYTES - 1);
	u32 need = ALIGN(written + 4, 4);
	void *at = chip->rs.extra + chip->cbr;

	if (room && need >= room) {
		chip->isr |= RTL_RXOVW;
		return false;
	}
	*(__le32 *)at = cpu_to_le32(header);
	fake_frame_fill(at + 4, written, seed);
	chip->cbr = (chip->cbr + need) % BYTES;
	chip->isr |= RTL_ROK;
	return true;
}

static bool chip_receive_good(struct chip *chip, u32 len, u8 seed)
{
	return chip_receive(chip, len << 16 | 1, len, seed);
}

static u32 chip_poll(struct chip *chip, u32 budget)
{
	u32 taken;

	chip->reads = 0;
	chip->writes = 0;
	chip->given = 0;
	local_bh_disable();
	taken = rs_rx_service(&chip->rs.rx, budget);
	local_bh_enable();
	rs_rx_count(&chip->rs.rx);
	return taken;
}

static void expect_frame(struct chip *chip, u32 len, u8 seed)
{
	static u8 data[2048];

	fake_frame_fill(data, len, seed);
	KUNIT_EXPECT_EQ(chip->test, len - ETH_FCS_LEN, chip->len);
	KUNIT_EXPECT_MEMEQ(chip->test, chip->frame, data, len - ETH_FCS_LEN);
}

static u64 errors_of(struct chip *chip)
{
	return rs_rx_stat(&chip->rs.rx, RS_RX_LENGTH_ERRORS) +
	       rs_rx_stat(&chip->rs.rx, RS_RX_CRC_ERRORS) +
	       rs_rx_stat(&chip->rs.rx, RS_RX_ALIGN_ERRORS);
}

struct header_param {
	const char *name;
	u32 len, status, written;
	enum rs_rx_stat counter;
	bool restarts;
};

static const struct header_param header_params[] = {
	{ "0", 0, 1, 0, RS_RX_LENGTH_ERRORS, true },
	{ "1", 1, 1, 1, RS_RX_LENGTH_ERRORS, true },
	{ "FCS", 4, 1, 4, RS_RX_LENGTH_ERRORS, true },
	{ "header + FCS - 1", 17, 1, 17, RS_RX_LENGTH_ERRORS, true },
	{ "header + FCS", 18, 1, 18, GOOD },
	{ "runt", 63, 1, 63, GOOD },
	{ "minimum", 64, 1, 64, GOOD },
	{ "maximum - 1", ROOM - 1, 1, ROOM - 1, GOOD },
	{ "maximum", ROOM, 1, ROOM, GOOD },
	{ "maximum + 1", ROOM + 1, 1, ROOM + 1, RS_RX_LENGTH_ERRORS },
	{ "the chip's longest", 1792, 1, 1792, RS_RX_LENGTH_ERRORS },
	{ "longer than the chip's", 1793, 1, 1793, RS_RX_LENGTH_ERRORS, true },
	{ "0x1fff", 0x1fff, 1, 1518, RS_RX_LENGTH_ERRORS, true },
	{ "0xffff", 0xffff, 1, 1518, RS_RX_LENGTH_ERRORS, true },
	{ "4 more than written", 68, 1, 64, RS_RX_LENGTH_ERRORS, true },
	{ "crc error", 64, 4, 64, RS_RX_CRC_ERRORS, true },
	{ "alignment", 64, 2, 64, RS_RX_ALIGN_ERRORS, true },
	{ "not good", 64, 0, 64, RS_RX_LENGTH_ERRORS, true },
	{ "nothing but zeroes", 0, 0, 64, RS_RX_LENGTH_ERRORS, true },
	{ "ones", 0xffff, 0xffff, 64, RS_RX_LENGTH_ERRORS, true },
};

static void header_name(const struct header_param *param, char *name)
{
	strscpy(name, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(header, header_params, header_name);

/* On both kinds of chip; the next good frame comes as if nothing had been. */
static void rx_8139_header(struct kunit *test)
{
	const struct header_param *param = test->param_value;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct chip *chip = chip_new(test, i);
		bool good = param->counter == GOOD;

		chip_move(chip, 4096);
		chip_receive(chip, param->len << 16 | param->status,
			     param->written, 5);
		KUNIT_EXPECT_EQ(test, !param->restarts, !!chip_poll(chip, 64) &&
				!rs_rx_stat(&chip->rs.rx, RS_RX_RESTARTS));
		KUNIT_EXPECT_EQ(test, good, chip->delivered);
		KUNIT_EXPECT_EQ(test, !good, errors_of(chip));
		if (good)
			expect_frame(chip, param->len, 5);
		else
			KUNIT_EXPECT_EQ(test, 1, rs_rx_stat(&chip->rs.rx,
							    param->counter));
		KUNIT_EXPECT_EQ(test, param->restarts,
				rs_rx_stat(&chip->rs.rx, RS_RX_RESTARTS));
		KUNIT_EXPECT_EQ(test, chip->cbr, chip->rs.rx.at);
		KUNIT_EXPECT_EQ(test, chip->cbr, chip->capr);
		KUNIT_EXPECT_EQ(test, RTL_CR_RE | RTL_CR_TE, chip->cr);

		KUNIT_ASSERT_TRUE(test, chip_receive_good(chip, 64, 9));
		KUNIT_EXPECT_EQ(test, 1, chip_poll(chip, 64));
		KUNIT_EXPECT_EQ(test, 1 + good, chip->delivered);
		expect_frame(chip, 64, 9);
	}
}

/* A frame at every offset: a short one everywhere, the longest over the end. */
static void rx_8139_wraps_at_every_offset(struct kunit *test)
{
	struct chip *chip = chip_new(test, true);
	unsigned int frames = 0;
	u32 at;

	for (at = 0; at < BYTES; at += 4) {
		u32 len = at < BYTES - 2 * ROOM ? 64 : ROOM;

		chip_move(chip, at);
		KUNIT_ASSERT_TRUE(test, chip_receive_good(chip, len, at >> 2));
		KUNIT_ASSERT_TRUE(test, chip_receive_good(chip, 61, 7));
		KUNIT_ASSERT_EQ(test, 1, chip_poll(chip, 1));
		expect_frame(chip, len, at >> 2);
		KUNIT_ASSERT_EQ(test, 1, chip_poll(chip, 1));
		expect_frame(chip, 61, 7);
		frames += 2;
		KUNIT_ASSERT_EQ(test, chip->cbr, chip->capr);
	}
	KUNIT_EXPECT_EQ(test, frames, chip->delivered);
	KUNIT_EXPECT_EQ(test, 0, errors_of(chip));
}

static const u32 overflow_params[] = { 64, 65, 1000, 1518, ROOM };

static void overflow_name(const u32 *len, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "frames of %u", *len);
}

KUNIT_ARRAY_PARAM(overflow, overflow_params, overflow_name);

/* Filled until the chip has no room, three times: all delivered, in order. */
static void rx_8139_overflow(struct kunit *test)
{
	const u32 len = *(const u32 *)test->param_value;
	struct chip *chip = chip_new(test, true);
	unsigned int round, received = 0, delivered = 0;

	for (round = 0; round < 3; round++) {
		while (chip_receive_good(chip, len, received))
			received++;
		KUNIT_EXPECT_TRUE(test, chip->isr & RTL_RXOVW);
		chip->isr = 0;
		while (chip_poll(chip, 1)) {
			expect_frame(chip, len, delivered);
			delivered++;
			/* long on a kernel that checks every access */
			cond_resched();
		}
	}
	KUNIT_EXPECT_EQ(test, received, delivered);
	KUNIT_EXPECT_EQ(test, 0, errors_of(chip));
	KUNIT_EXPECT_GE(test, received, 3 * (BYTES / ALIGN(len + 4, 4) - 1));
}

struct burst_param {
	u32 len, frames, given;
};

/* One read and one write per look; one more if a quarter ends before the last. */
static const struct burst_param burst_params[] = {
	{ 64, 1, 1 }, { 64, 2, 1 }, { 64, 64, 1 }, { 1518, 5, 1 },
	{ 1518, 6, 1 }, { 1518, 7, 2 }, { 1518, 21, 4 },
};

static void burst_name(const struct burst_param *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u frames of %u", param->frames,
		 param->len);
}

KUNIT_ARRAY_PARAM(burst, burst_params, burst_name);

static void rx_8139_accesses(struct kunit *test)
{
	const struct burst_param *param = test->param_value;
	struct chip *chip = chip_new(test, true);
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, chip_poll(chip, 64));
	KUNIT_EXPECT_EQ(test, 1, chip->reads);
	KUNIT_EXPECT_EQ(test, 0, chip->writes);
	for (i = 0; i < param->frames; i++)
		KUNIT_ASSERT_TRUE(test, chip_receive_good(chip, param->len, i));
	KUNIT_EXPECT_EQ(test, param->frames, chip_poll(chip, 64));
	KUNIT_EXPECT_EQ(test, 1, chip->reads);
	KUNIT_EXPECT_EQ(test, param->given, chip->writes);
	KUNIT_EXPECT_EQ(test, param->given, chip->given);
	KUNIT_EXPECT_EQ(test, chip->cbr, chip->capr);
}

/* A frame on its way, one that came after the look, and a device that went. */
static void rx_8139_not_yet(struct kunit *test)
{
	struct chip *chip = chip_new(test, true);
	__le32 *header = chip->rs.extra;

	KUNIT_ASSERT_TRUE(test, chip_receive(chip, 0xfff0 << 16, 64, 1));
	chip_poll(chip, 64);
	KUNIT_EXPECT_EQ(test, 0, chip->delivered);
	*header = cpu_to_le32(64 << 16 | 1);
	chip->lag = 32;
	chip_poll(chip, 64);
	KUNIT_EXPECT_EQ(test, 0, chip->delivered);
	KUNIT_EXPECT_EQ(test, 0, rs_rx_stat(&chip->rs.rx, RS_RX_RESTARTS));
	KUNIT_EXPECT_EQ(test, 1, chip_poll(chip, 64));
	KUNIT_EXPECT_EQ(test, 1, chip->delivered);

	KUNIT_ASSERT_TRUE(test, chip_receive_good(chip, 64, 1));
	chip->away = true;
	KUNIT_EXPECT_EQ(test, 0, chip_poll(chip, 64));
	KUNIT_EXPECT_EQ(test, 1, chip->reads);
	KUNIT_EXPECT_EQ(test, 0, chip->writes);
}

/* Only what RCR has to know takes a restart. */
static void rx_8139_rx_mode(struct kunit *test)
{
	struct chip *chip = chip_new(test, true);
	struct rs_dev *rs = &chip->rs;

	restarts_asked = 0;
	chip_move(chip, 4096);
	rs->netdev->flags |= IFF_ALLMULTI;
	rs->chip->rx_mode(rs);
	KUNIT_EXPECT_EQ(test, 0, restarts_asked);
	KUNIT_EXPECT_EQ(test, 4096, chip->cbr);
	rs->netdev->flags |= IFF_PROMISC;
	rs->chip->rx_mode(rs);
	KUNIT_EXPECT_EQ(test, 1, restarts_asked);
	KUNIT_EXPECT_EQ(test, 4096, chip->cbr);
	rs->chip->start(rs);
	rs->chip->rx_mode(rs);
	KUNIT_EXPECT_EQ(test, 1, restarts_asked);
	KUNIT_EXPECT_EQ(test, 0, rs->rx.at);
}

#define TSD_OWN BIT(13)
#define TSD_TOK BIT(15)
#define TSD_TABT BIT(30)

static netdev_tx_t chip_xmit(struct chip *chip, u32 len, u8 fill)
{
	struct sk_buff *skb = alloc_skb(2048, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(chip->test, skb);
	skb_reserve(skb, 2);
	memset(skb_put(skb, len), fill, len);
	return rs_tx_xmit(&chip->rs.tx, skb, false);
}

/* Packets go through the four slots' own memory, padded, and come back in turn. */
static void tx_8139_slots(struct kunit *test)
{
	static const u32 lens[] = { 14, 60, 61, 1514, 1792 };
	struct chip *chip = chip_new(test, true);
	struct rs_tx *tx = &chip->rs.tx;
	u32 i;

	for (i = 0; i < 20; i++) {
		u32 len = lens[i % ARRAY_SIZE(lens)];
		u32 slot = i % 4;
		u8 *data = chip->rs.extra + (chip->tsad[slot] - 0x10000);

		KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, chip_xmit(chip, len, i + 1));
		KUNIT_EXPECT_EQ(test, max(len, 60u), chip->tsd[slot] & 0x1fff);
		KUNIT_EXPECT_FALSE(test, chip->tsd[slot] & TSD_OWN);
		KUNIT_EXPECT_EQ(test, i + 1, data[0]);
		KUNIT_EXPECT_EQ(test, i + 1, data[len - 1]);
		KUNIT_EXPECT_EQ(test, len < 60 ? 0 : i + 1, data[max(len, 60u) - 1]);
		KUNIT_EXPECT_EQ(test, 0, rs_tx_complete(tx, 0));
		chip->tsd[slot] |= TSD_OWN | TSD_TOK;
		KUNIT_EXPECT_EQ(test, 1, rs_tx_complete(tx, 0));
	}
	/* longer than a slot */
	KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, chip_xmit(chip, 1793, 1));
	KUNIT_EXPECT_EQ(test, 1, rs_tx_stat(tx, RS_TX_MAP_FAILED));
	KUNIT_EXPECT_EQ(test, 0, rs_ring_used(&tx->ring));
}

static void tx_8139_stops_when_full(struct kunit *test)
{
	struct chip *chip = chip_new(test, true);
	struct rs_tx *tx = &chip->rs.tx;
	u32 i;

	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(tx->queue));
		chip_xmit(chip, 60, i);
	}
	KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(tx->queue));
	/* given up after collisions: sent again, and not back before that */
	chip->tsd[0] |= TSD_OWN | TSD_TABT;
	KUNIT_EXPECT_EQ(test, 0, rs_tx_complete(tx, 0));
	KUNIT_EXPECT_TRUE(test, chip->tcr & BIT(0));
	for (i = 0; i < 4; i++)
		chip->tsd[i] |= TSD_OWN | TSD_TOK;
	KUNIT_EXPECT_EQ(test, 4, rs_tx_complete(tx, 0));
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(tx->queue));
}

static struct kunit_case rx_8139_cases[] = {
	KUNIT_CASE_PARAM(rx_8139_header, header_gen_params),
	KUNIT_CASE(rx_8139_wraps_at_every_offset),
	KUNIT_CASE_PARAM(rx_8139_overflow, overflow_gen_params),
	KUNIT_CASE_PARAM(rx_8139_accesses, burst_gen_params),
	KUNIT_CASE(rx_8139_not_yet),
	KUNIT_CASE(rx_8139_rx_mode),
	KUNIT_CASE(tx_8139_slots),
	KUNIT_CASE(tx_8139_stops_when_full),
	{}
};

static struct kunit_suite rx_8139_suite = {
	.name = "rx_8139",
	.test_cases = rx_8139_cases,
};

kunit_test_suite(rx_8139_suite);

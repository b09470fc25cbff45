// SPDX-License-Identifier: GPL-2.0-only
/* Suite rx_schemes: copy, map, copybreak and page_pool, and the drop points. */

#include <linux/etherdevice.h>

#include "fake_nic.h"

#define ROOM 1536
#define RING 16

struct scheme_param {
	const char *name;
	enum rs_rx_scheme scheme;
	u32 copybreak;
};

static const struct scheme_param scheme_params[] = {
	{ "copy", RS_RX_COPY, 0 },
	{ "map", RS_RX_MAP, 0 },
	{ "copybreak 0", RS_RX_COPYBREAK, 0 },
	{ "copybreak 128", RS_RX_COPYBREAK, 128 },
	{ "copybreak maximum", RS_RX_COPYBREAK, ROOM },
	{ "page_pool", RS_RX_PAGE_POOL, 0 },
};

static void scheme_name(const struct scheme_param *param, char *name)
{
	strscpy(name, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(scheme, scheme_params, scheme_name);

static struct fake_nic *nic_open(struct kunit *test, u32 size,
				 const struct scheme_param *param)
{
	struct fake_nic *nic = fake_nic_new(test);

	nic->rx.scheme = param->scheme;
	nic->rx.copybreak = param->copybreak;
	fake_rx_open(nic, size, ROOM);
	return nic;
}

/* Pages of the pool that are with the stack stay mapped, by design. */
static void expect_balance(struct fake_nic *nic)
{
	unsigned int with_stack = 0;
	unsigned int i;

	for (i = 0; i < nic->delivered; i++)
		with_stack += nic->frames[i]->pp_recycle;
	if (nic->rx.scheme == RS_RX_PAGE_POOL)
		with_stack += rs_rx_stat(&nic->rx, RS_RX_DROPPED);
	KUNIT_EXPECT_EQ(nic->test, with_stack, fake_dma_live(nic->dma));
}

static void expect_frame(struct fake_nic *nic, unsigned int index, u32 len,
			 u8 seed)
{
	struct sk_buff *skb;
	u8 data[ROOM];

	KUNIT_ASSERT_LT(nic->test, index, nic->delivered);
	skb = nic->frames[index];
	fake_frame_fill(data, len, seed);
	KUNIT_ASSERT_EQ(nic->test, len, skb->len + ETH_HLEN);
	KUNIT_EXPECT_MEMEQ(nic->test, skb_mac_header(skb), data, len);
	KUNIT_EXPECT_EQ(nic->test, ETH_P_IP, ntohs(skb->protocol));
	KUNIT_EXPECT_PTR_EQ(nic->test, nic->netdev, skb->dev);
}

static bool expect_copied(const struct scheme_param *param, u32 len)
{
	return param->scheme == RS_RX_COPY ||
	       (param->scheme == RS_RX_COPYBREAK && len <= param->copybreak);
}

/* Every scheme at N-1, N, N+1 of the threshold and at both ends. */
static void rx_lengths_by_scheme(struct kunit *test)
{
	static const u32 lens[] = {
		ETH_HLEN, 60, 127, 128, 129, ROOM - ETH_FCS_LEN - 1,
		ROOM - ETH_FCS_LEN,
	};
	const struct scheme_param *param = test->param_value;
	struct fake_nic *nic = nic_open(test, RING, param);
	u64 copied = 0, handed_up = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		unsigned int unmaps = nic->dma->unmaps;
		bool copy = expect_copied(param, lens[i]);

		KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, lens[i], i));
		KUNIT_EXPECT_EQ(test, 1, fake_poll(nic));
		expect_frame(nic, i, lens[i], i);
		copied += copy;
		handed_up += !copy;
		KUNIT_EXPECT_EQ(test, copied, rs_rx_stat(&nic->rx, RS_RX_COPIED));
		KUNIT_EXPECT_EQ(test, handed_up,
				rs_rx_stat(&nic->rx, RS_RX_HANDED_UP));
		/* a copied buffer stays mapped, one handed up does not */
		if (param->scheme != RS_RX_PAGE_POOL)
			KUNIT_EXPECT_EQ(test, !copy, nic->dma->unmaps - unmaps);
		KUNIT_EXPECT_EQ(test, RING - 1, rs_ring_used(&nic->rx.ring));
	}
	fake_rx_close(nic);
	expect_balance(nic);
}

/* The threshold itself: N copies up to N, 0 copies nothing. */
static const u32 copybreaks[] = { 0, 60, 64, 256, ROOM - ETH_FCS_LEN };

static void copybreak_name(const u32 *copybreak, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "copybreak %u", *copybreak);
}

KUNIT_ARRAY_PARAM(copybreak, copybreaks, copybreak_name);

static void rx_copybreak_threshold(struct kunit *test)
{
	const u32 copybreak = *(const u32 *)test->param_value;
	struct scheme_param param = { "", RS_RX_COPYBREAK, copybreak };
	struct fake_nic *nic = nic_open(test, RING, &param);
	int offset;
	u64 copied = 0;

	for (offset = -1; offset <= 1; offset++) {
		u32 len = copybreak + offset;

		if (copybreak + offset < ETH_HLEN || len > ROOM - ETH_FCS_LEN)
			len = 60;
		KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, len, 1));
		fake_poll(nic);
		copied += len <= copybreak;
		KUNIT_EXPECT_EQ(test, copied, rs_rx_stat(&nic->rx, RS_RX_COPIED));
	}
	fake_rx_close(nic);
}

/* Bursts of 1 to all slots, until every slot was the first one. */
static void rx_wraps(struct kunit *test)
{
	const struct scheme_param *param = test->param_value;
	struct fake_nic *nic = nic_open(test, 8, param);
	unsigned int received = 0;
	u32 burst, i;

	for (burst = 1; burst < 8; burst++) {
		for (i = 0; i < 8; i++) {
			u32 n;

			for (n = 0; n < burst; n++)
				KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, 60 + n, received++));
			KUNIT_EXPECT_EQ(test, burst, fake_poll(nic));
		}
	}
	KUNIT_EXPECT_EQ(test, received, nic->delivered);
	KUNIT_EXPECT_EQ(test, received, rs_rx_stat(&nic->rx, RS_RX_PACKETS));
	fake_rx_close(nic);
	expect_balance(nic);
}

/* A full ring is taken in two polls of a smaller weight, in order. */
static void rx_budget(struct kunit *test)
{
	const struct scheme_param *param = test->param_value;
	struct fake_nic *nic = nic_open(test, RING, param);
	u32 i;

	for (i = 0; i < RING - 1; i++)
		KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, 60, i));
	KUNIT_EXPECT_FALSE(test, fake_receive_good(nic, 60, i));
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, 8, rs_rx_service(&nic->rx, 8));
	KUNIT_EXPECT_EQ(test, RING - 1 - 8, rs_rx_service(&nic->rx, 8));
	KUNIT_EXPECT_EQ(test, 0, rs_rx_service(&nic->rx, 8));
	local_bh_enable();
	for (i = 0; i < RING - 1; i++)
		expect_frame(nic, i, 60, i);
	fake_rx_close(nic);
	expect_balance(nic);
}

/* The nth map fails, for all n: no frame is lost that the device had. */
static void rx_nth_map_fails(struct kunit *test)
{
	const struct scheme_param *param = test->param_value;
	unsigned int nth;

	for (nth = 1; nth <= 2 * 8; nth++) {
		struct fake_nic *nic = nic_open(test, 8, param);
		unsigned int received = 0;
		unsigned int round;

		fake_dma_fail(nic->dma, nth, 1);
		for (round = 0; round < 5; round++) {
			u32 n;

			for (n = 0; n < 5; n++)
				received += fake_receive_good(nic, 200, received);
			fake_poll(nic);
		}
		KUNIT_EXPECT_EQ(test, received, nic->delivered);
		KUNIT_EXPECT_EQ(test, 7, rs_ring_used(&nic->rx.ring));
		fake_rx_close(nic);
		expect_balance(nic);
	}
}

/* Refill fails k times in a row, for all k to the ring's size, then recovers. */
static void rx_refill_fails_and_recovers(struct kunit *test)
{
	const struct scheme_param *param = test->param_value;
	unsigned int k;

	for (k = 1; k <= 8; k++) {
		struct fake_nic *nic = nic_open(test, 8, param);
		unsigned int received = 0;
		unsigned int i;

		fake_dma_fail(nic->dma, 1, k);
		for (i = 0; i < 40; i++) {
			bool starved;

			received += fake_receive_good(nic, 200, i);
			local_bh_disable();
			rs_rx_service(&nic->rx, 64);
			starved = rs_rx_refill(&nic->rx);
			local_bh_enable();
			KUNIT_EXPECT_EQ(test, !rs_ring_used(&nic->rx.ring),
					starved);
		}
		KUNIT_EXPECT_GE(test, received, 40 - k);
		KUNIT_EXPECT_EQ(test, received, nic->delivered);
		KUNIT_EXPECT_EQ(test, 7, rs_ring_used(&nic->rx.ring));
		fake_rx_close(nic);
		expect_balance(nic);
	}
}

/* Nothing can be mapped from the start: starved, and then not any more. */
static void rx_starts_without_memory(struct kunit *test)
{
	const struct scheme_param *param = test->param_value;
	struct fake_nic *nic = fake_nic_new(test);

	nic->rx.scheme = param->scheme;
	fake_dma_fail(nic->dma, 1, 3);
	fake_rx_open(nic, 8, ROOM);
	KUNIT_EXPECT_EQ(test, 0, rs_ring_used(&nic->rx.ring));
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, rs_rx_refill(&nic->rx));
	KUNIT_EXPECT_TRUE(test, rs_rx_refill(&nic->rx));
	KUNIT_EXPECT_FALSE(test, rs_rx_refill(&nic->rx));
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, 7, rs_ring_used(&nic->rx.ring));
	rs_rx_count(&nic->rx);
	KUNIT_EXPECT_EQ(test, 3, rs_rx_stat(&nic->rx, RS_RX_REFILL_FAILED));
	KUNIT_EXPECT_EQ(test, 1, nic->rx_doorbells);
	fake_rx_close(nic);
	expect_balance(nic);
}

/* Every scheme follows every other with a full ring: no frame is lost. */
static void rx_scheme_changes(struct kunit *test)
{
	const struct scheme_param *from = test->param_value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scheme_params); i++) {
		struct fake_nic *nic = nic_open(test, RING, from);
		unsigned int round;
		u32 n;

		for (round = 0; round < 2; round++) {
			for (n = 0; n < RING - 1; n++)
				KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, 200, n));
			nic->rx.scheme = scheme_params[i].scheme;
			nic->rx.copybreak = scheme_params[i].copybreak;
			KUNIT_EXPECT_EQ(test, RING - 1, fake_poll(nic));
		}
		for (n = 0; n < 2 * (RING - 1); n++)
			expect_frame(nic, n, 200, n % (RING - 1));
		KUNIT_EXPECT_EQ(test, 2 * (RING - 1), nic->delivered);
		fake_rx_close(nic);
		expect_balance(nic);
	}
}

/* Doorbells are batched, but the device is never left short of buffers. */
static void rx_doorbell_batches(struct kunit *test)
{
	const struct scheme_param *param = test->param_value;
	struct fake_nic *nic = nic_open(test, 128, param);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, 1, nic->rx_doorbells);
	KUNIT_EXPECT_EQ(test, 127, nic->rx_tail);
	for (i = 0; i < 64; i++) {
		KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, 60, i));
		fake_poll(nic);
		KUNIT_EXPECT_LT(test, nic->rx.unrung, 16);
	}
	/* 64 buffers in batches of 16 */
	KUNIT_EXPECT_EQ(test, 1 + 64 / 16, nic->rx_doorbells);
	fake_rx_close(nic);
}

struct drop_param {
	const char *name;
	enum rs_drop drop;
	enum rs_rx_scheme scheme;
	bool prefetch;
};

static const struct drop_param drop_params[] = {
	{ "stack, map", RS_DROP_STACK, RS_RX_MAP, false },
	{ "stack, copy", RS_DROP_STACK, RS_RX_COPY, true },
	{ "stack raw, map", RS_DROP_STACK_RAW, RS_RX_MAP, false },
	{ "stack raw, copy", RS_DROP_STACK_RAW, RS_RX_COPY, false },
	{ "stack raw, map, prefetch", RS_DROP_STACK_RAW, RS_RX_MAP, true },
	{ "driver, map", RS_DROP_DRIVER, RS_RX_MAP, false },
	{ "driver, copy", RS_DROP_DRIVER, RS_RX_COPY, false },
	{ "driver, page_pool", RS_DROP_DRIVER, RS_RX_PAGE_POOL, false },
	{ "none, map, prefetch", RS_DROP_NONE, RS_RX_MAP, true },
};

static void drop_name(const struct drop_param *param, char *name)
{
	strscpy(name, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(drop, drop_params, drop_name);

/*
 * Whether the frame was read shows in what the driver made of it: three frames
 * to us, to all and to somebody else come out alike only if nobody looked.
 */
static void rx_drop_points(struct kunit *test)
{
	static const u8 targets[][ETH_ALEN] = {
		{ 0x02, 0, 0, 0, 0, 0x01 },
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		{ 0x02, 0, 0, 0, 0, 0x99 },
	};
	static const u8 types[] = { PACKET_HOST, PACKET_BROADCAST,
				    PACKET_OTHERHOST };
	const struct drop_param *param = test->param_value;
	struct scheme_param scheme = { "", param->scheme, 0 };
	struct fake_nic *nic = nic_open(test, RING, &scheme);
	struct rs_frame frame = { .len = 64, .whole = true, .last = true };
	bool reads = param->drop != RS_DROP_STACK_RAW;
	u8 data[64];
	int i;

	nic->rx.drop = param->drop;
	nic->rx.prefetch = param->prefetch;
	for (i = 0; i < 3; i++) {
		struct sk_buff *skb;

		fake_frame_fill(data, sizeof(data), i);
		memcpy(data, targets[i], ETH_ALEN);
		KUNIT_ASSERT_TRUE(test, fake_receive(nic, data, 64, &frame));
		fake_poll(nic);
		if (param->drop == RS_DROP_DRIVER) {
			KUNIT_EXPECT_EQ(test, 0, nic->delivered);
			KUNIT_EXPECT_EQ(test, i + 1,
					rs_rx_stat(&nic->rx, RS_RX_DROPPED));
			KUNIT_EXPECT_EQ(test, 0,
					rs_rx_stat(&nic->rx, RS_RX_PACKETS));
			continue;
		}
		KUNIT_ASSERT_EQ(test, i + 1, nic->delivered);
		skb = nic->frames[i];
		KUNIT_EXPECT_EQ(test, reads ? types[i] : PACKET_OTHERHOST,
				(int)skb->pkt_type);
		KUNIT_EXPECT_EQ(test, reads ? 60 - ETH_HLEN : 60, skb->len);
		KUNIT_EXPECT_EQ(test, param->drop == RS_DROP_NONE ?
				ETH_P_IP : RS_ETH_P_NOBODY,
				ntohs(skb->protocol));
		KUNIT_EXPECT_PTR_EQ(test, nic->netdev, skb->dev);
		KUNIT_EXPECT_TRUE(test, skb_mac_header_was_set(skb));
	}
	fake_rx_close(nic);
	expect_balance(nic);
}

static struct kunit_case rx_schemes_cases[] = {
	KUNIT_CASE_PARAM(rx_lengths_by_scheme, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_copybreak_threshold, copybreak_gen_params),
	KUNIT_CASE_PARAM(rx_wraps, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_budget, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_nth_map_fails, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_refill_fails_and_recovers, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_starts_without_memory, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_scheme_changes, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_doorbell_batches, scheme_gen_params),
	KUNIT_CASE_PARAM(rx_drop_points, drop_gen_params),
	{}
};

static struct kunit_suite rx_schemes_suite = {
	.name = "rx_schemes",
	.test_cases = rx_schemes_cases,
};

kunit_test_suite(rx_schemes_suite);

// SPDX-License-Identifier: GPL-2.0-only
/* Suite rx_lengths: no length or status from the device is believed. */

#include <linux/etherdevice.h>

#include "fake_nic.h"

#define ROOM 1536
#define GOOD RS_RX_STATS	/* no error counter: the frame is delivered */

struct length_param {
	const char *name;
	struct rs_frame frame;
	enum rs_rx_stat counter;
};

#define WHOLE(length) .len = (length), .whole = true, .last = true

static const struct length_param length_params[] = {
	{ "0", { WHOLE(0) }, RS_RX_LENGTH_ERRORS },
	{ "1", { WHOLE(1) }, RS_RX_LENGTH_ERRORS },
	{ "FCS - 1", { WHOLE(3) }, RS_RX_LENGTH_ERRORS },
	{ "FCS", { WHOLE(4) }, RS_RX_LENGTH_ERRORS },
	{ "header + FCS - 1", { WHOLE(17) }, RS_RX_LENGTH_ERRORS },
	{ "header + FCS", { WHOLE(18) }, GOOD },
	{ "runt", { WHOLE(63) }, GOOD },
	{ "minimum", { WHOLE(64) }, GOOD },
	{ "maximum - 1", { WHOLE(ROOM - 1) }, GOOD },
	{ "maximum", { WHOLE(ROOM) }, GOOD },
	{ "maximum + 1", { WHOLE(ROOM + 1) }, RS_RX_LENGTH_ERRORS },
	{ "maximum + 4", { WHOLE(ROOM + 4) }, RS_RX_LENGTH_ERRORS },
	{ "0x1fff", { WHOLE(0x1fff) }, RS_RX_LENGTH_ERRORS },
	{ "0xffff", { WHOLE(0xffff) }, RS_RX_LENGTH_ERRORS },
	{ "-1", { WHOLE(0xffffffff) }, RS_RX_LENGTH_ERRORS },
	{ "crc error", { WHOLE(64), .crc_error = true }, RS_RX_CRC_ERRORS },
	{ "crc error, length 0", { WHOLE(0), .crc_error = true },
	  RS_RX_CRC_ERRORS },
	{ "crc error, 0xffff", { WHOLE(0xffff), .crc_error = true },
	  RS_RX_CRC_ERRORS },
	{ "alignment", { WHOLE(64), .align_error = true }, RS_RX_ALIGN_ERRORS },
	{ "fifo", { WHOLE(64), .fifo_error = true }, RS_RX_FIFO_ERRORS },
	{ "length", { WHOLE(64), .length_error = true }, RS_RX_LENGTH_ERRORS },
	{ "good, header + FCS - 1", { .len = 17, .good = true },
	  RS_RX_LENGTH_ERRORS },
	{ "good, header + FCS", { .len = 18, .good = true }, GOOD },
	{ "good, maximum", { .len = ROOM, .good = true }, GOOD },
	{ "good, maximum + 1", { .len = ROOM + 1, .good = true },
	  RS_RX_LENGTH_ERRORS },
	{ "good, -1", { .len = 0xffffffff, .good = true }, RS_RX_LENGTH_ERRORS },
	{ "not whole", { .len = 64, .last = true }, RS_RX_LENGTH_ERRORS },
};

static void length_name(const struct length_param *param, char *name)
{
	strscpy(name, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(length, length_params, length_name);

static const enum rs_rx_scheme schemes[] = {
	RS_RX_COPY, RS_RX_MAP, RS_RX_COPYBREAK, RS_RX_PAGE_POOL,
};

/* All counters of errors, which together are what was not delivered. */
static u64 errors_of(struct fake_nic *nic)
{
	return rs_rx_stat(&nic->rx, RS_RX_LENGTH_ERRORS) +
	       rs_rx_stat(&nic->rx, RS_RX_CRC_ERRORS) +
	       rs_rx_stat(&nic->rx, RS_RX_ALIGN_ERRORS) +
	       rs_rx_stat(&nic->rx, RS_RX_FIFO_ERRORS);
}

static struct fake_nic *nic_open(struct kunit *test, enum rs_rx_scheme scheme)
{
	struct fake_nic *nic = fake_nic_new(test);

	nic->rx.scheme = scheme;
	nic->rx.copybreak = 256;
	fake_rx_open(nic, 8, ROOM);
	return nic;
}

static void rx_length(struct kunit *test)
{
	const struct length_param *param = test->param_value;
	static u8 data[ROOM];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(schemes); i++) {
		struct fake_nic *nic = nic_open(test, schemes[i]);
		u32 written = min_t(u32, param->frame.len, ROOM);

		fake_frame_fill(data, ROOM, i);
		KUNIT_ASSERT_TRUE(test, fake_receive(nic, data, written,
						     &param->frame));
		KUNIT_EXPECT_EQ(test, 1, fake_poll(nic));
		if (param->counter == GOOD) {
			KUNIT_ASSERT_EQ(test, 1, nic->delivered);
			KUNIT_EXPECT_EQ(test, param->frame.len - ETH_FCS_LEN,
					nic->frames[0]->len + ETH_HLEN);
			KUNIT_EXPECT_EQ(test, param->frame.len < 64,
					rs_rx_stat(&nic->rx, RS_RX_RUNTS));
			KUNIT_EXPECT_EQ(test, 0, errors_of(nic));
		} else {
			KUNIT_EXPECT_EQ(test, 0, nic->delivered);
			KUNIT_EXPECT_EQ(test, 1, rs_rx_stat(&nic->rx, param->counter));
			KUNIT_EXPECT_EQ(test, 1, errors_of(nic));
			KUNIT_EXPECT_EQ(test, 0, nic->dma->syncs[0]);
			KUNIT_EXPECT_EQ(test, 0, nic->dma->unmaps);
		}
		KUNIT_EXPECT_EQ(test, 7, rs_ring_used(&nic->rx.ring));

		/* the next good frame is received as if nothing had been */
		KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, 60, 3));
		fake_poll(nic);
		KUNIT_EXPECT_EQ(test, 1 + (param->counter == GOOD),
				nic->delivered);
		fake_rx_close(nic);
	}
}

/* A frame over 2 to 4 buffers, its tail of 1 to 4 bytes or more. */
struct span_param {
	u32 pieces, tail;
};

static const struct span_param span_params[] = {
	{ 2, 1 }, { 2, 3 }, { 2, 4 }, { 2, 64 }, { 2, ROOM }, { 3, 2 },
	{ 4, 60 }, { 7, 1 },
};

static void span_name(const struct span_param *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u buffers, tail of %u",
		 param->pieces, param->tail);
}

KUNIT_ARRAY_PARAM(span, span_params, span_name);

/*
 * Chips differ in whether the tail says that it is not whole, or even says that
 * it is good; none of it matters.
 */
static void rx_spanning(struct kunit *test)
{
	const struct span_param *param = test->param_value;
	static u8 data[ROOM];
	unsigned int i;

	for (i = 0; i < 3 * ARRAY_SIZE(schemes); i++) {
		struct fake_nic *nic = nic_open(test, schemes[i / 3]);
		struct rs_frame frame = { .len = ROOM };
		u32 piece;

		for (piece = 0; piece < param->pieces; piece++) {
			bool last = piece == param->pieces - 1;

			frame.len = last ? param->tail : ROOM;
			frame.last = last;
			frame.whole = i % 3 == 1 && last;
			frame.good = i % 3 == 2 && last;
			KUNIT_ASSERT_TRUE(test, fake_receive(nic, data,
							     frame.len, &frame));
		}
		KUNIT_EXPECT_EQ(test, param->pieces, fake_poll(nic));
		KUNIT_EXPECT_EQ(test, 0, nic->delivered);
		KUNIT_EXPECT_EQ(test, 1, errors_of(nic));

		KUNIT_ASSERT_TRUE(test, fake_receive_good(nic, 60, 3));
		fake_poll(nic);
		KUNIT_EXPECT_EQ(test, 1, nic->delivered);
		KUNIT_EXPECT_EQ(test, 1, errors_of(nic));
		fake_rx_close(nic);
		KUNIT_EXPECT_EQ(test, schemes[i / 3] == RS_RX_PAGE_POOL,
				fake_dma_live(nic->dma));
	}
}

static struct kunit_case rx_lengths_cases[] = {
	KUNIT_CASE_PARAM(rx_length, length_gen_params),
	KUNIT_CASE_PARAM(rx_spanning, span_gen_params),
	{}
};

static struct kunit_suite rx_lengths_suite = {
	.name = "rx_lengths",
	.test_cases = rx_lengths_cases,
};

kunit_test_suite(rx_lengths_suite);

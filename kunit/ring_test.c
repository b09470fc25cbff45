// SPDX-License-Identifier: GPL-2.0-only
/* Suite ring: indices, ownership, refill, full and empty, stop and wake. */

#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <net/pkt_sched.h>

#include "../drivers/ringside/ring.h"

#define MAX_SLOTS 64

/* Descriptors that know who filled, owns and returned them, and in what order. */
struct fake_slots {
	struct kunit *test;
	struct rs_ring ring;
	bool filled[MAX_SLOTS];
	bool device[MAX_SLOTS];
	u32 given[MAX_SLOTS];	/* order of give calls since the last reset */
	u32 gives;
	u32 fill_fails;		/* fill calls yet to fail */
};

static int fake_fill(void *ctx, u32 slot)
{
	struct fake_slots *slots = ctx;

	KUNIT_ASSERT_LT(slots->test, slot, slots->ring.size);
	KUNIT_EXPECT_FALSE_MSG(slots->test, slots->device[slot],
			       "slot %u is the device's", slot);
	if (slots->fill_fails) {
		slots->fill_fails--;
		return -ENOMEM;
	}
	slots->filled[slot] = true;
	return 0;
}

static void fake_give(void *ctx, u32 slot)
{
	struct fake_slots *slots = ctx;

	KUNIT_ASSERT_LT(slots->test, slot, slots->ring.size);
	KUNIT_EXPECT_TRUE_MSG(slots->test, slots->filled[slot],
			      "slot %u given before it was filled", slot);
	KUNIT_EXPECT_FALSE_MSG(slots->test, slots->device[slot],
			       "slot %u given twice", slot);
	slots->device[slot] = true;
	slots->given[slots->gives++ % MAX_SLOTS] = slot;
}

static bool fake_mine(void *ctx, u32 slot)
{
	struct fake_slots *slots = ctx;

	return !slots->device[slot];
}

static const struct rs_ring_ops fake_slots_ops = {
	.fill = fake_fill,
	.give = fake_give,
	.mine = fake_mine,
};

static struct fake_slots *slots_new(struct kunit *test, u32 size, u32 spare)
{
	struct fake_slots *slots = kunit_kzalloc(test, sizeof(*slots), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, slots);
	slots->test = test;
	KUNIT_ASSERT_EQ(test, 0, rs_ring_init(&slots->ring, size, spare,
					      &fake_slots_ops, slots));
	return slots;
}

/* The device is done with a slot. */
static void slot_return(struct fake_slots *slots, u32 slot)
{
	KUNIT_EXPECT_TRUE(slots->test, slots->device[slot]);
	slots->device[slot] = false;
	slots->filled[slot] = false;
}

/* Move both ends to a position with nothing in flight. */
static void slots_start_at(struct fake_slots *slots, u32 position)
{
	slots->ring.prod = position;
	slots->ring.cons = position;
}

struct init_param {
	const char *name;
	u32 size, spare;
	int result;
};

static const struct init_param init_params[] = {
	{ "size 0", 0, 0, -EINVAL },
	{ "size 1", 1, 0, 0 },
	{ "size 3", 3, 0, -EINVAL },
	{ "size 64", 64, 0, 0 },
	{ "size 65", 65, 0, -EINVAL },
	{ "one spare of 2", 2, 1, 0 },
	{ "all spare", 8, 8, -EINVAL },
	{ "more than all spare", 8, 9, -EINVAL },
};

static void param_name_init(const struct init_param *param, char *name)
{
	strscpy(name, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(init, init_params, param_name_init);

static void ring_init_sizes(struct kunit *test)
{
	const struct init_param *param = test->param_value;
	struct rs_ring ring;

	KUNIT_EXPECT_EQ(test, param->result,
			rs_ring_init(&ring, param->size, param->spare,
				     &fake_slots_ops, NULL));
	if (param->result)
		return;
	KUNIT_EXPECT_EQ(test, 0, rs_ring_used(&ring));
	KUNIT_EXPECT_EQ(test, param->size - param->spare, rs_ring_free(&ring));
}

struct shape {
	u32 size, spare;
};

static const struct shape shapes[] = {
	{ 1, 0 }, { 2, 0 }, { 2, 1 }, { 4, 0 }, { 4, 1 }, { 8, 0 }, { 8, 1 },
	{ 16, 2 }, { 64, 0 }, { 64, 1 },
};

static void shape_name(const struct shape *shape, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u slots, %u spare",
		 shape->size, shape->spare);
}

KUNIT_ARRAY_PARAM(shape, shapes, shape_name);

/* From one start: fill to the last slot, be refused, empty, be empty. */
static void fill_and_empty(struct fake_slots *slots, u32 start)
{
	struct kunit *test = slots->test;
	struct rs_ring *ring = &slots->ring;
	u32 i;

	slots_start_at(slots, start);
	KUNIT_EXPECT_EQ(test, -1, rs_ring_next(ring));
	for (i = 0; i < ring->limit; i++) {
		KUNIT_EXPECT_EQ(test, ring->limit - i, rs_ring_free(ring));
		KUNIT_EXPECT_EQ(test, 0, rs_ring_post(ring));
		KUNIT_EXPECT_EQ(test, i + 1, rs_ring_used(ring));
	}
	KUNIT_EXPECT_EQ(test, 0, rs_ring_free(ring));
	KUNIT_EXPECT_EQ(test, -ENOSPC, rs_ring_post(ring));
	KUNIT_EXPECT_EQ(test, ring->limit, rs_ring_used(ring));
	KUNIT_EXPECT_EQ(test, -1, rs_ring_next(ring));

	for (i = 0; i < ring->limit; i++) {
		u32 slot = (start + i) % ring->size;

		slot_return(slots, slot);
		KUNIT_EXPECT_EQ(test, (int)slot, rs_ring_next(ring));
		rs_ring_take(ring, 1);
		KUNIT_EXPECT_EQ(test, -1, rs_ring_next(ring));
	}
	KUNIT_EXPECT_EQ(test, 0, rs_ring_used(ring));
}

static void ring_wraps_at_every_index(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fake_slots *slots = slots_new(test, shape->size, shape->spare);
	u32 start;

	for (start = 0; start < shape->size; start++)
		fill_and_empty(slots, start);
	/* and where the positions themselves wrap, at every distance */
	for (start = 0; start <= shape->size; start++)
		fill_and_empty(slots, 0u - start);
}

/* One slot before full the ring still takes exactly one. */
static void ring_one_before_full(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fake_slots *slots = slots_new(test, shape->size, shape->spare);
	struct rs_ring *ring = &slots->ring;

	KUNIT_EXPECT_EQ(test, ring->limit - 1,
			rs_ring_refill(ring, ring->limit - 1));
	KUNIT_EXPECT_EQ(test, 1, rs_ring_free(ring));
	KUNIT_EXPECT_EQ(test, 1, rs_ring_refill(ring, shape->size));
	KUNIT_EXPECT_EQ(test, 0, rs_ring_refill(ring, shape->size));
	KUNIT_EXPECT_EQ(test, ring->limit, slots->gives);
}

/* Refill fails k times in a row, for all k, and then recovers. */
static void ring_refill_fails_and_recovers(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	u32 k;

	for (k = 0; k <= shape->size; k++) {
		struct fake_slots *slots = slots_new(test, shape->size,
						     shape->spare);
		struct rs_ring *ring = &slots->ring;
		u32 i;

		slots->fill_fails = k;
		for (i = 0; i < k; i++) {
			KUNIT_EXPECT_EQ(test, 0, rs_ring_refill(ring, ring->size));
			KUNIT_EXPECT_EQ(test, 0, rs_ring_used(ring));
			KUNIT_EXPECT_EQ(test, 0, slots->gives);
			KUNIT_EXPECT_EQ(test, -1, rs_ring_next(ring));
		}
		KUNIT_EXPECT_EQ(test, ring->limit,
				rs_ring_refill(ring, ring->size));
	}
}

/* A refill that fails in the middle keeps what it posted. */
static void ring_refill_stops_in_the_middle(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fake_slots *slots = slots_new(test, shape->size, shape->spare);
	struct rs_ring *ring = &slots->ring;
	u32 half = ring->limit / 2;

	KUNIT_EXPECT_EQ(test, half, rs_ring_refill(ring, half));
	slots->fill_fails = 1;
	KUNIT_EXPECT_EQ(test, 0, rs_ring_refill(ring, ring->size));
	KUNIT_EXPECT_EQ(test, half, rs_ring_used(ring));
	KUNIT_EXPECT_EQ(test, ring->limit - half,
			rs_ring_refill(ring, ring->size));
}

static void ring_post_returns_the_error_of_fill(struct kunit *test)
{
	struct fake_slots *slots = slots_new(test, 4, 0);

	slots->fill_fails = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, rs_ring_post(&slots->ring));
	KUNIT_EXPECT_EQ(test, 0, slots->gives);
	KUNIT_EXPECT_EQ(test, 0, rs_ring_post(&slots->ring));
}

/* Packets of 1 to all slots: the tail is given before the head. */
static void ring_gives_the_head_last(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	u32 count, start;

	for (count = 1; count <= shape->size - shape->spare; count++) {
		for (start = 0; start < shape->size; start++) {
			struct fake_slots *slots = slots_new(test, shape->size,
							     shape->spare);
			u32 i;

			slots_start_at(slots, start);
			for (i = 0; i < count; i++)
				slots->filled[(start + i) % shape->size] = true;
			rs_ring_give_chain(&slots->ring, count);

			KUNIT_ASSERT_EQ(test, count, slots->gives);
			for (i = 0; i < count; i++)
				KUNIT_EXPECT_EQ(test,
						(start + count - 1 - i) % shape->size,
						slots->given[i]);
			KUNIT_EXPECT_EQ(test, count, rs_ring_used(&slots->ring));
		}
	}
}

/* A slot not in flight is not "returned", though its owner bit says so. */
static void ring_believes_only_slots_in_flight(struct kunit *test)
{
	struct fake_slots *slots = slots_new(test, 8, 0);
	struct rs_ring *ring = &slots->ring;
	u32 i;

	slots_start_at(slots, U32_MAX - 2);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_FALSE(test, rs_ring_returned(ring, ring->cons + i));

	rs_ring_refill(ring, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, rs_ring_returned(ring, ring->cons + i));
		slot_return(slots, rs_ring_slot(ring, ring->cons + i));
		KUNIT_EXPECT_TRUE(test, rs_ring_returned(ring, ring->cons + i));
	}
	KUNIT_EXPECT_FALSE(test, rs_ring_returned(ring, ring->cons + 3));
	KUNIT_EXPECT_FALSE(test, rs_ring_returned(ring, ring->cons - 1));
}

/* A device that returns a later slot first does not make the ring skip one. */
static void ring_takes_in_order(struct kunit *test)
{
	struct fake_slots *slots = slots_new(test, 4, 0);
	struct rs_ring *ring = &slots->ring;

	rs_ring_refill(ring, 4);
	slot_return(slots, 1);
	KUNIT_EXPECT_EQ(test, -1, rs_ring_next(ring));
	slot_return(slots, 0);
	KUNIT_EXPECT_EQ(test, 0, rs_ring_next(ring));
	rs_ring_take(ring, 1);
	KUNIT_EXPECT_EQ(test, 1, rs_ring_next(ring));
	rs_ring_take(ring, 1);
	KUNIT_EXPECT_EQ(test, -1, rs_ring_next(ring));
	KUNIT_EXPECT_EQ(test, 2, rs_ring_free(ring));
}

static void drop_netdev(void *netdev)
{
	free_netdev(netdev);
}

static struct netdev_queue *queue_new(struct kunit *test)
{
	struct net_device *netdev = alloc_etherdev(0);
	struct netdev_queue *queue;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, netdev);
	err = kunit_add_action_or_reset(test, drop_netdev, netdev);
	KUNIT_ASSERT_EQ(test, 0, err);
	queue = netdev_get_tx_queue(netdev, 0);
	/* what registration would do: a wake schedules the qdisc */
	rcu_assign_pointer(queue->qdisc, &noop_qdisc);
	netif_tx_start_queue(queue);
	return queue;
}

struct stop_param {
	u32 used, need;
	bool stops, wakes;
};

/* 8 slots; the queue stops when fewer than need are free. */
static const struct stop_param stop_params[] = {
	{ 0, 8, false, true }, { 1, 8, true, false }, { 5, 3, false, true },
	{ 6, 3, true, false }, { 7, 1, false, true }, { 8, 1, true, false },
};

static void stop_name(const struct stop_param *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u of 8 used, %u needed",
		 param->used, param->need);
}

KUNIT_ARRAY_PARAM(stop, stop_params, stop_name);

static void ring_stops(struct kunit *test)
{
	const struct stop_param *param = test->param_value;
	struct fake_slots *slots = slots_new(test, 8, 0);
	struct netdev_queue *queue = queue_new(test);

	rs_ring_refill(&slots->ring, param->used);
	KUNIT_EXPECT_EQ(test, param->stops,
			rs_ring_maybe_stop(&slots->ring, queue, param->need));
	KUNIT_EXPECT_EQ(test, param->stops, netif_tx_queue_stopped(queue));
}

static void ring_wakes(struct kunit *test)
{
	const struct stop_param *param = test->param_value;
	struct fake_slots *slots = slots_new(test, 8, 0);
	struct netdev_queue *queue = queue_new(test);

	rs_ring_refill(&slots->ring, param->used);
	KUNIT_EXPECT_FALSE_MSG(test,
			       rs_ring_maybe_wake(&slots->ring, queue, param->need),
			       "woke a queue that runs");
	netif_tx_stop_queue(queue);
	KUNIT_EXPECT_EQ(test, param->wakes,
			rs_ring_maybe_wake(&slots->ring, queue, param->need));
	KUNIT_EXPECT_EQ(test, !param->wakes, netif_tx_queue_stopped(queue));
}

/* A completion between the stop and the second look: no wake will follow. */
static void ring_looks_again_after_stop(struct kunit *test)
{
	const struct stop_param *param = test->param_value;
	struct fake_slots *slots = slots_new(test, 8, 0);
	struct netdev_queue *queue = queue_new(test);

	rs_ring_refill(&slots->ring, param->used);
	netif_tx_stop_queue(queue);
	KUNIT_EXPECT_EQ(test, param->stops,
			rs_ring_stays_stopped(&slots->ring, queue, param->need));
	KUNIT_EXPECT_EQ(test, param->stops, netif_tx_queue_stopped(queue));
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE_PARAM(ring_init_sizes, init_gen_params),
	KUNIT_CASE_PARAM(ring_wraps_at_every_index, shape_gen_params),
	KUNIT_CASE_PARAM(ring_one_before_full, shape_gen_params),
	KUNIT_CASE_PARAM(ring_refill_fails_and_recovers, shape_gen_params),
	KUNIT_CASE_PARAM(ring_refill_stops_in_the_middle, shape_gen_params),
	KUNIT_CASE(ring_post_returns_the_error_of_fill),
	KUNIT_CASE_PARAM(ring_gives_the_head_last, shape_gen_params),
	KUNIT_CASE(ring_believes_only_slots_in_flight),
	KUNIT_CASE(ring_takes_in_order),
	KUNIT_CASE_PARAM(ring_stops, stop_gen_params),
	KUNIT_CASE_PARAM(ring_wakes, stop_gen_params),
	KUNIT_CASE_PARAM(ring_looks_again_after_stop, stop_gen_params),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suite irqmask_auto: messages that acknowledge and mask. Nothing reads status, so
 * what the suite irqmask expects of it has no meaning here.
 */

#include <kunit/test.h>

#include "irq_machine.h"

static const struct irq_setting auto_settings[] = {
	{ "auto, irq", &fake_regs_auto, false, false, false, "W set=05; ", NULL },
	{ "auto, napi", &fake_regs_auto, true, false, false, "", "W set=05; " },
};

KUNIT_ARRAY_PARAM(auto, auto_settings, irq_setting_name);

#define AUTO_EVENTS (FAKE_EV_RX | FAKE_EV_TX)

static struct irq_machine *auto_machine(struct kunit *test)
{
	static const struct rs_irq_events of_poll = { .poll = AUTO_EVENTS };
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	rs_irqmask_close(&m->im);
	rs_irqmask_init(&m->im, &m->fake->access, setting->regs, &of_poll);
	m->fake->tick = NULL;
	rs_irqmask_open(&m->im);
	/* what opening raises is served before anything is counted */
	irq_machine_run(m);
	KUNIT_EXPECT_EQ(test, AUTO_EVENTS, m->fake->mask);
	m->fake->log[0] = '\0';
	m->fake->tick = irq_machine_tick;
	m->ticks = 0;
	m->steps = 0;
	m->interrupts = 0;
	m->polls = 0;
	return m;
}

static void auto_expect_rest(struct irq_machine *m, unsigned int packets)
{
	KUNIT_EXPECT_EQ(m->test, packets, m->served);
	KUNIT_EXPECT_EQ(m->test, 0, m->waiting);
	KUNIT_EXPECT_EQ_MSG(m->test, 0, m->fake->bad_unmasks,
			    "unmasked while a poll is scheduled");
	KUNIT_EXPECT_EQ(m->test, AUTO_EVENTS, m->fake->mask);
	KUNIT_EXPECT_FALSE(m->test, m->scheduled);
}

/* 1, 2 and 64 packets behind one message: one write, and no read at all. */
static void irqmask_auto_sequence(struct kunit *test)
{
	static const unsigned int bursts[] = { 1, 2, 64 };
	const struct irq_setting *setting = test->param_value;
	unsigned int i, packet;

	for (i = 0; i < ARRAY_SIZE(bursts); i++) {
		struct irq_machine *m = auto_machine(test);

		for (packet = 0; packet < bursts[i]; packet++)
			irq_machine_packet(m);
		fake_irq_message(m->fake);
		irq_machine_interrupt(m);
		fake_irq_expect(m->fake, setting->handler);
		if (setting->poll) {
			KUNIT_EXPECT_EQ(test, 0, m->served);
			irq_machine_poll(m);
			fake_irq_expect(m->fake, setting->poll);
		}
		auto_expect_rest(m, bursts[i]);
		KUNIT_EXPECT_EQ(test, 1, m->interrupts);
	}
}

static void irqmask_auto_race_packet(struct kunit *test)
{
	unsigned int at;

	for (at = 1; at <= 10; at++) {
		struct irq_machine *m = auto_machine(test);

		m->packet_at = at;
		irq_machine_packet(m);
		irq_machine_run(m);
		auto_expect_rest(m, m->ticks >= at ? 2 : 1);
	}
}

/*
 * Sent packets are an event of their own: their message finds the poll running,
 * at every step of it. It must look again, and not unmask before it has.
 */
static void irqmask_auto_second_message(struct kunit *test)
{
	unsigned int at;

	for (at = 1; at <= 8; at++) {
		struct irq_machine *m = auto_machine(test);

		m->second_at = at;
		irq_machine_packet(m);
		irq_machine_run(m);
		auto_expect_rest(m, m->steps >= at ? 2 : 1);
	}
}

/* A message under way while events are closed is lost: opening makes up for it. */
static void irqmask_auto_closed(struct kunit *test)
{
	struct irq_machine *m = auto_machine(test);

	irq_machine_packet(m);
	fake_irq_message(m->fake);
	rs_irqmask_close(&m->im);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	m->fake->log[0] = '\0';
	irq_machine_interrupt(m);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	KUNIT_EXPECT_EQ(test, 0, m->served);

	rs_irqmask_open(&m->im);
	fake_irq_expect(m->fake, "W set=05; W raise=05; ");
	irq_machine_run(m);
	auto_expect_rest(m, 1);
}

/* Closed between its look at the rings and its end, the handler leaves the mask. */
static void close_tick(struct fake_irq *fake)
{
	struct irq_machine *m = fake->ctx;

	fake->tick = NULL;
	rs_irqmask_close(&m->im);
}

static void irqmask_auto_closed_in_service(struct kunit *test)
{
	struct irq_machine *m = auto_machine(test);

	m->fake->tick = close_tick;
	irq_machine_packet(m);
	fake_irq_message(m->fake);
	irq_machine_interrupt(m);
	if (m->scheduled)
		irq_machine_poll(m);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	KUNIT_EXPECT_EQ(test, 1, m->served);
}

static void irqmask_auto_gone(struct kunit *test)
{
	struct irq_machine *m = auto_machine(test);

	m->im.gone = true;
	irq_machine_interrupt(m);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	rs_irqmask_open(&m->im);
	fake_irq_expect(m->fake, "");
}

static struct kunit_case irqmask_auto_cases[] = {
	KUNIT_CASE_PARAM(irqmask_auto_sequence, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_race_packet, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_second_message, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_closed, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_closed_in_service, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_gone, auto_gen_params),
	{}
};

static struct kunit_suite irqmask_auto_suite = {
	.name = "irqmask_auto",
	.test_cases = irqmask_auto_cases,
};

kunit_test_suite(irqmask_auto_suite);

// SPDX-License-Identifier: GPL-2.0-only
/* Suite irqmask: the exact register sequences, and that no event is ever lost. */

#include <kunit/test.h>

#include "irq_machine.h"

/* Masks: 05 is the poll's events, 20 the others, 25 all of them. */
static const struct irq_setting settings[] = {
	{ "w1c 16, irq", &fake_regs_16, false, false, false,
	  "R status; W status=01; ", NULL },
	{ "w1c 16, irq, loop", &fake_regs_16, false, false, true,
	  "R status; W status=01; R status; ", NULL },
	{ "w1c 16, napi cached", &fake_regs_16, true, false, false,
	  "R status; W mask=00; ", "W status=05; W mask=25; " },
	{ "w1c 16, napi cached, loop", &fake_regs_16, true, false, true,
	  "R status; W mask=00; ", "W status=05; W mask=25; " },
	{ "w1c 16, napi readback", &fake_regs_16, true, true, false,
	  "R status; W status=00; R mask; W mask=20; ",
	  "W status=05; R status; R mask; W mask=25; " },
	{ "w1c 16, napi readback, loop", &fake_regs_16, true, true, true,
	  "R status; W status=00; R mask; W mask=20; R status; ",
	  "W status=05; R status; R mask; W mask=25; " },
	{ "w1c 32, irq", &fake_regs_32, false, false, false,
	  "R status; W status=01; ", NULL },
	{ "w1c 32, irq, loop", &fake_regs_32, false, false, true,
	  "R status; W status=01; R status; ", NULL },
	{ "w1c 32, napi cached", &fake_regs_32, true, false, false,
	  "R status; W mask=00; ", "W status=05; W mask=25; " },
	{ "w1c 32, napi readback", &fake_regs_32, true, true, false,
	  "R status; W status=00; R mask; W mask=20; ",
	  "W status=05; R status; R mask; W mask=25; " },
	{ "read-clear, irq", &fake_regs_set_clear, false, false, false,
	  "R status; ", NULL },
	{ "read-clear, irq, loop", &fake_regs_set_clear, false, false, true,
	  "R status; R status; ", NULL },
	{ "read-clear, napi cached", &fake_regs_set_clear, true, false, false,
	  "R status; W clear=25; ", "W set=25; " },
	{ "read-clear, napi readback", &fake_regs_set_clear, true, true, false,
	  "R status; R mask; W clear=05; ", "R status; R mask; W set=05; " },
	{ "read-clear, napi readback, loop", &fake_regs_set_clear, true, true, true,
	  "R status; R mask; W clear=05; R status; ",
	  "R status; R mask; W set=05; " },
};

KUNIT_ARRAY_PARAM(setting, settings, irq_setting_name);

static void irqmask_sequence(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	irq_machine_packet(m);
	irq_machine_interrupt(m);
	fake_irq_expect(m->fake, setting->handler);
	if (setting->poll) {
		KUNIT_ASSERT_TRUE(test, m->scheduled);
		irq_machine_poll(m);
		fake_irq_expect(m->fake, setting->poll);
	}
	KUNIT_EXPECT_FALSE(test, m->scheduled);
	KUNIT_EXPECT_EQ(test, 1, m->served);
	KUNIT_EXPECT_FALSE(test, fake_irq_line(m->fake));
	KUNIT_EXPECT_EQ(test, FAKE_EV_ALL, m->fake->mask);
}

/* 2, 5 and 64 packets behind one interrupt cost what one packet costs. */
static void irqmask_sequence_shared_by_packets(struct kunit *test)
{
	static const unsigned int bursts[] = { 2, 5, 64 };
	const struct irq_setting *setting = test->param_value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bursts); i++) {
		struct irq_machine *m = irq_machine_new(test, setting);
		unsigned int packet;
		char both[256];

		snprintf(both, sizeof(both), "%s%s", setting->handler,
			 setting->poll ?: "");
		for (packet = 0; packet < bursts[i]; packet++)
			irq_machine_packet(m);
		irq_machine_run(m);
		fake_irq_expect(m->fake, both);
		KUNIT_EXPECT_EQ(test, bursts[i], m->served);
		KUNIT_EXPECT_EQ(test, 1, m->interrupts);
	}
}

/* What the sequences above add up to, as issue and experiments S2, S3 say. */
static void irqmask_sequence_lengths(struct kunit *test)
{
	unsigned int length[ARRAY_SIZE(settings)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		struct irq_machine *m = irq_machine_new(test, &settings[i]);

		m->fake->accesses = 0;
		irq_machine_packet(m);
		irq_machine_run(m);
		length[i] = m->fake->accesses;
	}
	KUNIT_EXPECT_EQ(test, 2, length[0]);
	KUNIT_EXPECT_EQ(test, 3, length[1]);
	KUNIT_EXPECT_EQ(test, 4, length[2]);
	KUNIT_EXPECT_EQ(test, 8, length[4]);
	KUNIT_EXPECT_EQ(test, 9, length[5]);
	/* cached: at most 2 more than irq, on every chip */
	KUNIT_EXPECT_LE(test, length[2], length[0] + 2);
	KUNIT_EXPECT_LE(test, length[8], length[6] + 2);
	KUNIT_EXPECT_LE(test, length[12], length[10] + 2);
}

static void machine_expect_rest(struct irq_machine *m, unsigned int packets)
{
	KUNIT_EXPECT_EQ(m->test, packets, m->served);
	KUNIT_EXPECT_EQ(m->test, 0, m->waiting);
	KUNIT_EXPECT_EQ(m->test, m->links, m->links_served);
	KUNIT_EXPECT_EQ_MSG(m->test, 0, m->fake->bad_unmasks,
			    "unmasked while a poll is scheduled");
	KUNIT_EXPECT_EQ(m->test, FAKE_EV_ALL, m->fake->mask);
}

/* A second packet before every access and ring look of the first one's service. */
static void irqmask_race_packet(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 30; at++) {
		struct irq_machine *m = irq_machine_new(test, setting);

		m->packet_at = at;
		irq_machine_packet(m);
		irq_machine_run(m);
		machine_expect_rest(m, m->ticks >= at ? 2 : 1);
	}
}

static void irqmask_race_link(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 30; at++) {
		struct irq_machine *m = irq_machine_new(test, setting);

		m->link_at = at;
		irq_machine_packet(m);
		irq_machine_run(m);
		machine_expect_rest(m, 1);
	}
}

/* Both, at all pairs of points: the events of one must not hide the other's. */
static void irqmask_race_packet_and_link(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	unsigned int packet_at, link_at;

	for (packet_at = 1; packet_at <= 16; packet_at++) {
		for (link_at = 1; link_at <= 16; link_at++) {
			struct irq_machine *m = irq_machine_new(test, setting);

			m->packet_at = packet_at;
			m->link_at = link_at;
			irq_machine_packet(m);
			irq_machine_run(m);
			machine_expect_rest(m, m->ticks >= packet_at ? 2 : 1);
			kunit_kfree(test, m->fake);
			kunit_kfree(test, m);
		}
	}
}

/*
 * A neighbour on the line interrupts at every step of a poll, with a packet
 * just arrived: the handler runs, and must not swallow the packet's event.
 */
static void irqmask_race_neighbour(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 12; at++) {
		struct irq_machine *m = irq_machine_new(test, setting);

		m->neighbour_at = at;
		irq_machine_packet(m);
		irq_machine_run(m);
		machine_expect_rest(m, m->steps >= at ? 2 : 1);
	}
}

static void irqmask_spurious(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	irq_machine_interrupt(m);
	fake_irq_expect(m->fake, "R status; ");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	KUNIT_EXPECT_FALSE(test, m->scheduled);
	KUNIT_EXPECT_EQ(test, 0, m->served);
}

/* An event nobody asked for sets status, but it is not our interrupt. */
static void irqmask_unwanted_event(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	m->fake->status = 0x80;
	irq_machine_interrupt(m);
	fake_irq_expect(m->fake, "R status; ");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
}

/* Closed: a neighbour's interrupt finds us not asking, and touches nothing. */
static void irqmask_closed(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	rs_irqmask_close(&m->im);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	m->fake->log[0] = '\0';
	irq_machine_packet(m);
	irq_machine_interrupt(m);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);

	rs_irqmask_open(&m->im);
	irq_machine_run(m);
	machine_expect_rest(m, 1);
}

/* Closing masks whatever the software copy says, and flushes the write. */
static void irqmask_close_after_reset(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	m->im.mask = 0;
	rs_irqmask_close(&m->im);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	KUNIT_EXPECT_NOT_NULL(test, strstr(m->fake->log, "R mask; "));
}

/* The link changes while nothing else happens. */
static void irqmask_link_only(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	irq_machine_link(m);
	irq_machine_run(m);
	machine_expect_rest(m, 0);
	KUNIT_EXPECT_EQ(test, 1, m->interrupts);
}

/* The device goes away before every access: no loop, no write after that. */
static void gone_tick(struct fake_irq *fake)
{
	struct irq_machine *m = fake->ctx;

	m->ticks++;
	if (m->ticks >= m->packet_at)
		fake->gone = true;
}

static void irqmask_gone(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 12; at++) {
		struct irq_machine *m = irq_machine_new(test, setting);
		unsigned int accesses;
		unsigned int i;

		m->fake->tick = gone_tick;
		m->packet_at = at;
		for (i = 0; i < 20 && !m->im.gone; i++) {
			irq_machine_packet(m);
			irq_machine_interrupt(m);
			if (m->scheduled)
				irq_machine_poll(m);
		}
		KUNIT_EXPECT_TRUE(test, m->im.gone);
		/* gone is final: nothing touches the registers any more */
		accesses = m->fake->accesses;
		irq_machine_interrupt(m);
		rs_irqmask_poll_begin(&m->im);
		KUNIT_EXPECT_FALSE(test, rs_irqmask_poll_again(&m->im));
		KUNIT_EXPECT_TRUE(test, rs_irqmask_poll_end(&m->im));
		rs_irqmask_open(&m->im);
		rs_irqmask_close(&m->im);
		KUNIT_EXPECT_EQ(test, accesses, m->fake->accesses);
	}
}

static void irqmask_gone_action(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	m->fake->gone = true;
	if (setting->napi)
		KUNIT_EXPECT_EQ(test, RS_IRQ_GONE, rs_irqmask_defer(&m->im));
	else
		KUNIT_EXPECT_EQ(test, RS_IRQ_GONE,
				rs_irqmask_direct(&m->im, irq_machine_serve, m));
	fake_irq_expect(m->fake, "R status; ");
	irq_machine_interrupt(m);
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 0, m->served);
}

/* A status bit that nothing clears: one handler call ends by itself. */
static void irqmask_stuck_bit(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);
	unsigned int per_turn = setting->regs->read_acks ? 1 : 2;

	m->fake->stuck = FAKE_EV_RX;
	m->fake->status = FAKE_EV_RX;
	m->fake->accesses = 0;
	irq_machine_interrupt(m);
	KUNIT_EXPECT_EQ(test, 0, m->unclaimed);
	if (setting->napi)
		KUNIT_EXPECT_LE(test, m->fake->accesses, 5);
	else if (setting->work_loop)
		KUNIT_EXPECT_EQ(test, per_turn * RS_IRQ_MAX_WORK,
				m->fake->accesses);
	else
		KUNIT_EXPECT_EQ(test, per_turn, m->fake->accesses);
}

/* A poll that ends after the close must not unmask: nobody may interrupt then. */
static void irqmask_closed_in_poll(struct kunit *test)
{
	const struct irq_setting *setting = test->param_value;
	struct irq_machine *m = irq_machine_new(test, setting);

	irq_machine_packet(m);
	irq_machine_interrupt(m);
	rs_irqmask_close(&m->im);
	if (setting->napi)
		irq_machine_poll(m);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	KUNIT_EXPECT_FALSE(test, m->scheduled);
	rs_irqmask_open(&m->im);
	irq_machine_run(m);
	machine_expect_rest(m, 1);
}

static struct kunit_case irqmask_cases[] = {
	KUNIT_CASE_PARAM(irqmask_sequence, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_sequence_shared_by_packets, setting_gen_params),
	KUNIT_CASE(irqmask_sequence_lengths),
	KUNIT_CASE_PARAM(irqmask_race_packet, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_race_link, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_race_packet_and_link, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_race_neighbour, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_spurious, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_unwanted_event, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_closed, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_close_after_reset, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_link_only, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_gone, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_gone_action, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_stuck_bit, setting_gen_params),
	KUNIT_CASE_PARAM(irqmask_closed_in_poll, setting_gen_params),
	{}
};

static struct kunit_suite irqmask_suite = {
	.name = "irqmask",
	.test_cases = irqmask_cases,
};

kunit_test_suite(irqmask_suite);

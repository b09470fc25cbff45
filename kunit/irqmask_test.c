// SPDX-License-Identifier: GPL-2.0-only
/* Suite irqmask: the exact register sequences, and that no event is ever lost. */

#include <kunit/test.h>

#include "fake_irq.h"

static const struct rs_irq_events events = {
	.poll = FAKE_EV_RX | FAKE_EV_TX,
	.other = FAKE_EV_LINK,
};

/* Chip, interrupt scheme and switches of one case. */
struct setting {
	const char *name;
	const struct rs_irq_regs *regs;
	bool napi, readback, work_loop;
	/* per packet at low load: the handler, and the poll if there is one */
	const char *handler, *poll;
};

/* Masks: 05 is the poll's events, 20 the others, 25 all of them. */
static const struct setting settings[] = {
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

static void setting_name(const struct setting *setting, char *name)
{
	strscpy(name, setting->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(setting, settings, setting_name);

/*
 * A whole small driver around the unit: packets wait in a ring of one number,
 * the handler and the poll run as the kernel would run them.
 */
struct machine {
	struct kunit *test;
	struct fake_irq *fake;
	struct rs_irqmask im;
	const struct setting *setting;
	unsigned int waiting, served;	/* packets */
	unsigned int links, links_served;
	unsigned int interrupts, polls, unclaimed;
	bool scheduled, missed;		/* NAPI's state */
	/* before which access and which step something happens; 0: never */
	unsigned int packet_at, link_at, neighbour_at, second_at;
	unsigned int ticks, steps;
};

static void packet_arrives(struct machine *m)
{
	m->waiting++;
	m->fake->status |= FAKE_EV_RX;
}

static void link_changes(struct machine *m)
{
	m->links++;
	m->fake->status |= FAKE_EV_LINK;
}

static void machine_tick(struct fake_irq *fake)
{
	struct machine *m = fake->ctx;

	m->ticks++;
	if (m->ticks == m->packet_at)
		packet_arrives(m);
	if (m->ticks == m->link_at)
		link_changes(m);
}

static struct machine *machine_new(struct kunit *test,
				   const struct setting *setting)
{
	struct machine *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->test = test;
	m->setting = setting;
	m->fake = fake_irq_new(test, setting->regs);
	rs_irqmask_init(&m->im, &m->fake->access, setting->regs, &events);
	m->im.readback = setting->readback;
	m->im.work_loop = setting->work_loop;
	rs_irqmask_open(&m->im);
	KUNIT_EXPECT_EQ(test, FAKE_EV_ALL, m->fake->mask);
	m->fake->log[0] = '\0';
	m->fake->ctx = m;
	m->fake->tick = machine_tick;
	return m;
}

static void serve_tick(struct machine *m)
{
	if (m->fake->tick)
		m->fake->tick(m->fake);
}

static void serve(void *ctx, u32 seen)
{
	struct machine *m = ctx;

	/* the ring is looked at one packet at a time, so time passes here too */
	serve_tick(m);
	if (seen & events.poll) {
		m->served += m->waiting;
		m->waiting = 0;
	}
	if (seen & events.other)
		m->links_served = m->links;
	serve_tick(m);
}

static void machine_schedule(struct machine *m)
{
	if (m->scheduled)
		m->missed = true;
	m->scheduled = true;
	m->fake->napi_scheduled = true;
}

static void machine_interrupt(struct machine *m)
{
	enum rs_irq_action action;

	m->interrupts++;
	if (m->setting->napi)
		action = rs_irqmask_defer(&m->im);
	else
		action = rs_irqmask_direct(&m->im, serve, m);
	if (action == RS_IRQ_POLL)
		machine_schedule(m);
	if (action == RS_IRQ_NONE)
		m->unclaimed++;
}

/* A point where another device of the same line may interrupt. */
static void machine_step(struct machine *m)
{
	m->steps++;
	if (m->steps == m->second_at) {
		m->waiting++;
		m->fake->status |= FAKE_EV_TX;
		if (!fake_irq_line(m->fake))
			return;
		fake_irq_message(m->fake);
		machine_interrupt(m);
	}
	if (m->steps == m->neighbour_at) {
		packet_arrives(m);
		machine_interrupt(m);
	}
}

static void machine_poll(struct machine *m)
{
	u32 seen;

	m->polls++;
	m->missed = false;
	machine_step(m);
	seen = rs_irqmask_poll_begin(&m->im);
	machine_step(m);
	serve(m, events.poll | seen);
	machine_step(m);
	if (rs_irqmask_poll_again(&m->im))
		return;		/* the whole weight used: polled again */
	machine_step(m);
	if (m->missed)
		return;		/* napi_complete_done() says no */
	m->scheduled = false;
	m->fake->napi_scheduled = false;
	machine_step(m);
	if (!rs_irqmask_poll_end(&m->im))
		machine_schedule(m);
}

/* Let the machine run until it rests; a machine that never rests is a bug. */
static void machine_run(struct machine *m)
{
	unsigned int rounds;

	for (rounds = 0; rounds < 50; rounds++) {
		if (fake_irq_line(m->fake)) {
			fake_irq_message(m->fake);
			machine_interrupt(m);
		} else if (m->scheduled) {
			machine_poll(m);
		} else {
			return;
		}
	}
	KUNIT_FAIL(m->test, "still busy after 50 interrupts and polls");
}

static void irqmask_sequence(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	packet_arrives(m);
	machine_interrupt(m);
	fake_irq_expect(m->fake, setting->handler);
	if (setting->poll) {
		KUNIT_ASSERT_TRUE(test, m->scheduled);
		machine_poll(m);
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
	const struct setting *setting = test->param_value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bursts); i++) {
		struct machine *m = machine_new(test, setting);
		unsigned int packet;
		char both[256];

		snprintf(both, sizeof(both), "%s%s", setting->handler,
			 setting->poll ?: "");
		for (packet = 0; packet < bursts[i]; packet++)
			packet_arrives(m);
		machine_run(m);
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
		struct machine *m = machine_new(test, &settings[i]);

		m->fake->accesses = 0;
		packet_arrives(m);
		machine_run(m);
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

static void machine_expect_rest(struct machine *m, unsigned int packets)
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
	const struct setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 30; at++) {
		struct machine *m = machine_new(test, setting);

		m->packet_at = at;
		packet_arrives(m);
		machine_run(m);
		machine_expect_rest(m, m->ticks >= at ? 2 : 1);
	}
}

static void irqmask_race_link(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 30; at++) {
		struct machine *m = machine_new(test, setting);

		m->link_at = at;
		packet_arrives(m);
		machine_run(m);
		machine_expect_rest(m, 1);
	}
}

/* Both, at all pairs of points: the events of one must not hide the other's. */
static void irqmask_race_packet_and_link(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	unsigned int packet_at, link_at;

	for (packet_at = 1; packet_at <= 16; packet_at++) {
		for (link_at = 1; link_at <= 16; link_at++) {
			struct machine *m = machine_new(test, setting);

			m->packet_at = packet_at;
			m->link_at = link_at;
			packet_arrives(m);
			machine_run(m);
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
	const struct setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 12; at++) {
		struct machine *m = machine_new(test, setting);

		m->neighbour_at = at;
		packet_arrives(m);
		machine_run(m);
		machine_expect_rest(m, m->steps >= at ? 2 : 1);
	}
}

static void irqmask_spurious(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	machine_interrupt(m);
	fake_irq_expect(m->fake, "R status; ");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	KUNIT_EXPECT_FALSE(test, m->scheduled);
	KUNIT_EXPECT_EQ(test, 0, m->served);
}

/* An event nobody asked for sets status, but it is not our interrupt. */
static void irqmask_unwanted_event(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	m->fake->status = 0x80;
	machine_interrupt(m);
	fake_irq_expect(m->fake, "R status; ");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
}

/* Closed: a neighbour's interrupt finds us not asking, and touches nothing. */
static void irqmask_closed(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	rs_irqmask_close(&m->im);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	m->fake->log[0] = '\0';
	packet_arrives(m);
	machine_interrupt(m);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);

	rs_irqmask_open(&m->im);
	machine_run(m);
	machine_expect_rest(m, 1);
}

/* Closing masks whatever the software copy says, and flushes the write. */
static void irqmask_close_after_reset(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	m->im.mask = 0;
	rs_irqmask_close(&m->im);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	KUNIT_EXPECT_NOT_NULL(test, strstr(m->fake->log, "R mask; "));
}

/* The link changes while nothing else happens. */
static void irqmask_link_only(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	link_changes(m);
	machine_run(m);
	machine_expect_rest(m, 0);
	KUNIT_EXPECT_EQ(test, 1, m->interrupts);
}

/* The device goes away before every access: no loop, no write after that. */
static void gone_tick(struct fake_irq *fake)
{
	struct machine *m = fake->ctx;

	m->ticks++;
	if (m->ticks >= m->packet_at)
		fake->gone = true;
}

static void irqmask_gone(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	unsigned int at;

	for (at = 1; at <= 12; at++) {
		struct machine *m = machine_new(test, setting);
		unsigned int accesses;
		unsigned int i;

		m->fake->tick = gone_tick;
		m->packet_at = at;
		for (i = 0; i < 20 && !m->im.gone; i++) {
			packet_arrives(m);
			machine_interrupt(m);
			if (m->scheduled)
				machine_poll(m);
		}
		KUNIT_EXPECT_TRUE(test, m->im.gone);
		/* gone is final: nothing touches the registers any more */
		accesses = m->fake->accesses;
		machine_interrupt(m);
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
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	m->fake->gone = true;
	if (setting->napi)
		KUNIT_EXPECT_EQ(test, RS_IRQ_GONE, rs_irqmask_defer(&m->im));
	else
		KUNIT_EXPECT_EQ(test, RS_IRQ_GONE,
				rs_irqmask_direct(&m->im, serve, m));
	fake_irq_expect(m->fake, "R status; ");
	machine_interrupt(m);
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 0, m->served);
}

/* A status bit that nothing clears: one handler call ends by itself. */
static void irqmask_stuck_bit(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);
	unsigned int per_turn = setting->regs->read_acks ? 1 : 2;

	m->fake->stuck = FAKE_EV_RX;
	m->fake->status = FAKE_EV_RX;
	m->fake->accesses = 0;
	machine_interrupt(m);
	KUNIT_EXPECT_EQ(test, 0, m->unclaimed);
	if (setting->napi)
		KUNIT_EXPECT_LE(test, m->fake->accesses, 5);
	else if (setting->work_loop)
		KUNIT_EXPECT_EQ(test, per_turn * RS_IRQ_MAX_WORK,
				m->fake->accesses);
	else
		KUNIT_EXPECT_EQ(test, per_turn, m->fake->accesses);
}

/*
 * Messages that acknowledge and mask. Nothing reads status, so what the cases
 * above expect of it has no meaning here.
 */
static const struct setting auto_settings[] = {
	{ "auto, irq", &fake_regs_auto, false, false, false, "W set=05; ", NULL },
	{ "auto, napi", &fake_regs_auto, true, false, false, "", "W set=05; " },
};

KUNIT_ARRAY_PARAM(auto, auto_settings, setting_name);

#define AUTO_EVENTS (FAKE_EV_RX | FAKE_EV_TX)

static struct machine *auto_machine(struct kunit *test)
{
	static const struct rs_irq_events of_poll = { .poll = AUTO_EVENTS };
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	rs_irqmask_close(&m->im);
	rs_irqmask_init(&m->im, &m->fake->access, setting->regs, &of_poll);
	m->fake->tick = NULL;
	rs_irqmask_open(&m->im);
	/* what opening raises is served before anything is counted */
	machine_run(m);
	KUNIT_EXPECT_EQ(test, AUTO_EVENTS, m->fake->mask);
	m->fake->log[0] = '\0';
	m->fake->tick = machine_tick;
	m->ticks = 0;
	m->steps = 0;
	m->interrupts = 0;
	m->polls = 0;
	return m;
}

static void auto_expect_rest(struct machine *m, unsigned int packets)
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
	const struct setting *setting = test->param_value;
	unsigned int i, packet;

	for (i = 0; i < ARRAY_SIZE(bursts); i++) {
		struct machine *m = auto_machine(test);

		for (packet = 0; packet < bursts[i]; packet++)
			packet_arrives(m);
		fake_irq_message(m->fake);
		machine_interrupt(m);
		fake_irq_expect(m->fake, setting->handler);
		if (setting->poll) {
			KUNIT_EXPECT_EQ(test, 0, m->served);
			machine_poll(m);
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
		struct machine *m = auto_machine(test);

		m->packet_at = at;
		packet_arrives(m);
		machine_run(m);
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
		struct machine *m = auto_machine(test);

		m->second_at = at;
		packet_arrives(m);
		machine_run(m);
		auto_expect_rest(m, m->steps >= at ? 2 : 1);
	}
}

/* A message under way while events are closed is lost: opening makes up for it. */
static void irqmask_auto_closed(struct kunit *test)
{
	struct machine *m = auto_machine(test);

	packet_arrives(m);
	fake_irq_message(m->fake);
	rs_irqmask_close(&m->im);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	m->fake->log[0] = '\0';
	machine_interrupt(m);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	KUNIT_EXPECT_EQ(test, 0, m->served);

	rs_irqmask_open(&m->im);
	fake_irq_expect(m->fake, "W set=05; W raise=05; ");
	machine_run(m);
	auto_expect_rest(m, 1);
}

/* Closed between its look at the rings and its end, the handler leaves the mask. */
static void close_tick(struct fake_irq *fake)
{
	struct machine *m = fake->ctx;

	fake->tick = NULL;
	rs_irqmask_close(&m->im);
}

static void irqmask_auto_closed_in_service(struct kunit *test)
{
	struct machine *m = auto_machine(test);

	m->fake->tick = close_tick;
	packet_arrives(m);
	fake_irq_message(m->fake);
	machine_interrupt(m);
	if (m->scheduled)
		machine_poll(m);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	KUNIT_EXPECT_EQ(test, 1, m->served);
}

static void irqmask_auto_gone(struct kunit *test)
{
	struct machine *m = auto_machine(test);

	m->im.gone = true;
	machine_interrupt(m);
	fake_irq_expect(m->fake, "");
	KUNIT_EXPECT_EQ(test, 1, m->unclaimed);
	rs_irqmask_open(&m->im);
	fake_irq_expect(m->fake, "");
}

/* A poll that ends after the close must not unmask: nobody may interrupt then. */
static void irqmask_closed_in_poll(struct kunit *test)
{
	const struct setting *setting = test->param_value;
	struct machine *m = machine_new(test, setting);

	packet_arrives(m);
	machine_interrupt(m);
	rs_irqmask_close(&m->im);
	if (setting->napi)
		machine_poll(m);
	KUNIT_EXPECT_EQ(test, 0, m->fake->mask);
	KUNIT_EXPECT_FALSE(test, m->scheduled);
	rs_irqmask_open(&m->im);
	machine_run(m);
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
	KUNIT_CASE_PARAM(irqmask_auto_sequence, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_race_packet, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_second_message, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_closed, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_closed_in_service, auto_gen_params),
	KUNIT_CASE_PARAM(irqmask_auto_gone, auto_gen_params),
	{}
};

static struct kunit_suite irqmask_suite = {
	.name = "irqmask",
	.test_cases = irqmask_cases,
};

kunit_test_suite(irqmask_suite);

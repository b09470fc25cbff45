// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver around the unit: packets wait in a ring of one number, and something
 * may happen before every access and at every step.
 */

#include "irq_machine.h"

static const struct rs_irq_events events = {
	.poll = FAKE_EV_RX | FAKE_EV_TX,
	.other = FAKE_EV_LINK,
};

void irq_setting_name(const struct irq_setting *setting, char *name)
{
	strscpy(name, setting->name, KUNIT_PARAM_DESC_SIZE);
}

void irq_machine_packet(struct irq_machine *m)
{
	m->waiting++;
	m->fake->status |= FAKE_EV_RX;
}

void irq_machine_link(struct irq_machine *m)
{
	m->links++;
	m->fake->status |= FAKE_EV_LINK;
}

void irq_machine_tick(struct fake_irq *fake)
{
	struct irq_machine *m = fake->ctx;

	m->ticks++;
	if (m->ticks == m->packet_at)
		irq_machine_packet(m);
	if (m->ticks == m->link_at)
		irq_machine_link(m);
}

struct irq_machine *irq_machine_new(struct kunit *test,
				    const struct irq_setting *setting)
{
	struct irq_machine *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

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
	m->fake->tick = irq_machine_tick;
	return m;
}

static void serve_tick(struct irq_machine *m)
{
	if (m->fake->tick)
		m->fake->tick(m->fake);
}

void irq_machine_serve(void *ctx, u32 seen)
{
	struct irq_machine *m = ctx;

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

static void machine_schedule(struct irq_machine *m)
{
	if (m->scheduled)
		m->missed = true;
	m->scheduled = true;
	m->fake->napi_scheduled = true;
}

void irq_machine_interrupt(struct irq_machine *m)
{
	enum rs_irq_action action;

	m->interrupts++;
	if (m->setting->napi)
		action = rs_irqmask_defer(&m->im);
	else
		action = rs_irqmask_direct(&m->im, irq_machine_serve, m);
	if (action == RS_IRQ_POLL)
		machine_schedule(m);
	if (action == RS_IRQ_NONE)
		m->unclaimed++;
}

/* A point where another device of the same line may interrupt. */
static void machine_step(struct irq_machine *m)
{
	m->steps++;
	if (m->steps == m->second_at) {
		m->waiting++;
		m->fake->status |= FAKE_EV_TX;
		if (!fake_irq_line(m->fake))
			return;
		fake_irq_message(m->fake);
		irq_machine_interrupt(m);
	}
	if (m->steps == m->neighbour_at) {
		irq_machine_packet(m);
		irq_machine_interrupt(m);
	}
}

void irq_machine_poll(struct irq_machine *m)
{
	u32 seen;

	m->polls++;
	m->missed = false;
	machine_step(m);
	seen = rs_irqmask_poll_begin(&m->im);
	machine_step(m);
	irq_machine_serve(m, events.poll | seen);
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
void irq_machine_run(struct irq_machine *m)
{
	unsigned int rounds;

	for (rounds = 0; rounds < 50; rounds++) {
		if (fake_irq_line(m->fake)) {
			fake_irq_message(m->fake);
			irq_machine_interrupt(m);
		} else if (m->scheduled) {
			irq_machine_poll(m);
		} else {
			return;
		}
	}
	KUNIT_FAIL(m->test, "still busy after 50 interrupts and polls");
}

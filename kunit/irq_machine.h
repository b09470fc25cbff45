/* SPDX-License-Identifier: GPL-2.0-only */
/* A whole small driver around the unit irqmask, run as the kernel would run it. */
#ifndef RINGSIDE_IRQ_MACHINE_H
#define RINGSIDE_IRQ_MACHINE_H

#include <kunit/test.h>

#include "fake_irq.h"

/* Chip, interrupt scheme and switches of one case. */
struct irq_setting {
	const char *name;
	const struct rs_irq_regs *regs;
	bool napi, readback, work_loop;
	/* per packet at low load: the handler, and the poll if there is one */
	const char *handler, *poll;
};

/*
 * A whole small driver around the unit: packets wait in a ring of one number,
 * the handler and the poll run as the kernel would run them.
 */
struct irq_machine {
	struct kunit *test;
	struct fake_irq *fake;
	struct rs_irqmask im;
	const struct irq_setting *setting;
	unsigned int waiting, served;	/* packets */
	unsigned int links, links_served;
	unsigned int interrupts, polls, unclaimed;
	bool scheduled, missed;		/* NAPI's state */
	/* before which access and which step something happens; 0: never */
	unsigned int packet_at, link_at, neighbour_at, second_at;
	unsigned int ticks, steps;
};

struct irq_machine *irq_machine_new(struct kunit *test,
				    const struct irq_setting *setting);
void irq_setting_name(const struct irq_setting *setting, char *name);

/* What happens outside, one call each. */
void irq_machine_packet(struct irq_machine *m);
void irq_machine_link(struct irq_machine *m);
/* Before each access and ring look: what the machine is told to let happen there. */
void irq_machine_tick(struct fake_irq *fake);

/* One interrupt, one poll, or all until the machine rests. */
void irq_machine_interrupt(struct irq_machine *m);
void irq_machine_poll(struct irq_machine *m);
void irq_machine_run(struct irq_machine *m);
/* The service of a handler without NAPI. */
void irq_machine_serve(void *ctx, u32 seen);

#endif

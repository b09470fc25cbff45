/* SPDX-License-Identifier: GPL-2.0-only */
/* Fake interrupt registers of four kinds of chip, with a log of every access. */
#ifndef RINGSIDE_FAKE_IRQ_H
#define RINGSIDE_FAKE_IRQ_H

#include <kunit/test.h>

#include "../drivers/ringside/irqmask.h"

#define FAKE_EV_RX	0x01
#define FAKE_EV_TX	0x04
#define FAKE_EV_LINK	0x20
#define FAKE_EV_ALL	(FAKE_EV_RX | FAKE_EV_TX | FAKE_EV_LINK)

struct fake_irq {
	struct rs_access access;
	struct kunit *test;
	const struct rs_irq_regs *regs;
	u32 status;
	u32 mask;
	u32 stuck;		/* status bits that no acknowledge clears */
	bool gone;
	bool napi_scheduled;	/* while true, unmasking is a bug */
	unsigned int accesses;
	unsigned int bad_unmasks;
	char log[512];
	/* called before each access, as the device's own time */
	void (*tick)(struct fake_irq *fake);
	void *ctx;
};

/*
 * 16 bits and write-one-to-clear; 32 bits, the same; read-to-clear with
 * set/clear; messages that acknowledge and mask.
 */
extern const struct rs_irq_regs fake_regs_16, fake_regs_32, fake_regs_set_clear,
	fake_regs_auto;

struct fake_irq *fake_irq_new(struct kunit *test, const struct rs_irq_regs *regs);
bool fake_irq_line(const struct fake_irq *fake);
/* The device interrupts: where messages mask, one leaves. */
void fake_irq_message(struct fake_irq *fake);
void fake_irq_expect(struct fake_irq *fake, const char *log);

#endif

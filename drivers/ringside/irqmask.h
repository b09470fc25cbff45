/* SPDX-License-Identifier: GPL-2.0-only */
/* Interrupt status and mask of a chip, and the orders in which they are used. */
#ifndef RINGSIDE_IRQMASK_H
#define RINGSIDE_IRQMASK_H

#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "access.h"

/* A chip's interrupt registers. A 1 in the mask lets the event through. */
struct rs_irq_regs {
	u32 status;
	u32 mask;	/* read back here; written here unless set and clear are given */
	u32 set;	/* writing ones lets events through, 0 if there is none */
	u32 clear;	/* writing ones masks events, 0 if there is none */
	unsigned int bytes;	/* 2 or 4 */
	bool read_acks;	/* reading status acknowledges, there is no write */
	/*
	 * The message acknowledges and masks the events it stands for: status is
	 * never read, and all events are the poll's. Needs set, clear and raise.
	 */
	bool auto_mask;
	u32 raise;	/* writing ones makes events happen */
};

/*
 * The events a driver asks for. Those of poll may be acknowledged unseen: what
 * they stand for is found in the rings.
 */
struct rs_irq_events {
	u32 poll;	/* receive and transmit */
	u32 other;	/* link, overflow, errors: what happened is in the bit only */
};

struct rs_irqmask {
	struct rs_access *access;
	const struct rs_irq_regs *regs;
	struct rs_irq_events events;
	u32 all_ones;		/* what a register of a device that is away reads */
	bool acks;		/* acknowledging is a write of the driver's */
	spinlock_t lock;	/* mask, seen, and the order of mask writes */
	u32 mask;		/* software copy: what is let through now */
	u32 seen;		/* other events acknowledged and not yet served */
	union {
		struct {
			bool missed;	/* a handler swallowed an event of the poll's */
			bool readback;	/* read the mask before each change */
			bool closed;	/* not between rs_irqmask_open() and _close() */
			bool gone;	/* a read gave all ones: the device is away */
		};
		u32 odd;		/* any of these: the poll goes the long way */
	};
	bool work_loop;		/* look at status again before leaving */
};

/* What the handler has to do next. */
enum rs_irq_action {
	RS_IRQ_NONE,	/* not ours */
	RS_IRQ_HANDLED,	/* ours and served */
	RS_IRQ_POLL,	/* ours; schedule the poll */
	RS_IRQ_GONE,	/* the device is away: stop */
};

/* Turns of the work loop before the handler leaves a status that stays set. */
#define RS_IRQ_MAX_WORK 20

typedef void (*rs_irq_serve_fn)(void *ctx, u32 events);

void rs_irqmask_init(struct rs_irqmask *im, struct rs_access *access,
		     const struct rs_irq_regs *regs,
		     const struct rs_irq_events *events);
void rs_irqmask_open(struct rs_irqmask *im);
void rs_irqmask_close(struct rs_irqmask *im);

enum rs_irq_action rs_irqmask_direct(struct rs_irqmask *im,
				     rs_irq_serve_fn serve, void *ctx);

enum rs_irq_action rs_irqmask_defer(struct rs_irqmask *im);
u32 rs_irqmask_poll_begin_slow(struct rs_irqmask *im);
bool rs_irqmask_poll_again(struct rs_irqmask *im);
bool rs_irqmask_poll_end(struct rs_irqmask *im);

static inline u32 rs_irq_read(struct rs_irqmask *im, u32 reg)
{
	if (im->regs->bytes == 2)
		return rs_read16(im->access, reg);
	return rs_read32(im->access, reg);
}

static inline void rs_irq_write(struct rs_irqmask *im, u32 reg, u32 value)
{
	if (im->regs->bytes == 2)
		rs_write16(im->access, reg, value);
	else
		rs_write32(im->access, reg, value);
}

static inline void rs_irq_ack(struct rs_irqmask *im, u32 events)
{
	if (im->acks)
		rs_irq_write(im, im->regs->status, events);
}

/**
 * rs_irqmask_poll_begin() - acknowledge what this poll is going to look for
 * @im: the mask
 *
 * Called before the rings are looked at, never after. Other events are
 * acknowledged only if a handler saw them, and readback's handler has done
 * that already.
 *
 * Return: the other events to serve now.
 */
static inline u32 rs_irqmask_poll_begin(struct rs_irqmask *im)
{
	/*
	 * cached: everything is masked until rs_irqmask_poll_end(), so no handler
	 * changes seen meanwhile. One that sets missed makes it poll once more.
	 */
	if (im->seen || READ_ONCE(im->odd))
		return rs_irqmask_poll_begin_slow(im);
	rs_irq_ack(im, im->events.poll);
	return 0;
}

#endif

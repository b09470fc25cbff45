// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupt status and mask of a chip, and the orders in which they are used.
 *
 * The chips here raise a level that follows status & mask, or send a message
 * whenever that becomes nonzero. Two orders follow from it, and no event is
 * lost in either:
 *
 *  - acknowledge, then look at the rings: what arrives after the look sets its
 *    bit again;
 *  - look at the rings, then unmask: what arrived in between has its bit set,
 *    so the unmask itself raises the interrupt.
 *
 * Where the message itself acknowledges and masks (MSI-X of the 82574L), the
 * first order is the chip's, and the second stays.
 */

#include "irqmask.h"

static u32 rs_irq_all(const struct rs_irqmask *im)
{
	return im->events.poll | im->events.other;
}

/* Status, or 0 and gone when the device does not answer. */
static __always_inline u32 rs_irq_status(struct rs_irqmask *im)
{
	u32 status = rs_irq_read(im, im->regs->status);

	if (unlikely(status == im->all_ones)) {
		im->gone = true;
		im->mask = 0;
		return 0;
	}
	return status;
}

static noinline
void rs_irq_set_and_clear(struct rs_irqmask *im, u32 old, u32 events)
{
	if (old & ~events)
		rs_irq_write(im, im->regs->clear, old & ~events);
	if (events & ~old)
		rs_irq_write(im, im->regs->set, events & ~old);
}

/* Let @events through and no others, where @old are. Called with the lock held. */
static __always_inline
void rs_irq_change_mask(struct rs_irqmask *im, u32 old, u32 events)
{
	im->mask = events;
	if (im->regs->set)
		rs_irq_set_and_clear(im, old, events);
	else
		rs_irq_write(im, im->regs->mask, events);
}

/* The same, after a look at the register if there is to be one. */
static noinline void rs_irq_set_mask(struct rs_irqmask *im, u32 events)
{
	u32 old = im->mask;

	if (im->readback) {
		old = rs_irq_read(im, im->regs->mask);
		if (unlikely(old == im->all_ones)) {
			im->gone = true;
			im->mask = 0;
			return;
		}
	}
	rs_irq_change_mask(im, old, events);
}

/**
 * rs_irqmask_init() - describe a chip's interrupts; touches no register
 * @im: the mask
 * @access: the registers
 * @regs: which of them
 * @events: what the driver serves
 */
void rs_irqmask_init(struct rs_irqmask *im, struct rs_access *access,
		     const struct rs_irq_regs *regs,
		     const struct rs_irq_events *events)
{
	im->access = access;
	im->regs = regs;
	im->events = *events;
	im->acks = !regs->read_acks && !regs->auto_mask;
	im->all_ones = regs->bytes == 2 ? 0xffff : 0xffffffff;
	spin_lock_init(&im->lock);
	im->mask = 0;
	im->seen = 0;
	im->missed = false;
	im->closed = true;
	im->gone = false;
}

/*
 * Let all events through. The handler must be there and the poll enabled.
 *
 * A message that came while closed found nobody and has acknowledged its events,
 * so where messages do that, all events are made to happen.
 */
void rs_irqmask_open(struct rs_irqmask *im)
{
	unsigned long flags;

	spin_lock_irqsave(&im->lock, flags);
	im->closed = false;
	if (!im->gone) {
		rs_irq_set_mask(im, rs_irq_all(im));
		if (im->regs->auto_mask)
			rs_irq_write(im, im->regs->raise, rs_irq_all(im));
	}
	spin_unlock_irqrestore(&im->lock, flags);
}

/*
 * Mask all events. Written whatever the copy says, since a reset or a resume
 * may have changed the register, and read back, because a posted write could
 * still let an interrupt through after synchronize_irq().
 */
void rs_irqmask_close(struct rs_irqmask *im)
{
	unsigned long flags;
	u32 reg = im->regs->clear ?: im->regs->mask;

	spin_lock_irqsave(&im->lock, flags);
	im->closed = true;
	im->mask = 0;
	if (!im->gone) {
		rs_irq_write(im, reg, im->regs->clear ? im->all_ones : 0);
		rs_irq_read(im, im->regs->mask);
	}
	spin_unlock_irqrestore(&im->lock, flags);
}

/* The message has masked what it stood for; what came since raises another. */
static enum rs_irq_action rs_irqmask_direct_auto(struct rs_irqmask *im,
						 rs_irq_serve_fn serve,
						 void *ctx)
{
	enum rs_irq_action action = RS_IRQ_NONE;
	unsigned long flags;

	if (READ_ONCE(im->closed) || im->gone)
		return RS_IRQ_NONE;
	serve(ctx, im->events.poll);

	spin_lock_irqsave(&im->lock, flags);
	if (!im->closed) {
		rs_irq_write(im, im->regs->set, rs_irq_all(im));
		action = RS_IRQ_HANDLED;
	}
	spin_unlock_irqrestore(&im->lock, flags);
	return action;
}

/**
 * rs_irqmask_direct() - the handler of scheme irq: serve everything here
 * @im: the mask
 * @serve: serves events
 * @ctx: handed to @serve
 *
 * Registers per interrupt: read status, write it back; with the work loop
 * read status again. The loop ends when nothing is left, and after
 * RS_IRQ_MAX_WORK turns when a bit is stuck or packets never stop. Where the
 * message masks: one write, the unmask.
 */
enum rs_irq_action rs_irqmask_direct(struct rs_irqmask *im,
				     rs_irq_serve_fn serve, void *ctx)
{
	enum rs_irq_action action = RS_IRQ_NONE;
	u32 wanted = READ_ONCE(im->mask);
	unsigned int turn;
	u32 status;

	if (im->regs->auto_mask)
		return rs_irqmask_direct_auto(im, serve, ctx);
	if (im->gone || !wanted)
		return RS_IRQ_NONE;
	for (turn = 0; turn < RS_IRQ_MAX_WORK; turn++) {
		status = rs_irq_status(im) & wanted;
		if (!status)
			break;
		rs_irq_ack(im, status);
		serve(ctx, status);
		action = RS_IRQ_HANDLED;
		if (!im->work_loop)
			break;
	}
	return im->gone ? RS_IRQ_GONE : action;
}

/*
 * The classical order: acknowledge all but the poll's events, mask those.
 * Other events stay let through and are served by the poll, in one context.
 */
static noinline
bool rs_irq_defer_readback(struct rs_irqmask *im, u32 status)
{
	rs_irq_ack(im, status & ~im->events.poll);
	rs_irq_set_mask(im, im->events.other);
	if (im->work_loop) {
		u32 more = rs_irq_status(im) & im->events.other;

		/* A write would be needed, so it stays for the next interrupt. */
		if (im->regs->read_acks)
			im->seen |= more;
	}
	return !im->gone;
}

/*
 * No register. An event of another kind may send its message while the poll
 * runs, as it was not masked with the first one's.
 */
static enum rs_irq_action rs_irqmask_defer_auto(struct rs_irqmask *im)
{
	enum rs_irq_action action = RS_IRQ_NONE;
	unsigned long flags;

	spin_lock_irqsave(&im->lock, flags);
	if (!im->closed && !im->gone) {
		im->missed = im->missed || !im->mask;
		im->mask = 0;
		action = RS_IRQ_POLL;
	}
	spin_unlock_irqrestore(&im->lock, flags);
	return action;
}

/**
 * rs_irqmask_defer() - the handler of scheme napi: mask, leave the rest to poll
 * @im: the mask
 *
 * cached masks everything with one write and no read. While everything is
 * masked the interrupt cannot be ours and status is left alone: where reading
 * acknowledges, a read on behalf of a neighbour on a shared line would swallow
 * the event that the unmask is to raise. readback leaves the other events on
 * and has to read, so it remembers what it swallowed for the poll.
 */
enum rs_irq_action rs_irqmask_defer(struct rs_irqmask *im)
{
	enum rs_irq_action action = RS_IRQ_NONE;
	unsigned long flags;
	u32 status, ours;

	if (im->regs->auto_mask)
		return rs_irqmask_defer_auto(im);

	spin_lock_irqsave(&im->lock, flags);
	if (!im->mask)
		goto out;
	status = rs_irq_status(im);
	if (unlikely(!status)) {
		action = im->gone ? RS_IRQ_GONE : RS_IRQ_NONE;
		goto out;
	}

	ours = status & im->mask;
	if (im->regs->read_acks && (status & im->events.poll & ~im->mask))
		im->missed = true;
	if (!ours)
		goto out;

	im->seen |= ours & im->events.other;
	action = RS_IRQ_POLL;
	if (!im->readback)
		rs_irq_change_mask(im, im->mask, 0);
	else if (!rs_irq_defer_readback(im, ours))
		action = RS_IRQ_GONE;
out:
	spin_unlock_irqrestore(&im->lock, flags);
	return action;
}

/* rs_irqmask_poll_begin() when there is more to it than to acknowledge. */
u32 rs_irqmask_poll_begin_slow(struct rs_irqmask *im)
{
	unsigned long flags;
	u32 seen;

	spin_lock_irqsave(&im->lock, flags);
	seen = im->seen;
	im->seen = 0;
	im->missed = false;
	if (!im->gone)
		rs_irq_ack(im, im->events.poll | (im->readback ? 0 : seen));
	spin_unlock_irqrestore(&im->lock, flags);
	return seen;
}

/**
 * rs_irqmask_poll_again() - the classical look at status before the unmask
 * @im: the mask
 *
 * cached needs no such look: see the top of this file.
 *
 * Return: true if there is more to do, so that the poll must not complete.
 */
bool rs_irqmask_poll_again(struct rs_irqmask *im)
{
	unsigned long flags;
	bool again = false;

	if (!im->readback)
		return false;

	spin_lock_irqsave(&im->lock, flags);
	if (!im->gone) {
		u32 status = rs_irq_status(im);

		if (im->regs->read_acks)
			im->seen |= status & im->events.other;
		again = (status & im->events.poll) || im->missed || im->seen;
	}
	spin_unlock_irqrestore(&im->lock, flags);
	return again;
}

/* rs_irqmask_poll_end() when there is more to it than to unmask. */
static noinline bool rs_irq_poll_end_slow(struct rs_irqmask *im)
{
	/* Closed while this poll ran: rs_irqmask_open() will unmask. */
	if (im->gone || im->closed)
		return true;
	if (im->missed || im->seen)
		return false;
	rs_irq_set_mask(im, rs_irq_all(im));
	return true;
}

/**
 * rs_irqmask_poll_end() - let events through again
 * @im: the mask
 *
 * Only for the poll that completed: whoever ignores what napi_complete_done()
 * says unmasks while a poll is scheduled.
 *
 * Return: true if unmasked, closed or the device is gone; false if a handler took
 * events meanwhile that no unmask will raise again: poll once more.
 */
bool rs_irqmask_poll_end(struct rs_irqmask *im)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&im->lock, flags);
	if (im->seen || im->odd) {
		done = rs_irq_poll_end_slow(im);
		spin_unlock_irqrestore(&im->lock, flags);
		return done;
	}
	rs_irq_change_mask(im, im->mask, rs_irq_all(im));
	spin_unlock_irqrestore(&im->lock, flags);
	return true;
}

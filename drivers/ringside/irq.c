// SPDX-License-Identifier: GPL-2.0-only
/* The handler, the poll, and how both are brought to rest. */

#include <linux/interrupt.h>

#include "ringside.h"

/* Delay before receive without a single buffer is tried again. */
#define RS_REFILL_RETRY	msecs_to_jiffies(10)
#define RS_WATCH_PERIOD	(2 * HZ)

static bool rs_refill_or_retry(struct rs_dev *rs)
{
	if (likely(!rs_rx_refill(&rs->rx)))
		return true;
	mod_delayed_work(system_wq, &rs->watch, RS_REFILL_RETRY);
	return false;
}

static void rs_serve_other(struct rs_dev *rs, u32 events)
{
	if (rs->chip->other)
		rs->chip->other(rs, events);
}

/* Receive, and refill; false if the retry has to poll again. */
static __always_inline
bool rs_receive(struct rs_dev *rs, u32 budget, u32 *taken)
{
	/* One buffer for all frames is given once. */
	if (rs->rx.ops->service) {
		*taken = rs->rx.ops->service(&rs->rx, budget);
		return true;
	}
	*taken = budget ? rs_rx_service_slots(&rs->rx, budget) : 0;
	return rs_refill_or_retry(rs);
}

/* Most polls of a port that only receives find nothing sent. */
static void rs_complete(struct rs_dev *rs, int napi_budget)
{
	if (rs_ring_used(&rs->tx.ring))
		rs_tx_complete(&rs->tx, napi_budget);
}

/* Scheme irq: everything in the handler. */
static void rs_serve(void *data, u32 events)
{
	struct rs_dev *rs = data;
	u32 taken;

	rs_complete(rs, 0);
	rs_receive(rs, RS_POLL_WEIGHT, &taken);
	if (events & rs->chip->events.other)
		rs_serve_other(rs, events & rs->chip->events.other);
	rs_rx_count(&rs->rx);
}

irqreturn_t rs_interrupt(int irq, void *data)
{
	struct rs_dev *rs = data;
	enum rs_irq_action action;

	if (rs_has(rs, RS_FLAG_NAPI))
		action = rs_irqmask_defer(&rs->irqmask);
	else
		action = rs_irqmask_direct(&rs->irqmask, rs_serve, rs);

	switch (action) {
	case RS_IRQ_POLL:
		napi_schedule_irqoff(&rs->napi);
		return IRQ_HANDLED;
	case RS_IRQ_HANDLED:
		return IRQ_HANDLED;
	case RS_IRQ_GONE:
		schedule_work(&rs->gone);
		return IRQ_NONE;
	default:
		return IRQ_NONE;
	}
}

int rs_poll(struct napi_struct *napi, int budget)
{
	struct rs_dev *rs = container_of(napi, struct rs_dev, napi);
	u32 taken, other;
	bool filled;

	other = rs_irqmask_poll_begin(&rs->irqmask);
	rs_complete(rs, budget);
	/* netpoll asks with a budget of 0 for the transmit side only */
	filled = rs_receive(rs, budget, &taken);
	rs_rx_count(&rs->rx);
	if (unlikely(other))
		rs_serve_other(rs, other);

	if (taken == budget ||
	    (rs->irqmask.readback && rs_irqmask_poll_again(&rs->irqmask)))
		return budget;
	if (!napi_complete_done(napi, taken))
		return taken;

	/*
	 * Without a buffer nothing can be received: stay masked until the retry
	 * polls again, rather than take an interrupt per lost frame.
	 */
	if (filled && !rs_irqmask_poll_end(&rs->irqmask))
		napi_schedule(napi);
	return taken;
}

/**
 * rs_pause() - bring handler, poll and xmit to rest; the chip goes on
 * @rs: the device, up; RTNL is held
 *
 * Frames go on arriving in the ring. Their events stay set in the status
 * register, so rs_resume() raises the interrupt for them.
 */
void rs_pause(struct rs_dev *rs)
{
	netif_tx_disable(rs->netdev);
	rs_irqmask_close(&rs->irqmask);
	synchronize_irq(rs->irq);
	if (rs->napi_on)
		napi_disable(&rs->napi);
	rs->napi_on = false;
}

void rs_resume(struct rs_dev *rs)
{
	if (rs_has(rs, RS_FLAG_NAPI)) {
		napi_enable(&rs->napi);
		rs->napi_on = true;
	}
	local_bh_disable();
	rs_refill_or_retry(rs);
	rs_rx_count(&rs->rx);
	/* What completed meanwhile may have been the wake of the queue. */
	rs_tx_complete(&rs->tx, 0);
	local_bh_enable();
	if (rs_ring_free(&rs->tx.ring) >= rs->tx.need)
		netif_tx_wake_all_queues(rs->netdev);
	rs_irqmask_open(&rs->irqmask);
}

/* Try again to give the chip a buffer. */
static void rs_retry_refill(struct rs_dev *rs)
{
	if (rs_has(rs, RS_FLAG_NAPI)) {
		/* Still masked by the poll that found no buffer. */
		local_bh_disable();
		napi_schedule(&rs->napi);
		local_bh_enable();
		return;
	}
	if (!rtnl_trylock()) {
		mod_delayed_work(system_wq, &rs->watch, RS_REFILL_RETRY);
		return;
	}
	rs_pause(rs);
	rs_resume(rs);
	rtnl_unlock();
}

/* Runs while the interface is up; cancelled before the rings go. */
void rs_watch(struct work_struct *work)
{
	struct rs_dev *rs = container_of(to_delayed_work(work), struct rs_dev,
					 watch);
	bool link;

	if (READ_ONCE(rs->irqmask.gone))
		return;
	queue_delayed_work(system_wq, &rs->watch, RS_WATCH_PERIOD);

	/* often enough that no counter of a chip runs full unseen */
	rs_read_missed(rs);
	link = rs->chip->link(rs);
	if (link != netif_carrier_ok(rs->netdev)) {
		if (netif_msg_link(rs))
			netdev_info(rs->netdev, "link %s\n", link ? "up" : "down");
		if (link)
			netif_carrier_on(rs->netdev);
		else
			netif_carrier_off(rs->netdev);
	}
	if (!rs_ring_used(&rs->rx.ring))
		rs_retry_refill(rs);
}

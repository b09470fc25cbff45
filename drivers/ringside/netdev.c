// SPDX-License-Identifier: GPL-2.0-only
/* The network device: up and down, transmit, statistics, address, MTU. */

#include <linux/etherdevice.h>
#include <linux/interrupt.h>
#include <linux/rtnetlink.h>

#include "ringside.h"

#define RS_RESTART_RETRY	(2 * HZ)

/* Coherent memory for both rings, each aligned as the chip wants it. */
static int rs_alloc_desc(struct rs_dev *rs)
{
	const struct rs_chip *chip = rs->chip;
	size_t rx_bytes = ALIGN(rs->rx_size * chip->desc_bytes, chip->desc_align);
	size_t tx_bytes = ALIGN(rs->tx_size * chip->desc_bytes, chip->desc_align);

	/* dma_alloc_coherent() aligns to the page, which is enough for all. */
	rs->desc_bytes = rx_bytes + tx_bytes + chip->extra_bytes;
	rs->desc = dma_alloc_coherent(rs->dma.dev, rs->desc_bytes,
				      &rs->desc_addr, GFP_KERNEL);
	if (!rs->desc)
		return -ENOMEM;
	rs->rx.desc = rs->desc;
	rs->rx_desc_addr = rs->desc_addr;
	rs->tx.desc = rs->desc + rx_bytes;
	rs->tx_desc_addr = rs->desc_addr + rx_bytes;
	rs->extra = rs->tx.desc + tx_bytes;
	rs->extra_addr = rs->tx_desc_addr + tx_bytes;
	return 0;
}

static void rs_free_desc(struct rs_dev *rs)
{
	dma_free_coherent(rs->dma.dev, rs->desc_bytes, rs->desc, rs->desc_addr);
	rs->desc = NULL;
}

static u32 rs_tx_need(const struct rs_dev *rs)
{
	return rs->chip->caps & RS_CAP_SG ? MAX_SKB_FRAGS + 1 : 1;
}

static int rs_alloc_rings(struct rs_dev *rs)
{
	const struct rs_chip *chip = rs->chip;
	u32 room = chip->rx_room(rs->netdev->mtu + RS_FRAME_OVERHEAD);
	int err;

	err = rs_alloc_desc(rs);
	if (err)
		return err;
	err = rs_rx_init(&rs->rx, rs->rx_size, chip->spare, room);
	if (err)
		goto free_desc;
	err = rs_tx_init(&rs->tx, rs->tx_size, chip->spare, rs_tx_need(rs));
	if (err)
		goto free_rx;
	rs_apply_flags(rs);
	err = rs_page_pool_open(rs);
	if (err)
		goto free_tx;
	return 0;

free_tx:
	rs_tx_exit(&rs->tx);
free_rx:
	rs_rx_exit(&rs->rx);
free_desc:
	rs_free_desc(rs);
	return err;
}

static void rs_free_rings(struct rs_dev *rs)
{
	rs_tx_exit(&rs->tx);
	rs_rx_exit(&rs->rx);
	rs_page_pool_close(rs);
	rs_free_desc(rs);
}

/*
 * Vectors stay while the interface is down: which processors serve them is the
 * user's choice, and it would go with them.
 */
static int rs_take_vector(struct rs_dev *rs)
{
	unsigned int types = PCI_IRQ_INTX;
	int err;

	if (rs_has(rs, RS_FLAG_AUTO_MASK))
		types = PCI_IRQ_MSIX;
	else if (rs->chip->caps & RS_CAP_MSI)
		types |= PCI_IRQ_MSI;
	if (rs->irq_types == types)
		return 0;
	rs_give_vector(rs);
	err = pci_alloc_irq_vectors(rs->pdev, 1, 1, types);
	if (err < 0)
		return err;
	rs->irq_types = types;
	rs->irq = pci_irq_vector(rs->pdev, 0);
	return 0;
}

/**
 * rs_give_vector() - give back what rs_up() took, if it did
 * @rs: the device, down
 */
void rs_give_vector(struct rs_dev *rs)
{
	if (rs->irq_types)
		pci_free_irq_vectors(rs->pdev);
	rs->irq_types = 0;
}

static int rs_take_irq(struct rs_dev *rs)
{
	bool auto_mask = rs_has(rs, RS_FLAG_AUTO_MASK);
	const struct rs_chip *chip = rs->chip;
	int err;

	err = rs_take_vector(rs);
	if (err)
		return err;
	rs_irqmask_init(&rs->irqmask, &rs->access,
			auto_mask ? &chip->auto_irq : &chip->irq,
			auto_mask ? &chip->auto_events : &chip->events);
	err = request_irq(rs->irq, rs_interrupt, IRQF_SHARED, rs->netdev->name,
			  rs);
	if (err)
		return err;
	rs_tell_irq(rs);
	return 0;
}

/**
 * rs_up() - rings, handler, chip, interrupts, in this order
 * @rs: the device; RTNL is held
 * @reset: reset the chip, even if it could do without
 *
 * Events are let through last: until then the handler claims nothing, so a
 * line that is already asserted by a neighbour does no harm.
 */
int rs_up(struct rs_dev *rs, bool reset)
{
	int err;

	/* What was asked for until now is what happens here. */
	cancel_delayed_work(&rs->restart);
	err = rs_alloc_rings(rs);
	if (err)
		return err;
	if (reset || !(rs->chip->caps & RS_CAP_RESTART)) {
		err = rs->chip->reset(rs);
		if (err)
			goto free_rings;
	}
	err = rs_take_irq(rs);
	if (err)
		goto free_rings;

	rs->chip->start(rs);
	rs->chip->rx_mode(rs);
	if (rs->chip->mitigate)
		rs->chip->mitigate(rs, rs_has(rs, RS_FLAG_MITIGATION) ?
				   rs->usecs : 0);
	netif_tx_start_all_queues(rs->netdev);
	rs->running = true;
	rs_resume(rs);
	mod_delayed_work(system_wq, &rs->watch, 0);
	return 0;

free_rings:
	rs_free_rings(rs);
	return err;
}

/*
 * Hand up every frame that the chip has finished. Neither handler nor poll
 * runs, so NAPI's context is not there to be used.
 */
static void rs_drain_rx(struct rs_dev *rs)
{
	rs->rx.bufs.in_napi = false;
	local_bh_disable();
	rs_rx_service(&rs->rx, rs->rx.ring.size);
	rs_rx_count(&rs->rx);
	local_bh_enable();
}

/**
 * rs_down() - the reverse of rs_up(), without loss of a received frame
 * @rs: the device; RTNL is held
 */
void rs_down(struct rs_dev *rs)
{
	rs_pause(rs);
	cancel_delayed_work_sync(&rs->watch);
	netif_carrier_off(rs->netdev);
	rs_read_missed(rs);
	if (!rs->irqmask.gone)
		rs->chip->stop(rs);
	rs_drain_rx(rs);
	free_irq(rs->irq, rs);
	rs->running = false;
	rs_free_rings(rs);
}

static int rs_ndo_open(struct net_device *netdev)
{
	return rs_up(netdev_priv(netdev), true);
}

static int rs_ndo_stop(struct net_device *netdev)
{
	struct rs_dev *rs = netdev_priv(netdev);

	/* Not if a failed restart has left nothing to take down. */
	if (rs->running)
		rs_down(rs);
	return 0;
}

static netdev_tx_t rs_ndo_start_xmit(struct sk_buff *skb,
				     struct net_device *netdev)
{
	struct rs_dev *rs = netdev_priv(netdev);

	return rs_tx_xmit(&rs->tx, skb, netdev_xmit_more());
}

/**
 * rs_read_missed() - frames the chip could not store, since the driver is bound
 * @rs: the device; any context
 */
u64 rs_read_missed(struct rs_dev *rs)
{
	unsigned long flags;
	u64 missed;

	spin_lock_irqsave(&rs->missed_lock, flags);
	if (rs->running && !rs->irqmask.gone)
		rs->missed += rs->chip->missed(rs);
	missed = rs->missed;
	spin_unlock_irqrestore(&rs->missed_lock, flags);
	return missed;
}

static void rs_ndo_get_stats64(struct net_device *netdev,
			       struct rtnl_link_stats64 *stats)
{
	struct rs_dev *rs = netdev_priv(netdev);

	stats->rx_packets = rs_rx_stat(&rs->rx, RS_RX_PACKETS);
	stats->rx_bytes = rs_rx_stat(&rs->rx, RS_RX_BYTES);
	stats->rx_dropped = rs_rx_stat(&rs->rx, RS_RX_DROPPED) +
			    rs_rx_stat(&rs->rx, RS_RX_NO_MEMORY);
	stats->rx_length_errors = rs_rx_stat(&rs->rx, RS_RX_LENGTH_ERRORS);
	stats->rx_crc_errors = rs_rx_stat(&rs->rx, RS_RX_CRC_ERRORS);
	stats->rx_frame_errors = rs_rx_stat(&rs->rx, RS_RX_ALIGN_ERRORS);
	stats->rx_fifo_errors = rs_rx_stat(&rs->rx, RS_RX_FIFO_ERRORS);
	stats->rx_missed_errors = rs_read_missed(rs);
	stats->rx_errors = stats->rx_length_errors + stats->rx_crc_errors +
			   stats->rx_frame_errors + stats->rx_fifo_errors;
	stats->tx_packets = rs_tx_stat(&rs->tx, RS_TX_PACKETS);
	stats->tx_bytes = rs_tx_stat(&rs->tx, RS_TX_BYTES);
	stats->tx_dropped = rs_tx_stat(&rs->tx, RS_TX_MAP_FAILED) +
			    rs_tx_stat(&rs->tx, RS_TX_SUM_FAILED);
}

static void rs_ndo_set_rx_mode(struct net_device *netdev)
{
	struct rs_dev *rs = netdev_priv(netdev);

	if (rs->running)
		rs->chip->rx_mode(rs);
}

static int rs_ndo_set_mac_address(struct net_device *netdev, void *address)
{
	struct rs_dev *rs = netdev_priv(netdev);
	int err;

	err = eth_mac_addr(netdev, address);
	if (err || !rs->running)
		return err;
	if (rs->chip->address_restarts)
		return rs_restart(rs, false);
	rs->chip->rx_mode(rs);
	return 0;
}

static int rs_ndo_change_mtu(struct net_device *netdev, int mtu)
{
	struct rs_dev *rs = netdev_priv(netdev);
	int old = netdev->mtu;
	int err;

	if (!rs->running) {
		WRITE_ONCE(netdev->mtu, mtu);
		return 0;
	}
	err = rs_check_frame(rs, rs->flags, mtu);
	if (err)
		return err;
	WRITE_ONCE(netdev->mtu, mtu);
	err = rs_restart(rs, false);
	if (err) {
		WRITE_ONCE(netdev->mtu, old);
		rs_restart(rs, true);
	}
	return err;
}

static void rs_ndo_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	struct rs_dev *rs = netdev_priv(netdev);

	netdev_warn(netdev, "transmit timeout, restarting\n");
	rs_ask_restart(rs);
}

#ifdef CONFIG_NET_POLL_CONTROLLER
/* Without NAPI the core cannot poll by itself. */
static void rs_ndo_poll_controller(struct net_device *netdev)
{
	struct rs_dev *rs = netdev_priv(netdev);

	if (rs_has(rs, RS_FLAG_NAPI) || !disable_hardirq(rs->irq))
		return;
	rs_interrupt(rs->irq, rs);
	enable_irq(rs->irq);
}
#endif

const struct net_device_ops rs_netdev_ops = {
	.ndo_open = rs_ndo_open,
	.ndo_stop = rs_ndo_stop,
	.ndo_start_xmit = rs_ndo_start_xmit,
	.ndo_get_stats64 = rs_ndo_get_stats64,
	.ndo_set_rx_mode = rs_ndo_set_rx_mode,
	.ndo_set_mac_address = rs_ndo_set_mac_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_change_mtu = rs_ndo_change_mtu,
	.ndo_tx_timeout = rs_ndo_tx_timeout,
#ifdef CONFIG_NET_POLL_CONTROLLER
	.ndo_poll_controller = rs_ndo_poll_controller,
#endif
};

/**
 * rs_restart() - down and up, for what the chip takes only when stopped
 * @rs: the device, running or left down by a restart that failed; RTNL held
 * @reset: reset the chip, even if it could do without
 */
int rs_restart(struct rs_dev *rs, bool reset)
{
	bool carrier = netif_carrier_ok(rs->netdev);
	int err;

	if (rs->running)
		rs_down(rs);
	err = rs_up(rs, reset);
	if (err) {
		netdev_err(rs->netdev, "restart failed: %d\n", err);
		mod_delayed_work(system_wq, &rs->restart, RS_RESTART_RETRY);
	} else if (carrier) {
		netif_carrier_on(rs->netdev);
	}
	return err;
}

/**
 * rs_ask_restart() - restart a little later, from any context
 * @rs: the device, bound
 */
void rs_ask_restart(struct rs_dev *rs)
{
	mod_delayed_work(system_wq, &rs->restart, 0);
}

/*
 * Not cancelled by close: it looks at what is wanted. A restart that failed has
 * left the interface without rings, so it is tried again until it is closed.
 */
static void rs_restart_work(struct work_struct *work)
{
	struct rs_dev *rs = container_of(to_delayed_work(work), struct rs_dev,
					 restart);

	rtnl_lock();
	if (netif_running(rs->netdev) && netif_device_present(rs->netdev) &&
	    !rs->irqmask.gone)
		rs_restart(rs, true);
	rtnl_unlock();
}

static void rs_gone_work(struct work_struct *work)
{
	struct rs_dev *rs = container_of(work, struct rs_dev, gone);

	rtnl_lock();
	netdev_err(rs->netdev, "device does not answer, giving up on it\n");
	netif_device_detach(rs->netdev);
	netif_carrier_off(rs->netdev);
	rtnl_unlock();
}

/* Everything of the net_device that needs no register. */
void rs_netdev_setup(struct rs_dev *rs)
{
	struct net_device *netdev = rs->netdev;

	spin_lock_init(&rs->missed_lock);
	INIT_DELAYED_WORK(&rs->watch, rs_watch);
	INIT_DELAYED_WORK(&rs->restart, rs_restart_work);
	INIT_WORK(&rs->gone, rs_gone_work);

	rs->rx.ops = rs->chip->rx_ops;
	rs->rx.netdev = netdev;
	rs->rx.access = &rs->access;
	rs->rx.napi = &rs->napi;
	rs->rx.bufs.dma = &rs->dma;
	u64_stats_init(&rs->rx.syncp);
	rs->tx.ops = rs->chip->tx_ops;
	rs->tx.netdev = netdev;
	rs->tx.access = &rs->access;
	rs->tx.dma = &rs->dma;
	rs->tx.queue = netdev_get_tx_queue(netdev, 0);
	u64_stats_init(&rs->tx.xmit_syncp);
	u64_stats_init(&rs->tx.done_syncp);
	rs->rx_size = rs->chip->ring_default;
	rs->tx_size = rs->chip->ring_default;

	netdev->netdev_ops = &rs_netdev_ops;
	netdev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	netdev->ethtool_ops = &rs_ethtool_ops;
	netdev->watchdog_timeo = 5 * HZ;
	netdev->min_mtu = ETH_MIN_MTU;
	netdev->max_mtu = rs->chip->max_frame - RS_FRAME_OVERHEAD;
	/*
	 * The stack scatters only what it need not sum itself. xmit sums, in
	 * software: the same for all chips, and nothing is hidden from a count.
	 */
	if (rs->chip->caps & RS_CAP_SG)
		netdev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM;
	netdev->features |= netdev->hw_features;
	netif_napi_add(netdev, &rs->napi, rs_poll);
	rs_set_queue_stats(netdev);
	netif_carrier_off(netdev);
}

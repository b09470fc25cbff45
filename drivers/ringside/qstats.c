// SPDX-License-Identifier: GPL-2.0-only
/* What netlink tells of queues; built where the kernel has the interface (6.9). */

#include <net/netdev_queues.h>

#include "ringside.h"

static void rs_queue_stats_rx(struct net_device *netdev, int index,
			      struct netdev_queue_stats_rx *stats)
{
	struct rs_dev *rs = netdev_priv(netdev);

	stats->packets = rs_rx_stat(&rs->rx, RS_RX_PACKETS);
	stats->bytes = rs_rx_stat(&rs->rx, RS_RX_BYTES);
	stats->alloc_fail = rs_rx_stat(&rs->rx, RS_RX_NO_MEMORY) +
			    rs_rx_stat(&rs->rx, RS_RX_REFILL_FAILED);
}

static void rs_queue_stats_tx(struct net_device *netdev, int index,
			      struct netdev_queue_stats_tx *stats)
{
	struct rs_dev *rs = netdev_priv(netdev);

	stats->packets = rs_tx_stat(&rs->tx, RS_TX_PACKETS);
	stats->bytes = rs_tx_stat(&rs->tx, RS_TX_BYTES);
}

/* One queue for ever: nothing was counted by queues that are gone. */
static void rs_base_stats(struct net_device *netdev,
			  struct netdev_queue_stats_rx *rx,
			  struct netdev_queue_stats_tx *tx)
{
	rx->packets = 0;
	rx->bytes = 0;
	rx->alloc_fail = 0;
	tx->packets = 0;
	tx->bytes = 0;
}

static const struct netdev_stat_ops rs_stat_ops = {
	.get_queue_stats_rx = rs_queue_stats_rx,
	.get_queue_stats_tx = rs_queue_stats_tx,
	.get_base_stats = rs_base_stats,
};

void rs_set_queue_stats(struct net_device *netdev)
{
	netdev->stat_ops = &rs_stat_ops;
}

/* Which line serves the poll; for as long as the handler is there. */
void rs_tell_irq(struct rs_dev *rs)
{
	netif_napi_set_irq(&rs->napi, rs->irq);
}

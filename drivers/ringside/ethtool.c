// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: switches, rings, coalescing, statistics, registers, self test. */

#include <linux/ethtool.h>
#include <linux/interrupt.h>

#include "ringside.h"

static const char rs_rx_stat_names[RS_RX_STATS][ETH_GSTRING_LEN] = {
	[RS_RX_PACKETS] = "rx_packets",
	[RS_RX_BYTES] = "rx_bytes",
	[RS_RX_COPIED] = "rx_copied",
	[RS_RX_HANDED_UP] = "rx_handed_up",
	[RS_RX_RUNTS] = "rx_runts",
	[RS_RX_DROPPED] = "rx_dropped_here",
	[RS_RX_NO_MEMORY] = "rx_no_memory",
	[RS_RX_REFILL_FAILED] = "rx_refill_failed",
	[RS_RX_LENGTH_ERRORS] = "rx_length_errors",
	[RS_RX_CRC_ERRORS] = "rx_crc_errors",
	[RS_RX_ALIGN_ERRORS] = "rx_align_errors",
	[RS_RX_FIFO_ERRORS] = "rx_fifo_errors",
	[RS_RX_RESTARTS] = "rx_restarts",
};

static const char rs_tx_stat_names[RS_TX_STATS][ETH_GSTRING_LEN] = {
	[RS_TX_PACKETS] = "tx_packets",
	[RS_TX_BYTES] = "tx_bytes",
	[RS_TX_STOPPED] = "tx_stopped",
	[RS_TX_WOKEN] = "tx_woken",
	[RS_TX_BUSY] = "tx_busy",
	[RS_TX_MAP_FAILED] = "tx_map_failed",
	[RS_TX_SUM_FAILED] = "tx_sum_failed",
};

static const char rs_test_names[][ETH_GSTRING_LEN] = {
	"Link        (on/offline)",
	"Mask register  (offline)",
};

#define RS_TESTS ARRAY_SIZE(rs_test_names)

static void rs_get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct rs_dev *rs = netdev_priv(netdev);

	strscpy(info->driver, RS_NAME, sizeof(info->driver));
	strscpy(info->fw_version, rs->chip->name, sizeof(info->fw_version));
	strscpy(info->bus_info, pci_name(rs->pdev), sizeof(info->bus_info));
}

static int rs_get_sset_count(struct net_device *netdev, int set)
{
	switch (set) {
	case ETH_SS_STATS:
		return RS_RX_STATS + RS_TX_STATS;
	case ETH_SS_PRIV_FLAGS:
		return RS_FLAGS;
	case ETH_SS_TEST:
		return RS_TESTS;
	default:
		return -EOPNOTSUPP;
	}
}

static void rs_get_strings(struct net_device *netdev, u32 set, u8 *data)
{
	switch (set) {
	case ETH_SS_STATS:
		memcpy(data, rs_rx_stat_names, sizeof(rs_rx_stat_names));
		data += sizeof(rs_rx_stat_names);
		memcpy(data, rs_tx_stat_names, sizeof(rs_tx_stat_names));
		break;
	case ETH_SS_PRIV_FLAGS:
		memcpy(data, rs_flag_names, sizeof(rs_flag_names));
		break;
	case ETH_SS_TEST:
		memcpy(data, rs_test_names, sizeof(rs_test_names));
		break;
	}
}

static void rs_get_ethtool_stats(struct net_device *netdev,
				 struct ethtool_stats *stats, u64 *data)
{
	struct rs_dev *rs = netdev_priv(netdev);
	int i;

	for (i = 0; i < RS_RX_STATS; i++)
		*data++ = rs_rx_stat(&rs->rx, i);
	for (i = 0; i < RS_TX_STATS; i++)
		*data++ = rs_tx_stat(&rs->tx, i);
}

static u32 rs_get_priv_flags(struct net_device *netdev)
{
	struct rs_dev *rs = netdev_priv(netdev);

	return rs->flags;
}

static int rs_set_priv_flags(struct net_device *netdev, u32 flags)
{
	return rs_set_flags(netdev_priv(netdev), flags);
}

static int rs_get_tunable(struct net_device *netdev,
			  const struct ethtool_tunable *tuna, void *data)
{
	struct rs_dev *rs = netdev_priv(netdev);

	if (tuna->id != ETHTOOL_RX_COPYBREAK || rs_only_copies(rs->chip))
		return -EOPNOTSUPP;
	*(u32 *)data = rs->copybreak;
	return 0;
}

static int rs_set_tunable(struct net_device *netdev,
			  const struct ethtool_tunable *tuna, const void *data)
{
	struct rs_dev *rs = netdev_priv(netdev);

	if (tuna->id != ETHTOOL_RX_COPYBREAK || rs_only_copies(rs->chip))
		return -EOPNOTSUPP;
	rs->copybreak = *(const u32 *)data;
	/* One word, read once per frame: no need to stop anything. */
	WRITE_ONCE(rs->rx.copybreak, rs->copybreak);
	return 0;
}

static void rs_get_ringparam(struct net_device *netdev,
			     struct ethtool_ringparam *ring,
			     struct kernel_ethtool_ringparam *kernel_ring,
			     struct netlink_ext_ack *extack)
{
	struct rs_dev *rs = netdev_priv(netdev);

	ring->tx_max_pending = rs->chip->ring_max;
	ring->tx_pending = rs->tx_size;
	/* One buffer for all frames is no ring with a number of slots. */
	if (rs_only_copies(rs->chip))
		return;
	ring->rx_max_pending = rs->chip->ring_max;
	ring->rx_pending = rs->rx_size;
}

/* Two of the largest packets, or the queue would stop after each. */
static u32 rs_tx_ring_min(const struct rs_dev *rs)
{
	u32 least = rs->chip->caps & RS_CAP_SG ? 2 * (MAX_SKB_FRAGS + 1) : 1;

	return max(least, rs->chip->ring_min);
}

/* What rs_get_ringparam() tells of one buffer for all frames is no size. */
static u32 rs_rx_ring_size(const struct rs_dev *rs, u32 wanted)
{
	if (rs_only_copies(rs->chip))
		return rs->rx_size;
	return wanted < rs->chip->ring_min ? 0 : roundup_pow_of_two(wanted);
}

static u32 rs_tx_ring_size(const struct rs_dev *rs, u32 wanted)
{
	return wanted < rs_tx_ring_min(rs) ? 0 : roundup_pow_of_two(wanted);
}

static int rs_set_ringparam(struct net_device *netdev,
			    struct ethtool_ringparam *ring,
			    struct kernel_ethtool_ringparam *kernel_ring,
			    struct netlink_ext_ack *extack)
{
	struct rs_dev *rs = netdev_priv(netdev);
	u32 old_rx = rs->rx_size;
	u32 old_tx = rs->tx_size;
	u32 rx, tx;
	int err;

	rx = rs_rx_ring_size(rs, ring->rx_pending);
	tx = rs_tx_ring_size(rs, ring->tx_pending);
	if (!rx || !tx) {
		NL_SET_ERR_MSG(extack, "ring shorter than the chip or two packets need");
		return -EINVAL;
	}
	if (rx == old_rx && tx == old_tx)
		return 0;

	rs->rx_size = rx;
	rs->tx_size = tx;
	if (!rs->running)
		return 0;
	err = rs_restart(rs, false);
	if (err) {
		rs->rx_size = old_rx;
		rs->tx_size = old_tx;
		rs_restart(rs, true);
	}
	return err;
}

/* One queue each way, served by one vector; there is nothing to choose. */
static void rs_get_channels(struct net_device *netdev,
			    struct ethtool_channels *channels)
{
	channels->max_combined = 1;
	channels->combined_count = 1;
}

static int rs_set_channels(struct net_device *netdev,
			   struct ethtool_channels *channels)
{
	return channels->combined_count == 1 ? 0 : -EINVAL;
}

static int rs_get_coalesce(struct net_device *netdev,
			   struct ethtool_coalesce *coalesce,
			   struct kernel_ethtool_coalesce *kernel_coalesce,
			   struct netlink_ext_ack *extack)
{
	struct rs_dev *rs = netdev_priv(netdev);

	if (!rs->chip->mitigate)
		return -EOPNOTSUPP;
	if (rs_has(rs, RS_FLAG_MITIGATION))
		coalesce->rx_coalesce_usecs = rs->usecs;
	return 0;
}

/* 0 switches mitigation off, anything else switches it on. */
static int rs_set_coalesce(struct net_device *netdev,
			   struct ethtool_coalesce *coalesce,
			   struct kernel_ethtool_coalesce *kernel_coalesce,
			   struct netlink_ext_ack *extack)
{
	struct rs_dev *rs = netdev_priv(netdev);
	u32 flags = rs->flags & ~BIT(RS_FLAG_MITIGATION);

	if (!rs->chip->mitigate)
		return -EOPNOTSUPP;
	if (coalesce->rx_coalesce_usecs > RS_MAX_USECS)
		return -EINVAL;
	if (coalesce->rx_coalesce_usecs) {
		rs->usecs = coalesce->rx_coalesce_usecs;
		flags |= BIT(RS_FLAG_MITIGATION);
	}
	return rs_set_flags(rs, flags);
}

static int rs_get_regs_len(struct net_device *netdev)
{
	struct rs_dev *rs = netdev_priv(netdev);

	return rs->chip->reg_count * sizeof(u32);
}

/* Listed registers only: a read may clear or latch, as that of 8254x's ICR. */
static void rs_get_regs(struct net_device *netdev, struct ethtool_regs *regs,
			void *data)
{
	struct rs_dev *rs = netdev_priv(netdev);
	u32 *values = data;
	u32 i;

	regs->version = 1;
	for (i = 0; i < rs->chip->reg_count; i++)
		values[i] = rs_read32(&rs->access, rs->chip->regs[i]);
}

/* Can each event be let through and masked? The chip is stopped. */
static bool rs_test_mask(struct rs_dev *rs)
{
	const struct rs_irq_regs *regs = &rs->chip->irq;
	u32 all = rs->chip->events.poll | rs->chip->events.other;
	u32 set = regs->set ?: regs->mask;
	u32 opened, closed;

	if (regs->bytes == 2) {
		rs_write16(&rs->access, set, all);
		opened = rs_read16(&rs->access, regs->mask);
		rs_write16(&rs->access, set, 0);
		closed = rs_read16(&rs->access, regs->mask);
	} else {
		rs_write32(&rs->access, set, all);
		opened = rs_read32(&rs->access, regs->mask);
		if (regs->clear)
			rs_write32(&rs->access, regs->clear, all);
		else
			rs_write32(&rs->access, set, 0);
		closed = rs_read32(&rs->access, regs->mask);
	}
	return (opened & all) == all && !(closed & all);
}

static void rs_self_test(struct net_device *netdev, struct ethtool_test *test,
			 u64 *data)
{
	struct rs_dev *rs = netdev_priv(netdev);
	bool running = rs->running;

	memset(data, 0, RS_TESTS * sizeof(*data));
	if (!(test->flags & ETH_TEST_FL_OFFLINE)) {
		data[0] = !rs->chip->link(rs);
		goto out;
	}

	if (running)
		rs_down(rs);
	data[1] = rs->chip->reset(rs) || !rs_test_mask(rs);
	if (running && rs_restart(rs, true))
		data[1] = 1;
	data[0] = !rs->chip->link(rs);
out:
	if (data[0] || data[1])
		test->flags |= ETH_TEST_FL_FAILED;
}

static u32 rs_get_msglevel(struct net_device *netdev)
{
	struct rs_dev *rs = netdev_priv(netdev);

	return rs->msg_enable;
}

static void rs_set_msglevel(struct net_device *netdev, u32 level)
{
	struct rs_dev *rs = netdev_priv(netdev);

	rs->msg_enable = level;
}

const struct ethtool_ops rs_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS,
	.get_drvinfo = rs_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = rs_get_sset_count,
	.get_strings = rs_get_strings,
	.get_ethtool_stats = rs_get_ethtool_stats,
	.get_priv_flags = rs_get_priv_flags,
	.set_priv_flags = rs_set_priv_flags,
	.get_tunable = rs_get_tunable,
	.set_tunable = rs_set_tunable,
	.get_ringparam = rs_get_ringparam,
	.set_ringparam = rs_set_ringparam,
	.get_channels = rs_get_channels,
	.set_channels = rs_set_channels,
	.get_coalesce = rs_get_coalesce,
	.set_coalesce = rs_set_coalesce,
	.get_regs_len = rs_get_regs_len,
	.get_regs = rs_get_regs,
	.self_test = rs_self_test,
	.get_msglevel = rs_get_msglevel,
	.set_msglevel = rs_set_msglevel,
	.get_ts_info = ethtool_op_get_ts_info,
};

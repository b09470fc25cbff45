// SPDX-License-Identifier: GPL-2.0-only
/* The design switches: which combinations exist, and how they change live. */

#include <linux/ethtool.h>

#include "ringside.h"

const char rs_flag_names[RS_FLAGS][ETH_GSTRING_LEN] = {
	[RS_FLAG_NAPI] = "napi",
	[RS_FLAG_READBACK] = "mask-readback",
	[RS_FLAG_WORK_LOOP] = "work-loop",
	[RS_FLAG_PORT_IO] = "port-io",
	[RS_FLAG_RX_COPY] = "rx-copy",
	[RS_FLAG_RX_MAP] = "rx-map",
	[RS_FLAG_RX_PAGE_POOL] = "rx-page-pool",
	[RS_FLAG_DROP_STACK] = "drop-stack",
	[RS_FLAG_DROP_STACK_RAW] = "drop-stack-raw",
	[RS_FLAG_DROP_DRIVER] = "drop-driver",
	[RS_FLAG_PREFETCH] = "prefetch",
	[RS_FLAG_MITIGATION] = "mitigation",
	[RS_FLAG_AUTO_MASK] = "auto-mask",
	[RS_FLAG_GRO] = "gro",
};

#define RS_SCHEMES (BIT(RS_FLAG_RX_COPY) | BIT(RS_FLAG_RX_MAP) | \
		    BIT(RS_FLAG_RX_PAGE_POOL))
#define RS_DROPS (BIT(RS_FLAG_DROP_STACK) | BIT(RS_FLAG_DROP_STACK_RAW) | \
		  BIT(RS_FLAG_DROP_DRIVER))

#define RS_LOOKS (BIT(RS_FLAG_READBACK) | BIT(RS_FLAG_WORK_LOOP))

/**
 * rs_check_frame() - do buffers for this MTU work with these flags?
 * @rs: the device
 * @flags: private flags, current or wanted
 * @mtu: the MTU, current or wanted
 *
 * A page of the pool holds one buffer, so it must hold a whole one.
 */
int rs_check_frame(struct rs_dev *rs, u32 flags, int mtu)
{
	struct rs_bufs bufs;
	int err;

	err = rs_bufs_init(&bufs, &rs->dma,
			   rs->chip->rx_room(mtu + RS_FRAME_OVERHEAD));
	if (err)
		return err;
	if ((flags & BIT(RS_FLAG_RX_PAGE_POOL)) && bufs.size > PAGE_SIZE)
		return -EINVAL;
	return 0;
}

static int rs_check_flags(struct rs_dev *rs, u32 flags)
{
	if (rs_only_copies(rs->chip) &&
	    (flags & RS_SCHEMES) != BIT(RS_FLAG_RX_COPY)) {
		netdev_info(rs->netdev, "%s has rx-copy only: its frames share one buffer\n",
			    rs->chip->name);
		return -EOPNOTSUPP;
	}
	if (hweight32(flags & RS_SCHEMES) > 1 || hweight32(flags & RS_DROPS) > 1)
		return -EINVAL;
	/* The pool is not for hard interrupt context. */
	if ((flags & BIT(RS_FLAG_RX_PAGE_POOL)) && !(flags & BIT(RS_FLAG_NAPI)))
		return -EINVAL;
	if ((flags & BIT(RS_FLAG_PORT_IO)) && !rs->access.port)
		return -EOPNOTSUPP;
	if ((flags & BIT(RS_FLAG_MITIGATION)) && !rs->chip->mitigate)
		return -EOPNOTSUPP;
	if ((flags & BIT(RS_FLAG_AUTO_MASK)) &&
	    (!(rs->chip->caps & RS_CAP_AUTO_MASK) || !rs->pdev->msix_cap))
		return -EOPNOTSUPP;
	/* These two look at the status, which the message has acknowledged. */
	if ((flags & BIT(RS_FLAG_AUTO_MASK)) && (flags & RS_LOOKS))
		return -EINVAL;
	return rs_check_frame(rs, flags, rs->netdev->mtu);
}

static enum rs_rx_scheme rs_scheme(u32 flags)
{
	if (flags & BIT(RS_FLAG_RX_COPY))
		return RS_RX_COPY;
	if (flags & BIT(RS_FLAG_RX_MAP))
		return RS_RX_MAP;
	if (flags & BIT(RS_FLAG_RX_PAGE_POOL))
		return RS_RX_PAGE_POOL;
	return RS_RX_COPYBREAK;
}

static enum rs_drop rs_drop_point(u32 flags)
{
	if (flags & BIT(RS_FLAG_DROP_STACK))
		return RS_DROP_STACK;
	if (flags & BIT(RS_FLAG_DROP_STACK_RAW))
		return RS_DROP_STACK_RAW;
	if (flags & BIT(RS_FLAG_DROP_DRIVER))
		return RS_DROP_DRIVER;
	return RS_DROP_NONE;
}

/* Memory or ports. Nothing may run meanwhile. */
void rs_choose_access(struct rs_dev *rs)
{
	rs->access.mmio = rs_has(rs, RS_FLAG_PORT_IO) ? NULL : rs->mmio;
}

/* Put the flags where the hot paths read them. Nothing may run meanwhile. */
void rs_apply_flags(struct rs_dev *rs)
{
	rs->irqmask.readback = rs_has(rs, RS_FLAG_READBACK);
	rs->irqmask.work_loop = rs_has(rs, RS_FLAG_WORK_LOOP);
	rs->rx.scheme = rs_scheme(rs->flags);
	rs->rx.drop = rs_drop_point(rs->flags);
	rs->rx.prefetch = rs_has(rs, RS_FLAG_PREFETCH);
	rs->rx.gro = rs_has(rs, RS_FLAG_GRO);
	rs->rx.copybreak = rs->copybreak;
	rs->rx.bufs.in_napi = rs_has(rs, RS_FLAG_NAPI);
}

/* The pool, if the scheme wants one and there is none yet. */
int rs_page_pool_open(struct rs_dev *rs)
{
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = rs->rx_size,
		.nid = NUMA_NO_NODE,
		.dev = rs->dma.dev,
		.dma_dir = DMA_FROM_DEVICE,
		.offset = rs->rx.bufs.headroom,
		.max_len = rs->rx.bufs.room,
	};
	struct page_pool *pool;

	if (!rs_has(rs, RS_FLAG_RX_PAGE_POOL) || rs->rx.bufs.pool)
		return 0;
	pool = page_pool_create(&params);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	rs->rx.bufs.pool = pool;
	return 0;
}

/* After the last buffer of the ring was put; skbs may still hold pages. */
void rs_page_pool_close(struct rs_dev *rs)
{
	if (rs->rx.bufs.pool)
		page_pool_destroy(rs->rx.bufs.pool);
	rs->rx.bufs.pool = NULL;
}

/*
 * Another kind of interrupt: its vectors are taken on the way up. Down first,
 * since handler and poll read the flags.
 */
static int rs_set_flags_anew(struct rs_dev *rs, u32 flags)
{
	bool carrier = netif_carrier_ok(rs->netdev);
	u32 old = rs->flags;
	int err;

	rs_down(rs);
	rs->flags = flags;
	rs_choose_access(rs);
	err = rs_restart(rs, false);
	if (err) {
		rs->flags = old;
		rs_choose_access(rs);
		rs_restart(rs, true);
	}
	if (carrier && rs->running)
		netif_carrier_on(rs->netdev);
	return err;
}

/**
 * rs_set_flags() - change the design, while the interface is up if it is
 * @rs: the device; RTNL is held
 * @flags: all private flags as they shall be
 *
 * Buffers stay in the ring: each is taken the way it was mapped, and its
 * successor follows the new scheme. So no received frame is lost. auto-mask
 * takes a restart, which hands up what the chip has finished.
 *
 * Return: 0, or an error with everything as before.
 */
int rs_set_flags(struct rs_dev *rs, u32 flags)
{
	u32 old = rs->flags;
	int err;

	err = rs_check_flags(rs, flags);
	if (err)
		return err;
	if (!rs->running) {
		rs->flags = flags;
		rs_choose_access(rs);
		return 0;
	}
	if ((old ^ flags) & BIT(RS_FLAG_AUTO_MASK))
		return rs_set_flags_anew(rs, flags);

	rs_pause(rs);
	rs->flags = flags;
	err = rs_page_pool_open(rs);
	if (err)
		rs->flags = old;
	rs_choose_access(rs);
	rs_apply_flags(rs);
	if (rs->chip->mitigate)
		rs->chip->mitigate(rs, rs_has(rs, RS_FLAG_MITIGATION) ?
				   rs->usecs : 0);
	rs_resume(rs);
	return err;
}

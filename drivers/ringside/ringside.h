/* SPDX-License-Identifier: GPL-2.0-only */
/* The device, the switches and what a chip file provides. */
#ifndef RINGSIDE_H
#define RINGSIDE_H

#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/workqueue.h>

#include "access.h"
#include "compat.h"
#include "irqmask.h"
#include "mapping.h"
#include "rx.h"
#include "tx.h"

#define RS_NAME "ringside"

/* A tagged frame is longer than the MTU says, FCS included. */
#define RS_FRAME_OVERHEAD (ETH_HLEN + VLAN_HLEN + ETH_FCS_LEN)

/* Longest wait for an interrupt that is asked for, a tenth of a second. */
#define RS_MAX_USECS 100000

/* Packets completed in one interrupt or poll; NAPI's usual weight. */
#define RS_POLL_WEIGHT 64

/* Private flags of ethtool, in the order of rs_flag_names[]. */
enum rs_flag {
	RS_FLAG_NAPI,		/* poll in softirq, else receive in the handler */
	RS_FLAG_READBACK,	/* read the mask register before changing it */
	RS_FLAG_WORK_LOOP,	/* handler looks at status again */
	RS_FLAG_PORT_IO,	/* port I/O, else memory */
	RS_FLAG_RX_COPY,	/* scheme copy */
	RS_FLAG_RX_MAP,		/* scheme map */
	RS_FLAG_RX_PAGE_POOL,	/* scheme page_pool; none of the three: copybreak */
	RS_FLAG_DROP_STACK,
	RS_FLAG_DROP_STACK_RAW,
	RS_FLAG_DROP_DRIVER,
	RS_FLAG_PREFETCH,
	RS_FLAG_MITIGATION,
	RS_FLAG_AUTO_MASK,	/* the chip masks when it sends its message */
	RS_FLAG_GRO,		/* frames go up by GRO, in scheme napi */
	RS_FLAGS,
};

extern const char rs_flag_names[RS_FLAGS][ETH_GSTRING_LEN];

/* Caps of a chip. */
#define RS_CAP_PORT_IO		BIT(0)	/* same registers behind an I/O BAR */
#define RS_CAP_SG		BIT(1)	/* a packet may take several descriptors */
#define RS_CAP_DMA64		BIT(2)
#define RS_CAP_MSI		BIT(3)
#define RS_CAP_RESTART		BIT(4)	/* new rings without a reset, which costs the link */
#define RS_CAP_AUTO_MASK	BIT(5)	/* MSI-X that acknowledges and masks */

struct rs_dev;

/* Registers and descriptors of one chip. Callbacks may be NULL where said. */
struct rs_chip {
	const char *name;
	u32 caps;
	int mmio_bar;
	int port_bar;		/* only with RS_CAP_PORT_IO */
	u32 reg_bytes;		/* size of the register window that is used */
	const u32 *regs;	/* for ethtool -d: those that reading does not change */
	u32 reg_count;
	struct rs_irq_regs irq;
	struct rs_irq_events events;
	struct rs_irq_regs auto_irq;	/* both with RS_CAP_AUTO_MASK */
	struct rs_irq_events auto_events;

	u32 desc_bytes;
	u32 desc_align;		/* of a ring, at most a page */
	u32 extra_bytes;	/* coherent memory besides the rings */
	u32 ring_min, ring_max, ring_default;
	u32 spare;		/* slots that stay empty */
	const struct rs_rx_ops *rx_ops;
	const struct rs_tx_ops *tx_ops;

	u32 max_frame;		/* longest frame, FCS included */
	/* bytes per buffer to be told to the chip for frames of this length */
	u32 (*rx_room)(u32 frame);

	/* Reset, all events masked; fails if the chip does not come back. */
	int (*reset)(struct rs_dev *rs);
	/* After the first reset: the station address, from EEPROM or fuses. */
	int (*read_address)(struct rs_dev *rs, u8 *address);
	/* Program the rings and switch receive and transmit on. */
	void (*start)(struct rs_dev *rs);
	/* Switch both off and wait, bounded, until DMA has ended. */
	void (*stop)(struct rs_dev *rs);
	void (*rx_mode)(struct rs_dev *rs);
	bool (*link)(struct rs_dev *rs);
	/* A new address takes a restart, rx_mode is not enough. */
	bool address_restarts;
	/* Events that are not of the poll, after the refill; may be NULL. */
	void (*other)(struct rs_dev *rs, u32 events);
	/* Frames lost for want of a buffer since the last call, which clears. */
	u32 (*missed)(struct rs_dev *rs);
	/* Interrupt mitigation in microseconds, 0 for none. */
	void (*mitigate)(struct rs_dev *rs, u32 usecs);
};

struct rs_dev {
	/* read in every interrupt and poll */
	struct rs_access access;
	const struct rs_chip *chip;
	struct net_device *netdev;
	u32 flags;		/* of enum rs_flag */
	struct rs_irqmask irqmask;
	struct napi_struct napi;
	struct rs_rx rx;
	struct rs_tx tx;

	struct rs_dma dma;
	struct pci_dev *pdev;
	void __iomem *mmio;	/* mapped, also while ports are used */
	int irq;
	unsigned int irq_types;	/* PCI_IRQ_ flags that irq was taken with, 0: none */
	u32 msg_enable;
	bool running;		/* rings exist, interrupts on */
	bool napi_on;
	u32 copybreak;
	u32 usecs;		/* interrupt mitigation when it is on */
	u32 rx_size, tx_size;

	void *desc;		/* receive ring, then transmit ring */
	dma_addr_t desc_addr;
	size_t desc_bytes;
	dma_addr_t rx_desc_addr, tx_desc_addr;
	void *extra;		/* of the chip */
	dma_addr_t extra_addr;

	struct delayed_work watch;	/* link, and receive without buffers */
	struct delayed_work restart;	/* asked for, or to be tried again */
	struct work_struct gone;	/* after all ones */
	spinlock_t missed_lock;		/* a counter that clears when it is read */
	u64 missed;
	u32 missed_seen;		/* of a counter that does not */
};

static inline bool rs_has(const struct rs_dev *rs, enum rs_flag flag)
{
	return rs->flags & BIT(flag);
}

/* One buffer for all frames cannot be handed up. */
static inline bool rs_only_copies(const struct rs_chip *chip)
{
	return chip->rx_ops->service;
}

extern const struct rs_chip rs_chip_8139;
extern const struct rs_chip rs_chip_8139cp;
extern const struct rs_chip rs_chip_8254x;
extern const struct rs_chip rs_chip_82574;
extern const struct rs_chip rs_chip_21143;

/* netdev.c */
extern const struct net_device_ops rs_netdev_ops;
void rs_netdev_setup(struct rs_dev *rs);
int rs_up(struct rs_dev *rs, bool reset);
u64 rs_read_missed(struct rs_dev *rs);
void rs_down(struct rs_dev *rs);
void rs_give_vector(struct rs_dev *rs);
int rs_restart(struct rs_dev *rs, bool reset);
void rs_ask_restart(struct rs_dev *rs);

/* irq.c */
irqreturn_t rs_interrupt(int irq, void *data);
int rs_poll(struct napi_struct *napi, int budget);
void rs_pause(struct rs_dev *rs);
void rs_resume(struct rs_dev *rs);
void rs_watch(struct work_struct *work);

/* switches.c */
int rs_check_frame(struct rs_dev *rs, u32 flags, int mtu);
int rs_set_flags(struct rs_dev *rs, u32 flags);
void rs_apply_flags(struct rs_dev *rs);
void rs_choose_access(struct rs_dev *rs);
int rs_page_pool_open(struct rs_dev *rs);
void rs_page_pool_close(struct rs_dev *rs);

/* qstats.c */
#ifdef RINGSIDE_QSTATS
void rs_set_queue_stats(struct net_device *netdev);
void rs_tell_irq(struct rs_dev *rs);
#else
static inline void rs_set_queue_stats(struct net_device *netdev) {}
static inline void rs_tell_irq(struct rs_dev *rs) {}
#endif

/* ethtool.c */
extern const struct ethtool_ops rs_ethtool_ops;

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which part of the kernel an access belongs to: a value per CPU.
 *
 * Handlers and softirqs are told by tracepoints of the kernel. Transmission is
 * not: the tracepoints lie in the queueing layer, which packet sockets may
 * bypass. So the ndo_start_xmit() of a counted driver is called through ours.
 */
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "tally.h"

DEFINE_PER_CPU(unsigned long, iotally_context);
EXPORT_PER_CPU_SYMBOL_GPL(iotally_context);

/* What to return to, for the two that a tracepoint begins and another ends. */
struct interrupted {
	unsigned long by_irq;
	unsigned long by_softirq;
	unsigned int irqs;		/* handlers that run inside each other */
	bool softirq;
};

static DEFINE_PER_CPU(struct interrupted, interrupted);

/* Called with preemption off. */
static unsigned long enter(enum tally_context context)
{
	unsigned long before = __this_cpu_read(iotally_context);

	__this_cpu_write(iotally_context, context * TALLY_SPACES);
	return before;
}

static void leave(unsigned long before)
{
	__this_cpu_write(iotally_context, before);
}

static void irq_begins(void *data, int irq, struct irqaction *action)
{
	if (__this_cpu_inc_return(interrupted.irqs) == 1)
		__this_cpu_write(interrupted.by_irq, enter(TALLY_IRQ));
}

static void irq_ends(void *data, int irq, struct irqaction *action, int result)
{
	/* The first one may have begun before we came. */
	if (__this_cpu_read(interrupted.irqs) &&
	    !__this_cpu_dec_return(interrupted.irqs))
		leave(__this_cpu_read(interrupted.by_irq));
}

static void softirq_begins(void *data, unsigned int number)
{
	enum tally_context context = TALLY_CONTROL;

	if (number == NET_RX_SOFTIRQ)
		context = TALLY_POLL;
	else if (number == TIMER_SOFTIRQ || number == HRTIMER_SOFTIRQ)
		context = TALLY_TIMER;
	__this_cpu_write(interrupted.by_softirq, enter(context));
	__this_cpu_write(interrupted.softirq, true);
}

static void softirq_ends(void *data, unsigned int number)
{
	if (!__this_cpu_read(interrupted.softirq))
		return;
	__this_cpu_write(interrupted.softirq, false);
	leave(__this_cpu_read(interrupted.by_softirq));
}

/* The ends first: whatever has begun before us then ends unseen. */
static struct {
	const char *name;
	void *probe;
	struct tracepoint *point;
} probes[] = {
	{ "irq_handler_exit", irq_ends },
	{ "softirq_exit", softirq_ends },
	{ "irq_handler_entry", irq_begins },
	{ "softirq_entry", softirq_begins },
};

static void find_point(struct tracepoint *point, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(point->name, probes[i].name))
			probes[i].point = point;
}

static void remove_probes(unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(probes[nr].point, probes[nr].probe, NULL);
	tracepoint_synchronize_unregister();
}

static int add_probes(void)
{
	unsigned int i;
	int error;

	for_each_kernel_tracepoint(find_point, NULL);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		error = -ENOENT;
		if (probes[i].point)
			error = tracepoint_probe_register(probes[i].point, probes[i].probe, NULL);
		if (error) {
			pr_err("iotally: no tracepoint %s in this kernel\n", probes[i].name);
			remove_probes(i);
			return error;
		}
	}
	return 0;
}

/* The operations of a port with our transmission, and the driver's own. */
struct transmit_ops {
	struct net_device_ops ops;
	const struct net_device_ops *driver;
};

static const struct net_device_ops *driver_ops(const struct net_device *netdev)
{
	return container_of(netdev->netdev_ops, struct transmit_ops, ops)->driver;
}

static netdev_tx_t start_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	unsigned long before = enter(TALLY_TRANSMIT);
	netdev_tx_t result = driver_ops(netdev)->ndo_start_xmit(skb, netdev);

	leave(before);
	return result;
}

static int xdp_xmit(struct net_device *netdev, int nr, struct xdp_frame **frames, u32 flags)
{
	unsigned long before = enter(TALLY_TRANSMIT);
	int result = driver_ops(netdev)->ndo_xdp_xmit(netdev, nr, frames, flags);

	leave(before);
	return result;
}

/* A virtio device's port has the bus device as parent of its parent. */
static bool is_counted(const struct net_device *netdev)
{
	struct device *dev;

	for (dev = netdev->dev.parent; dev; dev = dev->parent)
		if (dev->driver && tally_counted(dev->driver->owner))
			return true;
	return false;
}

static int wrap(struct net_device *netdev)
{
	struct transmit_ops *wrapped;

	if (!netdev->netdev_ops->ndo_start_xmit || !is_counted(netdev))
		return 0;
	wrapped = kzalloc(sizeof(*wrapped), GFP_KERNEL);
	if (!wrapped)
		return -ENOMEM;
	wrapped->ops = *netdev->netdev_ops;
	wrapped->driver = netdev->netdev_ops;
	wrapped->ops.ndo_start_xmit = start_xmit;
	if (wrapped->driver->ndo_xdp_xmit)
		wrapped->ops.ndo_xdp_xmit = xdp_xmit;
	netdev->netdev_ops = &wrapped->ops;
	return 0;
}

static void unwrap(struct net_device *netdev)
{
	struct transmit_ops *wrapped;

	if (netdev->netdev_ops->ndo_start_xmit != start_xmit)
		return;
	wrapped = container_of(netdev->netdev_ops, struct transmit_ops, ops);
	netdev->netdev_ops = wrapped->driver;
	/* The port is down, but others look at its operations under RCU. */
	synchronize_net();
	kfree(wrapped);
}

static int netdev_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(data);

	if (event == NETDEV_REGISTER)
		return notifier_from_errno(wrap(netdev));
	if (event == NETDEV_UNREGISTER)
		unwrap(netdev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

int tally_context_init(void)
{
	int error = add_probes();

	if (error)
		return error;
	error = register_netdevice_notifier(&netdev_notifier);
	if (error)
		remove_probes(ARRAY_SIZE(probes));
	return error;
}

void tally_context_exit(void)
{
	/* It also unwraps what there is, by an event for each port. */
	unregister_netdevice_notifier(&netdev_notifier);
	remove_probes(ARRAY_SIZE(probes));
}

// SPDX-License-Identifier: GPL-2.0-only
/* Binding, resources, suspend and resume. */

#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "ringside.h"

#define RS_RX_COPYBREAK_DEFAULT	256	/* as most drivers here have it */
#define RS_USECS_DEFAULT	250	/* 4,000 per second, as e1000 under bulk traffic */

struct rs_known {
	u16 vendor, device;
	const struct rs_chip *chip;
};

/* Not an id table: the driver must never bind by itself. See rs_driver. */
static const struct rs_known rs_known[] = {
	{ 0x10ec, 0x8139, &rs_chip_8139cp },
	{ 0x8086, 0x100e, &rs_chip_8254x },	/* 82540EM */
	{ 0x8086, 0x100f, &rs_chip_8254x },	/* 82545EM */
	{ 0x8086, 0x10d3, &rs_chip_82574 },
	{ 0x1011, 0x0019, &rs_chip_21143 },
};

/* RTL8139C+ has revisions from 0x20 on, RTL8139C and older ones those below. */
#define RS_REVISION_8139CP 0x20

static const struct rs_chip *rs_identify(struct pci_dev *pdev)
{
	const struct rs_known *known;
	int i;

	for (i = 0; i < ARRAY_SIZE(rs_known); i++) {
		known = &rs_known[i];
		if (known->vendor != pdev->vendor ||
		    known->device != pdev->device)
			continue;
		if (known->chip == &rs_chip_8139cp &&
		    pdev->revision < RS_REVISION_8139CP)
			return &rs_chip_8139;
		return known->chip;
	}
	return NULL;
}

static int rs_map_registers(struct rs_dev *rs)
{
	const struct rs_chip *chip = rs->chip;
	struct pci_dev *pdev = rs->pdev;

	if (!(pci_resource_flags(pdev, chip->mmio_bar) & IORESOURCE_MEM) ||
	    pci_resource_len(pdev, chip->mmio_bar) < chip->reg_bytes)
		return -ENODEV;
	rs->mmio = pci_iomap(pdev, chip->mmio_bar, 0);
	if (!rs->mmio)
		return -ENOMEM;
	rs_choose_access(rs);
	if ((chip->caps & RS_CAP_PORT_IO) &&
	    (pci_resource_flags(pdev, chip->port_bar) & IORESOURCE_IO) &&
	    pci_resource_len(pdev, chip->port_bar) >= chip->reg_bytes)
		rs->access.port = pci_resource_start(pdev, chip->port_bar);
	return 0;
}

static int rs_init_address(struct rs_dev *rs)
{
	u8 address[ETH_ALEN];
	int err;

	err = rs->chip->reset(rs);
	if (err)
		return err;
	err = rs->chip->read_address(rs, address);
	if (err)
		return err;
	if (is_valid_ether_addr(address)) {
		eth_hw_addr_set(rs->netdev, address);
	} else {
		netdev_warn(rs->netdev, "no station address, using a random one\n");
		eth_hw_addr_random(rs->netdev);
	}
	return 0;
}

static int rs_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	const struct rs_chip *chip = rs_identify(pdev);
	struct net_device *netdev;
	struct rs_dev *rs;
	int err;

	if (!chip)
		return -ENODEV;
	netdev = alloc_etherdev(sizeof(*rs));
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &pdev->dev);
	rs = netdev_priv(netdev);
	rs->netdev = netdev;
	rs->pdev = pdev;
	rs->chip = chip;
	rs->dma.dev = &pdev->dev;
	rs->flags = BIT(RS_FLAG_NAPI) | BIT(RS_FLAG_GRO);
	if (rs_only_copies(chip))
		rs->flags |= BIT(RS_FLAG_RX_COPY);
	rs->copybreak = RS_RX_COPYBREAK_DEFAULT;
	rs->usecs = RS_USECS_DEFAULT;
	rs->msg_enable = NETIF_MSG_DRV | NETIF_MSG_PROBE | NETIF_MSG_LINK;

	err = pci_enable_device(pdev);
	if (err)
		goto free_netdev;
	err = pci_request_regions(pdev, RS_NAME);
	if (err)
		goto disable;
	err = dma_set_mask_and_coherent(&pdev->dev,
					DMA_BIT_MASK(chip->caps & RS_CAP_DMA64 ?
						     64 : 32));
	if (err)
		goto release;
	err = rs_map_registers(rs);
	if (err)
		goto release;

	/*
	 * Masked before bus mastering, so a chip left on by another driver
	 * neither writes memory nor interrupts.
	 */
	err = rs_init_address(rs);
	if (err)
		goto unmap;
	pci_set_master(pdev);

	rs_netdev_setup(rs);
	pci_set_drvdata(pdev, rs);
	err = register_netdev(netdev);
	if (err)
		goto clear_master;
	netdev_info(netdev, "%s, %pM\n", chip->name, netdev->dev_addr);
	return 0;

clear_master:
	pci_clear_master(pdev);
unmap:
	pci_iounmap(pdev, rs->mmio);
release:
	pci_release_regions(pdev);
disable:
	pci_disable_device(pdev);
free_netdev:
	free_netdev(netdev);
	return err;
}

static void rs_remove(struct pci_dev *pdev)
{
	struct rs_dev *rs = pci_get_drvdata(pdev);

	unregister_netdev(rs->netdev);
	cancel_delayed_work_sync(&rs->restart);
	cancel_work_sync(&rs->gone);
	rs_give_vector(rs);
	pci_clear_master(pdev);
	pci_iounmap(pdev, rs->mmio);
	pci_release_regions(pdev);
	pci_disable_device(pdev);
	free_netdev(rs->netdev);
}

static void rs_shutdown(struct pci_dev *pdev)
{
	struct rs_dev *rs = pci_get_drvdata(pdev);

	rtnl_lock();
	netif_device_detach(rs->netdev);
	if (rs->running)
		rs_down(rs);
	rtnl_unlock();
	pci_clear_master(pdev);
}

static int rs_suspend(struct device *dev)
{
	struct rs_dev *rs = dev_get_drvdata(dev);

	rtnl_lock();
	netif_device_detach(rs->netdev);
	if (rs->running)
		rs_down(rs);
	rtnl_unlock();
	return 0;
}

static int rs_resume_device(struct device *dev)
{
	struct rs_dev *rs = dev_get_drvdata(dev);
	int err = 0;

	rtnl_lock();
	pci_set_master(rs->pdev);
	if (netif_running(rs->netdev))
		err = rs_up(rs, true);
	if (!err)
		netif_device_attach(rs->netdev);
	rtnl_unlock();
	return err;
}

static DEFINE_SIMPLE_DEV_PM_OPS(rs_pm_ops, rs_suspend, rs_resume_device);

/* Empty on purpose: only driver_override makes the PCI core try us. */
static const struct pci_device_id rs_no_ids[] = { {} };

static struct pci_driver rs_driver = {
	.name = RS_NAME,
	.id_table = rs_no_ids,
	.probe = rs_probe,
	.remove = rs_remove,
	.shutdown = rs_shutdown,
	.driver.pm = pm_sleep_ptr(&rs_pm_ops),
};
module_pci_driver(rs_driver);

MODULE_DESCRIPTION("Ringside reference network driver");
MODULE_LICENSE("GPL");

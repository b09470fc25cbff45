// SPDX-License-Identifier: GPL-2.0-only
/*
 * pci_revision: gives PCI functions another revision before their driver probes.
 *
 * Some drivers choose by revision, and QEMU's chips have the one that was
 * typed in first. Only the kernel's copy changes; the old value comes back when
 * the module goes.
 */
#include <linux/module.h>
#include <linux/pci.h>

static char *id;
module_param(id, charp, 0444);
MODULE_PARM_DESC(id, "vendor:device of the functions, hexadecimal, as 10ec:8139");

static unsigned int revision;
module_param(revision, uint, 0444);
MODULE_PARM_DESC(revision, "revision that they get, 0 to 255");

static unsigned int vendor;
static unsigned int device;

static int __init pci_revision_init(void)
{
	struct pci_dev *pdev = NULL;
	unsigned int changed = 0;

	if (!id || sscanf(id, "%x:%x", &vendor, &device) != 2 || revision > 0xff)
		return -EINVAL;
	while ((pdev = pci_get_device(vendor, device, pdev))) {
		pci_info(pdev, "revision %#x becomes %#x\n", pdev->revision, revision);
		pdev->revision = revision;
		changed++;
	}
	return changed ? 0 : -ENODEV;
}

static void __exit pci_revision_exit(void)
{
	struct pci_dev *pdev = NULL;

	while ((pdev = pci_get_device(vendor, device, pdev)))
		pci_read_config_byte(pdev, PCI_REVISION_ID, &pdev->revision);
}

module_init(pci_revision_init);
module_exit(pci_revision_exit);

MODULE_DESCRIPTION("Gives PCI functions another revision");
MODULE_LICENSE("GPL");

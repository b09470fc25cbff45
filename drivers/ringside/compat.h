/* SPDX-License-Identifier: GPL-2.0-only */
/* Names that moved between Linux 6.1 and the newest release. */
#ifndef RINGSIDE_COMPAT_H
#define RINGSIDE_COMPAT_H

#include <linux/pci.h>

#ifdef RINGSIDE_OLD_PAGE_POOL
#include <net/page_pool.h>
#else
#include <net/page_pool/helpers.h>
#endif

#ifndef PCI_IRQ_INTX
#define PCI_IRQ_INTX PCI_IRQ_LEGACY
#endif

#endif

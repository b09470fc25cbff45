/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's <linux/pci.h> with counted accessors of the configuration space. */
#include_next <linux/pci.h>
#include "../../accessors_pci.h"

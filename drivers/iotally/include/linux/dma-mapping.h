/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's <linux/dma-mapping.h> with marks for what the device writes. */
#include_next <linux/dma-mapping.h>
#include "../../accessors_dma.h"

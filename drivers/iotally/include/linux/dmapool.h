/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's <linux/dmapool.h> with marks for coherent memory. */
#include_next <linux/dmapool.h>
#include "../../accessors_dmapool.h"

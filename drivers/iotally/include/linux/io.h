/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's <linux/io.h> with counted accessors. */
#include_next <linux/io.h>
#include "../../accessors_io.h"

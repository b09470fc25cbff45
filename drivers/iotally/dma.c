// SPDX-License-Identifier: GPL-2.0-only
/* Marks that tell a cache model in QEMU what the device wrote, and where. */
#include <linux/dma-mapping.h>
#include <linux/module.h>

#include "accessors_dma.h"
#include "tally.h"

bool iotally_dma_marks;
EXPORT_SYMBOL_GPL(iotally_dma_marks);

/* Read by a plugin at the entry, from the registers of the arguments. */
noinline __noclone void iotally_dma_device_wrote(dma_addr_t address, size_t bytes)
{
	asm volatile("" : : "r" (address), "r" (bytes) : "memory");
}
EXPORT_SYMBOL_GPL(iotally_dma_device_wrote);

void tally_dma_switch(bool on)
{
	WRITE_ONCE(iotally_dma_marks, on);
}

bool tally_dma_switched(void)
{
	return READ_ONCE(iotally_dma_marks);
}

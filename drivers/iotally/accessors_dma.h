/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks for the cache model: what include/linux/dma-mapping.h adds.
 *
 * What the device wrote is cold when the CPU reads it. That moment is the sync
 * for the CPU or the unmapping. Mapping and syncs for the device need no mark;
 * coherent memory is written at any time, and has no moment to be marked.
 */
#ifndef IOTALLY_ACCESSORS_DMA_H
#define IOTALLY_ACCESSORS_DMA_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Set by debugfs; without it no mark is called. */
extern bool iotally_dma_marks;

/* A plugin reads its arguments where it is entered. */
void iotally_dma_device_wrote(dma_addr_t address, size_t bytes);

static __always_inline void iotally_dma_to_cpu(dma_addr_t address, size_t bytes,
					       enum dma_data_direction direction)
{
	if (unlikely(READ_ONCE(iotally_dma_marks)) &&
	    (direction == DMA_FROM_DEVICE || direction == DMA_BIDIRECTIONAL))
		iotally_dma_device_wrote(address, bytes);
}

static __always_inline void iotally_dma_unmap_page_attrs(struct device *dev, dma_addr_t address,
							 size_t bytes,
							 enum dma_data_direction direction,
							 unsigned long attrs)
{
	dma_unmap_page_attrs(dev, address, bytes, direction, attrs);
	if (!(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		iotally_dma_to_cpu(address, bytes, direction);
}

static __always_inline void iotally_dma_sync_single_for_cpu(struct device *dev, dma_addr_t address,
							    size_t bytes,
							    enum dma_data_direction direction)
{
	dma_sync_single_for_cpu(dev, address, bytes, direction);
	iotally_dma_to_cpu(address, bytes, direction);
}

#define dma_unmap_page_attrs(dev, address, bytes, direction, attrs) \
	iotally_dma_unmap_page_attrs(dev, address, bytes, direction, attrs)
#define dma_unmap_single_attrs(dev, address, bytes, direction, attrs) \
	iotally_dma_unmap_page_attrs(dev, address, bytes, direction, attrs)
#define dma_sync_single_for_cpu(dev, address, bytes, direction) \
	iotally_dma_sync_single_for_cpu(dev, address, bytes, direction)
#define dma_sync_single_range_for_cpu(dev, address, offset, bytes, direction) \
	iotally_dma_sync_single_for_cpu(dev, (address) + (offset), bytes, direction)

#endif

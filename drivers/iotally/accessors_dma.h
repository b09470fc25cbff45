/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks for the cache model: what include/linux/dma-mapping.h adds.
 *
 * What the device wrote is cold when the CPU reads it. That moment is the sync
 * for the CPU or the unmapping; coherent memory is written at any time, so its
 * place is told once. Mapping and syncs for the device need no mark.
 */
#ifndef IOTALLY_ACCESSORS_DMA_H
#define IOTALLY_ACCESSORS_DMA_H

#include "coherent.h"

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

static __always_inline void *iotally_dma_alloc_attrs(struct device *dev, size_t bytes,
						     dma_addr_t *address, gfp_t gfp,
						     unsigned long attrs)
{
	void *memory = dma_alloc_attrs(dev, bytes, address, gfp, attrs);

	if (memory)
		iotally_coherent_add(*address, bytes);
	return memory;
}

static __always_inline void *iotally_dma_alloc_coherent(struct device *dev, size_t bytes,
							dma_addr_t *address, gfp_t gfp)
{
	void *memory = dma_alloc_coherent(dev, bytes, address, gfp);

	if (memory)
		iotally_coherent_add(*address, bytes);
	return memory;
}

static __always_inline void iotally_dma_free_attrs(struct device *dev, size_t bytes, void *memory,
						   dma_addr_t address, unsigned long attrs)
{
	if (memory)
		iotally_coherent_remove(address);
	dma_free_attrs(dev, bytes, memory, address, attrs);
}

static __always_inline void *iotally_dmam_alloc_attrs(struct device *dev, size_t bytes,
						      dma_addr_t *address, gfp_t gfp,
						      unsigned long attrs)
{
	void *memory = dmam_alloc_attrs(dev, bytes, address, gfp, attrs);

	if (memory)
		iotally_coherent_add_managed(dev, *address, bytes);
	return memory;
}

#define dma_unmap_page_attrs(dev, address, bytes, direction, attrs) \
	iotally_dma_unmap_page_attrs(dev, address, bytes, direction, attrs)
#define dma_unmap_single_attrs(dev, address, bytes, direction, attrs) \
	iotally_dma_unmap_page_attrs(dev, address, bytes, direction, attrs)
#define dma_sync_single_for_cpu(dev, address, bytes, direction) \
	iotally_dma_sync_single_for_cpu(dev, address, bytes, direction)
#define dma_sync_single_range_for_cpu(dev, address, offset, bytes, direction) \
	iotally_dma_sync_single_for_cpu(dev, (address) + (offset), bytes, direction)
#define dma_alloc_attrs(dev, bytes, address, gfp, attrs) \
	iotally_dma_alloc_attrs(dev, bytes, address, gfp, attrs)
#define dma_alloc_coherent(dev, bytes, address, gfp) \
	iotally_dma_alloc_coherent(dev, bytes, address, gfp)
#define dma_free_attrs(dev, bytes, memory, address, attrs) \
	iotally_dma_free_attrs(dev, bytes, memory, address, attrs)
#define dma_free_coherent(dev, bytes, memory, address) \
	iotally_dma_free_attrs(dev, bytes, memory, address, 0)
#define dmam_alloc_attrs(dev, bytes, address, gfp, attrs) \
	iotally_dmam_alloc_attrs(dev, bytes, address, gfp, attrs)
#define dmam_alloc_coherent(dev, bytes, address, gfp) \
	iotally_dmam_alloc_attrs(dev, bytes, address, gfp, 0)

#endif

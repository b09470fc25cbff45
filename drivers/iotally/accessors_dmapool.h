/* SPDX-License-Identifier: GPL-2.0-only */
/* Marks for coherent memory from pools: what include/linux/dmapool.h adds. */
#ifndef IOTALLY_ACCESSORS_DMAPOOL_H
#define IOTALLY_ACCESSORS_DMAPOOL_H

#include "coherent.h"

static __always_inline struct dma_pool *iotally_dma_pool_create(const char *name,
								struct device *dev, size_t bytes,
								size_t align, size_t boundary)
{
	struct dma_pool *pool = dma_pool_create(name, dev, bytes, align, boundary);

	if (pool)
		iotally_pool_add(pool, bytes);
	return pool;
}

static __always_inline void iotally_dma_pool_destroy(struct dma_pool *pool)
{
	iotally_pool_remove(pool);
	dma_pool_destroy(pool);
}

static __always_inline void *iotally_dma_pool_alloc(struct dma_pool *pool, gfp_t gfp,
						    dma_addr_t *address)
{
	void *memory = dma_pool_alloc(pool, gfp, address);

	if (memory)
		iotally_coherent_add(*address, iotally_pool_bytes(pool));
	return memory;
}

static __always_inline void iotally_dma_pool_free(struct dma_pool *pool, void *memory,
						  dma_addr_t address)
{
	iotally_coherent_remove(address);
	dma_pool_free(pool, memory, address);
}

#define dma_pool_create(name, dev, bytes, align, boundary) \
	iotally_dma_pool_create(name, dev, bytes, align, boundary)
#define dma_pool_destroy(pool) iotally_dma_pool_destroy(pool)
#define dma_pool_alloc(pool, gfp, address) iotally_dma_pool_alloc(pool, gfp, address)
#define dma_pool_zalloc(pool, gfp, address) \
	iotally_dma_pool_alloc(pool, (gfp) | __GFP_ZERO, address)
#define dma_pool_free(pool, memory, address) iotally_dma_pool_free(pool, memory, address)

#endif

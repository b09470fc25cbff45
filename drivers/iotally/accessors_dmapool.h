/* SPDX-License-Identifier: GPL-2.0-only */
/* Marks for coherent memory from pools: what include/linux/dmapool.h adds. */
#ifndef IOTALLY_ACCESSORS_DMAPOOL_H
#define IOTALLY_ACCESSORS_DMAPOOL_H

#include "accessors_dma.h"

/* A pool does not tell the size of its blocks: a block is at least one line. */
#define IOTALLY_POOL_BYTES 64

static __always_inline void *iotally_dma_pool_alloc(struct dma_pool *pool, gfp_t gfp,
						    dma_addr_t *address)
{
	void *memory = dma_pool_alloc(pool, gfp, address);

	if (memory)
		iotally_coherent_add(*address, IOTALLY_POOL_BYTES);
	return memory;
}

static __always_inline void iotally_dma_pool_free(struct dma_pool *pool, void *memory,
						  dma_addr_t address)
{
	iotally_coherent_remove(address);
	dma_pool_free(pool, memory, address);
}

#define dma_pool_alloc(pool, gfp, address) iotally_dma_pool_alloc(pool, gfp, address)
#define dma_pool_zalloc(pool, gfp, address) \
	iotally_dma_pool_alloc(pool, (gfp) | __GFP_ZERO, address)
#define dma_pool_free(pool, memory, address) iotally_dma_pool_free(pool, memory, address)

#endif

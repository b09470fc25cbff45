/* SPDX-License-Identifier: GPL-2.0-only */
/* Coherent memory of a counted driver: told to the module as it comes and goes. */
#ifndef IOTALLY_COHERENT_H
#define IOTALLY_COHERENT_H

#include <linux/compiler.h>
#include <linux/types.h>

struct device;
struct dma_pool;

/* Set by debugfs; without it no mark is called. */
extern bool iotally_dma_marks;

/* A plugin reads its arguments where it is entered. */
void iotally_dma_coherent(dma_addr_t address, size_t bytes, bool alive);

/* Keep the list, for marks that are switched on later. */
void iotally_coherent_add(dma_addr_t address, size_t bytes);
void iotally_coherent_remove(dma_addr_t address);
/* Removed with the device that it is freed with. */
void iotally_coherent_add_managed(struct device *dev, dma_addr_t address, size_t bytes);

/* A pool does not tell the size of its blocks, so it is kept from its creation. */
void iotally_pool_add(const struct dma_pool *pool, size_t bytes);
void iotally_pool_remove(const struct dma_pool *pool);
size_t iotally_pool_bytes(const struct dma_pool *pool);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* A fake DMA API that bounces, keeps books and can fail. */
#ifndef RINGSIDE_FAKE_DMA_H
#define RINGSIDE_FAKE_DMA_H

#include <kunit/test.h>

#include "../drivers/ringside/mapping.h"

#define FAKE_MAPPINGS 1024

struct fake_mapping {
	void *memory;		/* what the CPU sees */
	void *bounce;		/* what the device sees */
	size_t size;
	enum dma_data_direction dir;
	bool page;
	bool pool;
	bool live;
};

struct fake_dma {
	struct rs_dma dma;
	struct kunit *test;
	struct fake_mapping mappings[FAKE_MAPPINGS];
	unsigned int used;	/* mappings ever made */
	unsigned int maps;	/* calls, failed ones included */
	unsigned int unmaps;
	unsigned int syncs[2];	/* for the CPU, for the device */
	unsigned int fail_from;	/* first call that fails, counted from 1; 0: none */
	unsigned int fail_count;
	struct page *failed_page;
	int failed_page_refs;
};

struct fake_dma *fake_dma_new(struct kunit *test);
void fake_dma_free(struct fake_dma *fake);
unsigned int fake_dma_live(struct fake_dma *fake);
struct fake_mapping *fake_dma_find(struct fake_dma *fake, dma_addr_t addr);
void fake_dma_fail(struct fake_dma *fake, unsigned int nth, unsigned int count);

/* The device writes, through the bounce buffer. */
void fake_dma_write(struct fake_dma *fake, dma_addr_t addr, const void *data,
		    size_t size);

#endif

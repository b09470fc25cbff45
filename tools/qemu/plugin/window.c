// SPDX-License-Identifier: GPL-2.0-only
/* Keep the figures of a window: device pages, interrupts, polls. */
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "window.h"

#define PAGE_MASK (~UINT64_C(0xfff))

int window_init(struct window *window, size_t slots, size_t napi_ranges)
{
	*window = (struct window){ .slots = slots };
	window->accesses = aligned_alloc(sizeof(*window->accesses),
					 slots * sizeof(*window->accesses));
	window->napi = calloc(napi_ranges + 1, sizeof(*window->napi));
	if (!window->accesses || !window->napi)
		return -1;
	window_clear(window, napi_ranges);
	return 0;
}

void window_clear(struct window *window, size_t napi_ranges)
{
	memset(window->accesses, 0, window->slots * sizeof(*window->accesses));
	for (size_t i = 0; i <= napi_ranges; i++) {
		struct napi *napi = &window->napi[i];

		napi->polls = 0;
		memset(napi->packets, 0, napi->packets_len * sizeof(*napi->packets));
	}
	window->mmio_n = 0;
	window->irqs_n = 0;
	window->packet_calls = 0;
	window->dma_marks = 0;
	window->dma_lines = 0;
}

/* A figure that could not be kept would be a wrong figure. */
static void *grow(void *array, size_t n, size_t size)
{
	void *grown = realloc(array, n * size);

	if (!grown) {
		message("no memory left to count in");
		exit(EXIT_FAILURE);
	}
	return grown;
}

void window_count_mmio(struct window *window, uint64_t phys, unsigned int kind)
{
	struct mmio_page *page = window->mmio;
	struct mmio_page *end = page + window->mmio_n;

	phys &= PAGE_MASK;
	while (page < end && page->phys != phys)
		page++;
	if (page == end) {
		window->mmio = grow(window->mmio, window->mmio_n + 1, sizeof(*page));
		page = &window->mmio[window->mmio_n++];
		*page = (struct mmio_page){ .phys = phys };
	}
	page->accesses[kind]++;
}

void window_count_irq(struct window *window, uint64_t desc)
{
	struct irq_desc *irq = window->irqs;
	struct irq_desc *end = irq + window->irqs_n;

	while (irq < end && irq->addr != desc)
		irq++;
	if (irq == end) {
		window->irqs = grow(window->irqs, window->irqs_n + 1, sizeof(*irq));
		irq = &window->irqs[window->irqs_n++];
		*irq = (struct irq_desc){ .addr = desc };
	}
	irq->count++;
}

void window_count_poll(struct napi *napi, uint64_t packets)
{
	if (packets >= napi->packets_len) {
		size_t len = packets + 1;

		napi->packets = grow(napi->packets, len, sizeof(*napi->packets));
		memset(&napi->packets[napi->packets_len], 0,
		       (len - napi->packets_len) * sizeof(*napi->packets));
		napi->packets_len = len;
	}
	napi->packets[packets]++;
	napi->polls++;
}

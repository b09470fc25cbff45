// SPDX-License-Identifier: GPL-2.0-only
/* Write windows as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "qemu_api.h"
#include "window.h"

/* The windows of this process so far, separated by commas. */
static char *written;

static void put_string(FILE *out, const char *s)
{
	if (!s) {
		fputs("null", out);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void put_address(FILE *out, uint64_t addr)
{
	if (addr)
		fprintf(out, "\"0x%" PRIx64 "\"", addr);
	else
		fputs("null", out);
}

static void put_cache(FILE *out, const struct options *options)
{
	static const char * const names[CACHE_LEVELS] = { "l1d", "l2", "llc" };

	fputs(" \"cache\": ", out);
	if (!options->cache_on) {
		fputs("null,\n", out);
		return;
	}
	for (int i = 0; i < CACHE_LEVELS; i++) {
		const struct cache_geometry *g = &options->cache[i];

		fprintf(out, "%s\"%s\": {\"size_bytes\": %" PRIu64 ", \"ways\": %" PRIu64
			", \"line_bytes\": %" PRIu64 "}", i ? ", " : "{", names[i],
			g->size_bytes, g->ways, g->line_bytes);
	}
	fputs("},\n", out);
}

static void put_misses(FILE *out, const struct accesses *a, bool cache_on)
{
	if (cache_on)
		fprintf(out, "\"l1d_misses\": %" PRIu64 ", \"l2_misses\": %" PRIu64
			", \"llc_misses\": %" PRIu64 ", ", a->misses[CACHE_L1D],
			a->misses[CACHE_L2], a->misses[CACHE_LLC]);
	else
		fputs("\"l1d_misses\": null, \"l2_misses\": null, \"llc_misses\": null, ", out);
}

static void add_accesses(struct accesses *to, const struct accesses *a)
{
	for (int i = 0; i < ACCESS_KINDS; i++) {
		to->all[i] += a->all[i];
		to->mmio[i] += a->mmio[i];
	}
	for (int i = 0; i < CACHE_LEVELS; i++)
		to->misses[i] += a->misses[i];
}

/*
 * @counts is NULL for what is not counted by instruction. Returns what comes
 * before the next function.
 */
static const char *put_function(FILE *out, const char *separator, const struct options *options,
				const char *module, const char *name,
				const struct accesses *a, const uint64_t *counts)
{
	/* An access is made by an instruction, so user code alone needs a look. */
	if (counts ? !counts[COUNT_INSNS] : !a->all[ACCESS_LOAD] && !a->all[ACCESS_STORE])
		return separator;
	fprintf(out, "%s\n  {\"name\": ", separator);
	put_string(out, name);
	fputs(", \"module\": ", out);
	put_string(out, module);
	if (counts)
		fprintf(out, ", \"instructions\": %" PRIu64, counts[COUNT_INSNS]);
	else
		fputs(", \"instructions\": null", out);
	fprintf(out, ", \"loads\": %" PRIu64 ", \"stores\": %" PRIu64 ", ",
		a->all[ACCESS_LOAD], a->all[ACCESS_STORE]);
	put_misses(out, a, options->cache_on);
	fprintf(out, "\"mmio_reads\": %" PRIu64 ", \"mmio_writes\": %" PRIu64 ", \"calls\": ",
		a->mmio[ACCESS_LOAD], a->mmio[ACCESS_STORE]);
	if (counts && module)
		fprintf(out, "%" PRIu64 "}", counts[COUNT_CALLS]);
	else
		fputs("null}", out);
	return ",";
}

static void put_functions(FILE *out, const struct window *window, const struct options *options,
			  const struct symbols *symbols, const uint64_t *counters)
{
	uint64_t unknown_counts[COUNTS] = { 0 };
	struct accesses unknown = { 0 };
	const char *separator;

	fputs(" \"functions\": [", out);
	separator = put_function(out, "", options, NULL, "[user]",
				 &window->accesses[SLOT_USER], NULL);
	for (size_t i = 0; i < symbols->n; i++) {
		const struct function *f = &symbols->functions[i];
		const struct accesses *a = &window->accesses[SLOT_KERNEL + i];
		const uint64_t *counts = &counters[(SLOT_KERNEL + i) * COUNTS];

		if (f->name) {
			separator = put_function(out, separator, options, f->module, f->name,
						 a, counts);
		} else {
			unknown_counts[COUNT_INSNS] += counts[COUNT_INSNS];
			add_accesses(&unknown, a);
		}
	}
	put_function(out, separator, options, NULL, "[unknown]", &unknown, unknown_counts);
	fputs("\n ],\n", out);
}

static int by_address(const void *a, const void *b)
{
	/* Both kinds of entry begin with their address. */
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void put_mmio(FILE *out, struct window *window)
{
	if (window->mmio_n)
		qsort(window->mmio, window->mmio_n, sizeof(*window->mmio), by_address);
	fputs(" \"mmio\": [", out);
	for (size_t i = 0; i < window->mmio_n; i++) {
		const struct mmio_page *page = &window->mmio[i];

		fprintf(out, "%s{\"phys\": \"0x%" PRIx64 "\", \"reads\": %" PRIu64
			", \"writes\": %" PRIu64 "}", i ? ", " : "", page->phys,
			page->accesses[ACCESS_LOAD], page->accesses[ACCESS_STORE]);
	}
	fputs("],\n", out);
}

static void put_polls(FILE *out, const struct window *window, const struct options *options)
{
	const char *separator = "";

	fputs(" \"polls\": [", out);
	for (size_t i = 0; i <= options->napi.n; i++) {
		const struct napi *napi = &window->napi[i];
		bool first = true;

		if (!napi->polls)
			continue;
		fprintf(out, "%s{\"napi\": ", separator);
		put_address(out, i < options->napi.n ? options->napi.range[i].start : 0);
		fprintf(out, ", \"polls\": %" PRIu64 ", \"packets\": [", napi->polls);
		for (size_t k = 0; k < napi->packets_len; k++) {
			if (!napi->packets[k])
				continue;
			fprintf(out, "%s[%zu, %" PRIu64 "]", first ? "" : ", ", k,
				napi->packets[k]);
			first = false;
		}
		fputs("]}", out);
		separator = ", ";
	}
	fputs("],\n", out);
}

static void put_irqs(FILE *out, struct window *window)
{
	if (window->irqs_n)
		qsort(window->irqs, window->irqs_n, sizeof(*window->irqs), by_address);
	fputs(" \"irqs\": [", out);
	for (size_t i = 0; i < window->irqs_n; i++) {
		fprintf(out, "%s{\"desc\": ", i ? ", " : "");
		put_address(out, window->irqs[i].addr);
		fprintf(out, ", \"count\": %" PRIu64 "}", window->irqs[i].count);
	}
	fputs("],\n", out);
}

static void put_dma(FILE *out, const struct window *window, const struct options *options)
{
	if (options->dma == DMA_CACHED)
		fputs(" \"dma\": null,\n", out);
	else
		fprintf(out, " \"dma\": {\"to\": \"%s\", \"marks\": %" PRIu64
			", \"lines\": %" PRIu64 "},\n",
			options->dma == DMA_LLC ? "llc" : "memory", window->dma_marks,
			window->dma_lines);
}

static void put_window(FILE *out, struct window *window, const struct options *options,
		       const struct symbols *symbols, const uint64_t *counters)
{
	uint64_t insns = 0;

	for (size_t i = 0; i < symbols->n; i++)
		insns += counters[(SLOT_KERNEL + i) * COUNTS + COUNT_INSNS];
	fprintf(out, "{\"plugin_api\": %d,\n \"kernel_instructions\": %" PRIu64
		",\n \"user_instructions\": null,\n", PLUGIN_API, insns);
	put_cache(out, options);
	put_functions(out, window, options, symbols, counters);
	put_mmio(out, window);
	put_polls(out, window, options);
	put_irqs(out, window);
	put_dma(out, window, options);
	fprintf(out, " \"packet_calls\": %" PRIu64 "}", window->packet_calls);
}

/* A reader never sees half a file. */
static int replace_file(const char *path)
{
	char *tmp = NULL;
	int error = -1;
	FILE *file;

	if (asprintf(&tmp, "%s.tmp", path) < 0)
		return -1;
	file = fopen(tmp, "w");
	if (!file)
		goto out_free;
	fprintf(file, "[%s]\n", written);
	/* fclose() reports what fprintf() could only buffer. */
	error = ferror(file);
	if (fclose(file) || error || rename(tmp, path))
		error = -1;
out_free:
	free(tmp);
	return error;
}

int window_write(struct window *window, const struct options *options,
		 const struct symbols *symbols, const uint64_t *counters)
{
	char *text = NULL;
	size_t len;
	FILE *out;

	out = open_memstream(&text, &len);
	if (!out)
		goto fail;
	if (written)
		fprintf(out, "%s,\n", written);
	put_window(out, window, options, symbols, counters);
	if (fclose(out))
		goto fail;
	free(written);
	written = text;
	if (replace_file(options->out))
		goto fail;
	return 0;

fail:
	message("cannot write out=%s: %s", options->out, strerror(errno));
	return -1;
}

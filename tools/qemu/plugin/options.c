// SPDX-License-Identifier: GPL-2.0-only
/* Parse the plugin's arguments; a wrong one is an error, never ignored. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "options.h"
#include "qemu_api.h"

/* A number to the end of the string or to @stop, which is then skipped. */
static bool parse_u64(const char **at, int base, char stop, uint64_t *value)
{
	char *end;

	/* strtoull would take a sign or white space. */
	if (!strchr("0123456789", **at) || !**at)
		return false;
	errno = 0;
	*value = strtoull(*at, &end, base);
	if (errno || end == *at || *end != stop)
		return false;
	*at = stop ? end + 1 : end;
	return true;
}

static bool parse_hex(const char **at, char stop, uint64_t *value)
{
	return !strncmp(*at, "0x", 2) && (*at)[2] && parse_u64(at, 16, stop, value);
}

static bool add_range(struct ranges *ranges, uint64_t start, uint64_t end)
{
	struct range *grown;

	if (end <= start)
		return false;
	grown = realloc(ranges->range, (ranges->n + 1) * sizeof(*grown));
	if (!grown)
		return false;
	ranges->range = grown;
	ranges->range[ranges->n++] = (struct range){ start, end };
	return true;
}

static bool set_string(const char **to, const char *value)
{
	*to = value;
	return *value;
}

/* 0xADDR:LEN */
static bool set_napi(struct options *options, const char *value)
{
	uint64_t start, len;

	return parse_hex(&value, ':', &start) && parse_u64(&value, 0, '\0', &len) &&
	       len <= UINT64_MAX - start && add_range(&options->napi, start, start + len);
}

/* 0xLO:0xHI, both within the range */
static bool set_ioremap(struct options *options, const char *value)
{
	uint64_t start, last;

	return parse_hex(&value, ':', &start) && parse_hex(&value, '\0', &last) &&
	       last < UINT64_MAX && add_range(&options->ioremap, start, last + 1);
}

/* SIZE:WAYS:LINE */
static bool set_cache(struct cache_geometry *g, const char *value)
{
	return parse_u64(&value, 10, ':', &g->size_bytes) &&
	       parse_u64(&value, 10, ':', &g->ways) &&
	       parse_u64(&value, 10, '\0', &g->line_bytes);
}

static bool set_switch(bool *to, const char *value)
{
	/* QEMU itself turns a bare name into name=on. */
	*to = !strcmp(value, "on");
	return *to || !strcmp(value, "off");
}

/* cold, or llc for a device that writes into the last-level cache (DDIO) */
static bool set_dma(enum dma *to, const char *value)
{
	*to = !strcmp(value, "llc") ? DMA_LLC : DMA_COLD;
	return *to == DMA_LLC || !strcmp(value, "cold");
}

static bool is_key(const char *key, size_t len, const char *name)
{
	return len == strlen(name) && !strncmp(key, name, len);
}

static bool set_option(struct options *options, const char *key, size_t len, const char *value)
{
	if (is_key(key, len, "symbols"))
		return set_string(&options->symbols, value);
	if (is_key(key, len, "out"))
		return set_string(&options->out, value);
	if (is_key(key, len, "poll"))
		return set_string(&options->poll, value);
	if (is_key(key, len, "irq"))
		return set_string(&options->irq, value);
	if (is_key(key, len, "packet"))
		return set_string(&options->packet, value);
	if (is_key(key, len, "napi"))
		return set_napi(options, value);
	if (is_key(key, len, "ioremap"))
		return set_ioremap(options, value);
	if (is_key(key, len, "kernel_start"))
		return parse_hex(&value, '\0', &options->kernel_start);
	if (is_key(key, len, "l1d"))
		return set_cache(&options->cache[CACHE_L1D], value);
	if (is_key(key, len, "l2"))
		return set_cache(&options->cache[CACHE_L2], value);
	if (is_key(key, len, "llc"))
		return set_cache(&options->cache[CACHE_LLC], value);
	if (is_key(key, len, "cache"))
		return set_switch(&options->cache_on, value);
	if (is_key(key, len, "dma"))
		return set_dma(&options->dma, value);
	if (is_key(key, len, "dma_bytes"))
		return parse_u64(&value, 10, '\0', &options->dma_bytes);
	if (is_key(key, len, "direct_map"))
		return parse_hex(&value, '\0', &options->direct_map);
	return false;
}

static bool set_default_ioremap(struct options *options)
{
	/*
	 * Documentation/arch/x86/x86_64/mm.rst: the vmalloc and ioremap space
	 * of four-level page tables, and the fixmap at the end, where the
	 * local APIC and IOAPIC are. With a randomised layout the former moves.
	 */
	return add_range(&options->ioremap, 0xffffc90000000000, 0xffffe90000000000) &&
	       add_range(&options->ioremap, 0xffffffffff000000, UINT64_MAX);
}

static int check_options(struct options *options)
{
	const char *error = cache_geometry_error(options->cache);

	if (error) {
		message("l1d, l2, llc: %s", error);
		return -1;
	}
	if (!options->symbols || !options->out) {
		message("%s=FILE is missing", options->symbols ? "out" : "symbols");
		return -1;
	}
	if (options->dma != DMA_CACHED && PLUGIN_API < 4) {
		message("dma=: this QEMU's plugins cannot read registers");
		return -1;
	}
	if (!options->ioremap.n && !set_default_ioremap(options)) {
		message("no memory for options");
		return -1;
	}
	return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
	*options = (struct options){
		.poll = "__napi_poll",
		.irq = "__handle_irq_event_percpu",
		.packet = "eth_type_trans",
		.kernel_start = 0x800000000000,
		.cache = {
			[CACHE_L1D] = { 32768, 8, 64 },
			[CACHE_L2] = { 1048576, 16, 64 },
			[CACHE_LLC] = { 8388608, 16, 64 },
		},
		.cache_on = true,
		.dma_bytes = UINT64_MAX,
		/* Four-level page tables, layout not randomised. */
		.direct_map = 0xffff888000000000,
	};
	for (int i = 0; i < argc; i++) {
		const char *equals = strchr(argv[i], '=');

		if (!equals || !set_option(options, argv[i], (size_t)(equals - argv[i]),
					   equals + 1)) {
			message("unknown or malformed option \"%s\"", argv[i]);
			return -1;
		}
	}
	return check_options(options);
}

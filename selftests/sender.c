// SPDX-License-Identifier: GPL-2.0-only
/* sender: the command line of a load, and its report as lines "key=value". */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/load.h"
#include "lib/window.h"

#define EXIT_BAD_USE 2
#define EXIT_CANNOT 3

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void report(struct load *load, const struct interrupts *before,
		   const struct interrupts *after)
{
	uint64_t span_ns = load->last_ns - load->first_ns;
	double rate = load->count > 1 && span_ns ?
		(double)(load->count - 1) * (double)NS_PER_S / (double)span_ns : 0.0;
	unsigned int i;

	qsort(load->late_ns, load->count, sizeof(*load->late_ns), by_value);
	printf("achieved_rate_pps=%.3f\n", rate);
	printf("late_ns_median=%u\nlate_ns_p99=%u\nlate_ns_max=%u\n",
	       load->late_ns[load->count / 2], load->late_ns[load->count * 99 / 100],
	       load->late_ns[load->count - 1]);
	printf("window_ns=%" PRIu64 "\n", load->window_ns);
	for (i = 0; i < load->nr_streams; i++) {
		struct stream *stream = &load->streams[i];

		if (stream->at)
			ring_read_drops(&stream->ring);
		printf("stream=%u:sent=%" PRIu64 ":delivered=%" PRIu64 ":duplicated=%" PRIu64
		       ":corrupted=%" PRIu64 ":stack_drops=%" PRIu64 ":refused=%" PRIu64
		       ":warmup_sent=%" PRIu64 ":warmed_up=%" PRIu64 ":warmup_drops=%" PRIu64 "\n",
		       i, stream->sent, stream->delivered, stream->duplicated, stream->corrupted,
		       stream->ring.stack_drops, stream->refused,
		       load->idle ? 0 : load->warmup, stream->warmed_up, stream->warmup_drops);
	}
	interrupts_print_delta(before, after, stdout);
}

static const char usage_text[] =
	"usage: sender --stream FROM,TO-ADDRESS[,AT] [--stream ..] --rate PPS --size BYTES\n"
	"              --count N [--warmup N] [--settle-us US] [--slots N] [--idle]\n"
	"              [--marks | --mark-file FILE]\n"
	"  FROM and AT are interfaces: frames leave at FROM and are checked at AT.\n"
	"  --size   bytes without FCS, 60 to 1514\n"
	"  --warmup frames sent before the window and not counted\n"
	"  --idle   do all but the sending\n"
	"  --marks  name the window to the vm lab (writes to /dev/port)\n"
	"  --mark-file  have the marks made by who reads FILE (iotally's mark)\n";

static bool parse_stream(struct load *load, char *text)
{
	struct stream *stream = &load->streams[load->nr_streams];
	char *address = strchr(text, ',');
	int end = 0;
	char *at;

	if (load->nr_streams == STREAMS_MAX || !address)
		return false;
	*address++ = 0;
	at = strchr(address, ',');
	if (at)
		*at++ = 0;
	stream->from = text;
	stream->at = at;
	load->nr_streams++;
	return sscanf(address, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &stream->to_address[0],
		      &stream->to_address[1], &stream->to_address[2], &stream->to_address[3],
		      &stream->to_address[4], &stream->to_address[5], &end) == 6 && !address[end];
}

static bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && *text >= '0' && *text <= '9' && !*end && *value >= low && *value <= high;
}

static bool parse(struct load *load, int argc, char **argv)
{
	static const struct option options[] = {
		{ "stream", required_argument, NULL, 's' },
		{ "rate", required_argument, NULL, 'r' },
		{ "size", required_argument, NULL, 'b' },
		{ "count", required_argument, NULL, 'c' },
		{ "settle-us", required_argument, NULL, 't' },
		{ "slots", required_argument, NULL, 'l' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "idle", no_argument, NULL, 'i' },
		{ "marks", no_argument, NULL, 'm' },
		{ "mark-file", required_argument, NULL, 'f' },
		{ }
	};
	uint64_t settle_us = 2000;
	uint64_t size = 0;
	uint64_t slots = 512;
	bool good = true;
	int option;

	while (good && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			good = parse_stream(load, optarg);
		else if (option == 'r')
			good = parse_number(optarg, 1, NS_PER_S, &load->rate_pps);
		else if (option == 'b')
			good = parse_number(optarg, FRAME_SIZE_MIN, FRAME_SIZE_MAX, &size);
		else if (option == 'c')
			good = parse_number(optarg, 1, 1u << 30, &load->count);
		else if (option == 'w')
			good = parse_number(optarg, 0, 1u << 20, &load->warmup);
		else if (option == 't')
			good = parse_number(optarg, 1, 10000000, &settle_us);
		else if (option == 'l')
			good = parse_number(optarg, 256, 65536, &slots) && slots % 256 == 0;
		else if (option == 'm')
			load->marks = true;
		else if (option == 'f')
			load->mark_file = optarg;
		else if (option == 'i')
			load->idle = true;
		else
			good = false;
	}
	if (load->mark_file)
		load->marks = true;
	load->settle_ns = settle_us * 1000;
	load->size_bytes = size;
	load->slots = (uint32_t)slots;
	return good && optind == argc && load->nr_streams && load->rate_pps && size && load->count;
}

int main(int argc, char **argv)
{
	static struct interrupts before;
	static struct interrupts after;
	static struct load load = { .marks_fd = -1 };
	bool good;

	if (!parse(&load, argc, argv)) {
		fputs(usage_text, stderr);
		return EXIT_BAD_USE;
	}
	if (load_prepare(&load))
		return EXIT_CANNOT;
	good = load_run(&load, &before, &after);
	report(&load, &before, &after);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

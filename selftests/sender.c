// SPDX-License-Identifier: GPL-2.0-only
/*
 * sender: sends evenly spaced, numbered frames and checks what arrives.
 *
 * One process does both sides, so a lost, doubled or damaged frame is known at
 * once. It spins between frames: a wake-up by a timer would add its own
 * interrupts to the ones that are counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/frame.h"
#include "lib/interrupts.h"
#include "lib/marks.h"
#include "lib/ring.h"
#include "lib/window.h"

#define STREAMS_MAX 2
/* A port that takes no frame for this long is stuck, not busy. */
#define REFUSED_LIMIT_NS NS_PER_S
/* A sign of life for the lab comes so often, however slow the load is. */
#define PROGRESS_NS (NS_PER_S / 10)
#define EXIT_BAD_USE 2
#define EXIT_CANNOT 3

struct stream {
	const char *from;
	const char *at;			/* where frames are received, NULL: not at all */
	uint8_t to_address[6];
	int fd;
	struct ring ring;
	uint8_t frame[FRAME_SIZE_MAX];
	uint8_t *seen;			/* one bit a sequence number */
	uint64_t sent;
	uint64_t refused;		/* attempts that the driver or the stack refused */
	uint64_t delivered;
	uint64_t warmed_up;		/* warm-up frames that were delivered */
	uint64_t warmup_drops;		/* and those that the socket dropped */
	uint64_t duplicated;
	uint64_t corrupted;
};

struct load {
	struct stream streams[STREAMS_MAX];
	unsigned int nr_streams;
	uint64_t rate_pps;
	uint64_t count;
	uint64_t warmup;		/* frames before the window, for drivers that adapt */
	uint64_t settle_ns;
	size_t size_bytes;
	uint32_t slots;
	bool idle;			/* all but the sending: what the rest costs */
	bool marks;
	int marks_fd;			/* /dev/port, or -1 */
	uint64_t progress_ns;		/* when the next sign of life is due */
	uint32_t *late_ns;		/* per frame: how long after its time it was sent */
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t window_ns;
};

/*
 * A byte for the trace of device accesses. By /dev/port and not by ioperm():
 * the permission would cost every return to user mode in the window.
 */
static void mark_byte(const struct load *load, uint8_t value)
{
	if (load->marks_fd >= 0 && pwrite(load->marks_fd, &value, 1, MARK_PORT) != 1)
		perror("sender: /dev/port");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void take_frame(struct load *load, struct stream *stream, const uint8_t *frame,
		       size_t length)
{
	uint64_t sequence = UINT64_MAX;	/* stays when the frame's header is not ours */
	enum frame_check check = frame_check(frame, length, load->size_bytes,
					     (uint32_t)(stream - load->streams), &sequence);

	if (check == FRAME_FOREIGN)
		return;
	if (sequence < load->warmup) {
		stream->warmed_up++;
		return;
	}
	if (check == FRAME_CORRUPTED || sequence >= load->warmup + load->count) {
		stream->corrupted++;
		return;
	}
	sequence -= load->warmup;
	uint8_t bit = (uint8_t)(1u << (sequence % 8));

	if (stream->seen[sequence / 8] & bit) {
		stream->duplicated++;
		return;
	}
	stream->seen[sequence / 8] |= bit;
	stream->delivered++;
}

/* Looks at everything that has arrived; true if anything had. */
static bool drain(struct load *load)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < load->nr_streams; i++) {
		struct stream *stream = &load->streams[i];
		const uint8_t *frame;
		size_t length;

		if (!stream->at)
			continue;
		while ((frame = ring_peek(&stream->ring, &length))) {
			take_frame(load, stream, frame, length);
			ring_release(&stream->ring);
			any = true;
		}
	}
	return any;
}

/*
 * Two instructions a turn. Reading the clock is dear in an emulated guest, so
 * half of the time that is left is spent here before the clock is read again.
 */
static void burn(uint64_t turns)
{
	if (turns > PROGRESS_NS / 4)
		turns = PROGRESS_NS / 4;
	while (turns--)
		__asm__ volatile("" : "+r"(turns));
}

static uint64_t wait_until(struct load *load, uint64_t deadline_ns)
{
	uint64_t now;

	while ((now = now_ns()) < deadline_ns) {
		if (now >= load->progress_ns) {
			load->progress_ns += PROGRESS_NS;
			mark_byte(load, MARK_BYTE_PROGRESS);
		}
		if (!drain(load))
			burn((deadline_ns - now) / 4);
	}
	return now;
}

static bool send_frame(struct load *load, struct stream *stream, uint64_t sequence)
{
	uint64_t give_up_ns = 0;

	frame_number(stream->frame, load->size_bytes, sequence);
	while (send(stream->fd, stream->frame, load->size_bytes, 0) < 0) {
		uint64_t now = now_ns();

		if (errno != ENOBUFS && errno != EAGAIN) {
			fprintf(stderr, "sender: %s: cannot send: %s\n", stream->from,
				strerror(errno));
			return false;
		}
		stream->refused++;
		if (!give_up_ns)
			give_up_ns = now + REFUSED_LIMIT_NS;
		if (now > give_up_ns) {
			fprintf(stderr, "sender: %s: took no frame for a second\n", stream->from);
			return false;
		}
		drain(load);
	}
	return true;
}

static bool all_delivered(const struct load *load)
{
	unsigned int i;

	for (i = 0; i < load->nr_streams; i++) {
		const struct stream *stream = &load->streams[i];

		if (stream->at && stream->delivered < stream->sent)
			return false;
	}
	return true;
}

static bool send_turn(struct load *load, uint64_t sequence)
{
	unsigned int i;

	for (i = 0; i < load->nr_streams && !load->idle; i++)
		if (!send_frame(load, &load->streams[i], sequence))
			return false;
	return true;
}

/* What the socket refused before the window is no loss of the window. */
static void set_drops_aside(struct load *load)
{
	unsigned int i;

	for (i = 0; i < load->nr_streams; i++) {
		struct stream *stream = &load->streams[i];

		if (stream->at)
			ring_read_drops(&stream->ring);
		stream->warmup_drops = stream->ring.stack_drops;
		stream->ring.stack_drops = 0;
	}
}

static uint64_t frames_ns(const struct load *load, uint64_t frames)
{
	return frames * NS_PER_S / load->rate_pps;
}

/* When the window is to begin; only the lab cares for its phase. */
static uint64_t start_time_ns(const struct load *load)
{
	uint64_t earliest_ns = now_ns() + load->settle_ns + frames_ns(load, load->warmup);

	if (!load->marks)
		return earliest_ns;
	return window_start_ns(earliest_ns, frames_ns(load, load->count) + 2 * load->settle_ns);
}

static void sleep_until(uint64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / NS_PER_S),
		.tv_nsec = (long)(deadline_ns % NS_PER_S),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL))
		;
}

static bool warm_up(struct load *load)
{
	uint64_t end_ns = start_time_ns(load);
	uint64_t start_ns = end_ns - load->settle_ns - frames_ns(load, load->warmup);
	uint64_t sequence;

	sleep_until(start_ns);
	load->progress_ns = start_ns + PROGRESS_NS;
	/* The plugin's caches are warm when the window begins, its counts are not. */
	MARK_NOP(MARK_NOP_START);
	for (sequence = 0; sequence < load->warmup; sequence++) {
		wait_until(load, start_ns + frames_ns(load, sequence));
		if (!send_turn(load, sequence))
			return false;
	}
	/* Frames that came late, as the guest was too slow, have their time too. */
	wait_until(load, now_ns() + load->settle_ns > end_ns ?
		   now_ns() + load->settle_ns : end_ns);
	set_drops_aside(load);
	return true;
}

static bool send_all(struct load *load, uint64_t start_ns)
{
	uint64_t turn;
	unsigned int i;

	for (turn = 0; turn < load->count; turn++) {
		uint64_t deadline_ns = start_ns + frames_ns(load, turn);
		uint64_t now = wait_until(load, deadline_ns);

		load->late_ns[turn] = now - deadline_ns < UINT32_MAX ?
			(uint32_t)(now - deadline_ns) : UINT32_MAX;
		if (!turn)
			load->first_ns = now;
		load->last_ns = now;
		if (!send_turn(load, load->warmup + turn))
			return false;
		for (i = 0; i < load->nr_streams && !load->idle; i++)
			load->streams[i].sent++;
	}
	return true;
}

/*
 * The window ends a fixed time after the last frame's turn, so that runs with
 * and without the port under test are equally long, and later only while
 * frames still come in.
 */
static void settle(struct load *load, uint64_t start_ns)
{
	uint64_t end_ns = start_ns + frames_ns(load, load->count) + load->settle_ns;
	uint64_t late_ns;

	/* A port may hold an interrupt back: it must come within the window. */
	late_ns = now_ns() + load->settle_ns;
	wait_until(load, end_ns > late_ns ? end_ns : late_ns);
	late_ns = now_ns() + load->settle_ns;
	while (!all_delivered(load) && now_ns() < late_ns)
		if (drain(load))
			late_ns = now_ns() + load->settle_ns;
}

static bool run(struct load *load, struct interrupts *before, struct interrupts *after)
{
	uint64_t start_ns;
	bool good;

	if (!warm_up(load) || interrupts_read(before))
		return false;
	mark_byte(load, MARK_BYTE_START);
	MARK_NOP(MARK_NOP_START);
	start_ns = now_ns() + load->settle_ns;
	load->progress_ns = start_ns + PROGRESS_NS;
	good = send_all(load, start_ns);
	if (good)
		settle(load, start_ns);
	MARK_NOP(MARK_NOP_STOP);
	mark_byte(load, MARK_BYTE_STOP);
	load->window_ns = now_ns() + load->settle_ns - start_ns;
	return !interrupts_read(after) && good;
}

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

static int prepare(struct load *load)
{
	unsigned int i;

	load->late_ns = calloc(load->count, sizeof(*load->late_ns));
	for (i = 0; i < load->nr_streams; i++) {
		struct stream *stream = &load->streams[i];
		uint8_t from_address[6];

		stream->seen = calloc(load->count / 8 + 1, 1);
		stream->fd = sender_open(stream->from, from_address);
		if (stream->fd < 0)
			return -1;
		if (stream->at && ring_open(&stream->ring, stream->at, load->size_bytes,
					    load->slots))
			return -1;
		frame_init(stream->frame, load->size_bytes, stream->to_address, from_address, i);
		if (!load->late_ns || !stream->seen) {
			fprintf(stderr, "sender: no memory for %" PRIu64 " frames\n", load->count);
			return -1;
		}
	}
	/* A page fault in the window would be counted as cost of a packet. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("sender: mlockall");
		return -1;
	}
	if (load->marks) {
		load->marks_fd = open("/dev/port", O_WRONLY | O_CLOEXEC);
		if (load->marks_fd < 0) {
			perror("sender: /dev/port");
			return -1;
		}
	}
	return 0;
}

static const char usage_text[] =
	"usage: sender --stream FROM,TO-ADDRESS[,AT] [--stream ..] --rate PPS --size BYTES\n"
	"              --count N [--warmup N] [--settle-us US] [--slots N] [--idle] [--marks]\n"
	"  FROM and AT are interfaces: frames leave at FROM and are checked at AT.\n"
	"  --size   bytes without FCS, 60 to 1514\n"
	"  --warmup frames sent before the window and not counted\n"
	"  --idle   do all but the sending\n"
	"  --marks  name the window to the vm lab (writes to /dev/port)\n";

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
		else if (option == 'i')
			load->idle = true;
		else
			good = false;
	}
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
	if (prepare(&load))
		return EXIT_CANNOT;
	good = run(&load, &before, &after);
	report(&load, &before, &after);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * One process sends and receives, so a lost, doubled or damaged frame is known
 * at once. It spins between frames: a wake-up by a timer would add its own
 * interrupts to the ones that are counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"
#include "marks.h"
#include "window.h"

/* A port that takes no frame for this long is stuck, not busy. */
#define REFUSED_LIMIT_NS NS_PER_S
/* A sign of life for the lab comes so often, however slow the load is. */
#define PROGRESS_NS (NS_PER_S / 10)

/*
 * A byte for the trace of device accesses. By /dev/port and not by ioperm():
 * the permission would cost every return to user mode in the window.
 */
static void mark_byte(const struct load *load, uint8_t value)
{
	if (load->marks_fd < 0)
		return;
	if (load->mark_file ? dprintf(load->marks_fd, "%u\n", value) < 0 :
			      pwrite(load->marks_fd, &value, 1, MARK_PORT) != 1)
		perror("sender: mark");
}

/* Who makes the marks for us makes both side by side. */
static void mark_start(const struct load *load)
{
	mark_byte(load, MARK_BYTE_START);
	if (!load->mark_file)
		MARK_NOP(MARK_NOP_START);
}

static void mark_stop(const struct load *load)
{
	if (!load->mark_file)
		MARK_NOP(MARK_NOP_STOP);
	mark_byte(load, MARK_BYTE_STOP);
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

bool load_run(struct load *load, struct interrupts *before, struct interrupts *after)
{
	uint64_t start_ns;
	bool good;

	if (!warm_up(load) || interrupts_read(before))
		return false;
	mark_start(load);
	start_ns = now_ns() + load->settle_ns;
	load->progress_ns = start_ns + PROGRESS_NS;
	good = send_all(load, start_ns);
	if (good)
		settle(load, start_ns);
	mark_stop(load);
	load->window_ns = now_ns() + load->settle_ns - start_ns;
	return !interrupts_read(after) && good;
}

int load_prepare(struct load *load)
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
		const char *file = load->mark_file ? load->mark_file : "/dev/port";

		load->marks_fd = open(file, O_WRONLY | O_CLOEXEC);
		if (load->marks_fd < 0) {
			fprintf(stderr, "sender: %s: %s\n", file, strerror(errno));
			return -1;
		}
	}
	return 0;
}

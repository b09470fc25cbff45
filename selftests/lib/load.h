/* SPDX-License-Identifier: GPL-2.0-only */
/* A load: evenly spaced, numbered frames, and the check of what arrives. */
#ifndef RINGSIDE_LOAD_H
#define RINGSIDE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "interrupts.h"
#include "ring.h"

#define STREAMS_MAX 2

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
	const char *mark_file;		/* makes the marks instead of us, or NULL */
	int marks_fd;			/* that or /dev/port, or -1 */
	uint64_t progress_ns;		/* when the next sign of life is due */
	uint32_t *late_ns;		/* per frame: how long after its time it was sent */
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t window_ns;
};

/*
 * Opens the sockets of the streams and what the load needs of memory; 0, or -1
 * after a line on standard error.
 */
int load_prepare(struct load *load);

/*
 * Sends and receives the whole load, warm-up first. The interrupt counts are
 * read at both ends of the window. False after a line on standard error.
 */
bool load_run(struct load *load, struct interrupts *before, struct interrupts *after);

#endif

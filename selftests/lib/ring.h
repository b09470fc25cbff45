/* SPDX-License-Identifier: GPL-2.0-only */
/* A mapped packet socket: frames arrive without a wake-up or a system call per frame. */
#ifndef RINGSIDE_RING_H
#define RINGSIDE_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring {
	int fd;
	uint8_t *frames;
	size_t slot_bytes;
	uint32_t slots;
	uint32_t next;
	uint64_t stack_drops;	/* frames the socket refused because the ring was full */
};

/* Opens a ring for FRAME_ETHERTYPE on @ifname; 0, or -1 with a line on stderr. */
int ring_open(struct ring *ring, const char *ifname, size_t frame_bytes, uint32_t slots);

/* The oldest frame not yet looked at and its length, or NULL when there is none. */
const uint8_t *ring_peek(struct ring *ring, size_t *length);

/* Gives the slot of the frame that ring_peek() showed back to the kernel. */
void ring_release(struct ring *ring);

/* Adds the socket's drop counter since the last call to @ring->stack_drops. */
void ring_read_drops(struct ring *ring);

/* Opens a socket that sends on @ifname past the qdisc; descriptor, or -1 with a line. */
int sender_open(const char *ifname, uint8_t address[6]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Test frames: built by the sender, recognised and checked by the receiver. */
#ifndef RINGSIDE_FRAME_H
#define RINGSIDE_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* IEEE 802 local experimental EtherType 1: no stack claims it. */
#define FRAME_ETHERTYPE 0x88b5
/* Shortest and longest frame without FCS that every profile carries. */
#define FRAME_SIZE_MIN 60
#define FRAME_SIZE_MAX 1514

enum frame_check {
	FRAME_GOOD,
	FRAME_FOREIGN,
	FRAME_CORRUPTED,
};

/* Writes addresses, EtherType, magic and stream; @size in bytes without FCS. */
void frame_init(uint8_t *frame, size_t size, const uint8_t to[6], const uint8_t from[6],
		uint32_t stream);

/* Writes the sequence number and the payload that belongs to it. */
void frame_number(uint8_t *frame, size_t size, uint64_t sequence);

/* Sorts a received frame; sets @sequence when it is one of ours and whole. */
enum frame_check frame_check(const uint8_t *frame, size_t length, size_t size, uint32_t stream,
			     uint64_t *sequence);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/* Layout and checking of test frames. */
#include <arpa/inet.h>
#include <endian.h>
#include <net/ethernet.h>
#include <string.h>

#include "frame.h"

#define FRAME_MAGIC 0x52534631 /* "RSF1" */

struct frame_header {
	struct ether_header ether;
	uint32_t magic;
	uint32_t stream;
	uint64_t sequence;
} __attribute__((packed));

/*
 * The pattern changes with every frame and with every byte, so that a stale
 * buffer or a shifted copy is seen. Eight bytes a step keep the check cheap.
 */
static uint64_t pattern_step(uint64_t value)
{
	return value * 6364136223846793005ull + 1442695040888963407ull;
}

void frame_init(uint8_t *frame, size_t size, const uint8_t to[6], const uint8_t from[6],
		uint32_t stream)
{
	struct frame_header *header = (struct frame_header *)frame;

	memset(frame, 0, size);
	memcpy(header->ether.ether_dhost, to, 6);
	memcpy(header->ether.ether_shost, from, 6);
	header->ether.ether_type = htons(FRAME_ETHERTYPE);
	header->magic = htonl(FRAME_MAGIC);
	header->stream = htonl(stream);
}

void frame_number(uint8_t *frame, size_t size, uint64_t sequence)
{
	struct frame_header *header = (struct frame_header *)frame;
	uint64_t value = pattern_step(sequence);
	size_t at = sizeof(*header);

	header->sequence = htobe64(sequence);
	for (; at + sizeof(value) <= size; at += sizeof(value)) {
		memcpy(frame + at, &value, sizeof(value));
		value = pattern_step(value);
	}
	memcpy(frame + at, &value, size - at);
}

static int payload_holds(const uint8_t *frame, size_t size, uint64_t sequence)
{
	uint64_t value = pattern_step(sequence);
	size_t at = sizeof(struct frame_header);

	for (; at + sizeof(value) <= size; at += sizeof(value)) {
		if (memcmp(frame + at, &value, sizeof(value)))
			return 0;
		value = pattern_step(value);
	}
	return !memcmp(frame + at, &value, size - at);
}

enum frame_check frame_check(const uint8_t *frame, size_t length, size_t size, uint32_t stream,
			     uint64_t *sequence)
{
	const struct frame_header *header = (const struct frame_header *)frame;

	if (length < sizeof(*header) || header->ether.ether_type != htons(FRAME_ETHERTYPE))
		return FRAME_FOREIGN;
	if (header->magic != htonl(FRAME_MAGIC) || header->stream != htonl(stream))
		return FRAME_CORRUPTED;
	*sequence = be64toh(header->sequence);
	if (length != size || !payload_holds(frame, size, *sequence))
		return FRAME_CORRUPTED;
	return FRAME_GOOD;
}

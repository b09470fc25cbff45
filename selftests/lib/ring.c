// SPDX-License-Identifier: GPL-2.0-only
/* Packet sockets for the sender: mapped receive ring, transmit past the qdisc. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame.h"
#include "ring.h"

static int fail(const char *ifname, const char *what)
{
	fprintf(stderr, "sender: %s: %s: %s\n", ifname, what, strerror(errno));
	return -1;
}

static int bind_to(int fd, const char *ifname, uint16_t protocol)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = (int)if_nametoindex(ifname),
	};

	if (!address.sll_ifindex)
		return -1;
	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

/* A slot holds the ring's own header (at most 128 bytes here) and the frame. */
static size_t slot_size(size_t frame_bytes)
{
	size_t bytes = 256;

	while (bytes < frame_bytes + 128)
		bytes *= 2;
	return bytes;
}

int ring_open(struct ring *ring, const char *ifname, size_t frame_bytes, uint32_t slots)
{
	size_t slot = slot_size(frame_bytes);
	struct tpacket_req request = {
		.tp_block_size = 65536,
		.tp_block_nr = (unsigned int)(slots * slot / 65536),
		.tp_frame_size = (unsigned int)slot,
		.tp_frame_nr = slots,
	};
	int version = TPACKET_V2;

	memset(ring, 0, sizeof(*ring));
	ring->fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (ring->fd < 0)
		return fail(ifname, "cannot open a packet socket (root is needed)");
	if (setsockopt(ring->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(ring->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)))
		return fail(ifname, "cannot make a receive ring");
	ring->frames = mmap(NULL, slots * slot, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, ring->fd, 0);
	if (ring->frames == MAP_FAILED)
		return fail(ifname, "cannot map the receive ring");
	ring->slots = slots;
	ring->slot_bytes = slot;
	if (bind_to(ring->fd, ifname, FRAME_ETHERTYPE))
		return fail(ifname, "cannot listen");
	return 0;
}

static struct tpacket2_hdr *slot_header(struct ring *ring)
{
	return (struct tpacket2_hdr *)(ring->frames + ring->next * ring->slot_bytes);
}

const uint8_t *ring_peek(struct ring *ring, size_t *length)
{
	struct tpacket2_hdr *header = slot_header(ring);

	if (!(__atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return NULL;
	*length = header->tp_len;
	return (uint8_t *)header + header->tp_mac;
}

void ring_release(struct ring *ring)
{
	__atomic_store_n(&slot_header(ring)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	ring->next = (ring->next + 1) % ring->slots;
}

void ring_read_drops(struct ring *ring)
{
	struct tpacket_stats stats;
	socklen_t length = sizeof(stats);

	if (!getsockopt(ring->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length))
		ring->stack_drops += stats.tp_drops;
}

int sender_open(const char *ifname, uint8_t address[6])
{
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct ifreq request = { 0 };
	int one = 1;

	if (fd < 0)
		return fail(ifname, "cannot open a packet socket (root is needed)");
	strncpy(request.ifr_name, ifname, sizeof(request.ifr_name) - 1);
	if (ioctl(fd, SIOCGIFHWADDR, &request))
		return fail(ifname, "no such interface");
	memcpy(address, request.ifr_hwaddr.sa_data, 6);
	if (setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return fail(ifname, "cannot send past the qdisc");
	if (bind_to(fd, ifname, 0))
		return fail(ifname, "cannot send");
	return fd;
}

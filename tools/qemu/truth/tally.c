// SPDX-License-Identifier: GPL-2.0-only
/*
 * tally: counts QEMU's memory_region_ops trace by region, between the marks.
 *
 * usage: tally PORT:BAR:SPACE:START:LENGTH ... < trace
 *
 * SPACE is mmio or port, START and LENGTH are hexadecimal. Prints "progress"
 * for each progress mark and one JSON object a line for each window. It reads
 * a pipe, so a long run needs no disk.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../selftests/lib/marks.h"

#define BARS_MAX 32
#define REGIONS_MAX 128
#define REGION_NAME_BYTES 64
/* Below this an address is an I/O port: no BAR of the lab's machine is that low in memory. */
#define PORT_SPACE_END 0x10000

struct bar {
	char port[16];
	unsigned int index;
	bool is_port_space;
	uint64_t start;
	uint64_t end;
};

struct region {
	const struct bar *bar;
	char name[REGION_NAME_BYTES];
	uint64_t reads;
	uint64_t writes;
};

struct access {
	bool is_write;
	uint64_t address;
	uint64_t value;
	char name[REGION_NAME_BYTES];
};

static struct bar bars[BARS_MAX];
static unsigned int nr_bars;
static struct region regions[REGIONS_MAX];
static unsigned int nr_regions;
static uint64_t window_start_ns;	/* host time */

static uint64_t host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static bool parse_bar(const char *text)
{
	struct bar *bar = &bars[nr_bars];
	unsigned long long start;
	unsigned long long length;
	char space[8];

	if (nr_bars == BARS_MAX || sscanf(text, "%15[^:]:%u:%7[^:]:%llx:%llx", bar->port,
					  &bar->index, space, &start, &length) != 5)
		return false;
	bar->is_port_space = !strcmp(space, "port");
	bar->start = start;
	bar->end = start + length;
	nr_bars++;
	return bar->is_port_space || !strcmp(space, "mmio");
}

/* "memory_region_ops_read cpu 0 mr 0x.. addr 0x.. value 0x.. size 4 name 'rtl8139'" */
static bool parse_access(const char *line, struct access *access)
{
	static const char prefix[] = "memory_region_ops_";
	const char *event = strstr(line, prefix);
	const char *address = strstr(line, " addr 0x");
	const char *value = strstr(line, " value 0x");
	const char *name = strstr(line, " name '");
	size_t length;

	if (!event || !address || !value || !name)
		return false;
	event += sizeof(prefix) - 1;
	access->is_write = !strncmp(event, "write", 5);
	access->address = strtoull(address + 8, NULL, 16);
	access->value = strtoull(value + 9, NULL, 16);
	name += 7;
	length = strcspn(name, "'\n");
	if (name[length] != '\'')
		return false;
	if (length >= sizeof(access->name))
		length = sizeof(access->name) - 1;
	memcpy(access->name, name, length);
	access->name[length] = 0;
	return true;
}

static const struct bar *bar_of(uint64_t address)
{
	bool is_port_space = address < PORT_SPACE_END;
	unsigned int i;

	for (i = 0; i < nr_bars; i++)
		if (bars[i].is_port_space == is_port_space && address >= bars[i].start &&
		    address < bars[i].end)
			return &bars[i];
	return NULL;
}

static void count_access(const struct access *access)
{
	const struct bar *bar = bar_of(access->address);
	struct region *region = NULL;
	unsigned int i;

	if (!bar)
		return;
	for (i = 0; i < nr_regions; i++)
		if (regions[i].bar == bar && !strcmp(regions[i].name, access->name))
			region = &regions[i];
	if (!region) {
		if (nr_regions == REGIONS_MAX) {
			fputs("tally: more regions than it can count\n", stderr);
			exit(EXIT_FAILURE);
		}
		region = &regions[nr_regions++];
		region->bar = bar;
		strcpy(region->name, access->name);
	}
	if (access->is_write)
		region->writes++;
	else
		region->reads++;
}

/* Region names are QEMU's own identifiers; what JSON could not hold is left out. */
static void print_name(const char *name)
{
	for (; *name; name++)
		if (*name >= ' ' && *name != '"' && *name != '\\')
			putchar(*name);
}

static void print_window(void)
{
	unsigned int i;

	printf("{\"host_ns\":%llu,\"regions\":[",
	       (unsigned long long)(host_ns() - window_start_ns));
	for (i = 0; i < nr_regions; i++) {
		const struct region *region = &regions[i];

		printf("%s{\"port\":\"%s\",\"bar\":%u,\"space\":\"%s\",\"name\":\"", i ? "," : "",
		       region->bar->port, region->bar->index,
		       region->bar->is_port_space ? "port" : "mmio");
		print_name(region->name);
		printf("\",\"reads\":%llu,\"writes\":%llu}", (unsigned long long)region->reads,
		       (unsigned long long)region->writes);
	}
	fputs("]}\n", stdout);
	fflush(stdout);
}

/* Handles a byte written to the mark port; true while a window is open. */
static bool mark(uint64_t value, bool open)
{
	if (value == MARK_BYTE_START) {
		window_start_ns = host_ns();
		nr_regions = 0;
		memset(regions, 0, sizeof(regions));
		return true;
	}
	if (value == MARK_BYTE_PROGRESS) {
		puts("progress");
		fflush(stdout);
	}
	if (value != MARK_BYTE_STOP || !open)
		return open;
	print_window();
	return false;
}

int main(int argc, char **argv)
{
	struct access access;
	bool open = false;
	char *line = NULL;
	size_t room = 0;
	int i;

	for (i = 1; i < argc; i++) {
		if (!parse_bar(argv[i])) {
			fprintf(stderr, "tally: not PORT:BAR:SPACE:START:LENGTH: %s\n", argv[i]);
			return 2;
		}
	}
	while (getline(&line, &room, stdin) >= 0) {
		if (!parse_access(line, &access))
			continue;
		if (access.is_write && access.address == MARK_PORT)
			open = mark(access.value, open);
		else if (open)
			count_access(&access);
	}
	free(line);
	return EXIT_SUCCESS;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Difference of two readings of /proc/interrupts, summed over the CPUs. */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupts.h"

int interrupts_read(struct interrupts *interrupts)
{
	int fd = open("/proc/interrupts", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	if (fd < 0) {
		perror("sender: /proc/interrupts");
		return -1;
	}
	do {
		got = read(fd, interrupts->text + used, sizeof(interrupts->text) - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0 && used < sizeof(interrupts->text) - 1);
	close(fd);
	interrupts->text[used] = 0;
	return 0;
}

/* Reads "  11:  5  7  IO-APIC ...": sum of the numbers, and where the rest begins. */
static unsigned long line_sum(const char *numbers, const char **rest)
{
	unsigned long sum = 0;

	for (;;) {
		char *end;

		while (*numbers == ' ')
			numbers++;
		if (!isdigit((unsigned char)*numbers))
			break;
		unsigned long value = strtoul(numbers, &end, 10);

		/* "25-edge" is a name, not a count. */
		if (*end != ' ' && *end != '\n' && *end)
			break;
		sum += value;
		numbers = end;
	}
	*rest = numbers;
	return sum;
}

static const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line ? line + 1 : NULL;
}

/* The count of the line called @name (up to the colon) in @interrupts, 0 if it has none. */
static unsigned long count_of(const struct interrupts *interrupts, const char *name, size_t length)
{
	const char *line;

	for (line = interrupts->text; line; line = next_line(line)) {
		const char *at = line + strspn(line, " ");
		const char *rest;

		if (!strncmp(at, name, length) && at[length] == ':')
			return line_sum(at + length + 1, &rest);
	}
	return 0;
}

void interrupts_print_delta(const struct interrupts *before, const struct interrupts *after,
			    FILE *out)
{
	const char *line;

	for (line = next_line(after->text); line && *line; line = next_line(line)) {
		const char *name = line + strspn(line, " ");
		const char *rest;
		size_t length = strcspn(name, ":\n");

		if (name[length] != ':')
			continue;
		unsigned long now = line_sum(name + length + 1, &rest);
		unsigned long was = count_of(before, name, length);

		/* A vector that was given back and taken again counts from 0. */
		if (was > now)
			was = 0;
		if (now != was)
			fprintf(out, "irq=%.*s:%lu:%.*s\n", (int)length, name, now - was,
				(int)strcspn(rest, "\n"), rest);
	}
}

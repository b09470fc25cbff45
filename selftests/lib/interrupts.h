/* SPDX-License-Identifier: GPL-2.0-only */
/* Interrupt counts by line, as /proc/interrupts has them. */
#ifndef RINGSIDE_INTERRUPTS_H
#define RINGSIDE_INTERRUPTS_H

#include <stdio.h>

struct interrupts {
	char text[65536];
};

/* Reads /proc/interrupts; 0, or -1 with a line on stderr. */
int interrupts_read(struct interrupts *interrupts);

/* Prints "irq=LINE:COUNT:WHO" for each numbered or named line that rose. */
void interrupts_print_delta(const struct interrupts *before, const struct interrupts *after,
			    FILE *out);

#endif

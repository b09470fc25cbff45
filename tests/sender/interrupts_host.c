// SPDX-License-Identifier: GPL-2.0-only
/* Prints the difference of two recorded /proc/interrupts, as the sender does. */
#include "../../selftests/lib/interrupts.c"

static struct interrupts before;
static struct interrupts after;

static int read_recorded(const char *path, struct interrupts *to)
{
	FILE *file = fopen(path, "r");

	if (!file)
		return -1;
	to->text[fread(to->text, 1, sizeof(to->text) - 1, file)] = 0;
	fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3 || read_recorded(argv[1], &before) || read_recorded(argv[2], &after))
		return 2;
	interrupts_print_delta(&before, &after, stdout);
	return 0;
}

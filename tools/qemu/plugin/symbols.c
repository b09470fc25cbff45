// SPDX-License-Identifier: GPL-2.0-only
/* Read the symbol table of the guest's kernel and search it. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "symbols.h"

static char *read_text(const char *path)
{
	char *text = NULL;
	FILE *file;
	long len;

	file = fopen(path, "r");
	if (!file)
		goto fail;
	if (fseek(file, 0, SEEK_END))
		goto fail_close;
	len = ftell(file);
	if (len < 0)
		goto fail_close;
	rewind(file);
	text = malloc((size_t)len + 1);
	if (!text)
		goto fail_close;
	if (fread(text, 1, (size_t)len, file) != (size_t)len)
		goto fail_free;
	text[len] = '\0';
	fclose(file);
	return text;

fail_free:
	free(text);
fail_close:
	fclose(file);
fail:
	message("cannot read symbols=%s: %s", path, strerror(errno));
	return NULL;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Split "HEXADDR MODULE NAME" in place. */
static bool parse_line(char *line, struct function *f)
{
	char *module, *name, *end;

	errno = 0;
	f->start = strtoull(line, &end, 16);
	if (errno || end == line || *end != ' ')
		return false;
	module = end + 1;
	name = strchr(module, ' ');
	if (!name || name == module)
		return false;
	*name++ = '\0';
	if (!*name || strpbrk(name, " \t"))
		return false;
	f->module = module;
	f->name = name;
	if (!strcmp(name, "-")) {
		f->module = NULL;
		f->name = NULL;
	}
	return true;
}

static int parse_text(struct symbols *symbols, const char *path)
{
	char *line = symbols->text;

	/* What lies below the first symbol belongs to no function. */
	symbols->functions[0] = (struct function){ 0 };
	symbols->n = 1;
	for (size_t number = 1; *line; number++) {
		struct function *f = &symbols->functions[symbols->n];
		char *next = strchr(line, '\n');

		if (next)
			*next++ = '\0';
		if (!parse_line(line, f)) {
			message("symbols=%s line %zu is not HEXADDR MODULE NAME", path, number);
			return -1;
		}
		if (f->start <= f[-1].start) {
			message("symbols=%s line %zu is not above the line before", path, number);
			return -1;
		}
		f[-1].end = f->start;
		symbols->n++;
		line = next ? next : "";
	}
	symbols->functions[symbols->n - 1].end = UINT64_MAX;
	return 0;
}

int symbols_read(struct symbols *symbols, const char *path)
{
	symbols->text = read_text(path);
	if (!symbols->text)
		return -1;
	/* One for the range below, one for a last line without an end. */
	symbols->functions = calloc(count_lines(symbols->text) + 2, sizeof(*symbols->functions));
	if (!symbols->functions) {
		message("no memory for symbols=%s", path);
		return -1;
	}
	return parse_text(symbols, path);
}

size_t symbols_find(const struct symbols *symbols, uint64_t addr)
{
	size_t low = 0, high = symbols->n;

	/* functions[low] starts at or below addr, functions[high] above. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (symbols->functions[middle].start <= addr)
			low = middle;
		else
			high = middle;
	}
	return low;
}

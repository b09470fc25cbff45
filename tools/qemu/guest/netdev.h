/* SPDX-License-Identifier: GPL-2.0-only */
/* What the agent does with a network port: find, name, bring up, read its counters. */
#ifndef RINGSIDE_NETDEV_H
#define RINGSIDE_NETDEV_H

#include <stdbool.h>
#include <stddef.h>

/* Names the interface of PCI function @pci (0000:00:02.0) @name; false after 10 s without one. */
bool netdev_adopt(const char *pci, const char *name);

/* Gives @name its settings, brings it up and waits for its carrier, 20 s at most. */
bool netdev_up(const char *name);

/* Prints "NAME VALUE" lines: the kernel's and the driver's own statistics. */
size_t netdev_statistics(const char *name, char *text, size_t size);

/* Reads a file below /sys or /proc as text; its length, 0 if there is none. */
size_t file_text(const char *path, char *text, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* How the plugin tells its user what is wrong: one line on stderr. */
#ifndef RINGSIDE_MESSAGE_H
#define RINGSIDE_MESSAGE_H

#include <stdio.h>

#define message(format, ...) fprintf(stderr, "cost plugin: " format "\n", ##__VA_ARGS__)

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's side of the lab's channel: a command comes in, frames go out. */
#ifndef RINGSIDE_CHANNEL_H
#define RINGSIDE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#define CHANNEL_COMMAND_BYTES 2048

/* Takes the I/O ports of the channel; 0, or -1 (not root, or not in the lab). */
int channel_open(void);

/*
 * Stops the guest at this very instruction, until the host lets it go on: a
 * stop from outside would come at another instant each time.
 */
void channel_pause(void);

/*
 * Copies the lab's command into @command. False while there is none, that is
 * while the guest runs to make a snapshot. The command is a fw_cfg file: it is
 * read by port accesses, without an interrupt that could come at another time
 * in another run, so that restored runs stay identical.
 */
bool channel_command(char command[CHANNEL_COMMAND_BYTES]);

/* Sends one frame: a type, and @length bytes whose CRC the host checks. */
void channel_send(const char *type, const char *data, size_t length);

/* channel_send() of a formatted text. */
void channel_printf(const char *type, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif

// SPDX-License-Identifier: GPL-2.0-only
/* Command by fw_cfg, frames by QEMU's debug console: both are synchronous. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>

#include "channel.h"

/* QEMU docs/specs/fw_cfg: selector and data port, directory key, name length. */
#define FW_CFG_SELECTOR 0x510
#define FW_CFG_DATA 0x511
#define FW_CFG_FILE_DIR 0x19
#define FW_CFG_NAME_BYTES 56
#define FW_CFG_COMMAND "opt/org.ringside/command"

/* QEMU docs/specs/pvpanic: the lab's machine pauses on a "panicked" event. */
#define PVPANIC_PORT 0x505
#define PVPANIC_PANICKED 1

/* The lab puts its isa-debugcon here; writes never wait. */
#define FRAME_PORT 0xe9

struct fw_cfg_file {
	uint32_t size;
	uint16_t select;
	uint16_t reserved;
	char name[FW_CFG_NAME_BYTES];
};

/* The C library's insb() and outsb() do not tell the compiler that memory is touched. */
static void port_read(unsigned short port, void *to, size_t length)
{
	__asm__ volatile("rep insb" : "+D"(to), "+c"(length) : "d"(port) : "memory");
}

static void port_write(unsigned short port, const void *from, size_t length)
{
	__asm__ volatile("rep outsb" : "+S"(from), "+c"(length) : "d"(port) : "memory");
}

static void fw_cfg_read(void *to, size_t length)
{
	port_read(FW_CFG_DATA, to, length);
}

int channel_open(void)
{
	return iopl(3);
}

void channel_pause(void)
{
	outb(PVPANIC_PANICKED, PVPANIC_PORT);
}

bool channel_command(char command[CHANNEL_COMMAND_BYTES])
{
	struct fw_cfg_file file;
	uint32_t files;

	outw(FW_CFG_FILE_DIR, FW_CFG_SELECTOR);
	fw_cfg_read(&files, sizeof(files));
	for (files = ntohl(files); files; files--) {
		fw_cfg_read(&file, sizeof(file));
		if (strncmp(file.name, FW_CFG_COMMAND, sizeof(file.name)))
			continue;
		outw(ntohs(file.select), FW_CFG_SELECTOR);
		fw_cfg_read(command, CHANNEL_COMMAND_BYTES);
		command[CHANNEL_COMMAND_BYTES - 1] = 0;
		return command[0] != 0;
	}
	return false;
}

static uint32_t crc32(const char *data, size_t length)
{
	uint32_t crc = ~0u;
	int bit;

	while (length--) {
		crc ^= (uint8_t)*data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

void channel_send(const char *type, const char *data, size_t length)
{
	char header[96];
	int bytes = snprintf(header, sizeof(header), "\001RSF %s %zu %08x\n", type, length,
			     crc32(data, length));

	port_write(FRAME_PORT, header, (size_t)bytes);
	port_write(FRAME_PORT, data, length);
	port_write(FRAME_PORT, "\n", 1);
}

void channel_printf(const char *type, const char *format, ...)
{
	char text[4096];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length >= 0)
		channel_send(type, text, (size_t)length < sizeof(text) ? (size_t)length :
			     sizeof(text) - 1);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* Marks that name the measured window to the vm lab: who writes them, who reads them. */
#ifndef RINGSIDE_MARKS_H
#define RINGSIDE_MARKS_H

/*
 * The QEMU plugin sees a long NOP whose displacement is one of these; the trace
 * of device accesses sees the byte that is written to the POST code port. Both
 * stand side by side so that the two planes count the same window.
 */
#define MARK_NOP_START 0x52530001
#define MARK_NOP_STOP 0x52530002

#define MARK_PORT 0x80
#define MARK_BYTE_START 0xa1
#define MARK_BYTE_STOP 0xa2
#define MARK_BYTE_PROGRESS 0xa3

#ifdef __x86_64__
#define MARK_STRING_(x) #x
#define MARK_STRING(x) MARK_STRING_(x)
#define MARK_NOP(magic) \
	__asm__ volatile("nopl " MARK_STRING(magic) "(%%rax)" : : : "memory")

static inline void mark_byte(unsigned char value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"((unsigned short)MARK_PORT) : "memory");
}

static inline void mark_window_start(void)
{
	mark_byte(MARK_BYTE_START);
	MARK_NOP(MARK_NOP_START);
}

static inline void mark_window_stop(void)
{
	MARK_NOP(MARK_NOP_STOP);
	mark_byte(MARK_BYTE_STOP);
}

static inline void mark_progress(void)
{
	mark_byte(MARK_BYTE_PROGRESS);
}
#endif

#endif

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

#define MARK_STRING_(x) #x
#define MARK_STRING(x) MARK_STRING_(x)
#ifdef __x86_64__
#define MARK_NOP(magic) \
	({ __asm__ volatile("nopl " MARK_STRING(magic) "(%%rax)" : : : "memory"); })
#else
#define MARK_NOP(magic) ({ __asm__ volatile("" : : : "memory"); })
#endif

#endif

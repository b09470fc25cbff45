// SPDX-License-Identifier: GPL-2.0-only
/* The slow way of an access: the module does it for the driver. */
#include <linux/io.h>
#ifdef CONFIG_X86_64
#include <asm/linkage.h>
#endif

#include "tally.h"

/* A function for each operation, all of one type. */
#define IOTALLY_OPERATION_READ(op, type, address_type, space)			\
static u64 do_##op(unsigned long address, u64 value)				\
{										\
	return op((__force address_type)address);				\
}

#define IOTALLY_OPERATION_WRITE(op, type, address_type, space)			\
static u64 do_##op(unsigned long address, u64 value)				\
{										\
	op((type)value, (__force address_type)address);				\
	return value;								\
}

#include "operations.h"

#undef IOTALLY_OPERATION_READ
#undef IOTALLY_OPERATION_WRITE
#define IOTALLY_OPERATION_READ(op, type, address_type, space) \
	[IOTALLY_DO_##op] = do_##op,
#define IOTALLY_OPERATION_WRITE(op, type, address_type, space) \
	[IOTALLY_DO_##op] = do_##op,

static u64 (*const operations[])(unsigned long address, u64 value) = {
#include "operations.h"
};

#ifdef CONFIG_X86_64
#ifndef ASM_FUNC_ALIGN
#define ASM_FUNC_ALIGN ".p2align 4"
#endif

/* The arguments lie as in C, but the value in RAX, where the result will be. */
asm(".pushsection .text\n\t"
	ASM_FUNC_ALIGN "\n\t"
	".globl iotally_access_thunk\n\t"
	".type iotally_access_thunk, @function\n"
	"iotally_access_thunk:\n\t"
	ASM_ENDBR
	"push %rcx\n\t"
	"push %rdx\n\t"
	"push %rsi\n\t"
	"push %rdi\n\t"
	"push %r8\n\t"
	"push %r9\n\t"
	"push %r10\n\t"
	"push %r11\n\t"
	"mov %rax, %rdx\n\t"
	"call iotally_access\n\t"
	"pop %r11\n\t"
	"pop %r10\n\t"
	"pop %r9\n\t"
	"pop %r8\n\t"
	"pop %rdi\n\t"
	"pop %rsi\n\t"
	"pop %rdx\n\t"
	"pop %rcx\n\t"
	ASM_RET
	".size iotally_access_thunk, . - iotally_access_thunk\n\t"
	".popsection");
#endif

u64 iotally_access(unsigned long address, struct iotally_site *site, u64 value)
{
	u64 begin = iotally_before();

	value = operations[site->how](address, value);
	iotally_after(site, address, 1, site->size, value, begin);
	return value;
}
EXPORT_SYMBOL_GPL(IOTALLY_CALLED);

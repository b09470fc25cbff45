// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write gcov's counts when User Mode Linux ends. The compiler's own entry has a
 * priority in its section's name, which UML's linker script leaves out.
 */

#include <linux/compiler.h>

void __gcov_exit(void);

static void (* const gcov_at_exit)(void) __used __section(".fini_array") =
	__gcov_exit;

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the plugin's instruction classes on the host: lines of "ADDR BYTES" in
 * hexadecimal on stdin; writes "MARK LEAVES IRET PLAIN" for each, with a
 * function that spans [0x1000, 0x2000).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "insn.h"

int main(void)
{
	char hex[2 * INSN_MAX_BYTES + 1];
	struct insn insn;

	while (scanf("%" SCNx64 " %30s", &insn.addr, hex) == 2) {
		insn.len = strlen(hex) / 2;
		for (size_t i = 0; i < insn.len; i++)
			if (sscanf(&hex[2 * i], "%2" SCNx8, &insn.bytes[i]) != 1)
				return 1;
		printf("%x %d %d %d\n", insn_mark(&insn), insn_leaves(&insn, 0x1000, 0x2000),
		       insn_is_iret(&insn), insn_is_plain(&insn));
	}
	return 0;
}

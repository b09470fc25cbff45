// SPDX-License-Identifier: GPL-2.0-only
/* Recognise marks, the ends of functions, and instructions that cannot fault. */
#include <string.h>

#include "insn.h"

/* What follows an opcode that is on the list of plain instructions. */
enum form {
	FORM_OTHER,	/* not on the list */
	FORM_NONE,	/* nothing */
	FORM_IMM8,
	FORM_IMM,	/* 32 bits, or 16 after an operand size prefix */
	FORM_MOV_IMM,	/* as FORM_IMM, or 64 bits with REX.W */
	FORM_REG,	/* ModRM, plain when it names a register */
	FORM_REG_IMM8,
	FORM_REG_IMM,
	FORM_ADDRESS,	/* ModRM names memory that is not accessed: lea, nop */
};

struct prefixes {
	bool operand16;
	bool rex_w;
	size_t len;
};

static int32_t get_le32(const uint8_t *p)
{
	uint32_t value = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

	return (int32_t)value;
}

uint32_t insn_mark(const struct insn *insn)
{
	static const uint8_t nopl_disp32_rax[] = { 0x0f, 0x1f, 0x80 };
	uint32_t value;

	if (insn->len != sizeof(nopl_disp32_rax) + 4 ||
	    memcmp(insn->bytes, nopl_disp32_rax, sizeof(nopl_disp32_rax)))
		return 0;
	value = (uint32_t)get_le32(&insn->bytes[sizeof(nopl_disp32_rax)]);
	return value == MARK_START || value == MARK_STOP ? value : 0;
}

bool insn_leaves(const struct insn *insn, uint64_t start, uint64_t end)
{
	uint64_t target = insn->addr + insn->len;
	size_t at = 0;

	/* "rep ret", "bnd jmp", and segment prefixes that pad a jump. */
	while (at < insn->len && (insn->bytes[at] == 0xf3 || insn->bytes[at] == 0xf2 ||
				  insn->bytes[at] == 0x2e || insn->bytes[at] == 0x3e))
		at++;
	if (at == insn->len)
		return false;
	switch (insn->bytes[at]) {
	case 0xc2: /* ret imm16 */
	case 0xc3: /* ret */
		return true;
	case 0xe9: /* jmp rel32 */
		if (insn->len != at + 5)
			return false;
		target += (uint64_t)(int64_t)get_le32(&insn->bytes[at + 1]);
		break;
	case 0xeb: /* jmp rel8 */
		if (insn->len != at + 2)
			return false;
		target += (uint64_t)(int64_t)(int8_t)insn->bytes[at + 1];
		break;
	default:
		return false;
	}
	return target < start || target >= end;
}

bool insn_is_iret(const struct insn *insn)
{
	return (insn->len == 1 || (insn->len == 2 && insn->bytes[0] == 0x48)) &&
	       insn->bytes[insn->len - 1] == 0xcf;
}

static enum form one_byte_form(uint8_t op)
{
	if (op < 0x40) { /* add or adc sbb and sub xor cmp */
		static const enum form alu[8] = {
			FORM_REG, FORM_REG, FORM_REG, FORM_REG, FORM_IMM8, FORM_IMM,
		};

		return alu[op & 7];
	}
	switch (op) {
	case 0x63: /* movslq */
	case 0x84 ... 0x8b: /* test, xchg, mov */
	case 0xd0 ... 0xd3: /* shifts by 1 and by cl */
		return FORM_REG;
	case 0x6b: /* imul */
	case 0x80: /* ALU with imm8 */
	case 0x83:
	case 0xc0: /* shifts */
	case 0xc1:
		return FORM_REG_IMM8;
	case 0x69: /* imul */
	case 0x81: /* ALU */
	case 0xc7: /* mov */
		return FORM_REG_IMM;
	case 0x8d: /* lea */
		return FORM_ADDRESS;
	case 0x90 ... 0x99: /* nop, xchg, cltq, cqto */
		return FORM_NONE;
	case 0xa8: /* test */
	case 0xb0 ... 0xb7: /* mov */
		return FORM_IMM8;
	case 0xa9:
		return FORM_IMM;
	case 0xb8 ... 0xbf:
		return FORM_MOV_IMM;
	default:
		return FORM_OTHER;
	}
}

static enum form two_byte_form(uint8_t op)
{
	switch (op) {
	case 0x1f: /* nop */
		return FORM_ADDRESS;
	case 0x40 ... 0x4f: /* cmov */
	case 0x90 ... 0x9f: /* set */
	case 0xa3: /* bt, bts, btr, btc */
	case 0xab:
	case 0xb3:
	case 0xbb:
	case 0xa5: /* shld, shrd */
	case 0xad:
	case 0xaf: /* imul */
	case 0xb6: /* movzx */
	case 0xb7:
	case 0xbc: /* bsf, bsr */
	case 0xbd:
	case 0xbe: /* movsx */
	case 0xbf:
		return FORM_REG;
	case 0xa4: /* shld, shrd */
	case 0xac:
	case 0xba: /* bt, bts, btr, btc */
		return FORM_REG_IMM8;
	case 0xc8 ... 0xcf: /* bswap */
		return FORM_NONE;
	default:
		return FORM_OTHER;
	}
}

/*
 * Only what compilers put before the listed instructions. 0x40 to 0x4f are no
 * prefixes in 32-bit code but instructions of one byte, which then have no
 * opcode left and are not plain.
 */
static struct prefixes read_prefixes(const struct insn *insn)
{
	struct prefixes p = { 0 };

	while (p.len < insn->len && insn->bytes[p.len] == 0x66) {
		p.operand16 = true;
		p.len++;
	}
	if (p.len < insn->len && (insn->bytes[p.len] & 0xf0) == 0x40) {
		p.rex_w = insn->bytes[p.len] & 8;
		p.len++;
	}
	return p;
}

static bool form_fits(enum form form, const struct prefixes *p, const uint8_t *rest, size_t len)
{
	size_t imm = p->operand16 ? 2 : 4;
	bool reg = len && rest[0] >> 6 == 3;

	switch (form) {
	case FORM_NONE:
		return len == 0;
	case FORM_IMM8:
		return len == 1;
	case FORM_IMM:
		return len == imm;
	case FORM_MOV_IMM:
		return len == (p->rex_w ? 8 : imm);
	case FORM_REG:
		return reg && len == 1;
	case FORM_REG_IMM8:
		return reg && len == 2;
	case FORM_REG_IMM:
		return reg && len == 1 + imm;
	case FORM_ADDRESS:
		return len && !reg;
	default:
		return false;
	}
}

bool insn_is_plain(const struct insn *insn)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct prefixes p = read_prefixes(insn);
	const uint8_t *op = &insn->bytes[p.len];
	size_t left = insn->len - p.len;

	if (insn->len == sizeof(endbr64) && !memcmp(insn->bytes, endbr64, sizeof(endbr64)))
		return true;
	if (!left)
		return false;
	/* xbegin shares the opcode of mov, and it jumps. */
	if (left > 1 && op[0] == 0xc7 && op[1] == 0xf8)
		return false;
	if (op[0] != 0x0f)
		return form_fits(one_byte_form(op[0]), &p, op + 1, left - 1);
	if (left < 2)
		return false;
	return form_fits(two_byte_form(op[1]), &p, op + 2, left - 2);
}

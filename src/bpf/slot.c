/* SPDX-License-Identifier: MIT */
/*
 * slot.c - RFC 9669's encoding as a table: opcode -> kind, operation, fields in use
 *
 *	opcode  dst:4 src:4  off:16  imm:32	(little-endian, 8 bytes)
 *
 * A field that an opcode does not use is reserved and must be zero; the table says which
 * are used, so that one check covers all opcodes. What depends on more than the opcode
 * (signed division, widths in imm, atomic operations) is refined by a function of the form.
 */
#include "bpf/slot.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ATOMIC_LOAD_ACQ 0x100
#define ATOMIC_STORE_REL 0x110

enum {
	DEFINED = 1,
	DST = 2,     /* dst is a register that is read, or the base of a memory operand */
	SET = 4,     /* dst is a register that is written; implies DST */
	SRC = 8,     /* src is a register */
	SELECT = 16, /* src chooses among meanings */
	OFF = 32,
	IMM = 64,
};

struct form {
	uint8_t kind, op, flags, bytes;
	uint8_t uses; /* 0: no such opcode */
	int (*refine)(const struct slot *slot, struct insn *in, char *why);
};

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, SLOT_WHY, format, args);
	va_end(args);
	return -EINVAL;
}

/* Section 4.1: off chooses signed division. */
static int refine_division(const struct slot *slot, struct insn *in, char *why)
{
	if (slot->off != 0 && slot->off != 1)
		return refuse(why, "off is %d; a division has 0 or 1 (signed)", slot->off);
	if (slot->off == 1)
		in->op = in->op == ALU_DIV ? ALU_SDIV : ALU_SMOD;
	in->off = 0;
	return 0;
}

/* Section 4.1: a register move with an off sign-extends that many bits. */
static int refine_move(const struct slot *slot, struct insn *in, char *why)
{
	bool wide = in->flags & INSN_W64;

	in->off = 0;
	if (slot->off == 0)
		return 0;
	if (slot->off != 8 && slot->off != 16 && !(slot->off == 32 && wide))
		return refuse(why, "off is %d; a %d-bit move has 0, 8%s", slot->off, wide ? 64 : 32,
			      wide ? ", 16 or 32" : " or 16");
	in->kind = INSN_MOVSX;
	in->op = 0;
	in->bytes = (uint8_t)(slot->off / 8);
	return 0;
}

/* Section 4.2: imm is the width. */
static int refine_swap(const struct slot *slot, struct insn *in, char *why)
{
	if (slot->imm != 16 && slot->imm != 32 && slot->imm != 64)
		return refuse(why, "imm is %d; a byte swap has 16, 32 or 64", slot->imm);
	in->bytes = (uint8_t)(slot->imm / 8);
	in->imm = 0;
	return 0;
}

/* Section 4.3: src chooses what is called. */
static int refine_call(const struct slot *slot, struct insn *in, char *why)
{
	switch (slot->src) {
	case 0: in->imm = (uint32_t)slot->imm; return 0;
	case SLOT_CALL_LOCAL:
		in->kind = INSN_CALL;
		in->off = slot->imm;
		in->imm = 0;
		return 0;
	case 2: return refuse(why, "calls of functions by BTF id are not supported");
	default: return refuse(why, "src is %d; a call has 0, 1 or 2", slot->src);
	}
}

/* LLVM before 19 has the register's number in imm. */
static int refine_callx(const struct slot *slot, struct insn *in, char *why)
{
	in->imm = 0;
	if (!slot->imm)
		return 0;
	if (slot->dst || slot->imm < 0 || slot->imm >= BPF_NREGS)
		return refuse(why, "imm is %d; a call by register has 0, or dst has", slot->imm);
	in->dst = (uint8_t)slot->imm;
	return 0;
}

static int refine_jump32(const struct slot *slot, struct insn *in, char *why)
{
	(void)why;
	in->off = slot->imm;
	in->imm = 0;
	return 0;
}

/* Linux 6.15, linux/bpf.h: a load has its fields where loads have them, though its class is STX. */
static int refine_ordered(const struct slot *slot, struct insn *in, char *why)
{
	bool loads = slot->imm == ATOMIC_LOAD_ACQ;

	if (loads && slot->dst == 10)
		return refuse(why, "r10 is read-only");
	in->kind = loads ? INSN_LOAD : INSN_STORE;
	in->flags = INSN_ORDER;
	in->imm = 0;
	return 0;
}

/*
 * Section 5.3: imm is the operation and a fetch bit, which the exchanges cannot do without; and
 * what Linux added.
 */
static int refine_atomic(const struct slot *slot, struct insn *in, char *why)
{
	if (slot->imm == ATOMIC_LOAD_ACQ || slot->imm == ATOMIC_STORE_REL)
		return refine_ordered(slot, in, why);
	if (in->bytes < 4)
		return refuse(why, "atomic operation 0x%x has 32 or 64 bits",
			      (unsigned int)slot->imm);
	switch (slot->imm & ~1) {
	case 0x00: in->op = ATOMIC_ADD; break;
	case 0x40: in->op = ATOMIC_OR; break;
	case 0x50: in->op = ATOMIC_AND; break;
	case 0xa0: in->op = ATOMIC_XOR; break;
	case 0xe0: in->op = ATOMIC_XCHG; break;
	case 0xf0: in->op = ATOMIC_CMPXCHG; break;
	default: return refuse(why, "no atomic operation 0x%x", (unsigned int)slot->imm);
	}
	in->imm = 0;
	if (slot->imm & 1)
		in->flags |= INSN_FETCH;
	else if (in->op >= ATOMIC_XCHG)
		return refuse(why, "atomic operation 0x%x needs the fetch bit",
			      (unsigned int)slot->imm);
	if (slot->imm & 1 && in->op != ATOMIC_CMPXCHG && in->src == 10)
		return refuse(why, "r10 is read-only");
	return 0;
}

/* clang-format off */
#define FORM(opcode, kind, op, flags, bytes, uses, refine) \
	[opcode] = {kind, op, flags, bytes, DEFINED | (uses), refine}

/* One operation is four opcodes: with imm or src, on 32 or 64 bits. */
#define ALU_IMM(code, op, more, refine) \
	FORM((code) << 4 | 0x4, INSN_ALU, op, INSN_IMM, 0, DST | SET | IMM | (more), refine), \
	FORM((code) << 4 | 0x7, INSN_ALU, op, INSN_IMM | INSN_W64, 0, DST | SET | IMM | (more), refine)
#define ALU_SRC(code, op, more, refine) \
	FORM((code) << 4 | 0xc, INSN_ALU, op, 0, 0, DST | SET | SRC | (more), refine), \
	FORM((code) << 4 | 0xf, INSN_ALU, op, INSN_W64, 0, DST | SET | SRC | (more), refine)
#define ALU(code, op) ALU_IMM(code, op, 0, NULL), ALU_SRC(code, op, 0, NULL)
#define DIVISION(code, op) \
	ALU_IMM(code, op, OFF, refine_division), ALU_SRC(code, op, OFF, refine_division)

#define BRANCH(code, op) \
	FORM((code) << 4 | 0x5, INSN_BRANCH, op, INSN_IMM | INSN_W64, 0, DST | IMM | OFF, NULL), \
	FORM((code) << 4 | 0x6, INSN_BRANCH, op, INSN_IMM, 0, DST | IMM | OFF, NULL), \
	FORM((code) << 4 | 0xd, INSN_BRANCH, op, INSN_W64, 0, DST | SRC | OFF, NULL), \
	FORM((code) << 4 | 0xe, INSN_BRANCH, op, 0, 0, DST | SRC | OFF, NULL)

/* @size is the opcode's size field, in its place */
#define LOAD(size, bytes) \
	FORM(0x61 | (size), INSN_LOAD, 0, 0, bytes, DST | SET | SRC | OFF, NULL)
#define LOAD_SX(size, bytes) \
	FORM(0x81 | (size), INSN_LOAD, 0, INSN_SX, bytes, DST | SET | SRC | OFF, NULL)
#define PACKET(size, bytes) \
	FORM(0x20 | (size), INSN_PACKET, 0, INSN_IMM, bytes, IMM, NULL), \
	FORM(0x40 | (size), INSN_PACKET, 0, 0, bytes, SRC | IMM, NULL)
#define STORE(size, bytes) \
	FORM(0x62 | (size), INSN_STORE, 0, INSN_IMM, bytes, DST | IMM | OFF, NULL), \
	FORM(0x63 | (size), INSN_STORE, 0, 0, bytes, DST | SRC | OFF, NULL)

static const struct form forms[256] = {
	ALU(0x0, ALU_ADD), ALU(0x1, ALU_SUB), ALU(0x2, ALU_MUL), DIVISION(0x3, ALU_DIV),
	ALU(0x4, ALU_OR), ALU(0x5, ALU_AND), ALU(0x6, ALU_LSH), ALU(0x7, ALU_RSH),
	DIVISION(0x9, ALU_MOD), ALU(0xa, ALU_XOR), ALU(0xc, ALU_ARSH),
	ALU_IMM(0xb, ALU_MOV, 0, NULL), ALU_SRC(0xb, ALU_MOV, OFF, refine_move),
	FORM(0x84, INSN_NEG, 0, 0, 0, DST | SET, NULL),
	FORM(0x87, INSN_NEG, 0, INSN_W64, 0, DST | SET, NULL),
	FORM(0xd4, INSN_SWAP, SWAP_LE, 0, 0, DST | SET | IMM, refine_swap),
	FORM(0xdc, INSN_SWAP, SWAP_BE, 0, 0, DST | SET | IMM, refine_swap),
	FORM(0xd7, INSN_SWAP, SWAP_ALWAYS, 0, 0, DST | SET | IMM, refine_swap),

	FORM(0x05, INSN_JUMP, 0, 0, 0, OFF, NULL),
	FORM(0x06, INSN_JUMP, 0, INSN_IMM, 0, IMM, refine_jump32),
	BRANCH(0x1, COND_EQ), BRANCH(0x2, COND_GT), BRANCH(0x3, COND_GE), BRANCH(0x4, COND_SET),
	BRANCH(0x5, COND_NE), BRANCH(0x6, COND_SGT), BRANCH(0x7, COND_SGE), BRANCH(0xa, COND_LT),
	BRANCH(0xb, COND_LE), BRANCH(0xc, COND_SLT), BRANCH(0xd, COND_SLE),
	FORM(SLOT_CALL, INSN_HELPER, 0, 0, 0, SELECT | IMM, refine_call),
	FORM(0x8d, INSN_CALLX, 0, 0, 0, DST | IMM, refine_callx),
	FORM(0xe5, INSN_MAYGOTO, 0, 0, 0, OFF, NULL),
	FORM(0x95, INSN_EXIT, 0, 0, 0, 0, NULL),

	LOAD(0x00, 4), LOAD(0x08, 2), LOAD(0x10, 1), LOAD(0x18, 8),
	LOAD_SX(0x00, 4), LOAD_SX(0x08, 2), LOAD_SX(0x10, 1),
	STORE(0x00, 4), STORE(0x08, 2), STORE(0x10, 1), STORE(0x18, 8),
	PACKET(0x00, 4), PACKET(0x08, 2), PACKET(0x10, 1),
	FORM(0xd3, INSN_ATOMIC, 0, 0, 1, DST | SRC | OFF | IMM, refine_atomic),
	FORM(0xcb, INSN_ATOMIC, 0, 0, 2, DST | SRC | OFF | IMM, refine_atomic),
	FORM(0xc3, INSN_ATOMIC, 0, 0, 4, DST | SRC | OFF | IMM, refine_atomic),
	FORM(0xdb, INSN_ATOMIC, 0, INSN_W64, 8, DST | SRC | OFF | IMM, refine_atomic),
	FORM(SLOT_IMM64, INSN_IMM64, 0, INSN_IMM | INSN_W64, 0, DST | SET | SELECT | IMM, NULL),
};
/* clang-format on */

static int refuse_reserved(char *why, const char *name, int value)
{
	return refuse(why, "reserved field %s is %d, not 0", name, value);
}

static int check_reserved(const struct slot *slot, uint8_t uses, char *why)
{
	if (slot->dst && !(uses & DST))
		return refuse_reserved(why, "dst", slot->dst);
	if (slot->src && !(uses & (SRC | SELECT)))
		return refuse_reserved(why, "src", slot->src);
	if (slot->off && !(uses & OFF))
		return refuse_reserved(why, "off", slot->off);
	if (slot->imm && !(uses & IMM))
		return refuse_reserved(why, "imm", slot->imm);
	return 0;
}

static int check_registers(const struct slot *slot, uint8_t uses, char *why)
{
	if (uses & DST && slot->dst >= BPF_NREGS)
		return refuse(why, "no register r%d (dst)", slot->dst);
	if (uses & SRC && slot->src >= BPF_NREGS)
		return refuse(why, "no register r%d (src)", slot->src);
	if (uses & SET && slot->dst == 10)
		return refuse(why, "r10 is read-only");
	return 0;
}

/* Section 5.4: src chooses what the 64 bits are. */
enum {
	IMM64_NUMBER,
	IMM64_MAP,
	IMM64_VALUE,
	IMM64_VARIABLE,
	IMM64_FUNC = SLOT_IMM64_FUNC,
	IMM64_MAP_AT,
	IMM64_VALUE_AT
};

/* Maps are numbered as the object has them: by number and by index are the same. */
static int refine_imm64(const struct slot *slot, int32_t high, struct insn *in, char *why)
{
	bool value = slot->src == IMM64_VALUE || slot->src == IMM64_VALUE_AT;

	in->src = 0;
	if (slot->src > IMM64_VALUE_AT)
		return refuse(why, "src is %d; a 64-bit load has 0 .. 6", slot->src);
	if (slot->src == IMM64_VARIABLE)
		return refuse(why, "addresses of the kernel's variables are not supported");
	if (slot->src == IMM64_NUMBER) {
		in->imm = (int64_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)slot->imm);
		return 0;
	}
	if (high && !value)
		return refuse(why, "reserved field imm of the second slot is %d, not 0", high);
	in->imm = 0;
	in->op = slot->src == IMM64_FUNC ? REF_FUNC : value ? REF_VALUE : REF_MAP;
	in->target = in->op == REF_FUNC ? 0 : (uint32_t)slot->imm;
	in->off = in->op == REF_FUNC ? slot->imm : high;
	return 0;
}

static int decode_imm64(const struct slot *slot, const uint8_t *bytes, uint32_t left,
			struct insn *in, char *why)
{
	struct slot next;
	int err;

	if (left < 2)
		return refuse(why, "64-bit load without its second slot");
	next = slot_read(bytes + BPF_SLOT);
	if (next.opcode)
		return refuse(why, "reserved field opcode of the second slot is 0x%x, not 0",
			      next.opcode);
	if (next.dst || next.src || next.off)
		return refuse(why, "reserved field %s of the second slot is not 0",
			      next.dst   ? "dst"
			      : next.src ? "src"
					 : "off");
	err = refine_imm64(slot, next.imm, in, why);
	return err ? err : 2;
}

int slot_decode(const uint8_t *bytes, uint32_t left, struct insn *in, char why[SLOT_WHY])
{
	const struct slot slot = slot_read(bytes);
	const struct form *form = &forms[slot.opcode];
	int err;

	if (!form->uses)
		return refuse(why, "no such opcode");
	if (check_reserved(&slot, form->uses, why) || check_registers(&slot, form->uses, why))
		return -EINVAL;
	*in = (struct insn){
		.kind = form->kind,
		.op = form->op,
		.flags = form->flags,
		.bytes = form->bytes,
		.dst = slot.dst,
		.src = form->uses & SRC ? slot.src : 0,
		.off = slot.off,
		.imm = slot.imm,
	};
	if (slot.opcode == SLOT_IMM64)
		return decode_imm64(&slot, bytes, left, in, why);
	err = form->refine ? form->refine(&slot, in, why) : 0;
	return err ? err : 1;
}

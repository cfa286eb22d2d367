/* SPDX-License-Identifier: MIT */
/*
 * fmt.h - the formats of x86-64 instructions, that enc.h makes its encoders of
 *
 *	[66 | F0] [REX] [0F [38]] opcode [ModRM [SIB] [disp8 | disp32]] [imm]
 *
 * Section numbers are those of the Intel SDM, volume 2.
 */
#ifndef JIT_X86_64_FMT_H
#define JIT_X86_64_FMT_H

#include "jit/jit.h"

enum x64_width { W32, W64 };

/* Numbers as in ModRM and REX (table 2-2, section 2.2.1). */
enum x64_reg {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
};

/* [base + disp] */
struct x64_mem {
	enum x64_reg base;
	int32_t disp;
};

static inline struct x64_mem x64_at(enum x64_reg base, int32_t disp)
{
	return (struct x64_mem){base, disp};
}

static inline bool x64_fits8(int64_t value)
{
	return value == (int8_t)value;
}

static inline bool x64_fits32(int64_t value)
{
	return value == (int32_t)value;
}

/* What comes before displacement and immediate: at most eight bytes. */
struct x64_head {
	uint64_t bytes;
	unsigned int n;
};

static inline void x64_byte(struct x64_head *head, unsigned int byte)
{
	head->bytes |= (uint64_t)byte << 8 * head->n;
	head->n++;
}

/* REX (section 2.2.1.2), or 0 where none is needed. @reg extends ModRM.reg, @rm ModRM.rm. */
static inline unsigned int x64_rex(enum x64_width w, enum x64_reg reg, enum x64_reg rm)
{
	unsigned int bits = (w == W64 ? 8u : 0u) | (reg & 8u) >> 1 | (rm & 8u) >> 3;

	return bits ? 0x40 | bits : 0;
}

/* The same, when @byte (reg or rm) is used as spl, bpl, sil or dil: not so without REX. */
static inline unsigned int x64_rex_byte(unsigned int rex, enum x64_reg byte)
{
	return byte >= RSP ? 0x40 | rex : rex;
}

/* REX and an opcode of one to three bytes, the first in the highest place: 0x0faf. */
static inline void x64_opcode(struct x64_head *head, unsigned int rex, unsigned int op)
{
	if (rex)
		x64_byte(head, rex);
	if (op > 0xffff)
		x64_byte(head, op >> 16);
	if (op > 0xff)
		x64_byte(head, op >> 8 & 0xff);
	x64_byte(head, op & 0xff);
}

/* op with two registers; @reg may be an opcode extension (/digit). */
static inline void x64_rr(struct jit_ctx *jit, unsigned int rex, unsigned int op, unsigned int reg,
			  enum x64_reg rm)
{
	struct x64_head head = {0, 0};

	x64_opcode(&head, rex, op);
	x64_byte(&head, 0xc0 | (reg & 7) << 3 | (rm & 7));
	jit_put(jit, head.bytes, head.n);
}

/*
 * op with a register and memory (tables 2-2 and 2-3). rm = 101 without displacement means RIP,
 * so rbp and r13 always have one; rm = 100 means SIB, so rsp and r12 need one: 0x24, no index.
 */
static inline void x64_rm(struct jit_ctx *jit, unsigned int rex, unsigned int op, unsigned int reg,
			  struct x64_mem mem)
{
	struct x64_head head = {0, 0};
	unsigned int base = mem.base & 7, size = x64_fits8(mem.disp) ? 1 : 4;

	if (!mem.disp && base != RBP)
		size = 0;
	x64_opcode(&head, rex, op);
	x64_byte(&head, (size == 4 ? 0x80u : size << 6) | (reg & 7) << 3 | base);
	if (base == RSP)
		x64_byte(&head, 0x24);
	jit_put(jit, head.bytes, head.n);
	jit_put(jit, (uint32_t)mem.disp, size);
}

static inline void x64_imm8(struct jit_ctx *jit, int64_t imm)
{
	jit_put(jit, (uint8_t)imm, 1);
}

static inline void x64_imm32(struct jit_ctx *jit, int64_t imm)
{
	jit_put(jit, (uint32_t)imm, 4);
}

#endif

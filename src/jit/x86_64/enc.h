/* SPDX-License-Identifier: MIT */
/*
 * enc.h - x86-64 encoders: one line an instruction, Intel's operand order
 *
 * Every form is compared with llvm-mc by `make goldens`. Section numbers are those of the
 * Intel SDM, volume 2. Forms chosen are the shortest, with two exceptions that are faster:
 * registers are never set by a read-modify-write (or r, -1), and nothing uses AH.
 */
#ifndef JIT_X86_64_ENC_H
#define JIT_X86_64_ENC_H

#include "jit/x86_64/fmt.h"

/* Conditions as in Jcc, CMOVcc (appendix B, table B-10). */
enum x64_cc {
	CC_B = 0x2,
	CC_AE,
	CC_E,
	CC_NE,
	CC_BE,
	CC_A,
	CC_S,
	CC_NS,
	CC_L = 0xc,
	CC_GE,
	CC_LE,
	CC_G,
};

/* The eight operations that share encodings (opcode map group 1). */
enum x64_alu { X64_ADD = 0, X64_OR = 1, X64_AND = 4, X64_SUB = 5, X64_XOR = 6, X64_CMP = 7 };

/* Shifts (group 2) and the VEX prefix byte pp of their BMI2 forms. */
enum x64_shift { X64_SHL = 4, X64_SHR = 5, X64_SAR = 7 };

/* ---- moves ---- */

static inline void x64_mov(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, enum x64_reg rs)
{
	x64_rr(jit, x64_rex(w, rs, rd), 0x89, rs, rd);
}

/* mov r32, imm32: zero-extends */
static inline void x64_mov_imm32(struct jit_ctx *jit, enum x64_reg rd, uint32_t imm)
{
	struct x64_head head = {0, 0};

	x64_opcode(&head, x64_rex(W32, RAX, rd), 0xb8 | (rd & 7u));
	jit_put(jit, head.bytes, head.n);
	x64_imm32(jit, imm);
}

/* mov r64, imm32: sign-extends */
static inline void x64_mov_simm32(struct jit_ctx *jit, enum x64_reg rd, int32_t imm)
{
	x64_rr(jit, x64_rex(W64, RAX, rd), 0xc7, 0, rd);
	x64_imm32(jit, imm);
}

static inline void x64_movabs(struct jit_ctx *jit, enum x64_reg rd, uint64_t imm)
{
	struct x64_head head = {0, 0};

	x64_opcode(&head, x64_rex(W64, RAX, rd), 0xb8 | (rd & 7u));
	jit_put(jit, head.bytes, head.n);
	jit_put(jit, imm, 8);
}

/* movzx r32 from 1 or 2 bytes of a register */
static inline void x64_movzx(struct jit_ctx *jit, unsigned int bytes, enum x64_reg rd,
			     enum x64_reg rs)
{
	unsigned int rex = x64_rex(W32, rd, rs);

	x64_rr(jit, bytes == 1 ? x64_rex_byte(rex, rs) : rex, bytes == 1 ? 0x0fb6 : 0x0fb7, rd, rs);
}

/* movsx, movsxd: from 1, 2 or 4 bytes of a register */
static inline void x64_movsx(struct jit_ctx *jit, enum x64_width w, unsigned int bytes,
			     enum x64_reg rd, enum x64_reg rs)
{
	unsigned int rex = x64_rex(w, rd, rs);

	if (bytes == 1)
		x64_rr(jit, x64_rex_byte(rex, rs), 0x0fbe, rd, rs);
	else
		x64_rr(jit, rex, bytes == 2 ? 0x0fbf : 0x63, rd, rs);
}

/* mov, movzx: 1, 2, 4 or 8 bytes, zero-extended to 64 */
static inline void x64_load(struct jit_ctx *jit, unsigned int bytes, enum x64_reg rd,
			    struct x64_mem mem)
{
	unsigned int op = bytes == 1 ? 0x0fb6 : bytes == 2 ? 0x0fb7 : 0x8b;

	x64_rm(jit, x64_rex(bytes == 8 ? W64 : W32, rd, mem.base), op, rd, mem);
}

/* movsx, movsxd: 1, 2 or 4 bytes, sign-extended to 64 */
static inline void x64_load_sx(struct jit_ctx *jit, unsigned int bytes, enum x64_reg rd,
			       struct x64_mem mem)
{
	unsigned int op = bytes == 1 ? 0x0fbe : bytes == 2 ? 0x0fbf : 0x63;

	x64_rm(jit, x64_rex(W64, rd, mem.base), op, rd, mem);
}

/* 66: operands of 16 bits; it comes before REX (section 2.1.1) */
static inline void x64_data16(struct jit_ctx *jit)
{
	jit_put(jit, 0x66, 1);
}

static inline void x64_store(struct jit_ctx *jit, unsigned int bytes, struct x64_mem mem,
			     enum x64_reg rs)
{
	unsigned int rex = x64_rex(bytes == 8 ? W64 : W32, rs, mem.base);

	if (bytes == 2)
		x64_data16(jit);
	if (bytes == 1)
		x64_rm(jit, x64_rex_byte(rex, rs), 0x88, rs, mem);
	else
		x64_rm(jit, rex, 0x89, rs, mem);
}

/* the low @bytes bytes of @imm; 8 bytes are sign-extended from 4 */
static inline void x64_store_imm(struct jit_ctx *jit, unsigned int bytes, struct x64_mem mem,
				 int32_t imm)
{
	unsigned int rex = x64_rex(bytes == 8 ? W64 : W32, RAX, mem.base);

	if (bytes == 2)
		x64_data16(jit);
	x64_rm(jit, rex, bytes == 1 ? 0xc6 : 0xc7, 0, mem);
	jit_put(jit, (uint32_t)imm, bytes < 4 ? bytes : 4);
}

static inline void x64_lea(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd,
			   struct x64_mem mem)
{
	x64_rm(jit, x64_rex(w, rd, mem.base), 0x8d, rd, mem);
}

/* lea rd, [rip + rel]: @rel counts from the end of the instruction */
static inline void x64_lea_rip(struct jit_ctx *jit, enum x64_reg rd, int32_t rel)
{
	struct x64_head head = {0, 0};

	x64_opcode(&head, x64_rex(W64, rd, RAX), 0x8d);
	x64_byte(&head, (rd & 7u) << 3 | 5);
	jit_put(jit, head.bytes, head.n);
	x64_imm32(jit, rel);
}

#define X64_LEA_RIP_SIZE 7

/* ---- arithmetic ---- */

static inline void x64_alu(struct jit_ctx *jit, enum x64_alu op, enum x64_width w, enum x64_reg rd,
			   enum x64_reg rs)
{
	x64_rr(jit, x64_rex(w, rs, rd), 0x01 | (unsigned int)op << 3, rs, rd);
}

/* imm8 form, the accumulator's own, or imm32 */
static inline void x64_alu_imm(struct jit_ctx *jit, enum x64_alu op, enum x64_width w,
			       enum x64_reg rd, int32_t imm)
{
	unsigned int rex = x64_rex(w, RAX, rd);
	struct x64_head head = {0, 0};

	if (x64_fits8(imm)) {
		x64_rr(jit, rex, 0x83, op, rd);
		x64_imm8(jit, imm);
		return;
	}
	if (rd == RAX) {
		x64_opcode(&head, rex, 0x05 | (unsigned int)op << 3);
		jit_put(jit, head.bytes, head.n);
	} else {
		x64_rr(jit, rex, 0x81, op, rd);
	}
	x64_imm32(jit, imm);
}

/* add, or, and, xor [mem], rs; for a lock prefix see x64_lock() */
static inline void x64_alu_mem(struct jit_ctx *jit, enum x64_alu op, enum x64_width w,
			       struct x64_mem mem, enum x64_reg rs)
{
	x64_rm(jit, x64_rex(w, rs, mem.base), 0x01 | (unsigned int)op << 3, rs, mem);
}

/* add .. cmp rd, [mem] */
static inline void x64_alu_from(struct jit_ctx *jit, enum x64_alu op, enum x64_width w,
				enum x64_reg rd, struct x64_mem mem)
{
	x64_rm(jit, x64_rex(w, rd, mem.base), 0x03 | (unsigned int)op << 3, rd, mem);
}

/* add .. cmp qword [mem], imm */
static inline void x64_alu_mem_imm(struct jit_ctx *jit, enum x64_alu op, struct x64_mem mem,
				   int32_t imm)
{
	bool small = x64_fits8(imm);

	x64_rm(jit, x64_rex(W64, RAX, mem.base), small ? 0x83 : 0x81, op, mem);
	jit_put(jit, (uint32_t)imm, small ? 1 : 4);
}

#define X64_ALU_MNEMONICS(name, op)                                                                \
	static inline void x64_##name(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd,      \
				      enum x64_reg rs)                                             \
	{                                                                                          \
		x64_alu(jit, op, w, rd, rs);                                                       \
	}                                                                                          \
	static inline void x64_##name##_imm(struct jit_ctx *jit, enum x64_width w,                 \
					    enum x64_reg rd, int32_t imm)                          \
	{                                                                                          \
		x64_alu_imm(jit, op, w, rd, imm);                                                  \
	}
X64_ALU_MNEMONICS(add, X64_ADD)
X64_ALU_MNEMONICS(or, X64_OR)
X64_ALU_MNEMONICS(and, X64_AND)
X64_ALU_MNEMONICS(sub, X64_SUB)
X64_ALU_MNEMONICS(xor, X64_XOR)
X64_ALU_MNEMONICS(cmp, X64_CMP)
#undef X64_ALU_MNEMONICS

static inline void x64_test(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, enum x64_reg rs)
{
	x64_rr(jit, x64_rex(w, rs, rd), 0x85, rs, rd);
}

static inline void x64_test_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	struct x64_head head = {0, 0};

	if (rd == RAX) {
		x64_opcode(&head, x64_rex(w, RAX, rd), 0xa9);
		jit_put(jit, head.bytes, head.n);
	} else {
		x64_rr(jit, x64_rex(w, RAX, rd), 0xf7, 0, rd);
	}
	x64_imm32(jit, imm);
}

/* test r8, imm8 */
static inline void x64_test_imm8(struct jit_ctx *jit, enum x64_reg rd, uint8_t imm)
{
	if (rd == RAX)
		jit_put(jit, 0xa8, 1);
	else
		x64_rr(jit, x64_rex_byte(x64_rex(W32, RAX, rd), rd), 0xf6, 0, rd);
	x64_imm8(jit, imm);
}

static inline void x64_inc(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd)
{
	x64_rr(jit, x64_rex(w, RAX, rd), 0xff, 0, rd);
}

static inline void x64_dec(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd)
{
	x64_rr(jit, x64_rex(w, RAX, rd), 0xff, 1, rd);
}

static inline void x64_not(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd)
{
	x64_rr(jit, x64_rex(w, RAX, rd), 0xf7, 2, rd);
}

static inline void x64_neg(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd)
{
	x64_rr(jit, x64_rex(w, RAX, rd), 0xf7, 3, rd);
}

static inline void x64_imul(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, enum x64_reg rs)
{
	x64_rr(jit, x64_rex(w, rd, rs), 0x0faf, rd, rs);
}

/* rd = rs * imm */
static inline void x64_imul_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd,
				enum x64_reg rs, int32_t imm)
{
	bool small = x64_fits8(imm);

	x64_rr(jit, x64_rex(w, rd, rs), small ? 0x6b : 0x69, rd, rs);
	jit_put(jit, (uint32_t)imm, small ? 1 : 4);
}

/* rax, rdx = rdx:rax / rs, rest */
static inline void x64_div(struct jit_ctx *jit, enum x64_width w, enum x64_reg rs)
{
	x64_rr(jit, x64_rex(w, RAX, rs), 0xf7, 6, rs);
}

static inline void x64_idiv(struct jit_ctx *jit, enum x64_width w, enum x64_reg rs)
{
	x64_rr(jit, x64_rex(w, RAX, rs), 0xf7, 7, rs);
}

/* cdq, cqo: the sign of rax into rdx */
static inline void x64_cdq(struct jit_ctx *jit, enum x64_width w)
{
	if (w == W64)
		jit_put(jit, 0x9948, 2);
	else
		jit_put(jit, 0x99, 1);
}

/* shift by a constant 1 .. 63 */
static inline void x64_shift_imm(struct jit_ctx *jit, enum x64_shift op, enum x64_width w,
				 enum x64_reg rd, unsigned int count)
{
	x64_rr(jit, x64_rex(w, RAX, rd), count == 1 ? 0xd1 : 0xc1, op, rd);
	jit_put(jit, count, count == 1 ? 0 : 1);
}

/* shift by cl */
static inline void x64_shift_cl(struct jit_ctx *jit, enum x64_shift op, enum x64_width w,
				enum x64_reg rd)
{
	x64_rr(jit, x64_rex(w, RAX, rd), 0xd3, op, rd);
}

/* shlx, shrx, sarx rd, rs, count: VEX.LZ.{66,F2,F3}.0F38 F7 (sections 2.3.5, 5.1) */
static inline void x64_shiftx(struct jit_ctx *jit, enum x64_shift op, enum x64_width w,
			      enum x64_reg rd, enum x64_reg count)
{
	unsigned int pp = op == X64_SHL ? 1 : op == X64_SHR ? 3 : 2;
	struct x64_head head = {0, 0};

	x64_byte(&head, 0xc4);
	x64_byte(&head, (rd & 8 ? 0u : 0x80u) | 0x40 | (rd & 8 ? 0u : 0x20u) | 2);
	x64_byte(&head, (w == W64 ? 0x80u : 0u) | (~(unsigned int)count & 15) << 3 | pp);
	x64_byte(&head, 0xf7);
	x64_byte(&head, 0xc0 | (rd & 7u) << 3 | (rd & 7u));
	jit_put(jit, head.bytes, head.n);
}

static inline void x64_bswap(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd)
{
	struct x64_head head = {0, 0};

	x64_opcode(&head, x64_rex(w, RAX, rd), 0x0fc8 | (rd & 7u));
	jit_put(jit, head.bytes, head.n);
}

/* rol r16, 8: swaps the two low bytes */
static inline void x64_rol16_8(struct jit_ctx *jit, enum x64_reg rd)
{
	x64_data16(jit);
	x64_rr(jit, x64_rex(W32, RAX, rd), 0xc1, 0, rd);
	x64_imm8(jit, 8);
}

/* ---- atomics ---- */

static inline void x64_lock(struct jit_ctx *jit)
{
	jit_put(jit, 0xf0, 1);
}

/* rs = old value; memory += rs */
static inline void x64_xadd(struct jit_ctx *jit, enum x64_width w, struct x64_mem mem,
			    enum x64_reg rs)
{
	x64_rm(jit, x64_rex(w, rs, mem.base), 0x0fc1, rs, mem);
}

/* locked without a prefix */
static inline void x64_xchg(struct jit_ctx *jit, enum x64_width w, struct x64_mem mem,
			    enum x64_reg rs)
{
	x64_rm(jit, x64_rex(w, rs, mem.base), 0x87, rs, mem);
}

/* if memory == rax: memory = rs; else rax = memory */
static inline void x64_cmpxchg(struct jit_ctx *jit, enum x64_width w, struct x64_mem mem,
			       enum x64_reg rs)
{
	x64_rm(jit, x64_rex(w, rs, mem.base), 0x0fb1, rs, mem);
}

/* ---- flow; @rel counts from the end of the instruction ---- */

#define X64_SHORT_SIZE 2 /* of jmp and jcc rel8 */
#define X64_JMP_SIZE 5
#define X64_JCC_SIZE 6
#define X64_CALL_SIZE 5

static inline void x64_jmp_short(struct jit_ctx *jit, int8_t rel)
{
	jit_put(jit, 0xeb | (unsigned int)(uint8_t)rel << 8, 2);
}

static inline void x64_jmp(struct jit_ctx *jit, int32_t rel)
{
	jit_put(jit, 0xe9 | (uint64_t)(uint32_t)rel << 8, 5);
}

static inline void x64_jcc_short(struct jit_ctx *jit, enum x64_cc cc, int8_t rel)
{
	jit_put(jit, 0x70 | (unsigned int)cc | (unsigned int)(uint8_t)rel << 8, 2);
}

static inline void x64_jcc(struct jit_ctx *jit, enum x64_cc cc, int32_t rel)
{
	jit_put(jit, 0x800f | (unsigned int)cc << 8 | (uint64_t)(uint32_t)rel << 16, 6);
}

static inline void x64_call(struct jit_ctx *jit, int32_t rel)
{
	jit_put(jit, 0xe8 | (uint64_t)(uint32_t)rel << 8, 5);
}

static inline void x64_call_reg(struct jit_ctx *jit, enum x64_reg rs)
{
	x64_rr(jit, x64_rex(W32, RAX, rs), 0xff, 2, rs);
}

static inline void x64_jmp_reg(struct jit_ctx *jit, enum x64_reg rs)
{
	x64_rr(jit, x64_rex(W32, RAX, rs), 0xff, 4, rs);
}

static inline void x64_push_imm8(struct jit_ctx *jit, int8_t imm)
{
	jit_put(jit, 0x6a | (uint64_t)(uint8_t)imm << 8, 2);
}

static inline void x64_ret(struct jit_ctx *jit)
{
	jit_put(jit, 0xc3, 1);
}

static inline void x64_leave(struct jit_ctx *jit)
{
	jit_put(jit, 0xc9, 1);
}

static inline void x64_push(struct jit_ctx *jit, enum x64_reg rs)
{
	struct x64_head head = {0, 0};

	x64_opcode(&head, x64_rex(W32, RAX, rs), 0x50 | (rs & 7u));
	jit_put(jit, head.bytes, head.n);
}

static inline void x64_pop(struct jit_ctx *jit, enum x64_reg rd)
{
	struct x64_head head = {0, 0};

	x64_opcode(&head, x64_rex(W32, RAX, rd), 0x58 | (rd & 7u));
	jit_put(jit, head.bytes, head.n);
}

/*
 * A short jump over what follows in the same insn: x64_jcc_over() or x64_jmp_over() begin it,
 * x64_land() ends it here.
 */
static inline uint8_t *x64_jcc_over(struct jit_ctx *jit, enum x64_cc cc)
{
	x64_jcc_short(jit, cc, 0);
	return jit->pos;
}

static inline uint8_t *x64_jmp_over(struct jit_ctx *jit)
{
	x64_jmp_short(jit, 0);
	return jit->pos;
}

static inline void x64_land(struct jit_ctx *jit, uint8_t *from)
{
	from[-1] = (uint8_t)(jit->pos - from);
}

#endif

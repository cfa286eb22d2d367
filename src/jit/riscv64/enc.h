/* SPDX-License-Identifier: MIT */
/*
 * enc.h - RISC-V encoders: one line an instruction, the assembler's operand order
 *
 * Every one is compared with llvm-mc by `make goldens`. Chapters are those of "The RISC-V
 * Instruction Set Manual, Volume I"; fields are as in its chapter "Instruction Set Listings".
 */
#ifndef JIT_RISCV64_ENC_H
#define JIT_RISCV64_ENC_H

#include "jit/riscv64/fmt.h"

/* Opcodes (table "RISC-V base opcode map"), the low two bits 11 of 32-bit instructions included. */
enum {
	RV_LOAD = 0x03,
	RV_OP_IMM = 0x13,
	RV_AUIPC = 0x17,
	RV_OP_IMM_32 = 0x1b,
	RV_STORE = 0x23,
	RV_AMO = 0x2f,
	RV_OP = 0x33,
	RV_LUI = 0x37,
	RV_OP_32 = 0x3b,
	RV_BRANCH = 0x63,
	RV_JALR = 0x67,
	RV_JAL = 0x6f,
};

/* ---- two registers: op rd, rs1, rs2 ---- */

#define RV_R(name, funct7, funct3, opcode)                                                         \
	static inline uint32_t rv_##name(enum rv_reg rd, enum rv_reg rs1, enum rv_reg rs2)         \
	{                                                                                          \
		return rv_r(RV_OPS(funct7, funct3, opcode), rd, rs1, rs2);                         \
	}
RV_R(add, 0x00, 0, RV_OP)
RV_R(sub, 0x20, 0, RV_OP)
RV_R(sll, 0x00, 1, RV_OP)
RV_R(slt, 0x00, 2, RV_OP)
RV_R(sltu, 0x00, 3, RV_OP)
RV_R(xor, 0x00, 4, RV_OP)
RV_R(srl, 0x00, 5, RV_OP)
RV_R(sra, 0x20, 5, RV_OP)
RV_R(or, 0x00, 6, RV_OP)
RV_R(and, 0x00, 7, RV_OP)
RV_R(addw, 0x00, 0, RV_OP_32)
RV_R(subw, 0x20, 0, RV_OP_32)
RV_R(sllw, 0x00, 1, RV_OP_32)
RV_R(srlw, 0x00, 5, RV_OP_32)
RV_R(sraw, 0x20, 5, RV_OP_32)
/* M */
RV_R(mul, 0x01, 0, RV_OP)
RV_R(div, 0x01, 4, RV_OP)
RV_R(divu, 0x01, 5, RV_OP)
RV_R(rem, 0x01, 6, RV_OP)
RV_R(remu, 0x01, 7, RV_OP)
RV_R(mulw, 0x01, 0, RV_OP_32)
RV_R(divw, 0x01, 4, RV_OP_32)
RV_R(divuw, 0x01, 5, RV_OP_32)
RV_R(remw, 0x01, 6, RV_OP_32)
RV_R(remuw, 0x01, 7, RV_OP_32)
/* Zba */
RV_R(sh1add, 0x10, 2, RV_OP)
RV_R(sh2add, 0x10, 4, RV_OP)
RV_R(sh3add, 0x10, 6, RV_OP)
RV_R(add_uw, 0x04, 0, RV_OP_32)
#undef RV_R

/* ---- constants: op rd, rs1, imm12 ---- */

#define RV_I(name, funct3, opcode)                                                                 \
	static inline uint32_t rv_##name(enum rv_reg rd, enum rv_reg rs1, int32_t imm)             \
	{                                                                                          \
		return rv_i(RV_OPS(0, funct3, opcode), rd, rs1, imm);                              \
	}
RV_I(addi, 0, RV_OP_IMM)
RV_I(sltiu, 3, RV_OP_IMM)
RV_I(xori, 4, RV_OP_IMM)
RV_I(ori, 6, RV_OP_IMM)
RV_I(andi, 7, RV_OP_IMM)
RV_I(addiw, 0, RV_OP_IMM_32)
#undef RV_I

/* op rd, rs1, count: 0 .. 63, of the 32-bit ones 0 .. 31 */
#define RV_SHIFT(name, funct7, funct3, opcode)                                                     \
	static inline uint32_t rv_##name(enum rv_reg rd, enum rv_reg rs1, unsigned int count)      \
	{                                                                                          \
		return rv_i(RV_OPS(funct7, funct3, opcode), rd, rs1, (int32_t)count);              \
	}
RV_SHIFT(slli, 0x00, 1, RV_OP_IMM)
RV_SHIFT(srli, 0x00, 5, RV_OP_IMM)
RV_SHIFT(srai, 0x20, 5, RV_OP_IMM)
RV_SHIFT(slliw, 0x00, 1, RV_OP_IMM_32)
RV_SHIFT(srliw, 0x00, 5, RV_OP_IMM_32)
RV_SHIFT(sraiw, 0x20, 5, RV_OP_IMM_32)
/* Zbs: bit number @count */
RV_SHIFT(bclri, 0x24, 1, RV_OP_IMM)
RV_SHIFT(bexti, 0x24, 5, RV_OP_IMM)
RV_SHIFT(binvi, 0x34, 1, RV_OP_IMM)
RV_SHIFT(bseti, 0x14, 1, RV_OP_IMM)
#undef RV_SHIFT

/* Zbb: op rd, rs */
#define RV_UNARY(name, imm, funct3, opcode)                                                        \
	static inline uint32_t rv_##name(enum rv_reg rd, enum rv_reg rs)                           \
	{                                                                                          \
		return rv_i(RV_OPS(0, funct3, opcode), rd, rs, imm);                               \
	}
RV_UNARY(rev8, 0x6b8, 5, RV_OP_IMM)
RV_UNARY(sext_b, 0x604, 1, RV_OP_IMM)
RV_UNARY(sext_h, 0x605, 1, RV_OP_IMM)
RV_UNARY(zext_h, 0x080, 4, RV_OP_32)
#undef RV_UNARY

/* the upper 20 bits of a word, sign-extended */
static inline uint32_t rv_lui(enum rv_reg rd, uint32_t imm20)
{
	return rv_u(RV_LUI, rd, imm20);
}

/* the same, from the instruction's own address */
static inline uint32_t rv_auipc(enum rv_reg rd, uint32_t imm20)
{
	return rv_u(RV_AUIPC, rd, imm20);
}

/* ---- names for forms of these (chapter "RISC-V Assembly Programmer's Handbook") ---- */

static inline uint32_t rv_mv(enum rv_reg rd, enum rv_reg rs)
{
	return rv_addi(rd, rs, 0);
}

static inline uint32_t rv_not(enum rv_reg rd, enum rv_reg rs)
{
	return rv_xori(rd, rs, -1);
}

static inline uint32_t rv_neg(enum rv_reg rd, enum rv_reg rs)
{
	return rv_sub(rd, RV_ZERO, rs);
}

static inline uint32_t rv_negw(enum rv_reg rd, enum rv_reg rs)
{
	return rv_subw(rd, RV_ZERO, rs);
}

static inline uint32_t rv_sext_w(enum rv_reg rd, enum rv_reg rs)
{
	return rv_addiw(rd, rs, 0);
}

/* Zba */
static inline uint32_t rv_zext_w(enum rv_reg rd, enum rv_reg rs)
{
	return rv_add_uw(rd, rs, RV_ZERO);
}

static inline uint32_t rv_seqz(enum rv_reg rd, enum rv_reg rs)
{
	return rv_sltiu(rd, rs, 1);
}

/* ---- memory: op rd, off(base); op rs2, off(base) ---- */

#define RV_L(name, funct3)                                                                         \
	static inline uint32_t rv_##name(enum rv_reg rd, struct rv_mem mem)                        \
	{                                                                                          \
		return rv_i(RV_OPS(0, funct3, RV_LOAD), rd, mem.base, mem.off);                    \
	}
RV_L(lb, 0)
RV_L(lh, 1)
RV_L(lw, 2)
RV_L(ld, 3)
RV_L(lbu, 4)
RV_L(lhu, 5)
RV_L(lwu, 6)
#undef RV_L

#define RV_S(name, funct3)                                                                         \
	static inline uint32_t rv_##name(enum rv_reg rs2, struct rv_mem mem)                       \
	{                                                                                          \
		return rv_s(RV_OPS(0, funct3, RV_STORE), rs2, mem);                                \
	}
RV_S(sb, 0)
RV_S(sh, 1)
RV_S(sw, 2)
RV_S(sd, 3)
#undef RV_S

/*
 * Atomics (chapter "A"): op.w or op.d rd, rs2, (base). @bytes is 4 or 8, @order any of RV_AQ
 * (nothing after moves before it) and RV_RL (nothing before moves after it).
 */
#define RV_AQ 0x2u
#define RV_RL 0x1u

#define RV_A(name, funct5)                                                                         \
	static inline uint32_t rv_##name(unsigned int bytes, unsigned int order, enum rv_reg rd,   \
					 enum rv_reg rs2, enum rv_reg base)                        \
	{                                                                                          \
		return rv_r(RV_OPS((funct5) << 2 | order, bytes == 8 ? 3 : 2, RV_AMO), rd, base,   \
			    rs2);                                                                  \
	}
RV_A(amoadd, 0x00)
RV_A(amoswap, 0x01)
RV_A(sc, 0x03)
RV_A(amoxor, 0x04)
RV_A(amoor, 0x08)
RV_A(amoand, 0x0c)
#undef RV_A

static inline uint32_t rv_lr(unsigned int bytes, unsigned int order, enum rv_reg rd,
			     enum rv_reg base)
{
	return rv_r(RV_OPS(0x02 << 2 | order, bytes == 8 ? 3 : 2, RV_AMO), rd, base, RV_ZERO);
}

/* Chapter "RV32I", section "Memory Ordering Instructions": what comes before, and what behind. */
enum { RV_FENCE_W = 1, RV_FENCE_R = 2 };

static inline uint32_t rv_fence(unsigned int before, unsigned int behind)
{
	return before << 24 | behind << 20 | 0x0f;
}

/* ---- flow; @rel counts from the instruction ---- */

/* Conditions: funct3 of the branches. The lowest bit inverts one. */
enum rv_cc { RV_EQ, RV_NE, RV_LT = 4, RV_GE, RV_LTU, RV_GEU };

static inline enum rv_cc rv_invert(enum rv_cc cc)
{
	return (enum rv_cc)(cc ^ 1u);
}

static inline uint32_t rv_bcc(enum rv_cc cc, enum rv_reg rs1, enum rv_reg rs2, int32_t rel)
{
	return rv_b(RV_OPS(0, (uint32_t)cc, RV_BRANCH), rs1, rs2, rel);
}

static inline uint32_t rv_jal(enum rv_reg rd, int32_t rel)
{
	return rv_j(RV_JAL, rd, rel);
}

/* jalr rd, off(base) */
static inline uint32_t rv_jalr(enum rv_reg rd, struct rv_mem mem)
{
	return rv_i(RV_JALR, rd, mem.base, mem.off);
}

static inline uint32_t rv_ret(void)
{
	return rv_jalr(RV_ZERO, rv_at(RV_RA, 0));
}

/* Compressed jumps (chapter "C"): their forms follow from distances, so rv_put() makes none. */

static inline uint16_t rv_c_j(int32_t rel)
{
	uint32_t imm = (uint32_t)rel;

	return (uint16_t)(0xa001 | (imm >> 11 & 1) << 12 | (imm >> 4 & 1) << 11 |
			  (imm >> 8 & 3) << 9 | (imm >> 10 & 1) << 8 | (imm >> 6 & 1) << 7 |
			  (imm >> 7 & 1) << 6 | (imm >> 1 & 7) << 3 | (imm >> 5 & 1) << 2);
}

/* The eight registers that most compressed instructions can name. */
static inline bool rv_is_popular(enum rv_reg r)
{
	return r >= RV_S0 && r <= RV_A5;
}

/* c.beqz, c.bnez rs, rel: @cc is RV_EQ or RV_NE, @rs popular */
static inline uint16_t rv_c_bz(enum rv_cc cc, enum rv_reg rs, int32_t rel)
{
	uint32_t imm = (uint32_t)rel;

	return (uint16_t)(0xc001 | (uint32_t)cc << 13 | (imm >> 8 & 1) << 12 |
			  (imm >> 3 & 3) << 10 | (rs & 7u) << 7 | (imm >> 6 & 3) << 5 |
			  (imm >> 1 & 3) << 3 | (imm >> 5 & 1) << 2);
}

#endif

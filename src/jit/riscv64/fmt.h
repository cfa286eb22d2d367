/* SPDX-License-Identifier: MIT */
/*
 * fmt.h - the formats of RISC-V instructions, that enc.h makes its encoders of
 *
 *	31     25 24  20 19  15 14    12 11   7 6      0
 *	funct7    rs2    rs1    funct3   rd     opcode     R
 *	imm[11:0]        rs1    funct3   rd     opcode     I
 *	imm[11:5] rs2    rs1    funct3   imm    opcode     S, B (bits in another order)
 *	imm[31:12]                       rd     opcode     U, J (bits in another order)
 *
 * Encoders are functions of their operands to a word. rv_put() emits one, in half the bytes
 * where the CPU has compressed forms and there is one. Chapters are those of "The RISC-V
 * Instruction Set Manual, Volume I".
 */
#ifndef JIT_RISCV64_FMT_H
#define JIT_RISCV64_FMT_H

#include "jit/jit.h"

/* Bits of jit_ctx.features, in the order of feature_names[]. */
#define RV_C 0x1u   /* compressed instructions */
#define RV_ZBA 0x2u /* add.uw, sh1add .. sh3add */
#define RV_ZBB 0x4u /* rev8, sext.b, sext.h, zext.h */
#define RV_ZBS 0x8u /* bclri, bexti, binvi, bseti */

/* Numbers as in instructions, names as in the ABI (psABI, "Register Convention"). */
enum rv_reg {
	RV_ZERO,
	RV_RA,
	RV_SP,
	RV_GP,
	RV_TP,
	RV_T0,
	RV_T1,
	RV_T2,
	RV_S0,
	RV_S1,
	RV_A0,
	RV_A1,
	RV_A2,
	RV_A3,
	RV_A4,
	RV_A5,
	RV_A6,
	RV_A7,
	RV_S2,
	RV_S3,
	RV_S4,
	RV_S5,
	RV_S6,
	RV_S7,
	RV_S8,
	RV_S9,
	RV_S10,
	RV_S11,
	RV_T3,
	RV_T4,
	RV_T5,
	RV_T6,
};

/* off(base) */
struct rv_mem {
	enum rv_reg base;
	int32_t off;
};

static inline struct rv_mem rv_at(enum rv_reg base, int32_t off)
{
	return (struct rv_mem){base, off};
}

static inline bool rv_fits12(int64_t value)
{
	return value >= -2048 && value <= 2047;
}

static inline bool rv_fits32(int64_t value)
{
	return value == (int32_t)value;
}

/* The low 12 bits of a value, sign-extended as addi, loads and jalr take them, .. */
static inline int32_t rv_lo12(int64_t value)
{
	return (int32_t)((((uint32_t)value & 0xfff) ^ 0x800) - 0x800);
}

/* .. and the 20 bits above that lui or auipc has to set for their sum to be the value. */
static inline uint32_t rv_hi20(int64_t value)
{
	return (uint32_t)((uint64_t)value + 0x800) >> 12;
}

/* ---- formats (chapter "RV32I", section "Immediate Encoding Variants") ---- */

/* What an instruction is besides its operands. */
#define RV_OPS(funct7, funct3, opcode)                                                             \
	((uint32_t)(funct7) << 25 | (uint32_t)(funct3) << 12 | (uint32_t)(opcode))

static inline uint32_t rv_r(uint32_t op, enum rv_reg rd, enum rv_reg rs1, enum rv_reg rs2)
{
	return op | (uint32_t)rs2 << 20 | (uint32_t)rs1 << 15 | (uint32_t)rd << 7;
}

static inline uint32_t rv_i(uint32_t op, enum rv_reg rd, enum rv_reg rs1, int32_t imm)
{
	return op | (uint32_t)imm << 20 | (uint32_t)rs1 << 15 | (uint32_t)rd << 7;
}

static inline uint32_t rv_s(uint32_t op, enum rv_reg rs2, struct rv_mem mem)
{
	uint32_t imm = (uint32_t)mem.off;

	return op | (imm >> 5 & 0x7f) << 25 | (uint32_t)rs2 << 20 | (uint32_t)mem.base << 15 |
	       (imm & 0x1f) << 7;
}

static inline uint32_t rv_b(uint32_t op, enum rv_reg rs1, enum rv_reg rs2, int32_t rel)
{
	uint32_t imm = (uint32_t)rel;

	return op | (imm >> 12 & 1) << 31 | (imm >> 5 & 0x3f) << 25 | (uint32_t)rs2 << 20 |
	       (uint32_t)rs1 << 15 | (imm >> 1 & 0xf) << 8 | (imm >> 11 & 1) << 7;
}

static inline uint32_t rv_u(uint32_t op, enum rv_reg rd, uint32_t imm20)
{
	return op | imm20 << 12 | (uint32_t)rd << 7;
}

static inline uint32_t rv_j(uint32_t op, enum rv_reg rd, int32_t rel)
{
	uint32_t imm = (uint32_t)rel;

	return op | (imm >> 20 & 1) << 31 | (imm >> 1 & 0x3ff) << 21 | (imm >> 11 & 1) << 20 |
	       (imm >> 12 & 0xff) << 12 | (uint32_t)rd << 7;
}

/* ---- emitting ---- */

/* rv_compress - the compressed form of an instruction other than a jump, or 0 (compress.c) */
uint16_t rv_compress(uint32_t word);

/* In the shortest form; its size follows from @word and the features. */
static inline void rv_put(struct jit_ctx *jit, uint32_t word)
{
	uint16_t half = jit->features & RV_C ? rv_compress(word) : 0;

	if (half)
		jit_put(jit, half, 2);
	else
		jit_put(jit, word, 4);
}

/* In four bytes: for what depends on addresses, which the size of the code must not. */
static inline void rv_put_wide(struct jit_ctx *jit, uint32_t word)
{
	jit_put(jit, word, 4);
}

#endif

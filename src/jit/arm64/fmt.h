/* SPDX-License-Identifier: MIT */
/*
 * fmt.h - the formats of A64 instructions, that enc.h makes its encoders of
 *
 *	31 30      23 22 21    16 15    10 9   5 4   0
 *	sf op         sh imm12             Rn    Rd	add, sub with a constant
 *	sf op         N  immr     imms     Rn    Rd	bitwise with a constant, bitfields
 *	sf op         hw imm16                   Rd	moves of constants
 *	sf op            Rm       imm6, op Rn    Rd	registers
 *	size op    opc   imm12             Rn    Rt	memory
 *	op               imm26, imm19, imm14     Rt	branches
 *
 * Encoders are functions of their operands to a word. Section numbers are those of the "Arm
 * Architecture Reference Manual for A-profile architecture".
 */
#ifndef JIT_ARM64_FMT_H
#define JIT_ARM64_FMT_H

#include "jit/jit.h"

/* Bits of jit_ctx.features, in the order of feature_names[]. */
#define A64_LSE 0x1u /* cas, ldadd .. swp */
#define A64_BTI 0x2u /* a landing pad where an indirect call may come in */

enum a64_width { W32, W64 };

/* Number 31 is the stack pointer in some places and zero in others (section C1.2.5). */
enum a64_reg {
	X0,
	X1,
	X2,
	X3,
	X4,
	X5,
	X6,
	X7,
	X8,
	X9,
	X10,
	X11,
	X12,
	X13,
	X14,
	X15,
	X16,
	X17,
	X18,
	X19,
	X20,
	X21,
	X22,
	X23,
	X24,
	X25,
	X26,
	X27,
	X28,
	X29,
	X30,
	XZR,
	SP = XZR,
};

/* [base, #off]; or [base, index], where index is not XZR */
struct a64_mem {
	enum a64_reg base, index;
	int32_t off;
};

static inline struct a64_mem a64_at(enum a64_reg base, int32_t off)
{
	return (struct a64_mem){base, XZR, off};
}

static inline struct a64_mem a64_indexed(enum a64_reg base, enum a64_reg index)
{
	return (struct a64_mem){base, index, 0};
}

/* What add and sub take: 12 bits, or 12 bits shifted by 12. */
static inline bool a64_fits12(uint64_t value)
{
	return value < 1u << 12 || (value < 1u << 24 && !(value & 0xfff));
}

/* An offset that is scaled by the size of what is there, or one of 9 bits (section C1.3.3). */
static inline bool a64_is_scaled(unsigned int bytes, int32_t off)
{
	return off >= 0 && off % (int32_t)bytes == 0 && off / (int32_t)bytes < 1 << 12;
}

static inline bool a64_fits9(int32_t off)
{
	return off >= -256 && off <= 255;
}

/*
 * a64_bitmask - is @value what bitwise instructions take as a constant? (imm.c)
 * @fields: N, immr and imms, in place
 *
 * A run of ones, rotated, in an element of 2 .. 64 bits, repeated (section C6.2, "Logical
 * (immediate)"). Of 32 bits, the upper half of @value is not looked at.
 */
bool a64_bitmask(enum a64_width w, uint64_t value, uint32_t *fields);

/* ---- formats ---- */

static inline uint32_t a64_sf(enum a64_width w)
{
	return (uint32_t)(w == W64) << 31;
}

static inline uint32_t a64_rr(uint32_t op, enum a64_reg rd, enum a64_reg rn)
{
	return op | (uint32_t)rn << 5 | (uint32_t)rd;
}

static inline uint32_t a64_rrr(uint32_t op, enum a64_reg rd, enum a64_reg rn, enum a64_reg rm)
{
	return a64_rr(op | (uint32_t)rm << 16, rd, rn);
}

/* @imm as a64_fits12() has it */
static inline uint32_t a64_rr_imm12(uint32_t op, enum a64_reg rd, enum a64_reg rn, uint32_t imm)
{
	uint32_t field = imm < 1u << 12 ? imm << 10 : 1u << 22 | imm >> 12 << 10;

	return a64_rr(op | field, rd, rn);
}

/* Bits from..to of rn: N follows sf (section C4.1.93, "Bitfield"). */
static inline uint32_t a64_bitfield(uint32_t op, enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				    uint32_t immr_imms)
{
	return a64_rr(op | a64_sf(w) | (uint32_t)(w == W64) << 22 | immr_imms, rd, rn);
}

static inline uint32_t a64_immr_imms(uint32_t immr, uint32_t imms)
{
	return immr << 16 | imms << 10;
}

/* log2 of 1, 2, 4 or 8 bytes, where memory operations have it */
static inline uint32_t a64_size(unsigned int bytes)
{
	return (uint32_t)__builtin_ctz(bytes) << 30;
}

/* ---- emitting ---- */

static inline void a64_put(struct jit_ctx *jit, uint32_t word)
{
	jit_put(jit, word, 4);
}

#endif

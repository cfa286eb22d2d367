/* SPDX-License-Identifier: MIT */
/*
 * compress.c - 32-bit instructions to their 16-bit forms, chapter "C" of the manual
 *
 *	15    13 12 11 10 9   7 6  5 4   2 1  0
 *	funct3   i  rd/rs1      imm        op      CI: one register, any of 32
 *	funct3   imm      rs1'  imm  rd'   op      CL, CS, CB, CA: rs1', rd' popular ones
 *
 * Here and not in the encoders, so that each instruction is described once, and the back-end
 * says what it wants done, not in how many bytes. A form is the instruction's own: it does
 * just the same. Reserved and hint encodings are never made.
 */
#include "jit/riscv64/enc.h"

/* The fields of a 32-bit instruction. */
static enum rv_reg rd_of(uint32_t word)
{
	return (enum rv_reg)(word >> 7 & 31);
}

static enum rv_reg rs1_of(uint32_t word)
{
	return (enum rv_reg)(word >> 15 & 31);
}

static enum rv_reg rs2_of(uint32_t word)
{
	return (enum rv_reg)(word >> 20 & 31);
}

static unsigned int funct3_of(uint32_t word)
{
	return word >> 12 & 7;
}

static unsigned int funct7_of(uint32_t word)
{
	return word >> 25;
}

static int32_t imm_of(uint32_t word)
{
	return (int32_t)word >> 20;
}

static int32_t store_imm_of(uint32_t word)
{
	return (int32_t)(word & 0xfe000000) >> 20 | (int32_t)(word >> 7 & 31);
}

static bool fits6(int32_t imm)
{
	return imm >= -32 && imm <= 31;
}

/* Bits hi .. lo of @imm, moved to @to. */
static uint32_t bits(int32_t imm, unsigned int hi, unsigned int lo, unsigned int to)
{
	return ((uint32_t)imm >> lo & ((2u << (hi - lo)) - 1)) << to;
}

/* ---- formats ---- */

static uint32_t ci(uint32_t op, enum rv_reg rd, int32_t imm)
{
	return op | bits(imm, 5, 5, 12) | (uint32_t)rd << 7 | bits(imm, 4, 0, 2);
}

static uint32_t cr(uint32_t op, enum rv_reg rd, enum rv_reg rs2)
{
	return op | (uint32_t)rd << 7 | (uint32_t)rs2 << 2;
}

static uint32_t ca(uint32_t op, enum rv_reg rd, enum rv_reg rs2)
{
	return op | (rd & 7u) << 7 | (rs2 & 7u) << 2;
}

/* andi and the right shifts: CI, but of popular registers */
static uint32_t cb(uint32_t op, enum rv_reg rd, int32_t imm)
{
	return ci(op, (enum rv_reg)(rd & 7), imm);
}

/* ---- constants ---- */

/* addi sp, sp, imm and addi rd', sp, imm: scaled constants */
static uint32_t addi_sp(enum rv_reg rd, int32_t imm)
{
	if (rd == RV_SP && imm % 16 == 0 && imm >= -512 && imm <= 496)
		return 0x6101 | bits(imm, 9, 9, 12) | bits(imm, 4, 4, 6) | bits(imm, 6, 6, 5) |
		       bits(imm, 8, 7, 3) | bits(imm, 5, 5, 2);
	if (rv_is_popular(rd) && imm % 4 == 0 && imm > 0 && imm <= 1020)
		return bits(imm, 5, 4, 11) | bits(imm, 9, 6, 7) | bits(imm, 2, 2, 6) |
		       bits(imm, 3, 3, 5) | (rd & 7u) << 2;
	return 0;
}

static uint32_t addi(uint32_t word)
{
	enum rv_reg rd = rd_of(word), rs = rs1_of(word);
	int32_t imm = imm_of(word);

	if (rs == RV_ZERO)
		return fits6(imm) ? ci(0x4001, rd, imm) : 0; /* c.li */
	if (imm == 0)
		return cr(0x8002, rd, rs); /* c.mv */
	if (rd == rs && fits6(imm))
		return ci(0x0001, rd, imm);
	return rs == RV_SP ? addi_sp(rd, imm) : 0;
}

static uint32_t op_imm(uint32_t word)
{
	enum rv_reg rd = rd_of(word);
	unsigned int funct6 = word >> 26;
	int32_t imm = imm_of(word), count = imm & 63;
	bool popular = rv_is_popular(rd);

	if (funct3_of(word) == 0)
		return addi(word);
	if (rd != rs1_of(word))
		return 0;
	switch (funct3_of(word)) {
	case 1: return funct6 == 0 && count ? ci(0x0002, rd, count) : 0; /* c.slli */
	case 5:
		if (!popular || !count || (funct6 & ~0x10u))
			return 0;
		return cb(funct6 ? 0x8401 : 0x8001, rd, count); /* c.srai, c.srli */
	case 7: return popular && fits6(imm) ? cb(0x8801, rd, imm) : 0;
	default: return 0;
	}
}

static uint32_t op_imm_32(uint32_t word)
{
	enum rv_reg rd = rd_of(word);

	if (funct3_of(word) != 0 || rd != rs1_of(word) || !fits6(imm_of(word)))
		return 0;
	return ci(0x2001, rd, imm_of(word)); /* c.addiw */
}

static uint32_t lui(uint32_t word)
{
	int32_t imm = (int32_t)word >> 12;

	if (rd_of(word) == RV_SP || imm == 0 || !fits6(imm))
		return 0;
	return ci(0x6001, rd_of(word), imm);
}

/* ---- registers ---- */

/* rd = rd op rs2 of popular registers; @op 0 is none */
static uint32_t arithmetic(uint32_t op, enum rv_reg rd, enum rv_reg rs2)
{
	return op && rv_is_popular(rd) && rv_is_popular(rs2) ? ca(op, rd, rs2) : 0;
}

static uint32_t add(enum rv_reg rd, enum rv_reg rs2)
{
	return rs2 == RV_ZERO ? 0 : cr(0x9002, rd, rs2);
}

/* Those that commute may have the destination as either operand. */
static uint32_t op(uint32_t word)
{
	static const uint16_t by_funct3[8] = {[4] = 0x8c21, [6] = 0x8c41, [7] = 0x8c61};
	enum rv_reg rd = rd_of(word), rs1 = rs1_of(word), rs2 = rs2_of(word);
	unsigned int funct3 = funct3_of(word), funct7 = funct7_of(word);

	if (funct7 == 0x20 && funct3 == 0 && rd == rs1)
		return arithmetic(0x8c01, rd, rs2); /* c.sub */
	if (funct7 != 0 || (rd != rs1 && rd != rs2))
		return 0;
	rs2 = rd == rs1 ? rs2 : rs1;
	return funct3 == 0 ? add(rd, rs2) : arithmetic(by_funct3[funct3], rd, rs2);
}

static uint32_t op_32(uint32_t word)
{
	enum rv_reg rd = rd_of(word), rs1 = rs1_of(word), rs2 = rs2_of(word);

	if (funct3_of(word) != 0)
		return 0;
	if (funct7_of(word) == 0x20 && rd == rs1)
		return arithmetic(0x9c01, rd, rs2); /* c.subw */
	if (funct7_of(word) != 0 || (rd != rs1 && rd != rs2))
		return 0;
	return arithmetic(0x9c21, rd, rd == rs1 ? rs2 : rs1); /* c.addw */
}

/* c.jr, c.jalr */
static uint32_t jalr(uint32_t word)
{
	if (imm_of(word) != 0 || rd_of(word) > RV_RA)
		return 0;
	return cr(rd_of(word) == RV_RA ? 0x9002 : 0x8002, rs1_of(word), RV_ZERO);
}

/* ---- memory ---- */

/* The unsigned, scaled offsets of words and double words: by a popular base, and by sp. */
static uint32_t popular_offset(unsigned int size, int32_t off)
{
	return bits(off, 5, 3, 10) |
	       (size == 8 ? bits(off, 7, 6, 5) : bits(off, 2, 2, 6) | bits(off, 6, 6, 5));
}

static uint32_t sp_load_offset(unsigned int size, int32_t off)
{
	return bits(off, 5, 5, 12) | (size == 8 ? bits(off, 4, 3, 5) | bits(off, 8, 6, 2)
						: bits(off, 4, 2, 4) | bits(off, 7, 6, 2));
}

static uint32_t sp_store_offset(unsigned int size, int32_t off)
{
	return size == 8 ? bits(off, 5, 3, 10) | bits(off, 8, 6, 7)
			 : bits(off, 5, 2, 9) | bits(off, 7, 6, 7);
}

/* Is @off a multiple of @size below @count of them? */
static bool is_scaled(unsigned int size, int32_t off, int32_t count)
{
	int32_t each = (int32_t)size;

	return off >= 0 && off % each == 0 && off / each < count;
}

/* funct3 of lw, ld, sw, sd is 2 or 3; that of their compressed forms the same plus 0 or 4 */
static uint32_t load(uint32_t word)
{
	unsigned int funct3 = funct3_of(word), size = 1u << (funct3 & 3);
	enum rv_reg rd = rd_of(word), base = rs1_of(word);
	int32_t off = imm_of(word);

	if (funct3 != 2 && funct3 != 3)
		return 0;
	if (base == RV_SP && is_scaled(size, off, 64))
		return funct3 << 13 | 2 | (uint32_t)rd << 7 | sp_load_offset(size, off);
	if (!rv_is_popular(rd) || !rv_is_popular(base) || !is_scaled(size, off, 32))
		return 0;
	return funct3 << 13 | (base & 7u) << 7 | (rd & 7u) << 2 | popular_offset(size, off);
}

static uint32_t store(uint32_t word)
{
	unsigned int funct3 = funct3_of(word), size = 1u << funct3;
	enum rv_reg rs = rs2_of(word), base = rs1_of(word);
	int32_t off = store_imm_of(word);

	if (funct3 != 2 && funct3 != 3)
		return 0;
	if (base == RV_SP && is_scaled(size, off, 64))
		return (funct3 + 4) << 13 | 2 | (uint32_t)rs << 2 | sp_store_offset(size, off);
	if (!rv_is_popular(rs) || !rv_is_popular(base) || !is_scaled(size, off, 32))
		return 0;
	return (funct3 + 4) << 13 | (base & 7u) << 7 | (rs & 7u) << 2 | popular_offset(size, off);
}

/* rd = zero makes most forms hints or reserved; of the instructions with rd the JIT needs none. */
uint16_t rv_compress(uint32_t word)
{
	unsigned int opcode = word & 0x7f;

	if (opcode == RV_STORE)
		return (uint16_t)store(word);
	if (opcode == RV_JALR)
		return (uint16_t)jalr(word);
	if (rd_of(word) == RV_ZERO)
		return 0;
	switch (opcode) {
	case RV_LOAD: return (uint16_t)load(word);
	case RV_OP_IMM: return (uint16_t)op_imm(word);
	case RV_OP_IMM_32: return (uint16_t)op_imm_32(word);
	case RV_OP: return (uint16_t)op(word);
	case RV_OP_32: return (uint16_t)op_32(word);
	case RV_LUI: return (uint16_t)lui(word);
	default: return 0;
	}
}

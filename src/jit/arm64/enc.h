/* SPDX-License-Identifier: MIT */
/*
 * enc.h - A64 encoders: one line an instruction, the assembler's operand order
 *
 * Every one is compared with llvm-mc by `make goldens`. Section numbers are those of the "Arm
 * Architecture Reference Manual for A-profile architecture"; instructions are in its chapter C6.2.
 */
#ifndef JIT_ARM64_ENC_H
#define JIT_ARM64_ENC_H

#include "jit/arm64/fmt.h"

/* ---- two registers: op rd, rn, rm ---- */

#define A64_RRR(name, op)                                                                          \
	static inline uint32_t a64_##name(enum a64_width w, enum a64_reg rd, enum a64_reg rn,      \
					  enum a64_reg rm)                                         \
	{                                                                                          \
		return a64_rrr((op) | a64_sf(w), rd, rn, rm);                                      \
	}
A64_RRR(add, 0x0b000000)
A64_RRR(sub, 0x4b000000)
A64_RRR(subs, 0x6b000000)
A64_RRR(and, 0x0a000000)
A64_RRR(orr, 0x2a000000)
A64_RRR(orn, 0x2a200000)
A64_RRR(eor, 0x4a000000)
A64_RRR(ands, 0x6a000000)
A64_RRR(mul, 0x1b007c00)
A64_RRR(udiv, 0x1ac00800)
A64_RRR(sdiv, 0x1ac00c00)
A64_RRR(lsl, 0x1ac02000)
A64_RRR(lsr, 0x1ac02400)
A64_RRR(asr, 0x1ac02800)
#undef A64_RRR

/* add rd, rn, rm, lsl #count */
static inline uint32_t a64_add_lsl(enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				   enum a64_reg rm, unsigned int count)
{
	return a64_add(w, rd, rn, rm) | count << 10;
}

/* rd = ra - rn * rm */
static inline uint32_t a64_msub(enum a64_width w, enum a64_reg rd, enum a64_reg rn, enum a64_reg rm,
				enum a64_reg ra)
{
	return a64_rrr(0x1b008000 | a64_sf(w) | (uint32_t)ra << 10, rd, rn, rm);
}

/* ---- one register: op rd, rn ---- */

static inline uint32_t a64_mov(enum a64_width w, enum a64_reg rd, enum a64_reg rm)
{
	return a64_orr(w, rd, XZR, rm);
}

static inline uint32_t a64_mvn(enum a64_width w, enum a64_reg rd, enum a64_reg rm)
{
	return a64_orn(w, rd, XZR, rm);
}

static inline uint32_t a64_neg(enum a64_width w, enum a64_reg rd, enum a64_reg rm)
{
	return a64_sub(w, rd, XZR, rm);
}

static inline uint32_t a64_cmp(enum a64_width w, enum a64_reg rn, enum a64_reg rm)
{
	return a64_subs(w, XZR, rn, rm);
}

static inline uint32_t a64_tst(enum a64_width w, enum a64_reg rn, enum a64_reg rm)
{
	return a64_ands(w, XZR, rn, rm);
}

/* all bytes in reverse */
static inline uint32_t a64_rev(enum a64_width w, enum a64_reg rd, enum a64_reg rn)
{
	return a64_rr(w == W64 ? 0xdac00c00 : 0x5ac00800, rd, rn);
}

/* sxtb, sxth, sxtw: from 1, 2 or 4 bytes */
static inline uint32_t a64_sxt(enum a64_width w, unsigned int bytes, enum a64_reg rd,
			       enum a64_reg rn)
{
	return a64_bitfield(0x13000000, w, rd, rn, a64_immr_imms(0, 8 * bytes - 1));
}

/* uxtb, uxth: from 1 or 2 bytes */
static inline uint32_t a64_uxt(unsigned int bytes, enum a64_reg rd, enum a64_reg rn)
{
	return a64_bitfield(0x53000000, W32, rd, rn, a64_immr_imms(0, 8 * bytes - 1));
}

/* ---- constants: op rd, rn, #imm ---- */

#define A64_IMM12(name, op)                                                                        \
	static inline uint32_t a64_##name(enum a64_width w, enum a64_reg rd, enum a64_reg rn,      \
					  uint32_t imm)                                            \
	{                                                                                          \
		return a64_rr_imm12((op) | a64_sf(w), rd, rn, imm);                                \
	}
A64_IMM12(add_imm, 0x11000000)
A64_IMM12(adds_imm, 0x31000000)
A64_IMM12(sub_imm, 0x51000000)
A64_IMM12(subs_imm, 0x71000000)
#undef A64_IMM12

static inline uint32_t a64_cmp_imm(enum a64_width w, enum a64_reg rn, uint32_t imm)
{
	return a64_subs_imm(w, XZR, rn, imm);
}

/* compares with -imm, where imm is not 0 */
static inline uint32_t a64_cmn_imm(enum a64_width w, enum a64_reg rn, uint32_t imm)
{
	return a64_adds_imm(w, XZR, rn, imm);
}

/* @fields: of a64_bitmask() */
#define A64_MASK(name, op)                                                                         \
	static inline uint32_t a64_##name(enum a64_width w, enum a64_reg rd, enum a64_reg rn,      \
					  uint32_t fields)                                         \
	{                                                                                          \
		return a64_rr((op) | a64_sf(w) | fields, rd, rn);                                  \
	}
A64_MASK(and_imm, 0x12000000)
A64_MASK(orr_imm, 0x32000000)
A64_MASK(eor_imm, 0x52000000)
A64_MASK(ands_imm, 0x72000000)
#undef A64_MASK

static inline uint32_t a64_tst_imm(enum a64_width w, enum a64_reg rn, uint32_t fields)
{
	return a64_ands_imm(w, XZR, rn, fields);
}

/* op rd, rn, #count: 0 .. 31 or 63, of lsl from 1 */
static inline uint32_t a64_lsl_imm(enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				   unsigned int count)
{
	unsigned int top = w == W64 ? 63 : 31;

	return a64_bitfield(0x53000000, w, rd, rn, a64_immr_imms(top + 1 - count, top - count));
}

static inline uint32_t a64_lsr_imm(enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				   unsigned int count)
{
	return a64_bitfield(0x53000000, w, rd, rn, a64_immr_imms(count, w == W64 ? 63 : 31));
}

static inline uint32_t a64_asr_imm(enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				   unsigned int count)
{
	return a64_bitfield(0x13000000, w, rd, rn, a64_immr_imms(count, w == W64 ? 63 : 31));
}

/* op rd, #imm16, lsl #(16 * half) */
#define A64_WIDE(name, op)                                                                         \
	static inline uint32_t a64_##name(enum a64_width w, enum a64_reg rd, uint16_t imm,         \
					  unsigned int half)                                       \
	{                                                                                          \
		return (op) | a64_sf(w) | half << 21 | (uint32_t)imm << 5 | (uint32_t)rd;          \
	}
A64_WIDE(movn, 0x12800000)
A64_WIDE(movz, 0x52800000)
A64_WIDE(movk, 0x72800000)
#undef A64_WIDE

/* the page of the instruction's own address, and @pages more */
static inline uint32_t a64_adrp(enum a64_reg rd, int32_t pages)
{
	uint32_t imm = (uint32_t)pages;

	return 0x90000000 | (imm & 3) << 29 | (imm >> 2 & 0x7ffff) << 5 | (uint32_t)rd;
}

/* ---- memory ---- */

enum a64_ls { A64_STR, A64_LDR, A64_LDRS /* sign-extended to 64 bits */ };

/* str, ldr, ldrs of 1 .. 8 bytes: op rt, mem; scaled, of 9 bits, or indexed */
static inline uint32_t a64_ls(enum a64_ls op, unsigned int bytes, enum a64_reg rt,
			      struct a64_mem mem)
{
	uint32_t word = 0x38000000 | a64_size(bytes) | (uint32_t)op << 22;

	if (mem.index != XZR)
		word |= 0x00206800 | (uint32_t)mem.index << 16;
	else if (a64_is_scaled(bytes, mem.off))
		word |= 0x01000000 | (uint32_t)mem.off / bytes << 10;
	else
		word |= ((uint32_t)mem.off & 0x1ff) << 12;
	return a64_rr(word, rt, mem.base);
}

/* rt and rt2 of 8 bytes: op rt, rt2, [base, #off]; _pre: [base, #off]!, _post: [base], #off */
#define A64_PAIR(name, op)                                                                         \
	static inline uint32_t a64_##name(enum a64_reg rt, enum a64_reg rt2, enum a64_reg base,    \
					  int32_t off)                                             \
	{                                                                                          \
		return a64_rr((op) | ((uint32_t)(off / 8) & 0x7f) << 15 | (uint32_t)rt2 << 10, rt, \
			      base);                                                               \
	}
A64_PAIR(stp, 0xa9000000)
A64_PAIR(ldp, 0xa9400000)
A64_PAIR(stp_pre, 0xa9800000)
A64_PAIR(ldp_post, 0xa8c00000)
#undef A64_PAIR

/* str rt, [base, #off]! and ldr rt, [base], #off, of 8 bytes */
static inline uint32_t a64_str_pre(enum a64_reg rt, enum a64_reg base, int32_t off)
{
	return a64_rr(0xf8000c00 | ((uint32_t)off & 0x1ff) << 12, rt, base);
}

static inline uint32_t a64_ldr_post(enum a64_reg rt, enum a64_reg base, int32_t off)
{
	return a64_rr(0xf8400400 | ((uint32_t)off & 0x1ff) << 12, rt, base);
}

/* ldar, stlr, ldaxr of 1 .. 8 bytes: op rt, [base] */
#define A64_ORDERED(name, op)                                                                      \
	static inline uint32_t a64_##name(unsigned int bytes, enum a64_reg rt, enum a64_reg base)  \
	{                                                                                          \
		return a64_rr((op) | a64_size(bytes), rt, base);                                   \
	}
A64_ORDERED(ldar, 0x08dffc00)
A64_ORDERED(stlr, 0x089ffc00)
A64_ORDERED(ldxr, 0x085f7c00)
A64_ORDERED(ldaxr, 0x085ffc00)
#undef A64_ORDERED

/* op rs, rt, [base]: rs = 0 if it was stored, else 1 */
static inline uint32_t a64_stxr(unsigned int bytes, enum a64_reg rs, enum a64_reg rt,
				enum a64_reg base)
{
	return a64_rrr(0x08007c00 | a64_size(bytes), rt, base, rs);
}

static inline uint32_t a64_stlxr(unsigned int bytes, enum a64_reg rs, enum a64_reg rt,
				 enum a64_reg base)
{
	return a64_rrr(0x0800fc00 | a64_size(bytes), rt, base, rs);
}

/*
 * LSE, of 4 or 8 bytes: op rs, rt, [base]; rt = the old value. @order is any of A64_ACQUIRE
 * (nothing after moves before it) and A64_RELEASE (nothing before moves after it).
 */
#define A64_ACQUIRE 0x2u
#define A64_RELEASE 0x1u

#define A64_RMW(name, op)                                                                          \
	static inline uint32_t a64_##name(unsigned int bytes, unsigned int order, enum a64_reg rs, \
					  enum a64_reg rt, enum a64_reg base)                      \
	{                                                                                          \
		return a64_rrr((op) | a64_size(bytes) | order << 22, rt, base, rs);                \
	}
A64_RMW(ldadd, 0x38200000)
A64_RMW(ldclr, 0x38201000) /* and not */
A64_RMW(ldeor, 0x38202000)
A64_RMW(ldset, 0x38203000) /* or */
A64_RMW(swp, 0x38208000)
#undef A64_RMW

/* memory = rt if it is rs; rs = what it was */
static inline uint32_t a64_casal(unsigned int bytes, enum a64_reg rs, enum a64_reg rt,
				 enum a64_reg base)
{
	return a64_rrr(0x08e0fc00 | a64_size(bytes), rt, base, rs);
}

/* all before, in the inner shareable domain: all threads */
static inline uint32_t a64_dmb_ish(void)
{
	return 0xd5033bbf;
}

/* ---- flow; @rel counts from the instruction ---- */

/* Conditions (table C1-1). The lowest bit inverts one. */
enum a64_cc {
	A64_EQ,
	A64_NE,
	A64_HS,
	A64_LO,
	A64_MI,
	A64_PL,
	A64_HI = 8,
	A64_LS,
	A64_GE,
	A64_LT,
	A64_GT,
	A64_LE,
};

static inline enum a64_cc a64_invert(enum a64_cc cc)
{
	return (enum a64_cc)(cc ^ 1u);
}

/* A displacement of @bits bits, in words, at bit @at. */
static inline uint32_t a64_rel(int32_t rel, unsigned int bits, unsigned int at)
{
	return ((uint32_t)rel >> 2 & ((1u << bits) - 1)) << at;
}

static inline uint32_t a64_b(int32_t rel)
{
	return 0x14000000 | a64_rel(rel, 26, 0);
}

static inline uint32_t a64_bl(int32_t rel)
{
	return 0x94000000 | a64_rel(rel, 26, 0);
}

static inline uint32_t a64_bcc(enum a64_cc cc, int32_t rel)
{
	return 0x54000000 | a64_rel(rel, 19, 5) | (uint32_t)cc;
}

/* cbz (A64_EQ) or cbnz (A64_NE) rt, rel */
static inline uint32_t a64_cbz(enum a64_cc cc, enum a64_width w, enum a64_reg rt, int32_t rel)
{
	return 0x34000000 | a64_sf(w) | (uint32_t)cc << 24 | a64_rel(rel, 19, 5) | (uint32_t)rt;
}

/* tbz (A64_EQ) or tbnz (A64_NE) rt, #bit, rel */
static inline uint32_t a64_tbz(enum a64_cc cc, enum a64_reg rt, unsigned int bit, int32_t rel)
{
	return 0x36000000 | bit >> 5 << 31 | (uint32_t)cc << 24 | (bit & 31) << 19 |
	       a64_rel(rel, 14, 5) | (uint32_t)rt;
}

static inline uint32_t a64_blr(enum a64_reg rn)
{
	return a64_rr(0xd63f0000, (enum a64_reg)0, rn);
}

static inline uint32_t a64_br(enum a64_reg rn)
{
	return a64_rr(0xd61f0000, (enum a64_reg)0, rn);
}

static inline uint32_t a64_ret(enum a64_reg rn)
{
	return a64_rr(0xd65f0000, (enum a64_reg)0, rn);
}

/* where calls may land; a hint, nothing, for CPUs without it */
static inline uint32_t a64_bti_c(void)
{
	return 0xd503245f;
}

#endif

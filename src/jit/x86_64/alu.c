/* SPDX-License-Identifier: MIT */
/*
 * alu.c - arithmetic on registers, RFC 9669 sections 4.1 and 4.2; division is in div.c
 *
 * A 32-bit operation of x86-64 zeroes the upper half of its destination, as eBPF wants it, so
 * the two widths differ in a REX bit; except where an operation that changes nothing is left
 * out, and still has to zero that half.
 */
#include "jit/x86_64/x64.h"

#include <assert.h>

bool x64_reaches(const struct jit_ctx *jit, uintptr_t addr)
{
	int64_t from_lo = (int64_t)(addr - jit->mem->lo), from_hi = (int64_t)(addr - jit->mem->hi);

	return x64_fits32(from_lo) && x64_fits32(from_hi);
}

void x64_set(struct jit_ctx *jit, enum x64_reg rd, uint64_t value)
{
	if (!value)
		x64_xor(jit, W32, rd, rd);
	else if (value <= UINT32_MAX)
		x64_mov_imm32(jit, rd, (uint32_t)value);
	else if (x64_fits32((int64_t)value))
		x64_mov_simm32(jit, rd, (int32_t)value);
	else if (x64_reaches(jit, (uintptr_t)value))
		x64_lea_rip(jit, rd, x64_rel(jit, value - jit->rx, X64_LEA_RIP_SIZE));
	else
		x64_movabs(jit, rd, value);
}

/* An operation whose operand changes nothing: w0 |= 0 still zeroes the upper half. */
static void unchanged(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd)
{
	if (w == W32)
		x64_mov(jit, W32, rd, rd);
}

static void mov(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, enum x64_reg rs)
{
	if (rd == rs)
		unchanged(jit, w, rd);
	else
		x64_mov(jit, w, rd, rs);
}

/* ---- shifts ---- */

static enum x64_shift shift_of(unsigned int op)
{
	return op == ALU_LSH ? X64_SHL : op == ALU_RSH ? X64_SHR : X64_SAR;
}

static void shift_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum x64_width w = x64_width(in);
	unsigned int count = (unsigned int)in->imm & (w == W64 ? 63 : 31);

	if (count)
		x64_shift_imm(jit, shift_of(in->op), w, x64_reg(in->dst), count);
	else
		unchanged(jit, w, x64_reg(in->dst));
}

/* The count has to be in cl, which is r4: keep it aside, if anybody reads it. */
static void shift_through_cl(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum x64_width w = x64_width(in);
	enum x64_reg rd = x64_reg(in->dst), rs = x64_reg(in->src);
	bool keep = rd != RCX && x64_is_live(jit, 4, i);

	if (rd == RCX || keep)
		x64_mov(jit, W64, X64_RCX_KEPT, RCX);
	if (rs != RCX)
		x64_mov(jit, W32, RCX, rs);
	x64_shift_cl(jit, shift_of(in->op), w, rd == RCX ? X64_RCX_KEPT : rd);
	if (rd == RCX || keep)
		x64_mov(jit, W64, RCX, X64_RCX_KEPT);
}

/* Both forms mask the count to 5 or 6 bits. */
static void shift_reg(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum x64_reg rd = x64_reg(in->dst), rs = x64_reg(in->src);

	if (rs == RCX && rd != RCX)
		x64_shift_cl(jit, shift_of(in->op), x64_width(in), rd);
	else if (jit->features & X64_BMI2)
		x64_shiftx(jit, shift_of(in->op), x64_width(in), rd, rs);
	else
		shift_through_cl(jit, in, i);
}

/* ---- with constants ---- */

/* @imm == INT32_MIN has no negation, and +128 is an imm32 where -128 is an imm8. */
static void add_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm == 0)
		unchanged(jit, w, rd);
	else if (imm == 1)
		x64_inc(jit, w, rd);
	else if (imm == -1)
		x64_dec(jit, w, rd);
	else if (imm == 128)
		x64_sub_imm(jit, w, rd, -128);
	else
		x64_add_imm(jit, w, rd, imm);
}

static void sub_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm == INT32_MIN)
		x64_sub_imm(jit, w, rd, imm);
	else
		add_imm(jit, w, rd, -imm);
}

static void or_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm == 0)
		unchanged(jit, w, rd);
	else
		x64_or_imm(jit, w, rd, imm);
}

static void xor_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm == 0)
		unchanged(jit, w, rd);
	else if (imm == -1)
		x64_not(jit, w, rd);
	else
		x64_xor_imm(jit, w, rd, imm);
}

/* A mask without sign bit zeroes the upper half: the 32-bit form does the same. */
static void and_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm == -1)
		unchanged(jit, w, rd);
	else if (imm == 0)
		x64_xor(jit, W32, rd, rd);
	else if (imm == 0xff || imm == 0xffff)
		x64_movzx(jit, imm == 0xff ? 1 : 2, rd, rd);
	else
		x64_and_imm(jit, imm > 0 ? W32 : w, rd, imm);
}

static bool is_power_of_2(int32_t imm)
{
	return imm > 0 && (imm & (imm - 1)) == 0;
}

static void mul_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm == 0)
		x64_xor(jit, W32, rd, rd);
	else if (imm == 1)
		unchanged(jit, w, rd);
	else if (imm == -1)
		x64_neg(jit, w, rd);
	else if (is_power_of_2(imm))
		x64_shift_imm(jit, X64_SHL, w, rd, (unsigned int)__builtin_ctz((unsigned int)imm));
	else
		x64_imul_imm(jit, w, rd, rd, imm);
}

static void mov_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int64_t imm)
{
	x64_set(jit, rd, w == W64 ? (uint64_t)imm : (uint32_t)imm);
}

static void alu_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum x64_width w = x64_width(in);
	enum x64_reg rd = x64_reg(in->dst);
	int32_t imm = (int32_t)in->imm;

	switch (in->op) {
	case ALU_ADD: add_imm(jit, w, rd, imm); break;
	case ALU_SUB: sub_imm(jit, w, rd, imm); break;
	case ALU_MUL: mul_imm(jit, w, rd, imm); break;
	case ALU_OR: or_imm(jit, w, rd, imm); break;
	case ALU_AND: and_imm(jit, w, rd, imm); break;
	case ALU_XOR: xor_imm(jit, w, rd, imm); break;
	case ALU_MOV: mov_imm(jit, w, rd, in->imm); break;
	default: shift_imm(jit, in);
	}
}

/* ---- by kind ---- */

static void alu_reg(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum x64_width w = x64_width(in);
	enum x64_reg rd = x64_reg(in->dst), rs = x64_reg(in->src);

	switch (in->op) {
	case ALU_ADD: x64_add(jit, w, rd, rs); break;
	case ALU_SUB: x64_sub(jit, w, rd, rs); break;
	case ALU_MUL: x64_imul(jit, w, rd, rs); break;
	case ALU_OR: x64_or(jit, w, rd, rs); break;
	case ALU_AND: x64_and(jit, w, rd, rs); break;
	case ALU_XOR: x64_xor(jit, w, rd, rs); break;
	case ALU_MOV: mov(jit, w, rd, rs); break;
	default: shift_reg(jit, in, i);
	}
}

void x64_emit_alu(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->op >= ALU_DIV && in->op <= ALU_SMOD)
		x64_emit_divmod(jit, in, i);
	else if (in->flags & INSN_IMM)
		alu_imm(jit, in);
	else
		alu_reg(jit, in, i);
}

static_assert(ALU_DIV < ALU_SDIV && ALU_SDIV < ALU_MOD && ALU_MOD < ALU_SMOD &&
		      ALU_SMOD == ALU_DIV + 3,
	      "x64_emit_alu() takes the divisions to be four in a row");

void x64_emit_neg(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	x64_neg(jit, x64_width(in), x64_reg(in->dst));
}

void x64_emit_movsx(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	x64_movsx(jit, x64_width(in), in->bytes, x64_reg(in->dst), x64_reg(in->src));
}

/* x86-64 is little-endian: SWAP_LE only truncates. */
static void truncate(struct jit_ctx *jit, unsigned int bytes, enum x64_reg rd)
{
	if (bytes == 2)
		x64_movzx(jit, 2, rd, rd);
	else if (bytes == 4)
		x64_mov(jit, W32, rd, rd);
}

static void swap(struct jit_ctx *jit, unsigned int bytes, enum x64_reg rd)
{
	if (bytes == 2) {
		x64_rol16_8(jit, rd);
		x64_movzx(jit, 2, rd, rd);
	} else {
		x64_bswap(jit, bytes == 8 ? W64 : W32, rd);
	}
}

void x64_emit_swap(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	if (in->op == SWAP_LE)
		truncate(jit, in->bytes, x64_reg(in->dst));
	else
		swap(jit, in->bytes, x64_reg(in->dst));
}

/* Map references hold their final addresses by now. */
void x64_emit_imm64(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	x64_set(jit, x64_reg(in->dst), (uint64_t)in->imm);
}

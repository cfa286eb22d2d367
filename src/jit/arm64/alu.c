/* SPDX-License-Identifier: MIT */
/*
 * alu.c - arithmetic on registers, RFC 9669 sections 4.1 and 4.2; division is in div.c
 *
 * A 32-bit operation of A64 zeroes the upper half of its destination, as eBPF wants it, so the two
 * widths differ in a bit; except where an operation that changes nothing is left out, and still has
 * to zero that half if somebody reads it.
 */
#include "jit/arm64/a64.h"

#include <assert.h>

void a64_unchanged(struct jit_ctx *jit, enum a64_width w, unsigned int r, uint32_t i)
{
	if (w == W32 && (flow_upper(jit->flow->live_in[i + 1]) >> r & 1))
		a64_put(jit, a64_mov(W32, a64_reg(r), a64_reg(r)));
}

/* An insn with a constant: what its functions work on. */
struct with_imm {
	enum a64_width w;
	enum a64_reg rd;
	uint64_t value; /* w bits of it */
};

/* ---- with constants ---- */

static void add_imm(struct jit_ctx *jit, const struct with_imm *op, int64_t imm)
{
	if (imm > -(1 << 24) && imm < 1 << 24) {
		a64_add_any(jit, op->w, op->rd, op->rd, (int32_t)imm);
		return;
	}
	a64_set(jit, A64_TMP, op->w == W64 ? (uint64_t)imm : (uint32_t)imm);
	a64_put(jit, a64_add(op->w, op->rd, op->rd, A64_TMP));
}

static bool is_power_of_2(uint64_t value)
{
	return value && (value & (value - 1)) == 0;
}

/* By 2 ** n + 1, shifted by m: an addition, a shift. */
static bool mul_by_few_bits(struct jit_ctx *jit, const struct with_imm *op)
{
	unsigned int m = (unsigned int)__builtin_ctzll(op->value);
	uint64_t odd = op->value >> m;

	if (odd != 1 && !is_power_of_2(odd - 1))
		return false;
	if (odd != 1)
		a64_put(jit, a64_add_lsl(op->w, op->rd, op->rd, op->rd,
					 (unsigned int)__builtin_ctzll(odd - 1)));
	if (m)
		a64_put(jit, a64_lsl_imm(op->w, op->rd, op->rd, m));
	return true;
}

static void mul_imm(struct jit_ctx *jit, const struct with_imm *op, int64_t imm)
{
	if (imm == 0) {
		a64_set(jit, op->rd, 0);
	} else if (imm == -1) {
		a64_put(jit, a64_neg(op->w, op->rd, op->rd));
	} else if (!mul_by_few_bits(jit, op)) {
		a64_set(jit, A64_TMP, op->value);
		a64_put(jit, a64_mul(op->w, op->rd, op->rd, A64_TMP));
	}
}

/* @imm and @reg are the two forms of an operation. */
static void bitwise_imm(struct jit_ctx *jit, const struct with_imm *op,
			uint32_t (*imm)(enum a64_width, enum a64_reg, enum a64_reg, uint32_t),
			uint32_t (*reg)(enum a64_width, enum a64_reg, enum a64_reg, enum a64_reg))
{
	uint32_t fields;

	if (a64_bitmask(op->w, op->value, &fields)) {
		a64_put(jit, imm(op->w, op->rd, op->rd, fields));
		return;
	}
	a64_set(jit, A64_TMP, op->value);
	a64_put(jit, reg(op->w, op->rd, op->rd, A64_TMP));
}

/* A mask of the low half zeroes the upper one: so does the 32-bit form, which has more masks. */
void a64_and_mask(struct jit_ctx *jit, enum a64_width w, enum a64_reg rd, uint64_t mask)
{
	const struct with_imm op = {mask <= UINT32_MAX ? W32 : w, rd, mask};

	if (mask)
		bitwise_imm(jit, &op, a64_and_imm, a64_and);
	else
		a64_set(jit, rd, 0);
}

static void or_imm(struct jit_ctx *jit, const struct with_imm *op, int64_t imm)
{
	if (imm == -1)
		a64_set(jit, op->rd, op->value);
	else
		bitwise_imm(jit, op, a64_orr_imm, a64_orr);
}

static void xor_imm(struct jit_ctx *jit, const struct with_imm *op, int64_t imm)
{
	if (imm == -1)
		a64_put(jit, a64_mvn(op->w, op->rd, op->rd));
	else
		bitwise_imm(jit, op, a64_eor_imm, a64_eor);
}

static void shift_imm(struct jit_ctx *jit, const struct insn *in, unsigned int count)
{
	enum a64_width w = a64_width(in);
	enum a64_reg rd = a64_reg(in->dst);

	switch (in->op) {
	case ALU_LSH: a64_put(jit, a64_lsl_imm(w, rd, rd, count)); break;
	case ALU_RSH: a64_put(jit, a64_lsr_imm(w, rd, rd, count)); break;
	default: a64_put(jit, a64_asr_imm(w, rd, rd, count));
	}
}

/* Counts are taken modulo the width. */
static unsigned int shift_count(const struct insn *in)
{
	return (unsigned int)in->imm & (in->flags & INSN_W64 ? 63 : 31);
}

/* Does an operation with this constant leave its register as it is? */
static bool keeps(const struct insn *in)
{
	switch (in->op) {
	case ALU_ADD:
	case ALU_SUB:
	case ALU_OR:
	case ALU_XOR: return in->imm == 0;
	case ALU_MUL: return in->imm == 1;
	case ALU_AND: return in->imm == -1;
	case ALU_MOV: return false;
	default: return shift_count(in) == 0;
	}
}

static void alu_imm(struct jit_ctx *jit, const struct insn *in)
{
	const struct with_imm op = {
		.w = a64_width(in),
		.rd = a64_reg(in->dst),
		.value = in->flags & INSN_W64 ? (uint64_t)in->imm : (uint32_t)in->imm,
	};

	switch (in->op) {
	case ALU_ADD: add_imm(jit, &op, in->imm); break;
	case ALU_SUB: add_imm(jit, &op, -in->imm); break;
	case ALU_MUL: mul_imm(jit, &op, in->imm); break;
	case ALU_OR: or_imm(jit, &op, in->imm); break;
	case ALU_AND: a64_and_mask(jit, op.w, op.rd, op.value); break;
	case ALU_XOR: xor_imm(jit, &op, in->imm); break;
	case ALU_MOV: a64_set(jit, op.rd, op.value); break;
	default: shift_imm(jit, in, shift_count(in));
	}
}

/* ---- with registers ---- */

static uint32_t alu_word(unsigned int op, enum a64_width w, enum a64_reg rd, enum a64_reg rs)
{
	switch (op) {
	case ALU_ADD: return a64_add(w, rd, rd, rs);
	case ALU_SUB: return a64_sub(w, rd, rd, rs);
	case ALU_MUL: return a64_mul(w, rd, rd, rs);
	case ALU_OR: return a64_orr(w, rd, rd, rs);
	case ALU_AND: return a64_and(w, rd, rd, rs);
	case ALU_XOR: return a64_eor(w, rd, rd, rs);
	case ALU_LSH: return a64_lsl(w, rd, rd, rs); /* these take counts modulo the width */
	case ALU_RSH: return a64_lsr(w, rd, rd, rs);
	default: return a64_asr(w, rd, rd, rs);
	}
}

/* r10 is made in the destination. */
static void mov_reg(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_width w = a64_width(in);
	enum a64_reg rd = a64_reg(in->dst), rs = a64_read(jit, in->src, rd);

	if (rd == rs)
		a64_unchanged(jit, w, in->dst, i);
	else
		a64_put(jit, a64_mov(w, rd, rs));
}

static void alu_reg(struct jit_ctx *jit, const struct insn *in)
{
	enum a64_reg rs = a64_read(jit, in->src, A64_TMP);

	a64_put(jit, alu_word(in->op, a64_width(in), a64_reg(in->dst), rs));
}

/* ---- by kind ---- */

void a64_emit_alu(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->op >= ALU_DIV && in->op <= ALU_SMOD)
		a64_emit_divmod(jit, in, i);
	else if (!(in->flags & INSN_IMM) && in->op == ALU_MOV)
		mov_reg(jit, in, i);
	else if (!(in->flags & INSN_IMM))
		alu_reg(jit, in);
	else if (keeps(in))
		a64_unchanged(jit, a64_width(in), in->dst, i);
	else
		alu_imm(jit, in);
}

static_assert(ALU_DIV < ALU_SDIV && ALU_SDIV < ALU_MOD && ALU_MOD < ALU_SMOD &&
		      ALU_SMOD == ALU_DIV + 3,
	      "a64_emit_alu() takes the divisions to be four in a row");

void a64_emit_neg(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_reg rd = a64_reg(in->dst);

	(void)i;
	a64_put(jit, a64_neg(a64_width(in), rd, rd));
}

void a64_emit_movsx(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_reg rs = a64_read(jit, in->src, A64_TMP);

	(void)i;
	a64_put(jit, a64_sxt(a64_width(in), in->bytes, a64_reg(in->dst), rs));
}

/* Linux on arm64 is little-endian: SWAP_LE only truncates. */
static void truncate(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_reg rd = a64_reg(in->dst);

	if (in->bytes == 2)
		a64_put(jit, a64_uxt(2, rd, rd));
	else if (in->bytes == 4)
		a64_unchanged(jit, W32, in->dst, i);
}

/* Of two bytes, the four around them are turned, and the wanted ones are the upper then. */
static void swap(struct jit_ctx *jit, unsigned int bytes, enum a64_reg rd)
{
	a64_put(jit, a64_rev(bytes == 8 ? W64 : W32, rd, rd));
	if (bytes == 2)
		a64_put(jit, a64_lsr_imm(W32, rd, rd, 16));
}

void a64_emit_swap(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->op == SWAP_LE)
		truncate(jit, in, i);
	else
		swap(jit, in->bytes, a64_reg(in->dst));
}

/* Map references hold their final addresses by now. */
void a64_emit_imm64(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	a64_set_address(jit, a64_reg(in->dst), (uint64_t)in->imm);
}

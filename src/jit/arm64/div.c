/* SPDX-License-Identifier: MIT */
/*
 * div.c - division and modulo, RFC 9669 section 4.1, on a CPU where nothing traps
 *
 *			eBPF			A64 (section C3.4.9)
 *	x / 0		0			0
 *	INT_MIN / -1	INT_MIN			INT_MIN
 *	x % y		x - y * (x / y)		msub: of y = 0, x; of INT_MIN and -1, 0
 */
#include "jit/arm64/a64.h"

static bool is_mod(const struct insn *in)
{
	return in->op == ALU_MOD || in->op == ALU_SMOD;
}

static bool is_signed(const struct insn *in)
{
	return in->op == ALU_SDIV || in->op == ALU_SMOD;
}

/* @by may be the dividend's register. */
static void divide(struct jit_ctx *jit, const struct insn *in, enum a64_reg by)
{
	enum a64_width w = a64_width(in);
	enum a64_reg rd = a64_reg(in->dst), quotient = is_mod(in) ? A64_TMP : rd;

	a64_put(jit, (is_signed(in) ? a64_sdiv : a64_udiv)(w, quotient, rd, by));
	if (is_mod(in))
		a64_put(jit, a64_msub(w, rd, quotient, by, rd));
}

/* ---- by constants ---- */

/* Unsigned, by 2 ** count; with 0 < count < width. */
static void power_of_2(struct jit_ctx *jit, const struct insn *in, unsigned int count)
{
	enum a64_width w = a64_width(in);
	enum a64_reg rd = a64_reg(in->dst);

	if (is_mod(in))
		a64_and_mask(jit, w, rd, ((uint64_t)1 << count) - 1);
	else
		a64_put(jit, a64_lsr_imm(w, rd, rd, count));
}

/* x / 0 and x % 1, x % -1 are 0; x % 0 and x / 1 are x. */
static void trivial(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_reg rd = a64_reg(in->dst);

	if (is_mod(in) == (in->imm != 0))
		a64_set(jit, rd, 0);
	else if (in->imm == -1)
		a64_put(jit, a64_neg(a64_width(in), rd, rd));
	else
		a64_unchanged(jit, a64_width(in), in->dst, i);
}

static void by_constant(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint64_t value = in->flags & INSN_W64 ? (uint64_t)in->imm : (uint32_t)in->imm;

	if (value <= 1 || (is_signed(in) && in->imm == -1)) {
		trivial(jit, in, i);
	} else if (!is_signed(in) && (value & (value - 1)) == 0) {
		power_of_2(jit, in, (unsigned int)__builtin_ctzll(value));
	} else {
		a64_set(jit, A64_MORE, value);
		divide(jit, in, A64_MORE);
	}
}

void a64_emit_divmod(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->flags & INSN_IMM)
		by_constant(jit, in, i);
	else
		divide(jit, in, a64_read(jit, in->src, A64_MORE));
}

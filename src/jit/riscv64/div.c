/* SPDX-License-Identifier: MIT */
/*
 * div.c - division and modulo, RFC 9669 section 4.1, on a CPU where nothing traps
 *
 *			eBPF			RISC-V (chapter "M", table "Semantics for division")
 *	x / 0		0			-1
 *	x % 0		x			x
 *	INT_MIN / -1	INT_MIN			INT_MIN
 *	x % -1		0			0
 *
 * So only the quotient of a division by zero is wrong, by one: adding (divisor == 0) mends it.
 */
#include "jit/riscv64/rv.h"

static bool is_mod(const struct insn *in)
{
	return in->op == ALU_MOD || in->op == ALU_SMOD;
}

static bool is_signed(const struct insn *in)
{
	return in->op == ALU_SDIV || in->op == ALU_SMOD;
}

/* rd = rd / rs or rd % rs, as the CPU has it */
static void divide(struct jit_ctx *jit, const struct insn *in, enum rv_reg rd, enum rv_reg rs)
{
	uint32_t word;

	switch (in->op) {
	case ALU_DIV: word = (rv_is_wide(in) ? rv_divu : rv_divuw)(rd, rd, rs); break;
	case ALU_SDIV: word = (rv_is_wide(in) ? rv_div : rv_divw)(rd, rd, rs); break;
	case ALU_MOD: word = (rv_is_wide(in) ? rv_remu : rv_remuw)(rd, rd, rs); break;
	default: word = (rv_is_wide(in) ? rv_rem : rv_remw)(rd, rd, rs);
	}
	rv_put(jit, word);
}

/* tmp = is the divisor zero? Of 32 bits, its upper half must not be asked. */
static void ask_zero(struct jit_ctx *jit, const struct insn *in, uint32_t i, enum rv_reg rs)
{
	enum rv_reg low = rs;

	if (!rv_is_wide(in) && !rv_form(jit, in->src, i)) {
		rv_put(jit, rv_sext_w(RV_TMP, rs));
		low = RV_TMP;
	}
	rv_put(jit, rv_seqz(RV_TMP, low));
}

/* The divisor may be the dividend's register, so it is asked before. */
static void by_register(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rd = rv_reg(in->dst), rs = rv_read(jit, in->src, RV_MORE);

	if (!is_mod(in))
		ask_zero(jit, in, i, rs);
	divide(jit, in, rd, rs);
	if (!is_mod(in))
		rv_put(jit, (rv_is_wide(in) ? rv_add : rv_addw)(rd, rd, RV_TMP));
}

/* ---- by constants other than those of rv_keeps() and rv_clears() ---- */

/* Unsigned, by 2 ** count; with 0 < count < width. */
static void power_of_2(struct jit_ctx *jit, const struct insn *in, unsigned int count)
{
	enum rv_reg rd = rv_reg(in->dst);

	if (!is_mod(in)) {
		rv_put(jit, (rv_is_wide(in) ? rv_srli : rv_srliw)(rd, rd, count));
	} else if (count < 12) {
		rv_put(jit, rv_andi(rd, rd, (1 << count) - 1));
	} else {
		rv_put(jit, rv_slli(rd, rd, 64 - count));
		rv_put(jit, rv_srli(rd, rd, 64 - count));
	}
}

static void by_constant(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);
	uint64_t value = rv_is_wide(in) ? (uint64_t)in->imm : (uint32_t)in->imm;

	if (is_signed(in) && in->imm == -1) {
		rv_put(jit, (rv_is_wide(in) ? rv_neg : rv_negw)(rd, rd));
	} else if (!is_signed(in) && (value & (value - 1)) == 0) {
		power_of_2(jit, in, (unsigned int)__builtin_ctzll(value));
	} else {
		rv_set(jit, RV_TMP, in->imm);
		divide(jit, in, rd, RV_TMP);
	}
}

void rv_emit_divmod(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->flags & INSN_IMM)
		by_constant(jit, in);
	else
		by_register(jit, in, i);
}

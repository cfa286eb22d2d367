/* SPDX-License-Identifier: MIT */
/*
 * form.c - which upper halves of registers matter, and what is in them
 *
 * A form (rv.h) is a claim about the host's register. rv_result_form() makes them from what alu.c
 * emits: the two change together.
 */
#include "jit/riscv64/rv.h"

unsigned int rv_form(const struct jit_ctx *jit, unsigned int r, uint32_t i)
{
	(void)jit, (void)r, (void)i;
	return 0;
}

bool rv_is_upper_live(const struct jit_ctx *jit, unsigned int r, uint32_t i)
{
	(void)jit, (void)r, (void)i;
	return true;
}

static unsigned int form_of_value(int64_t value)
{
	return (value == (int32_t)value ? RV_SX : 0u) | (value == (uint32_t)value ? RV_ZX : 0u);
}

static unsigned int operand_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	return in->flags & INSN_IMM ? form_of_value(in->imm) : rv_form(jit, in->src, i);
}

/* A number of 31 bits bounds what is anded with it; else both operands' upper halves decide. */
static unsigned int bitwise_form(unsigned int op, unsigned int a, unsigned int b)
{
	unsigned int both = RV_SX | RV_ZX;

	if (op != ALU_AND)
		return a & b;
	if (a == both || b == both)
		return both;
	return ((a | b) & RV_ZX) | (a & b & RV_SX);
}

/* A shift to the right by @count of 32 bits, or of 64, leaves fewer bits. */
static unsigned int shift_form(const struct insn *in)
{
	unsigned int count = (unsigned int)in->imm & (rv_is_wide(in) ? 63 : 31);
	unsigned int gone = rv_is_wide(in) ? count : count + 32;

	if (!(in->flags & INSN_IMM) || in->op == ALU_LSH || gone < 32)
		return rv_is_wide(in) ? 0 : RV_SX;
	if (in->op == ALU_ARSH)
		return RV_SX;
	return gone > 32 ? RV_SX | RV_ZX : RV_ZX;
}

unsigned int rv_result_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->kind != INSN_ALU)
		return rv_is_wide(in) ? 0 : RV_SX;
	if (rv_keeps(in))
		return rv_form(jit, in->dst, i);
	switch (in->op) {
	case ALU_OR:
	case ALU_AND:
	case ALU_XOR:
		return bitwise_form(in->op, rv_form(jit, in->dst, i), operand_form(jit, in, i));
	case ALU_LSH:
	case ALU_RSH:
	case ALU_ARSH: return shift_form(in);
	default: return rv_is_wide(in) ? 0 : RV_SX;
	}
}

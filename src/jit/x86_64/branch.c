/* SPDX-License-Identifier: MIT */
/*
 * branch.c - jumps, RFC 9669 section 4.3
 *
 * Whether a jump is rel8, rel32 or left out follows from guess[] alone; the displacement from
 * at[]. Both are exact enough because distances only shrink (struct jit_ctx).
 */
#include "jit/x86_64/x64.h"

/* A jump over nothing, in the layout before; then it is one in this layout too. */
static bool is_to_next(const struct jit_ctx *jit, uint32_t i, uint32_t target)
{
	return jit->guess && target > i && jit->guess[target] == jit->guess[i + 1];
}

/* The jump's own two bytes and what this insn has emitted before them count backwards only. */
bool x64_is_short(const struct jit_ctx *jit, uint32_t i, uint32_t target)
{
	if (!jit->guess)
		return false;
	if (target > i)
		return jit->guess[target] - jit->guess[i + 1] <= INT8_MAX;
	return jit->guess[i] - jit->guess[target] + (size_t)(jit->pos - jit->start) +
		       X64_SHORT_SIZE <=
	       -INT8_MIN;
}

/* From the end of an instruction of @size bytes that begins here. Sizing takes any value. */
int32_t x64_rel(const struct jit_ctx *jit, size_t target_at, unsigned int size)
{
	return (int32_t)(target_at - jit_here(jit) - size);
}

void x64_jmp_to(struct jit_ctx *jit, uint32_t i, uint32_t target)
{
	if (x64_is_short(jit, i, target))
		x64_jmp_short(jit, (int8_t)x64_rel(jit, jit->at[target], X64_SHORT_SIZE));
	else
		x64_jmp(jit, x64_rel(jit, jit->at[target], X64_JMP_SIZE));
}

static void jcc_to(struct jit_ctx *jit, enum x64_cc cc, uint32_t i, uint32_t target)
{
	if (x64_is_short(jit, i, target))
		x64_jcc_short(jit, cc, (int8_t)x64_rel(jit, jit->at[target], X64_SHORT_SIZE));
	else
		x64_jcc(jit, cc, x64_rel(jit, jit->at[target], X64_JCC_SIZE));
}

/* test sets all flags as a comparison with 0 does (SDM volume 2B, TEST) */
static void compare_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm == 0)
		x64_test(jit, w, rd, rd);
	else
		x64_cmp_imm(jit, w, rd, imm);
}

/* A mask without sign bit looks at the low half only, or the low byte. */
static void test_imm(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm)
{
	if (imm >= 0 && imm <= UINT8_MAX)
		x64_test_imm8(jit, rd, (uint8_t)imm);
	else
		x64_test_imm(jit, imm > 0 ? W32 : w, rd, imm);
}

static void compare(struct jit_ctx *jit, const struct insn *in)
{
	enum x64_width w = x64_width(in);
	enum x64_reg rd = x64_reg(in->dst), rs = x64_reg(in->src);
	bool is_test = in->op == COND_SET;

	if (!(in->flags & INSN_IMM))
		(is_test ? x64_test : x64_cmp)(jit, w, rd, rs);
	else
		(is_test ? test_imm : compare_imm)(jit, w, rd, (int32_t)in->imm);
}

void x64_emit_branch(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	static const uint8_t cc[COND_OPS] = {
		[COND_EQ] = CC_E,   [COND_NE] = CC_NE, [COND_SET] = CC_NE, [COND_GT] = CC_A,
		[COND_GE] = CC_AE,  [COND_LT] = CC_B,  [COND_LE] = CC_BE,  [COND_SGT] = CC_G,
		[COND_SGE] = CC_GE, [COND_SLT] = CC_L, [COND_SLE] = CC_LE,
	};

	if (is_to_next(jit, i, in->target))
		return;
	compare(jit, in);
	jcc_to(jit, (enum x64_cc)cc[in->op], i, in->target);
}

void x64_emit_jump(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (!is_to_next(jit, i, in->target))
		x64_jmp_to(jit, i, in->target);
}

/* Counts down; below 0 it never comes back. mov leaves the flags. */
void x64_emit_maygoto(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct x64_mem loops = x64_loops(jit);

	x64_load(jit, 8, X64_TMP, loops);
	x64_sub_imm(jit, W64, X64_TMP, 1);
	x64_store(jit, 8, loops, X64_TMP);
	jcc_to(jit, CC_S, i, in->target);
}

/* SPDX-License-Identifier: MIT */
/*
 * branch.c - jumps, RFC 9669 section 4.3
 *
 *	reach		+-256 B		+-2 KiB		+-4 KiB		+-1 MiB		+-2 GiB
 *	branch		c.beqz, c.bnez			beq ..		branch over	branch over
 *	jump				c.j				jal		auipc, jalr
 *
 * Which form it is, or none, follows from guess[] alone; the displacement from at[]. Both are
 * exact enough because distances only shrink (struct jit_ctx). A jump is the end of its insn:
 * what comes before it there has the same size in every pass.
 */
#include "jit/riscv64/rv.h"

#define BRANCH_SIZE 4u
#define FAR_SIZE 8u /* auipc and jalr */

/* A jump over nothing, in the layout before; then it is one in this layout too. */
static bool is_to_next(const struct jit_ctx *jit, uint32_t i, uint32_t target)
{
	return jit->guess && target > i && jit->guess[target] == jit->guess[i + 1];
}

/*
 * Does a jump get to insn @target whose displacement is below @reach, and not below -@reach, if
 * @ahead bytes come before it, and the insn ends @rest bytes from its start?
 */
static bool is_within(const struct jit_ctx *jit, uint32_t target, uint32_t reach,
		      unsigned int ahead, unsigned int rest)
{
	uint32_t i = jit->insn;

	if (!jit->guess)
		return false;
	if (target > i)
		return jit->guess[target] - jit->guess[i + 1] + rest < reach;
	return jit->guess[i] - jit->guess[target] + (size_t)(jit->pos - jit->start) + ahead <=
	       reach;
}

int32_t rv_rel(const struct jit_ctx *jit, size_t target_at)
{
	return (int32_t)(target_at - jit_here(jit));
}

/* Neither is compressed: which bits are zero may depend on where the image lands. */
void rv_jump_far(struct jit_ctx *jit, enum rv_reg link, enum rv_reg via, int32_t rel)
{
	rv_put_wide(jit, rv_auipc(via, rv_hi20(rel)));
	rv_put_wide(jit, rv_jalr(link, rv_at(via, rv_lo12(rel))));
}

unsigned int rv_jump_size(const struct jit_ctx *jit, uint32_t target, unsigned int ahead)
{
	if (rv_has(jit, RV_C) && is_within(jit, target, 1 << 11, ahead, 2))
		return 2;
	return is_within(jit, target, 1 << 20, ahead, 4) ? 4 : FAR_SIZE;
}

/* t1 for the far form: only t0 and ra would be taken for a return. */
void rv_jump_to(struct jit_ctx *jit, uint32_t target)
{
	int32_t rel = rv_rel(jit, jit->at[target]);

	switch (rv_jump_size(jit, target, 0)) {
	case 2: jit_put(jit, rv_c_j(rel), 2); break;
	case 4: rv_put_wide(jit, rv_jal(RV_ZERO, rel)); break;
	default: rv_jump_far(jit, RV_ZERO, RV_TMP, rel);
	}
}

/* ---- branches ---- */

/* A comparison as the CPU has it. */
struct test {
	enum rv_cc cc;
	enum rv_reg rs1, rs2;
};

static void branch_to(struct jit_ctx *jit, struct test t, uint32_t target)
{
	int32_t rel = rv_rel(jit, jit->at[target]);
	bool small = rv_has(jit, RV_C) && t.cc <= RV_NE && t.rs2 == RV_ZERO && rv_is_popular(t.rs1);

	if (small && is_within(jit, target, 1 << 8, 0, 2)) {
		jit_put(jit, rv_c_bz(t.cc, t.rs1, rel), 2);
	} else if (is_within(jit, target, 1 << 12, 0, BRANCH_SIZE)) {
		rv_put_wide(jit, rv_bcc(t.cc, t.rs1, t.rs2, rel));
	} else {
		unsigned int over = BRANCH_SIZE + rv_jump_size(jit, target, BRANCH_SIZE);

		rv_put_wide(jit, rv_bcc(rv_invert(t.cc), t.rs1, t.rs2, (int32_t)over));
		rv_jump_to(jit, target);
	}
}

/* ---- comparisons ---- */

static bool is_signed(unsigned int op)
{
	return op >= COND_SGT;
}

/* A comparison with a constant that is one with 0: x > 0 is x != 0, x s> -1 is x s>= 0. */
static unsigned int with_zero(unsigned int op, int64_t imm)
{
	static const struct {
		uint8_t op, instead;
		int8_t imm;
	} all[] = {
		{COND_GT, COND_NE, 0},   {COND_GE, COND_NE, 1},    {COND_LT, COND_EQ, 1},
		{COND_LE, COND_EQ, 0},   {COND_SGT, COND_SGE, -1}, {COND_SGE, COND_SGT, 1},
		{COND_SLT, COND_SLE, 1}, {COND_SLE, COND_SLT, -1},
	};

	for (unsigned int k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (all[k].op == op && all[k].imm == imm)
			return all[k].instead;
	return COND_OPS;
}

/* dst op operand, of 64 bits: greater is less with the operands exchanged. */
static struct test test_of(unsigned int op, enum rv_reg rd, enum rv_reg rs)
{
	switch (op) {
	case COND_EQ: return (struct test){RV_EQ, rd, rs};
	case COND_NE: return (struct test){RV_NE, rd, rs};
	case COND_GT: return (struct test){RV_LTU, rs, rd};
	case COND_GE: return (struct test){RV_GEU, rd, rs};
	case COND_LT: return (struct test){RV_LTU, rd, rs};
	case COND_LE: return (struct test){RV_GEU, rs, rd};
	case COND_SGT: return (struct test){RV_LT, rs, rd};
	case COND_SGE: return (struct test){RV_GE, rd, rs};
	case COND_SLT: return (struct test){RV_LT, rd, rs};
	default: return (struct test){RV_GE, rs, rd};
	}
}

/*
 * Of 32 bits, the CPU compares 64: right where both operands are sign-extended, which keeps
 * every order, or both are zero-extended, which keeps the unsigned one.
 */
static enum rv_reg widen(struct jit_ctx *jit, unsigned int r, enum rv_reg tmp, unsigned int forms)
{
	enum rv_reg rs = rv_read(jit, r, tmp);

	if (rv_form(jit, r, jit->insn) & forms)
		return rs;
	rv_put(jit, rv_sext_w(tmp, rs));
	return tmp;
}

/* Whichever form serves both operands as they are. */
static unsigned int usable_forms(const struct jit_ctx *jit, const struct insn *in, unsigned int op)
{
	unsigned int rd = rv_form(jit, in->dst, jit->insn);
	unsigned int rs = in->flags & INSN_IMM ? (in->imm >= 0 ? RV_SX | RV_ZX : RV_SX)
					       : rv_form(jit, in->src, jit->insn);

	return !is_signed(op) && (rd & rs & RV_ZX) ? RV_SX | RV_ZX : RV_SX;
}

static enum rv_reg dst_operand(struct jit_ctx *jit, const struct insn *in, unsigned int forms)
{
	if (rv_is_wide(in))
		return rv_read(jit, in->dst, RV_MORE);
	return widen(jit, in->dst, RV_MORE, forms);
}

static enum rv_reg src_operand(struct jit_ctx *jit, const struct insn *in, unsigned int forms)
{
	if (rv_is_wide(in))
		return rv_read(jit, in->src, RV_TMP);
	return widen(jit, in->src, RV_TMP, forms);
}

static struct test compare_imm(struct jit_ctx *jit, const struct insn *in)
{
	unsigned int instead = with_zero(in->op, in->imm), op = in->op;
	bool zero = in->imm == 0 || instead != COND_OPS;
	enum rv_reg rd;

	if (instead != COND_OPS)
		op = instead;
	rd = dst_operand(jit, in, usable_forms(jit, in, op));
	if (zero)
		return test_of(op, rd, RV_ZERO);
	rv_set(jit, RV_TMP, in->imm);
	return test_of(op, rd, RV_TMP);
}

static struct test compare_reg(struct jit_ctx *jit, const struct insn *in)
{
	unsigned int forms = usable_forms(jit, in, in->op);
	enum rv_reg rd = dst_operand(jit, in, forms);

	return test_of(in->op, rd, src_operand(jit, in, forms));
}

/* ---- any of these bits ---- */

static bool is_power_of_2(uint64_t value)
{
	return value && (value & (value - 1)) == 0;
}

/* The bits of a mask in tmp, or their whole value shifted up; what lies above is shifted out. */
static struct test test_mask(struct jit_ctx *jit, enum rv_reg rd, uint64_t mask)
{
	if (rv_fits12((int64_t)mask)) {
		rv_put(jit, rv_andi(RV_TMP, rd, (int32_t)mask));
	} else if (is_power_of_2(mask)) {
		rv_put(jit, rv_slli(RV_TMP, rd, (unsigned int)__builtin_clzll(mask)));
		return (struct test){RV_LT, RV_TMP, RV_ZERO};
	} else if (is_power_of_2(mask + 1)) {
		rv_put(jit, rv_slli(RV_TMP, rd, (unsigned int)__builtin_clzll(mask)));
	} else {
		rv_set(jit, RV_TMP, (int64_t)mask);
		rv_put(jit, rv_and(RV_TMP, RV_TMP, rd));
	}
	return (struct test){RV_NE, RV_TMP, RV_ZERO};
}

/* Of 32 bits, a mask with the sign bit in it would look at the upper half. */
static struct test test_bits_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_read(jit, in->dst, RV_MORE);
	struct test t;

	if (rv_is_wide(in) || in->imm >= 0)
		return test_mask(jit, rd, (uint64_t)in->imm);
	if (in->imm == INT32_MIN)
		return test_mask(jit, rd, (uint32_t)in->imm);
	t = test_mask(jit, rd, (uint64_t)in->imm);
	rv_put(jit, rv_sext_w(RV_TMP, RV_TMP));
	return t;
}

static struct test test_bits_reg(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_read(jit, in->dst, RV_MORE), rs = rv_read(jit, in->src, RV_TMP);
	unsigned int forms = rv_form(jit, in->dst, jit->insn) | rv_form(jit, in->src, jit->insn);
	unsigned int both = rv_form(jit, in->dst, jit->insn) & rv_form(jit, in->src, jit->insn);

	rv_put(jit, rv_and(RV_TMP, rd, rs));
	if (!rv_is_wide(in) && !(forms & RV_ZX) && !(both & RV_SX))
		rv_put(jit, rv_sext_w(RV_TMP, RV_TMP));
	return (struct test){RV_NE, RV_TMP, RV_ZERO};
}

static struct test compare(struct jit_ctx *jit, const struct insn *in)
{
	bool imm = in->flags & INSN_IMM;

	if (in->op == COND_SET)
		return (imm ? test_bits_imm : test_bits_reg)(jit, in);
	return (imm ? compare_imm : compare_reg)(jit, in);
}

/* ---- by kind ---- */

void rv_emit_branch(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (!is_to_next(jit, i, in->target))
		branch_to(jit, compare(jit, in), in->target);
}

void rv_emit_jump(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (!is_to_next(jit, i, in->target))
		rv_jump_to(jit, in->target);
}

/* Counts down, at sp (call.c); below 0 it never comes back. */
void rv_emit_maygoto(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	rv_put(jit, rv_ld(RV_TMP, rv_at(RV_SP, 0)));
	rv_put(jit, rv_addi(RV_TMP, RV_TMP, -1));
	rv_put(jit, rv_sd(RV_TMP, rv_at(RV_SP, 0)));
	branch_to(jit, (struct test){RV_LT, RV_TMP, RV_ZERO}, in->target);
}

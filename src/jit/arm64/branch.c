/* SPDX-License-Identifier: MIT */
/*
 * branch.c - jumps, RFC 9669 section 4.3
 *
 *	reach		+-32 KiB	+-1 MiB			+-128 MiB	+-2 GiB
 *	bit		tbz, tbnz	branch over, jump	the same	the same
 *	branch		b.cond, cbz, cbnz			branch over, jump
 *	jump		b							adrp, add, ret
 *
 * Which form it is, or none, follows from guess[] alone; the displacement from at[]. Both are
 * exact enough because distances only shrink (struct jit_ctx). A jump is the end of its insn:
 * what comes before it there has the same size in every pass.
 */
#include "jit/arm64/a64.h"

#define JUMP_REACH (1u << 27)
#define BRANCH_REACH (1u << 20)
#define BIT_REACH (1u << 15)
#define BRANCH_SIZE 4u
#define FAR_SIZE 12u

/* A jump over nothing, in the layout before; then it is one in this layout too. */
static bool is_to_next(const struct jit_ctx *jit, uint32_t i, uint32_t target)
{
	return jit->guess && target > i && jit->guess[target] == jit->guess[i + 1];
}

/*
 * Does an instruction get to insn @target whose displacement is below @reach, and not below
 * -@reach, if @ahead bytes come before it, and it is the last of its insn?
 */
static bool is_within(const struct jit_ctx *jit, uint32_t target, uint32_t reach,
		      unsigned int ahead)
{
	uint32_t i = jit->insn;

	if (!jit->guess)
		return false;
	if (target > i)
		return jit->guess[target] - jit->guess[i + 1] + BRANCH_SIZE < reach;
	return jit->guess[i] - jit->guess[target] + (size_t)(jit->pos - jit->start) + ahead <=
	       reach;
}

int32_t a64_rel_to(const struct jit_ctx *jit, size_t target_at)
{
	return (int32_t)(target_at - jit_here(jit));
}

unsigned int a64_jump_size(const struct jit_ctx *jit, uint32_t target, unsigned int ahead)
{
	return is_within(jit, target, JUMP_REACH, ahead) ? BRANCH_SIZE : FAR_SIZE;
}

/* By ret: unlike br, it needs no landing pad where it goes. */
static void jump_far(struct jit_ctx *jit, uint32_t target)
{
	a64_put_address(jit, A64_FAR, jit->rx + jit->at[target]);
	a64_put(jit, a64_ret(A64_FAR));
}

void a64_jump_to(struct jit_ctx *jit, uint32_t target)
{
	if (a64_jump_size(jit, target, 0) == BRANCH_SIZE)
		a64_put(jit, a64_b(a64_rel_to(jit, jit->at[target])));
	else
		jump_far(jit, target);
}

/* ---- branches ---- */

/* What is tested: flags; a register, which is A64_EQ or A64_NE to zero; a bit of it, the same. */
enum test_kind { FLAGS, REGISTER, BIT };

struct test {
	enum test_kind kind;
	enum a64_cc cc;
	enum a64_width w;
	enum a64_reg reg;
	unsigned int bit;
};

static uint32_t test_word(const struct test *t, enum a64_cc cc, int32_t rel)
{
	switch (t->kind) {
	case FLAGS: return a64_bcc(cc, rel);
	case REGISTER: return a64_cbz(cc, t->w, t->reg, rel);
	default: return a64_tbz(cc, t->reg, t->bit, rel);
	}
}

static void branch_to(struct jit_ctx *jit, struct test t, uint32_t target)
{
	uint32_t reach = t.kind == BIT ? BIT_REACH : BRANCH_REACH;
	unsigned int over;

	if (is_within(jit, target, reach, 0)) {
		a64_put(jit, test_word(&t, t.cc, a64_rel_to(jit, jit->at[target])));
		return;
	}
	over = BRANCH_SIZE + a64_jump_size(jit, target, BRANCH_SIZE);
	a64_put(jit, test_word(&t, a64_invert(t.cc), (int32_t)over));
	a64_jump_to(jit, target);
}

/* ---- comparisons ---- */

static struct test by_flags(enum a64_cc cc)
{
	return (struct test){.kind = FLAGS, .cc = cc};
}

static struct test by_register(const struct insn *in, enum a64_cc cc, enum a64_reg reg)
{
	return (struct test){.kind = REGISTER, .cc = cc, .w = a64_width(in), .reg = reg};
}

static struct test by_bit(enum a64_cc cc, enum a64_reg reg, unsigned int bit)
{
	return (struct test){.kind = BIT, .cc = cc, .reg = reg, .bit = bit};
}

/* A comparison with a constant that only asks for zero, or for the sign: A64_EQ of all bits .. */
static const struct short_test {
	uint8_t op;
	int8_t imm;
	uint8_t kind, cc;
} short_tests[] = {
	{COND_EQ, 0, REGISTER, A64_EQ}, {COND_NE, 0, REGISTER, A64_NE},
	{COND_GT, 0, REGISTER, A64_NE}, {COND_GE, 1, REGISTER, A64_NE},
	{COND_LT, 1, REGISTER, A64_EQ}, {COND_LE, 0, REGISTER, A64_EQ},
	{COND_SLT, 0, BIT, A64_NE},     {COND_SLE, -1, BIT, A64_NE},
	{COND_SGE, 0, BIT, A64_EQ},     {COND_SGT, -1, BIT, A64_EQ},
};

static const struct short_test *find_short(const struct insn *in)
{
	for (size_t k = 0; k < sizeof(short_tests) / sizeof(short_tests[0]); k++)
		if (short_tests[k].op == in->op && short_tests[k].imm == in->imm)
			return &short_tests[k];
	return NULL;
}

static void compare_imm(struct jit_ctx *jit, const struct insn *in, enum a64_reg rd)
{
	enum a64_width w = a64_width(in);
	uint64_t value = (uint64_t)in->imm;

	if (a64_fits12(value)) {
		a64_put(jit, a64_cmp_imm(w, rd, (uint32_t)value));
	} else if (a64_fits12(0 - value)) {
		a64_put(jit, a64_cmn_imm(w, rd, (uint32_t)(0 - value)));
	} else {
		a64_set(jit, A64_TMP, w == W64 ? value : (uint32_t)value);
		a64_put(jit, a64_cmp(w, rd, A64_TMP));
	}
}

static struct test test_imm(struct jit_ctx *jit, const struct insn *in, enum a64_cc cc)
{
	const struct short_test *found = find_short(in);
	enum a64_reg rd = a64_read(jit, in->dst, A64_MORE);

	if (found && found->kind == REGISTER)
		return by_register(in, (enum a64_cc)found->cc, rd);
	if (found)
		return by_bit((enum a64_cc)found->cc, rd, a64_width(in) == W64 ? 63 : 31);
	compare_imm(jit, in, rd);
	return by_flags(cc);
}

/* Any of these bits? A mask of the low half looks at that alone, and more masks have a form. */
static struct test test_mask(struct jit_ctx *jit, const struct insn *in)
{
	uint64_t mask = in->flags & INSN_W64 ? (uint64_t)in->imm : (uint32_t)in->imm;
	enum a64_width w = mask <= UINT32_MAX ? W32 : W64;
	enum a64_reg rd = a64_read(jit, in->dst, A64_MORE);
	uint32_t fields;

	if (mask && (mask & (mask - 1)) == 0)
		return by_bit(A64_NE, rd, (unsigned int)__builtin_ctzll(mask));
	if (a64_bitmask(w, mask, &fields)) {
		a64_put(jit, a64_tst_imm(w, rd, fields));
	} else {
		a64_set(jit, A64_TMP, mask);
		a64_put(jit, a64_tst(w, rd, A64_TMP));
	}
	return by_flags(A64_NE);
}

static struct test test_reg(struct jit_ctx *jit, const struct insn *in, enum a64_cc cc)
{
	enum a64_reg rd = a64_read(jit, in->dst, A64_MORE), rs = a64_read(jit, in->src, A64_TMP);

	a64_put(jit, (in->op == COND_SET ? a64_tst : a64_cmp)(a64_width(in), rd, rs));
	return by_flags(cc);
}

static struct test compare(struct jit_ctx *jit, const struct insn *in)
{
	static const uint8_t ccs[COND_OPS] = {
		[COND_EQ] = A64_EQ,  [COND_NE] = A64_NE,  [COND_SET] = A64_NE, [COND_GT] = A64_HI,
		[COND_GE] = A64_HS,  [COND_LT] = A64_LO,  [COND_LE] = A64_LS,  [COND_SGT] = A64_GT,
		[COND_SGE] = A64_GE, [COND_SLT] = A64_LT, [COND_SLE] = A64_LE,
	};
	enum a64_cc cc = (enum a64_cc)ccs[in->op];

	if (!(in->flags & INSN_IMM))
		return test_reg(jit, in, cc);
	return in->op == COND_SET ? test_mask(jit, in) : test_imm(jit, in, cc);
}

/* ---- by kind ---- */

void a64_emit_branch(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (!is_to_next(jit, i, in->target))
		branch_to(jit, compare(jit, in), in->target);
}

void a64_emit_jump(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (!is_to_next(jit, i, in->target))
		a64_jump_to(jit, in->target);
}

/* Counts down; below 0 it never comes back. */
void a64_emit_maygoto(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct a64_mem loops = a64_loops(jit);

	(void)i;
	a64_put(jit, a64_ls(A64_LDR, 8, A64_TMP, loops));
	a64_put(jit, a64_subs_imm(W64, A64_TMP, A64_TMP, 1));
	a64_put(jit, a64_ls(A64_STR, 8, A64_TMP, loops));
	branch_to(jit, by_flags(A64_MI), in->target);
}

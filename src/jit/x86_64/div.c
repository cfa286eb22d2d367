/* SPDX-License-Identifier: MIT */
/*
 * div.c - division and modulo, RFC 9669 section 4.1: nothing traps, and no register but dst
 * changes
 *
 *	x / 0 = 0		x % 0 = x (32 bits: zero-extended)
 *	INT_MIN / -1 = INT_MIN	x % -1 = 0
 *
 * div and idiv take rdx:rax and give rax, rdx: eBPF's r3 and r0, kept in r9 and r10 where they
 * are not the destination and somebody reads them later.
 */
#include "jit/x86_64/x64.h"

/* One division being emitted. */
struct division {
	enum x64_width w;
	enum x64_reg rd;
	enum x64_reg by; /* the divisor; never rax or rdx once those are set up */
	bool is_signed, is_mod;
	bool keep_rax, keep_rdx;
};

static struct division division_of(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum x64_reg rd = x64_reg(in->dst);

	return (struct division){
		.w = x64_width(in),
		.rd = rd,
		.by = in->flags & INSN_IMM ? X64_TMP : x64_reg(in->src),
		.is_signed = in->op == ALU_SDIV || in->op == ALU_SMOD,
		.is_mod = in->op == ALU_MOD || in->op == ALU_SMOD,
		.keep_rax = rd != RAX && x64_is_live(jit, 0, i),
		.keep_rdx = rd != RDX && x64_is_live(jit, 3, i),
	};
}

/* The dividend goes to rax, the divisor out of the way of rax and rdx. */
static void set_up(struct jit_ctx *jit, struct division *d)
{
	if (d->keep_rax)
		x64_mov(jit, W64, X64_RAX_KEPT, RAX);
	if (d->keep_rdx)
		x64_mov(jit, W64, X64_RDX_KEPT, RDX);
	if (d->by == RAX || d->by == RDX) {
		x64_mov(jit, d->w, X64_TMP, d->by);
		d->by = X64_TMP;
	}
	if (d->rd != RAX)
		x64_mov(jit, d->w, RAX, d->rd);
}

static void finish(struct jit_ctx *jit, const struct division *d)
{
	enum x64_reg result = d->is_mod ? RDX : RAX;

	if (d->rd != result)
		x64_mov(jit, W64, d->rd, result);
	if (d->keep_rax)
		x64_mov(jit, W64, RAX, X64_RAX_KEPT);
	if (d->keep_rdx)
		x64_mov(jit, W64, RDX, X64_RDX_KEPT);
}

/* Divide by what is neither 0 nor, signed, -1. */
static void divide(struct jit_ctx *jit, struct division *d)
{
	set_up(jit, d);
	if (d->is_signed) {
		x64_cdq(jit, d->w);
		x64_idiv(jit, d->w, d->by);
	} else {
		x64_xor(jit, W32, RDX, RDX);
		x64_div(jit, d->w, d->by);
	}
	finish(jit, d);
}

/* What is left of x % 0, and of x / 1: x itself. */
static void unchanged(struct jit_ctx *jit, const struct division *d)
{
	if (d->w == W32)
		x64_mov(jit, W32, d->rd, d->rd);
}

static void unsigned_reg(struct jit_ctx *jit, struct division *d)
{
	uint8_t *not_zero, *end;

	x64_test(jit, d->w, d->by, d->by);
	not_zero = x64_jcc_over(jit, CC_NE);
	if (d->is_mod)
		unchanged(jit, d);
	else
		x64_xor(jit, W32, d->rd, d->rd);
	end = x64_jmp_over(jit);
	x64_land(jit, not_zero);
	divide(jit, d);
	x64_land(jit, end);
}

/*
 * One comparison finds both special divisors: y + 1 is 0 or 1 for y = -1 and 0 alone. For
 * those two, x / y is x * y, and x % y is x * (y + 1): 0, -x (INT_MIN is its own negation); x, 0.
 */
static void signed_reg(struct jit_ctx *jit, struct division *d)
{
	uint8_t *ordinary, *end;

	x64_lea(jit, d->w, X64_TMP, x64_at(d->by, 1));
	x64_cmp_imm(jit, d->w, X64_TMP, 1);
	ordinary = x64_jcc_over(jit, CC_A);
	x64_imul(jit, d->w, d->rd, d->is_mod ? X64_TMP : d->by);
	end = x64_jmp_over(jit);
	x64_land(jit, ordinary);
	divide(jit, d);
	x64_land(jit, end);
}

/* ---- by constants ---- */

/* Unsigned, by 2 ** count, with 0 < count < width. */
static void power_of_2(struct jit_ctx *jit, const struct division *d, unsigned int count)
{
	if (!d->is_mod)
		x64_shift_imm(jit, X64_SHR, d->w, d->rd, count);
	else if (count <= 31)
		x64_and_imm(jit, W32, d->rd, (int32_t)((1u << count) - 1));
	else
		x64_mov(jit, W32, d->rd, d->rd);
}

/* by 1 (x / 1 = x, x % 1 = 0) and, signed, by -1 */
static void by_one(struct jit_ctx *jit, const struct division *d, bool negative)
{
	if (d->is_mod)
		x64_xor(jit, W32, d->rd, d->rd);
	else if (negative)
		x64_neg(jit, d->w, d->rd);
	else
		unchanged(jit, d);
}

static void by_zero(struct jit_ctx *jit, const struct division *d)
{
	if (d->is_mod)
		unchanged(jit, d);
	else
		x64_xor(jit, W32, d->rd, d->rd);
}

static bool is_power_of_2(uint64_t value)
{
	return (value & (value - 1)) == 0;
}

static void by_constant(struct jit_ctx *jit, struct division *d, int64_t imm)
{
	uint64_t value = d->w == W64 ? (uint64_t)imm : (uint32_t)imm;

	if (value == 0) {
		by_zero(jit, d);
	} else if (value == 1 || (d->is_signed && imm == -1)) {
		by_one(jit, d, imm == -1);
	} else if (!d->is_signed && is_power_of_2(value)) {
		power_of_2(jit, d, (unsigned int)__builtin_ctzll(value));
	} else {
		x64_set(jit, d->by, value);
		divide(jit, d);
	}
}

void x64_emit_divmod(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct division d = division_of(jit, in, i);

	if (in->flags & INSN_IMM)
		by_constant(jit, &d, in->imm);
	else if (d.is_signed)
		signed_reg(jit, &d);
	else
		unsigned_reg(jit, &d);
}

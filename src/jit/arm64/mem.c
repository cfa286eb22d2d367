/* SPDX-License-Identifier: MIT */
/*
 * mem.c - loads, stores and atomics, RFC 9669 sections 5.1 to 5.3
 *
 * eBPF allows addresses of any alignment, and so do plain loads and stores of a Linux process.
 * Atomics, and loads and stores with an order, must be aligned, here as in the RFC.
 */
#include "jit/arm64/a64.h"

/* A slot of the frame is one of sp. */
static enum a64_reg base_of(const struct jit_ctx *jit, unsigned int r, int32_t *off)
{
	if (r != A64_FRAME_REG)
		return a64_reg(r);
	if (jit->unit->guarded)
		return A64_FRAME;
	*off += a64_frame_size(jit);
	return SP;
}

/* The operand of a register and an offset; one that no form has is in a register of its own. */
static struct a64_mem operand(struct jit_ctx *jit, unsigned int bytes, unsigned int r, int32_t off)
{
	enum a64_reg base = base_of(jit, r, &off);

	if (a64_is_scaled(bytes, off) || a64_fits9(off))
		return a64_at(base, off);
	a64_set(jit, A64_ADDR, (uint64_t)off);
	return a64_indexed(base, A64_ADDR);
}

/* The same for instructions without offset. */
static enum a64_reg address(struct jit_ctx *jit, unsigned int r, int32_t off)
{
	enum a64_reg base = base_of(jit, r, &off);

	if (off == 0)
		return base;
	a64_add_any(jit, W64, A64_ADDR, base, off);
	return A64_ADDR;
}

/* ---- loads and stores ---- */

static void load_acquire(struct jit_ctx *jit, const struct insn *in)
{
	enum a64_reg base = address(jit, in->src, in->off), rd = a64_reg(in->dst);
	size_t at = jit_here(jit);

	a64_put(jit, a64_ldar(in->bytes, rd, base));
	jit_may_fault(jit, at, rd);
}

void a64_emit_load(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_reg rd = a64_reg(in->dst);
	struct a64_mem mem;
	size_t at;

	(void)i;
	if (in->flags & INSN_ORDER) {
		load_acquire(jit, in);
		return;
	}
	mem = operand(jit, in->bytes, in->src, in->off);
	at = jit_here(jit);
	a64_put(jit, a64_ls(in->flags & INSN_SX ? A64_LDRS : A64_LDR, in->bytes, rd, mem));
	jit_may_fault(jit, at, rd);
}

/* What of a constant is stored, in the cheapest form that has it. */
static uint64_t stored_part(const struct insn *in)
{
	switch (in->bytes) {
	case 1: return (uint8_t)in->imm;
	case 2: return (uint16_t)in->imm;
	case 4: return (uint32_t)in->imm;
	default: return (uint64_t)in->imm;
	}
}

static enum a64_reg stored(struct jit_ctx *jit, const struct insn *in)
{
	if (!(in->flags & INSN_IMM))
		return a64_read(jit, in->src, A64_TMP);
	if (stored_part(in) == 0)
		return XZR;
	a64_set(jit, A64_TMP, stored_part(in));
	return A64_TMP;
}

static void store_release(struct jit_ctx *jit, const struct insn *in, enum a64_reg rs)
{
	enum a64_reg base = address(jit, in->dst, in->off);
	size_t at = jit_here(jit);

	a64_put(jit, a64_stlr(in->bytes, rs, base));
	jit_may_fault(jit, at, FAULT_NO_REG);
}

void a64_emit_store(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_reg rs = stored(jit, in);
	struct a64_mem mem;
	size_t at;

	(void)i;
	if (in->flags & INSN_ORDER) {
		store_release(jit, in, rs);
		return;
	}
	mem = operand(jit, in->bytes, in->dst, in->off);
	at = jit_here(jit);
	a64_put(jit, a64_ls(A64_STR, in->bytes, rs, mem));
	jit_may_fault(jit, at, FAULT_NO_REG);
}

/* ---- atomics ---- */

/* An atomic operation on [base] with @rs. */
struct atomic {
	unsigned int bytes;
	enum a64_width w;
	enum a64_reg rs, base;
};

/* In one order with all others where a value is fetched, else only indivisible, as Linux has them.
 */
#define SEQ_CST (A64_ACQUIRE | A64_RELEASE)

static uint32_t lse_word(const struct insn *in, enum a64_reg rs, enum a64_reg rt, enum a64_reg base)
{
	unsigned int order = in->flags & INSN_FETCH ? SEQ_CST : 0;

	switch (in->op) {
	case ATOMIC_ADD: return a64_ldadd(in->bytes, order, rs, rt, base);
	case ATOMIC_OR: return a64_ldset(in->bytes, order, rs, rt, base);
	case ATOMIC_AND: return a64_ldclr(in->bytes, order, rs, rt, base);
	case ATOMIC_XOR: return a64_ldeor(in->bytes, order, rs, rt, base);
	default: return a64_swp(in->bytes, order, rs, rt, base);
	}
}

/* and is there as and-not: with the operand inverted */
static void with_lse(struct jit_ctx *jit, const struct insn *in, const struct atomic *a)
{
	bool fetch = in->flags & INSN_FETCH;
	enum a64_reg rs = a->rs;
	size_t at;

	if (in->op == ATOMIC_AND) {
		a64_put(jit, a64_mvn(a->w, A64_TMP, rs));
		rs = A64_TMP;
	}
	at = jit_here(jit);
	a64_put(jit, lse_word(in, rs, fetch ? a->rs : XZR, a->base));
	jit_may_fault(jit, at, fetch ? a->rs : FAULT_NO_REG);
}

static uint32_t combine(const struct insn *in, enum a64_width w, enum a64_reg rd, enum a64_reg old,
			enum a64_reg rs)
{
	switch (in->op) {
	case ATOMIC_ADD: return a64_add(w, rd, old, rs);
	case ATOMIC_OR: return a64_orr(w, rd, old, rs);
	case ATOMIC_AND: return a64_and(w, rd, old, rs);
	default: return a64_eor(w, rd, old, rs);
	}
}

/*
 *	again:	ld(a)xr	tmp, [base]
 *		op	stored, tmp, rs
 *		st(l)xr	failed, stored, [base]
 *		cbnz	failed, again
 *		dmb	ish
 *		mov	rs, tmp
 *
 * The barrier keeps what comes behind from the store, which stlxr alone would not. Loads, stores
 * and branches but these are not allowed in between (section B2.9.5).
 */
static void with_loop(struct jit_ctx *jit, const struct insn *in, const struct atomic *a)
{
	bool fetch = in->flags & INSN_FETCH;
	enum a64_reg result = in->op == ATOMIC_XCHG ? a->rs : A64_STORED;
	size_t load_at = jit_here(jit), store_at;

	a64_put(jit, (fetch ? a64_ldaxr : a64_ldxr)(a->bytes, A64_TMP, a->base));
	if (in->op != ATOMIC_XCHG)
		a64_put(jit, combine(in, a->w, result, A64_TMP, a->rs));
	store_at = jit_here(jit);
	a64_put(jit, (fetch ? a64_stlxr : a64_stxr)(a->bytes, A64_FAILED, result, a->base));
	a64_put(jit, a64_cbz(A64_NE, W32, A64_FAILED, -(int32_t)(jit_here(jit) - load_at)));
	jit_may_fault(jit, load_at, A64_TMP);
	jit_may_fault(jit, store_at, A64_TMP);
	if (!fetch)
		return;
	a64_put(jit, a64_dmb_ish());
	a64_put(jit, a64_mov(a->w, a->rs, A64_TMP));
}

/* One instruction: what it compares with, and gives, is r0. */
static void swap_with_lse(struct jit_ctx *jit, const struct atomic *a)
{
	size_t at = jit_here(jit);

	a64_put(jit, a64_casal(a->bytes, a64_reg(0), a->rs, a->base));
	jit_may_fault(jit, at, a64_reg(0));
}

/*
 *	again:	ldaxr	tmp, [base]
 *		cmp	tmp, x7
 *		b.ne	out
 *		stlxr	failed, rs, [base]
 *		cbnz	failed, again
 *	out:	dmb	ish
 *		mov	x7, tmp
 */
static void swap_with_loop(struct jit_ctx *jit, const struct atomic *a)
{
	size_t load_at = jit_here(jit), store_at;

	a64_put(jit, a64_ldaxr(a->bytes, A64_TMP, a->base));
	a64_put(jit, a64_cmp(a->w, A64_TMP, a64_reg(0)));
	a64_put(jit, a64_bcc(A64_NE, 12));
	store_at = jit_here(jit);
	a64_put(jit, a64_stlxr(a->bytes, A64_FAILED, a->rs, a->base));
	a64_put(jit, a64_cbz(A64_NE, W32, A64_FAILED, -16));
	jit_may_fault(jit, load_at, A64_TMP);
	jit_may_fault(jit, store_at, A64_TMP);
	a64_put(jit, a64_dmb_ish());
	a64_put(jit, a64_mov(a->w, a64_reg(0), A64_TMP));
}

void a64_emit_atomic(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	bool lse = jit->features & A64_LSE;
	const struct atomic a = {
		.bytes = in->bytes,
		.w = in->bytes == 8 ? W64 : W32,
		.rs = a64_read(jit, in->src, A64_MORE),
		.base = address(jit, in->dst, in->off),
	};

	(void)i;
	if (in->op == ATOMIC_CMPXCHG)
		(lse ? swap_with_lse : swap_with_loop)(jit, &a);
	else
		(lse ? with_lse : with_loop)(jit, in, &a);
}

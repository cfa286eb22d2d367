/* SPDX-License-Identifier: MIT */
/*
 * mem.c - loads, stores and atomics, RFC 9669 sections 5.1 to 5.3
 *
 * eBPF allows addresses of any alignment, and so do plain loads and stores of a Linux process on
 * RISC-V: in the CPU, or emulated by what runs above it (riscv_hwprobe(2), "misaligned").
 * Atomics must be aligned, here as in the RFC.
 */
#include "jit/riscv64/rv.h"

/*
 * The operand of a register and an offset, which has 16 bits where an instruction's has 12; a slot
 * of the frame is one of sp.
 */
static struct rv_mem operand(struct jit_ctx *jit, unsigned int r, int32_t off)
{
	enum rv_reg base = RV_SP;

	if (r == RV_FRAME_REG && jit->unit->guarded)
		base = RV_FRAME;
	else if (r == RV_FRAME_REG)
		off += (int32_t)jit->frame.stack;
	else
		base = rv_reg(r);
	if (rv_fits12(off))
		return rv_at(base, off);
	rv_put(jit, rv_lui(RV_ADDR, rv_hi20(off)));
	rv_put(jit, rv_add(RV_ADDR, RV_ADDR, base));
	return rv_at(RV_ADDR, rv_lo12(off));
}

/* The same for instructions without offset. */
static enum rv_reg address(struct jit_ctx *jit, unsigned int r, int32_t off)
{
	struct rv_mem mem = operand(jit, r, off);

	if (mem.off == 0)
		return mem.base;
	rv_put(jit, rv_addi(RV_ADDR, mem.base, mem.off));
	return RV_ADDR;
}

/* ---- loads and stores ---- */

static uint32_t load_word(unsigned int bytes, enum rv_reg rd, struct rv_mem mem)
{
	switch (bytes) {
	case 1: return rv_lbu(rd, mem);
	case 2: return rv_lhu(rd, mem);
	case 4: return rv_lwu(rd, mem);
	default: return rv_ld(rd, mem);
	}
}

static uint32_t load_sx_word(unsigned int bytes, enum rv_reg rd, struct rv_mem mem)
{
	switch (bytes) {
	case 1: return rv_lb(rd, mem);
	case 2: return rv_lh(rd, mem);
	default: return rv_lw(rd, mem);
	}
}

/*
 * The fences of ordered loads and stores, as the C11 acquire and release operations of the manual's
 * table "Mappings from C/C++ primitives to RISC-V primitives".
 */
static void acquire(struct jit_ctx *jit, const struct insn *in)
{
	if (in->flags & INSN_ORDER)
		rv_put(jit, rv_fence(RV_FENCE_R, RV_FENCE_R | RV_FENCE_W));
}

static void release(struct jit_ctx *jit, const struct insn *in)
{
	if (in->flags & INSN_ORDER)
		rv_put(jit, rv_fence(RV_FENCE_R | RV_FENCE_W, RV_FENCE_W));
}

/* Where nobody reads the upper half of four bytes, lw: it has a compressed form, lwu none. */
void rv_emit_load(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct rv_mem mem = operand(jit, in->src, in->off);
	bool sx = (in->flags & INSN_SX) || (in->bytes == 4 && !rv_is_upper_live(jit, in->dst, i));
	enum rv_reg rd = rv_reg(in->dst);
	size_t at = jit_here(jit);

	rv_put(jit, (sx ? load_sx_word : load_word)(in->bytes, rd, mem));
	jit_may_fault(jit, at, rd);
	acquire(jit, in);
}

static uint32_t store_word(unsigned int bytes, enum rv_reg rs, struct rv_mem mem)
{
	switch (bytes) {
	case 1: return rv_sb(rs, mem);
	case 2: return rv_sh(rs, mem);
	case 4: return rv_sw(rs, mem);
	default: return rv_sd(rs, mem);
	}
}

/* What of a constant is stored, in the cheapest form that has it. */
static int64_t stored_part(const struct insn *in)
{
	switch (in->bytes) {
	case 1: return (int8_t)in->imm;
	case 2: return (int16_t)in->imm;
	case 4: return (int32_t)in->imm;
	default: return in->imm;
	}
}

static enum rv_reg stored(struct jit_ctx *jit, const struct insn *in)
{
	if (!(in->flags & INSN_IMM))
		return rv_read(jit, in->src, RV_TMP);
	if (stored_part(in) == 0)
		return RV_ZERO;
	rv_set(jit, RV_TMP, stored_part(in));
	return RV_TMP;
}

void rv_emit_store(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rs = stored(jit, in);
	struct rv_mem mem = operand(jit, in->dst, in->off);
	size_t at;

	(void)i;
	release(jit, in);
	at = jit_here(jit);
	rv_put(jit, store_word(in->bytes, rs, mem));
	jit_may_fault(jit, at, FAULT_NO_REG);
}

/* ---- atomics ---- */

/*
 * In one order with all others where a value is fetched, as the C11 seq_cst operations of the
 * manual's table "Mappings from C/C++ primitives to RISC-V primitives"; else only indivisible.
 */
#define SEQ_CST (RV_AQ | RV_RL)

/* rd: RV_ZERO to forget the old value */
static uint32_t amo_word(const struct insn *in, enum rv_reg rd, enum rv_reg rs, enum rv_reg base)
{
	unsigned int order = in->flags & INSN_FETCH ? SEQ_CST : 0;

	switch (in->op) {
	case ATOMIC_ADD: return rv_amoadd(in->bytes, order, rd, rs, base);
	case ATOMIC_OR: return rv_amoor(in->bytes, order, rd, rs, base);
	case ATOMIC_AND: return rv_amoand(in->bytes, order, rd, rs, base);
	case ATOMIC_XOR: return rv_amoxor(in->bytes, order, rd, rs, base);
	default: return rv_amoswap(in->bytes, order, rd, rs, base);
	}
}

/* The old value of 32 bits comes sign-extended. */
static void finish_fetch(struct jit_ctx *jit, const struct insn *in, unsigned int r, uint32_t i)
{
	if (in->bytes == 4 && rv_is_upper_live(jit, r, i))
		rv_zext(jit, rv_reg(r), rv_reg(r));
}

static void fetch(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg base = address(jit, in->dst, in->off), rs = rv_reg(in->src);
	size_t at = jit_here(jit);

	rv_put(jit, amo_word(in, rs, rs, base));
	jit_may_fault(jit, at, rs);
	finish_fetch(jit, in, in->src, i);
}

static void change(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rs = rv_read(jit, in->src, RV_TMP);
	enum rv_reg base = address(jit, in->dst, in->off);
	size_t at = jit_here(jit);

	rv_put(jit, amo_word(in, RV_ZERO, rs, base));
	jit_may_fault(jit, at, FAULT_NO_REG);
}

/* What the old value is compared with: r0, of 32 bits sign-extended as lr.w gives them. */
static enum rv_reg expected(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->bytes == 8 || (rv_form(jit, 0, i) & RV_SX))
		return rv_reg(0);
	rv_put(jit, rv_sext_w(RV_MORE, rv_reg(0)));
	return RV_MORE;
}

/*
 *	again:	lr	tmp, (base)
 *		bne	tmp, expected, out
 *		sc	failed, rs, (base)
 *		bnez	failed, again
 *	out:	mv	a5, tmp
 *
 * A loop that the manual promises an end: chapter "A", section "Eventual Success of
 * Store-Conditional Instructions".
 */
static void compare_exchange(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg base = address(jit, in->dst, in->off), rs = rv_read(jit, in->src, RV_KEPT);
	enum rv_reg want = expected(jit, in, i);
	size_t load_at = jit_here(jit), store_at;

	rv_put(jit, rv_lr(in->bytes, SEQ_CST, RV_TMP, base));
	rv_put_wide(jit, rv_bcc(RV_NE, RV_TMP, want, 12));
	store_at = jit_here(jit);
	rv_put(jit, rv_sc(in->bytes, RV_RL, RV_FAILED, rs, base));
	rv_put_wide(jit, rv_bcc(RV_NE, RV_FAILED, RV_ZERO, -12));
	jit_may_fault(jit, load_at, RV_TMP);
	jit_may_fault(jit, store_at, RV_TMP);
	rv_put(jit, rv_mv(rv_reg(0), RV_TMP));
	finish_fetch(jit, in, 0, i);
}

void rv_emit_atomic(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->op == ATOMIC_CMPXCHG)
		compare_exchange(jit, in, i);
	else if (in->flags & INSN_FETCH)
		fetch(jit, in, i);
	else
		change(jit, in);
}

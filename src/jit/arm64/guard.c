/* SPDX-License-Identifier: MIT */
/*
 * guard.c - what guarded units have before their insns (bpf/guard.h)
 *
 * An insn tells the way to guard_slow() its address in x10 and its number in x11, and keeps x30 in
 * x12: functions that call nothing have not saved it.
 */
#include "jit/arm64/a64.h"

#include "bpf/guard.h"

#define LINK_KEPT X12
#define NARGS 5u
#define PASSED 6u /* r0 .. r5 */

static struct a64_mem field(size_t offset)
{
	return a64_at(A64_GUARD, (int32_t)offset);
}

static struct a64_mem slot_field(const struct insn *in, size_t offset)
{
	return field(offsetof(struct guard, slots) + in->target * sizeof(struct guard_slot) +
		     offset);
}

static void load(struct jit_ctx *jit, enum a64_reg rt, struct a64_mem mem)
{
	a64_put(jit, a64_ls(A64_LDR, 8, rt, mem));
}

/* A frame record, and the two registers that are the unit's. */
static void enter(struct jit_ctx *jit)
{
	a64_land(jit);
	a64_put(jit, a64_stp_pre(A64_FP, A64_LR, SP, -32));
	a64_put(jit, a64_add_imm(W64, A64_FP, SP, 0));
	a64_put(jit, a64_stp(A64_FRAME, A64_GUARD, SP, 16));
	a64_put(jit, a64_mov(W64, A64_GUARD, X0));
	a64_put(jit, a64_mov(W64, A64_TMP, X1));
	load(jit, A64_FRAME, field(offsetof(struct guard, frame)));
	for (unsigned int r = 1; r <= NARGS; r++)
		load(jit, a64_reg(r), field(offsetof(struct guard, args) + 8 * (r - 1)));
	a64_put(jit, a64_blr(A64_TMP));
	a64_put(jit, a64_ldp(A64_FRAME, A64_GUARD, SP, 16));
	a64_put(jit, a64_ldp_post(A64_FP, A64_LR, SP, 32));
	a64_put(jit, a64_ret(A64_LR));
}

#define SLOW_SIZE 80 /* the record, r0 .. r5, x12 */
#define SLOW_REGS 16

static void each_of_slow(struct jit_ctx *jit, enum a64_ls op)
{
	for (unsigned int r = 0; r < PASSED; r++)
		a64_put(jit, a64_ls(op, 8, a64_reg(r), a64_at(SP, SLOW_REGS + 8 * (int32_t)r)));
	a64_put(jit, a64_ls(op, 8, LINK_KEPT, a64_at(SP, SLOW_REGS + 8 * (int32_t)PASSED)));
}

static void slow(struct jit_ctx *jit)
{
	a64_land(jit);
	a64_put(jit, a64_stp_pre(A64_FP, A64_LR, SP, -SLOW_SIZE));
	a64_put(jit, a64_add_imm(W64, A64_FP, SP, 0));
	each_of_slow(jit, A64_STR);
	a64_put(jit, a64_mov(W64, X0, A64_GUARD));
	a64_put(jit, a64_mov(W64, X1, A64_ADDR));
	a64_put(jit, a64_mov(W64, X2, A64_MORE));
	a64_put(jit, a64_add_imm(W64, X3, SP, SLOW_REGS));
	a64_call_c(jit, jit->outside.guard_slow);
	each_of_slow(jit, A64_LDR);
	a64_put(jit, a64_ldp_post(A64_FP, A64_LR, SP, SLOW_SIZE));
	a64_put(jit, a64_ret(A64_LR));
}

/* Wherever it is: off the way of insns that pass, its size does not matter. */
static void call_slow(struct jit_ctx *jit, uint32_t i)
{
	a64_set(jit, A64_MORE, i);
	a64_put(jit, a64_mov(W64, LINK_KEPT, A64_LR));
	a64_put_address(jit, A64_FAR, jit->rx + jit->slow);
	a64_put(jit, a64_blr(A64_FAR));
	a64_put(jit, a64_mov(W64, A64_LR, LINK_KEPT));
}

/* Emitted twice, first for its size: a branch cannot be put before what is there. */
static void call_slow_unless(struct jit_ctx *jit, enum a64_cc cc, uint32_t i)
{
	uint8_t *start = jit->pos;
	int32_t size;

	call_slow(jit, i);
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	a64_put(jit, a64_bcc(cc, size + 4));
	call_slow(jit, i);
}

static void check_access(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	unsigned int base = in->kind == INSN_LOAD ? in->src : in->dst;

	a64_add_any(jit, W64, A64_ADDR, a64_read(jit, base, A64_ADDR), in->off);
	load(jit, A64_TMP, slot_field(in, offsetof(struct guard_slot, lo)));
	a64_put(jit, a64_sub(W64, A64_TMP, A64_ADDR, A64_TMP));
	load(jit, A64_MORE, slot_field(in, offsetof(struct guard_slot, room)));
	a64_put(jit, a64_cmp(W64, A64_TMP, A64_MORE));
	call_slow_unless(jit, A64_LS, i);
}

static void check(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	unsigned int r = in->kind == INSN_PACKET ? 6 : in->dst;

	if (in->flags & INSN_GUARD) {
		check_access(jit, in, i);
		return;
	}
	if (in->kind != INSN_HELPER)
		a64_put(jit, a64_mov(W64, A64_ADDR, a64_read(jit, r, A64_ADDR)));
	call_slow(jit, i);
}

static void charge(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct a64_mem left = field(offsetof(struct guard, left));

	load(jit, A64_TMP, left);
	a64_set(jit, A64_MORE, in->charge);
	a64_put(jit, a64_subs(W64, A64_TMP, A64_TMP, A64_MORE));
	a64_put(jit, a64_ls(A64_STR, 8, A64_TMP, left));
	call_slow_unless(jit, A64_PL, i);
}

/*
 * r1 .. r3 move behind the guard. fn() says whether a program has run, and leaves the result in the
 * guard. Emitted twice, as above.
 */
static void tail(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *start;
	int32_t size;

	(void)i;
	a64_put(jit, a64_mov(W64, X3, X2));
	a64_put(jit, a64_mov(W64, X2, X1));
	a64_put(jit, a64_mov(W64, X1, X0));
	a64_put(jit, a64_mov(W64, X0, A64_GUARD));
	a64_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	load(jit, a64_reg(0), field(offsetof(struct guard, args)));
	start = jit->pos;
	a64_epilogue(jit);
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	a64_put(jit, a64_cbz(A64_EQ, W64, X0, size + 4));
	a64_epilogue(jit);
}

const struct jit_guard a64_guard = {
	.enter = enter,
	.slow = slow,
	.check = check,
	.charge = charge,
	.tail = tail,
};

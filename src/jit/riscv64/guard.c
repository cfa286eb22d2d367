/* SPDX-License-Identifier: MIT */
/*
 * guard.c - what guarded units have before their insns (bpf/guard.h)
 *
 * An insn tells the way to guard_slow() its address in t2 and its number in t3. It is called with
 * t0 as the link: insns of functions that call nothing may not change ra.
 */
#include "jit/riscv64/rv.h"

#include "bpf/guard.h"

#define NARGS 5u
#define PASSED 6u /* r0 .. r5 */

static struct rv_mem field(size_t offset)
{
	return rv_at(RV_GUARD, (int32_t)offset);
}

static struct rv_mem slot_field(const struct insn *in, size_t offset)
{
	return field(offsetof(struct guard, slots) + in->target * sizeof(struct guard_slot) +
		     offset);
}

/* ra, and the two registers that are the unit's: sp stays a multiple of 16. */
#define ENTER_SIZE 32

static void each_of_enter(struct jit_ctx *jit, uint32_t (*word)(enum rv_reg rd, struct rv_mem mem))
{
	rv_put(jit, word(RV_RA, rv_at(RV_SP, 0)));
	rv_put(jit, word(RV_FRAME, rv_at(RV_SP, 8)));
	rv_put(jit, word(RV_GUARD, rv_at(RV_SP, 16)));
}

static void enter(struct jit_ctx *jit)
{
	rv_put(jit, rv_addi(RV_SP, RV_SP, -ENTER_SIZE));
	each_of_enter(jit, rv_sd);
	rv_put(jit, rv_mv(RV_GUARD, RV_A0));
	rv_put(jit, rv_mv(RV_TMP, RV_A1));
	rv_put(jit, rv_ld(RV_FRAME, field(offsetof(struct guard, frame))));
	for (unsigned int r = 1; r <= NARGS; r++)
		rv_put(jit, rv_ld(rv_reg(r), field(offsetof(struct guard, args) + 8 * (r - 1))));
	rv_put(jit, rv_jalr(RV_RA, rv_at(RV_TMP, 0)));
	each_of_enter(jit, rv_ld);
	rv_put(jit, rv_addi(RV_SP, RV_SP, ENTER_SIZE));
	rv_put(jit, rv_ret());
}

#define SLOW_SIZE 64 /* r0 .. r5, t0, ra */

static void each_of_slow(struct jit_ctx *jit, uint32_t (*word)(enum rv_reg rd, struct rv_mem mem))
{
	for (unsigned int r = 0; r < PASSED; r++)
		rv_put(jit, word(rv_reg(r), rv_at(RV_SP, 8 * (int32_t)r)));
	rv_put(jit, word(RV_T0, rv_at(RV_SP, 48)));
	rv_put(jit, word(RV_RA, rv_at(RV_SP, 56)));
}

static void slow(struct jit_ctx *jit)
{
	rv_put(jit, rv_addi(RV_SP, RV_SP, -SLOW_SIZE));
	each_of_slow(jit, rv_sd);
	rv_put(jit, rv_mv(RV_A0, RV_GUARD));
	rv_put(jit, rv_mv(RV_A1, RV_ADDR));
	rv_put(jit, rv_mv(RV_A2, RV_MORE));
	rv_put(jit, rv_mv(RV_A3, RV_SP));
	rv_call_c(jit, jit->outside.guard_slow);
	each_of_slow(jit, rv_ld);
	rv_put(jit, rv_addi(RV_SP, RV_SP, SLOW_SIZE));
	rv_put(jit, rv_jalr(RV_ZERO, rv_at(RV_T0, 0)));
}

static void call_slow(struct jit_ctx *jit, uint32_t i)
{
	rv_set(jit, RV_MORE, i);
	rv_jump_far(jit, RV_T0, RV_T0, rv_rel(jit, jit->slow));
}

/* Emitted twice, first for its size: a branch cannot be put before what is there. */
static void call_slow_unless(struct jit_ctx *jit, enum rv_cc cc, enum rv_reg rs1, enum rv_reg rs2,
			     uint32_t i)
{
	uint8_t *start = jit->pos;
	int32_t size;

	call_slow(jit, i);
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	rv_put_wide(jit, rv_bcc(cc, rs1, rs2, size + 4));
	call_slow(jit, i);
}

static void set_address(struct jit_ctx *jit, enum rv_reg base, int32_t off)
{
	if (rv_fits12(off)) {
		rv_put(jit, rv_addi(RV_ADDR, base, off));
		return;
	}
	rv_set(jit, RV_ADDR, off);
	rv_put(jit, rv_add(RV_ADDR, RV_ADDR, base));
}

static void check_access(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	unsigned int base = in->kind == INSN_LOAD ? in->src : in->dst;

	set_address(jit, rv_read(jit, base, RV_TMP), in->off);
	rv_put(jit, rv_ld(RV_TMP, slot_field(in, offsetof(struct guard_slot, lo))));
	rv_put(jit, rv_sub(RV_TMP, RV_ADDR, RV_TMP));
	rv_put(jit, rv_ld(RV_MORE, slot_field(in, offsetof(struct guard_slot, room))));
	call_slow_unless(jit, RV_GEU, RV_MORE, RV_TMP, i);
}

static void check(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->flags & INSN_GUARD) {
		check_access(jit, in, i);
		return;
	}
	if (in->kind != INSN_HELPER)
		rv_put(jit,
		       rv_mv(RV_ADDR, rv_read(jit, in->kind == INSN_PACKET ? 6 : in->dst, RV_TMP)));
	call_slow(jit, i);
}

static void charge(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct rv_mem left = field(offsetof(struct guard, left));

	rv_put(jit, rv_ld(RV_TMP, left));
	rv_set(jit, RV_MORE, in->charge);
	rv_put(jit, rv_sub(RV_TMP, RV_TMP, RV_MORE));
	rv_put(jit, rv_sd(RV_TMP, left));
	call_slow_unless(jit, RV_GE, RV_TMP, RV_ZERO, i);
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
	rv_put(jit, rv_mv(RV_A3, RV_A2));
	rv_put(jit, rv_mv(RV_A2, RV_A1));
	rv_put(jit, rv_mv(RV_A1, RV_A0));
	rv_put(jit, rv_mv(RV_A0, RV_GUARD));
	rv_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	rv_put(jit, rv_ld(rv_reg(0), field(offsetof(struct guard, args))));
	start = jit->pos;
	rv_epilogue(jit);
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	rv_put_wide(jit, rv_bcc(RV_EQ, RV_A0, RV_ZERO, size + 4));
	rv_epilogue(jit);
}

const struct jit_guard rv_guard = {
	.enter = enter,
	.slow = slow,
	.check = check,
	.charge = charge,
	.tail = tail,
};

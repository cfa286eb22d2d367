/* SPDX-License-Identifier: MIT */
/*
 * guard.c - what guarded units have before their insns (bpf/guard.h)
 *
 * r12 holds the guard, off by X64_GUARD_BIAS so that most of it is in reach of a disp8; rbp is r10.
 * An insn tells the way to guard_slow() its address in r11 and its number in r10.
 */
#include "jit/x86_64/x64.h"

#include "bpf/guard.h"

#define GUARD_BIAS 128

static struct x64_mem field(size_t offset)
{
	return x64_at(R12, (int32_t)offset - GUARD_BIAS);
}

static struct x64_mem slot_field(const struct insn *in, size_t offset)
{
	return field(offsetof(struct guard, slots) + in->target * sizeof(struct guard_slot) +
		     offset);
}

/* r0 .. r5, from the top of the stack on */
static const uint8_t passed[] = {RAX, RDI, RSI, RDX, RCX, R8};

/* Two pushes and eight bytes more leave rsp 16-aligned for the call. */
static void enter(struct jit_ctx *jit)
{
	x64_push(jit, RBP);
	x64_push(jit, R12);
	x64_sub_imm(jit, W64, RSP, 8);
	x64_lea(jit, W64, R12, x64_at(RDI, GUARD_BIAS));
	x64_mov(jit, W64, X64_TMP, RSI);
	x64_load(jit, 8, RBP, field(offsetof(struct guard, frame)));
	for (unsigned int k = 1; k < sizeof(passed); k++)
		x64_load(jit, 8, (enum x64_reg)passed[k],
			 field(offsetof(struct guard, args) + (k - 1) * sizeof(uint64_t)));
	x64_call_reg(jit, X64_TMP);
	x64_add_imm(jit, W64, RSP, 8);
	x64_pop(jit, R12);
	x64_pop(jit, RBP);
	x64_ret(jit);
}

/* Functions that call nothing have rsp anyhow: it is aligned, and kept where it then points. */
static void slow(struct jit_ctx *jit)
{
	for (size_t k = sizeof(passed); k-- > 0;)
		x64_push(jit, (enum x64_reg)passed[k]);
	x64_lea(jit, W64, RDI, x64_at(R12, -GUARD_BIAS));
	x64_mov(jit, W64, RSI, R11);
	x64_mov(jit, W32, RDX, R10);
	x64_mov(jit, W64, RCX, RSP);
	x64_and_imm(jit, W64, RSP, -16);
	x64_push(jit, RCX);
	x64_push(jit, RCX);
	x64_call_c(jit, jit->outside.guard_slow);
	x64_load(jit, 8, RSP, x64_at(RSP, 0));
	for (size_t k = 0; k < sizeof(passed); k++)
		x64_pop(jit, (enum x64_reg)passed[k]);
	x64_ret(jit);
}

static void call_slow(struct jit_ctx *jit, uint32_t i)
{
	x64_mov_imm32(jit, R10, i);
	x64_call(jit, x64_rel(jit, jit->slow, X64_CALL_SIZE));
}

static void check_access(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum x64_reg base = x64_reg(in->kind == INSN_LOAD ? in->src : in->dst);
	uint8_t *over;

	x64_lea(jit, W64, R11, x64_at(base, in->off));
	x64_mov(jit, W64, R10, R11);
	x64_alu_from(jit, X64_SUB, W64, R10, slot_field(in, offsetof(struct guard_slot, lo)));
	x64_alu_from(jit, X64_CMP, W64, R10, slot_field(in, offsetof(struct guard_slot, room)));
	over = x64_jcc_over(jit, CC_BE);
	call_slow(jit, i);
	x64_land(jit, over);
}

static void check(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->flags & INSN_GUARD) {
		check_access(jit, in, i);
		return;
	}
	if (in->kind != INSN_HELPER)
		x64_mov(jit, W64, R11, x64_reg(in->kind == INSN_PACKET ? 6 : in->dst));
	call_slow(jit, i);
}

static void charge(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *over;

	x64_alu_mem_imm(jit, X64_SUB, field(offsetof(struct guard, left)), (int32_t)in->charge);
	over = x64_jcc_over(jit, CC_NS);
	call_slow(jit, i);
	x64_land(jit, over);
}

/*
 * r1 .. r3 move behind the guard. fn() says whether a program has run, and leaves the result in the
 * guard; mov leaves the flags.
 */
static void tail(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *over;

	(void)i;
	x64_mov(jit, W64, RCX, RDX);
	x64_mov(jit, W64, RDX, RSI);
	x64_mov(jit, W64, RSI, RDI);
	x64_lea(jit, W64, RDI, x64_at(R12, -GUARD_BIAS));
	x64_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	x64_test(jit, W64, RAX, RAX);
	x64_load(jit, 8, RAX, field(offsetof(struct guard, args)));
	over = x64_jcc_over(jit, CC_E);
	x64_epilogue(jit);
	x64_land(jit, over);
}

const struct jit_guard x64_guard = {
	.enter = enter,
	.slow = slow,
	.check = check,
	.charge = charge,
	.tail = tail,
};

/* SPDX-License-Identifier: MIT */
/*
 * call.c - functions: prologue, calls and the way out, after the RISC-V psABI
 *
 *	[sp + size]		the caller's stack; size is a multiple of 16
 *	[sp + stack ..]		ra, if it calls; callee-saved registers that this function changes
 *	[sp .. sp + stack - 1]	the eBPF frame; sp + stack is r10
 *	[sp]			may_gotos that are left, if it has any: the lowest 8 bytes of stack
 *
 * In guarded units eBPF frames are elsewhere (bpf/guard.h), and s5 is set once by who enters.
 *
 * Every part is there only if the function needs it. There is no red zone below sp (section
 * "Integer Calling Convention"): who has a frame moves sp.
 */
#include "jit/riscv64/rv.h"

#define SAVED_REGS (1u << 6 | 1u << 7 | 1u << 8 | 1u << 9)

/* ---- prologue and epilogue ---- */

static int32_t frame_size(const struct jit_ctx *jit)
{
	const struct jit_frame *frame = &jit->frame;
	uint32_t saved = (uint32_t)__builtin_popcount(frame->saved) + jit->has_calls[jit->func];

	return (int32_t)((frame->stack + 8 * saved + 15) & ~15u);
}

/* The stores of a prologue, or the loads of an epilogue. */
static void each_saved(struct jit_ctx *jit, uint32_t (*word)(enum rv_reg rd, struct rv_mem mem))
{
	struct rv_mem slot = rv_at(RV_SP, (int32_t)jit->frame.stack);

	if (jit->has_calls[jit->func]) {
		rv_put(jit, word(RV_RA, slot));
		slot.off += 8;
	}
	for (unsigned int r = 6; r <= 9; r++) {
		if (!(jit->frame.saved >> r & 1))
			continue;
		rv_put(jit, word(rv_reg(r), slot));
		slot.off += 8;
	}
}

static void end_run(struct jit_ctx *jit)
{
	rv_put(jit, rv_ld(RV_RA, rv_at(RV_SP, 0)));
	rv_put(jit, rv_ld(RV_TAILS, rv_at(RV_SP, 8)));
	rv_put(jit, rv_addi(RV_SP, RV_SP, 32));
	rv_put(jit, rv_ret());
}

/* The program begins behind it. */
void rv_begin_run(struct jit_ctx *jit)
{
	uint8_t *start;
	int32_t size;

	rv_put(jit, rv_addi(RV_SP, RV_SP, -32));
	rv_put(jit, rv_sd(RV_RA, rv_at(RV_SP, 0)));
	rv_put(jit, rv_sd(RV_TAILS, rv_at(RV_SP, 8)));
	rv_set(jit, RV_TMP, BPF_MAX_TAILS);
	rv_put(jit, rv_sd(RV_TMP, rv_at(RV_SP, 16)));
	rv_put(jit, rv_addi(RV_TAILS, RV_SP, 16));
	start = jit->pos;
	end_run(jit); /* for its size */
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	rv_put_wide(jit, rv_jal(RV_RA, size + 4));
	end_run(jit);
}

void rv_prologue(struct jit_ctx *jit)
{
	const struct func_flow *flow = &jit->flow->funcs[jit->func];

	jit->frame = (struct jit_frame){
		.saved = flow->writes & SAVED_REGS,
		.stack = (jit->unit->guarded ? 0u : flow->stack) + (flow->loops ? 8u : 0),
	};
	if (frame_size(jit))
		rv_put(jit, rv_addi(RV_SP, RV_SP, -frame_size(jit)));
	each_saved(jit, rv_sd);
	if (!flow->loops)
		return;
	rv_set(jit, RV_TMP, BPF_MAX_LOOPS);
	rv_put(jit, rv_sd(RV_TMP, rv_at(RV_SP, 0)));
}

static void unwind(struct jit_ctx *jit)
{
	each_saved(jit, rv_ld);
	if (frame_size(jit))
		rv_put(jit, rv_addi(RV_SP, RV_SP, frame_size(jit)));
}

/* r0 stays in a5 too, where a local call wants it. */
void rv_epilogue(struct jit_ctx *jit)
{
	rv_put(jit, rv_mv(RV_A0, rv_reg(0)));
	unwind(jit);
	rv_put(jit, rv_ret());
}

/*
 * The first exit of a function holds the epilogue; a later one jumps to it if that is shorter. One
 * that is charged for is not jumped to: who jumps there has paid.
 */
void rv_emit_exit(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *start = jit->pos, *end;

	rv_epilogue(jit);
	if (jit->exit == JIT_NONE || in->charge) {
		if (!in->charge)
			jit->exit = i;
		return;
	}
	end = jit->pos;
	jit->pos = start;
	if (rv_jump_size(jit, jit->exit, 0) < end - start)
		rv_jump_to(jit, jit->exit);
	else
		jit->pos = end;
}

void rv_zero(struct jit_ctx *jit, uint16_t mask)
{
	for (unsigned int r = 0; r < RV_FRAME_REG; r++)
		if (mask >> r & 1)
			rv_set(jit, rv_reg(r), 0);
}

/* ---- calls ---- */

/* No prologue is longer, nor a call's insn. */
#define CALL_SLACK 1024u

/*
 * Does jal reach function @f from insn @i? The guess has no place for its entry, but for its
 * first insn, which lies behind the prologue.
 */
static bool is_near(const struct jit_ctx *jit, uint32_t i, uint32_t f)
{
	uint32_t start = jit->unit->funcs[f].start, distance;

	if (!jit->guess)
		return false;
	distance =
		start > i ? jit->guess[start] - jit->guess[i] : jit->guess[i] - jit->guess[start];
	return distance + CALL_SLACK < 1 << 20;
}

/* r10 is where the called function's frame ends, if it is not its own affair. */
static void move_frame(struct jit_ctx *jit, int32_t bytes)
{
	if (jit->unit->guarded)
		rv_put(jit, rv_addi(RV_FRAME, RV_FRAME, bytes));
}

void rv_emit_call(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	int32_t rel;

	move_frame(jit, -BPF_FRAME);
	rel = rv_rel(jit, jit->inner[in->target]);
	if (is_near(jit, i, in->target))
		rv_put_wide(jit, rv_jal(RV_RA, rel));
	else
		rv_jump_far(jit, RV_RA, RV_RA, rel);
	move_frame(jit, BPF_FRAME);
}

/* a5: what most calls are about to set. */
void rv_call_c(struct jit_ctx *jit, uintptr_t fn)
{
	if (rv_reaches(jit, fn)) {
		rv_jump_far(jit, RV_RA, RV_RA, rv_rel(jit, fn - jit->rx));
		return;
	}
	rv_set_address(jit, rv_reg(0), fn);
	rv_put(jit, rv_jalr(RV_RA, rv_at(rv_reg(0), 0)));
}

void rv_emit_helper(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	rv_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	if (jit->flow->live_in[i + 1] & 1)
		rv_put(jit, rv_mv(rv_reg(0), RV_A0));
}

#define ARGUMENTS 5
#define KEPT_SIZE 48 /* of five registers, and sp stays a multiple of 16 */

static void each_argument(struct jit_ctx *jit, uint32_t (*word)(enum rv_reg rd, struct rv_mem mem))
{
	for (unsigned int r = 1; r <= ARGUMENTS; r++)
		rv_put(jit, word(rv_reg(r), rv_at(RV_SP, (int32_t)(r - 1) * 8)));
}

/* The arguments are kept while it is found out what to call. */
void rv_emit_callx(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	rv_put(jit, rv_mv(RV_TMP, rv_read(jit, in->dst, RV_TMP)));
	rv_put(jit, rv_addi(RV_SP, RV_SP, -KEPT_SIZE));
	each_argument(jit, rv_sd);
	rv_put(jit, rv_mv(RV_A1, RV_TMP));
	rv_set_address(jit, RV_A0, jit->outside.unit);
	rv_call_c(jit, jit->outside.calls_native);
	rv_put(jit, rv_mv(RV_TMP, RV_A0));
	each_argument(jit, rv_ld);
	rv_put(jit, rv_addi(RV_SP, RV_SP, KEPT_SIZE));
	move_frame(jit, -BPF_FRAME);
	rv_put(jit, rv_jalr(RV_RA, rv_at(RV_TMP, 0)));
	move_frame(jit, BPF_FRAME);
	rv_put(jit, rv_mv(rv_reg(0), RV_A0));
}

/* In the program at r0: it finds r2 .. r5 zero. */
static void go_on(struct jit_ctx *jit)
{
	unwind(jit);
	rv_zero(jit, 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5);
	rv_put(jit, rv_jalr(RV_ZERO, rv_at(rv_reg(0), 0)));
}

/* r2 and r3 are where C has its second and third argument. */
void rv_emit_tail(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *start;
	int32_t size;

	(void)i;
	rv_put(jit, rv_addi(RV_SP, RV_SP, -16));
	rv_put(jit, rv_sd(rv_reg(1), rv_at(RV_SP, 0)));
	rv_put(jit, rv_mv(RV_A0, RV_TAILS));
	rv_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	rv_put(jit, rv_mv(rv_reg(0), RV_A0));
	rv_put(jit, rv_ld(rv_reg(1), rv_at(RV_SP, 0)));
	rv_put(jit, rv_addi(RV_SP, RV_SP, 16));
	start = jit->pos;
	go_on(jit); /* for its size */
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	rv_put_wide(jit, rv_bcc(RV_LT, rv_reg(0), RV_ZERO, size + 4));
	go_on(jit);
}

/* The function ends with 0. */
static void put_none(struct jit_ctx *jit)
{
	rv_set(jit, rv_reg(0), 0);
	rv_epilogue(jit);
}

/* The offset first: its register may be one of the arguments'. */
void rv_emit_packet(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *start;
	int32_t size;

	(void)i;
	rv_set(jit, RV_TMP, in->imm);
	if (!(in->flags & INSN_IMM))
		rv_put(jit, rv_addw(RV_TMP, RV_TMP, rv_read(jit, in->src, RV_MORE)));
	rv_put(jit, rv_mv(RV_A1, RV_TMP));
	rv_put(jit, rv_mv(RV_A0, rv_reg(6)));
	rv_set(jit, RV_A2, in->bytes);
	rv_call_c(jit, jit->outside.packet_load);
	rv_put(jit, rv_mv(rv_reg(0), RV_A0));
	start = jit->pos;
	put_none(jit); /* for its size: a branch cannot be put before what is there */
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	rv_put_wide(jit, rv_bcc(RV_GE, rv_reg(0), RV_ZERO, size + 4));
	put_none(jit);
}

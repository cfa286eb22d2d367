/* SPDX-License-Identifier: MIT */
/*
 * call.c - functions: prologue, calls and the way out, after the AAPCS64
 *
 *	[sp + size]		the caller's stack, and what r10 points to; size is a multiple of 16
 *	[.. - stack]		the eBPF frame
 *	[.. - 8]		may_gotos that are left, if it has any
 *	[sp + 16 ..]		callee-saved registers that this function changes
 *	[sp]			x29, x30: the frame record, if it calls (section 6.4.6)
 *
 * In guarded units eBPF frames are elsewhere (bpf/guard.h), and x23 is set once by who enters.
 *
 * Every part is there only if the function needs it; what is saved moves down where there is no
 * record. There is no red zone below sp: who has a frame moves sp. Every function that calls is in
 * the chain of frame records, so that unwinders find its caller.
 */
#include "jit/arm64/a64.h"

#define SAVED_REGS (1u << 6 | 1u << 7 | 1u << 8 | 1u << 9)

/* ---- prologue and epilogue ---- */

/* What a function saves, in the order of their slots from sp up. */
struct saved {
	enum a64_reg reg[6];
	unsigned int n;
};

static struct saved saved_by(const struct jit_ctx *jit)
{
	struct saved saved = {.n = 0};

	if (jit->has_calls[jit->func]) {
		saved.reg[saved.n++] = A64_FP;
		saved.reg[saved.n++] = A64_LR;
	}
	for (unsigned int r = 6; r <= 9; r++)
		if (jit->frame.saved >> r & 1)
			saved.reg[saved.n++] = a64_reg(r);
	return saved;
}

int32_t a64_frame_size(const struct jit_ctx *jit)
{
	const struct jit_frame *frame = &jit->frame;
	uint32_t saved =
		(uint32_t)__builtin_popcount(frame->saved) + jit->has_calls[jit->func] * 2u;

	return (int32_t)((frame->stack + 8 * saved + 15) & ~15u);
}

struct a64_mem a64_loops(const struct jit_ctx *jit)
{
	return a64_at(SP, a64_frame_size(jit) - (int32_t)jit->frame.stack);
}

/* Do the first one or two registers move sp as they are saved and restored? */
static bool moves_sp(const struct saved *saved, int32_t size)
{
	return saved->n && size <= (saved->n == 1 ? 240 : 496);
}

static void save_first(struct jit_ctx *jit, const struct saved *saved, int32_t size)
{
	if (!moves_sp(saved, size)) {
		if (size)
			a64_put(jit, a64_sub_imm(W64, SP, SP, (uint32_t)size));
		size = 0;
	}
	if (saved->n == 1)
		a64_put(jit, size ? a64_str_pre(saved->reg[0], SP, -size)
				  : a64_ls(A64_STR, 8, saved->reg[0], a64_at(SP, 0)));
	else if (saved->n)
		a64_put(jit,
			(size ? a64_stp_pre : a64_stp)(saved->reg[0], saved->reg[1], SP, -size));
}

static void restore_first(struct jit_ctx *jit, const struct saved *saved, int32_t size)
{
	int32_t moved = moves_sp(saved, size) ? size : 0;

	if (saved->n == 1)
		a64_put(jit, moved ? a64_ldr_post(saved->reg[0], SP, moved)
				   : a64_ls(A64_LDR, 8, saved->reg[0], a64_at(SP, 0)));
	else if (saved->n)
		a64_put(jit,
			(moved ? a64_ldp_post : a64_ldp)(saved->reg[0], saved->reg[1], SP, moved));
	if (size > moved)
		a64_put(jit, a64_add_imm(W64, SP, SP, (uint32_t)size));
}

/* All others, in pairs as long as there are two. */
static void each_other(struct jit_ctx *jit, const struct saved *saved, enum a64_ls one,
		       uint32_t (*two)(enum a64_reg, enum a64_reg, enum a64_reg, int32_t))
{
	for (unsigned int k = 2; k < saved->n; k += 2) {
		int32_t off = 8 * (int32_t)k;

		if (k + 1 < saved->n)
			a64_put(jit, two(saved->reg[k], saved->reg[k + 1], SP, off));
		else
			a64_put(jit, a64_ls(one, 8, saved->reg[k], a64_at(SP, off)));
	}
}

void a64_land(struct jit_ctx *jit)
{
	if (jit->features & A64_BTI)
		a64_put(jit, a64_bti_c());
}

/* Is the prologue where indirect calls come in, from within the unit or from outside? */
static bool is_landed_on(const struct jit_ctx *jit)
{
	return jit_func(jit)->taken || jit_func(jit)->entry;
}

/* The program begins behind it. */
void a64_begin_run(struct jit_ctx *jit)
{
	a64_put(jit, a64_stp_pre(A64_FP, A64_LR, SP, -32));
	a64_put(jit, a64_add_imm(W64, A64_FP, SP, 0));
	a64_set(jit, A64_TMP, BPF_MAX_TAILS);
	a64_put(jit, a64_stp(A64_TAILS, A64_TMP, SP, 16));
	a64_put(jit, a64_add_imm(W64, A64_TAILS, SP, 24));
	a64_put(jit, a64_bl(16));
	a64_put(jit, a64_ls(A64_LDR, 8, A64_TAILS, a64_at(SP, 16)));
	a64_put(jit, a64_ldp_post(A64_FP, A64_LR, SP, 32));
	a64_put(jit, a64_ret(A64_LR));
}

void a64_prologue(struct jit_ctx *jit)
{
	const struct func_flow *flow = &jit->flow->funcs[jit->func];
	struct saved saved;

	jit->frame = (struct jit_frame){
		.saved = flow->writes & SAVED_REGS,
		.stack = (jit->unit->guarded ? 0u : flow->stack) + (flow->loops ? 8u : 0),
	};
	if (is_landed_on(jit))
		a64_land(jit);
	saved = saved_by(jit);
	save_first(jit, &saved, a64_frame_size(jit));
	if (jit->has_calls[jit->func])
		a64_put(jit, a64_add_imm(W64, A64_FP, SP, 0));
	each_other(jit, &saved, A64_STR, a64_stp);
	if (!flow->loops)
		return;
	a64_set(jit, A64_TMP, BPF_MAX_LOOPS);
	a64_put(jit, a64_ls(A64_STR, 8, A64_TMP, a64_loops(jit)));
}

static void unwind(struct jit_ctx *jit)
{
	const struct saved saved = saved_by(jit);

	each_other(jit, &saved, A64_LDR, a64_ldp);
	restore_first(jit, &saved, a64_frame_size(jit));
}

/* r0 stays in x7 too, where a local call wants it. */
void a64_epilogue(struct jit_ctx *jit)
{
	a64_put(jit, a64_mov(W64, X0, a64_reg(0)));
	unwind(jit);
	a64_put(jit, a64_ret(A64_LR));
}

/* As short as a jump to another one, which takes longer: it is not worth that. */
#define SHORT_EPILOGUE 8

/*
 * The first exit of a function holds the epilogue; a later one jumps to it if that is shorter. One
 * that is charged for is not jumped to: who jumps there has paid.
 */
void a64_emit_exit(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *start = jit->pos, *end;

	a64_epilogue(jit);
	if (jit->exit == JIT_NONE || in->charge) {
		if (!in->charge)
			jit->exit = i;
		return;
	}
	end = jit->pos;
	jit->pos = start;
	if (end - start > SHORT_EPILOGUE && a64_jump_size(jit, jit->exit, 0) < end - start)
		a64_jump_to(jit, jit->exit);
	else
		jit->pos = end;
}

void a64_zero(struct jit_ctx *jit, uint16_t mask)
{
	for (unsigned int r = 0; r < A64_FRAME_REG; r++)
		if (mask >> r & 1)
			a64_set(jit, a64_reg(r), 0);
}

/* ---- calls ---- */

/* No prologue is longer, nor a call's insn. */
#define CALL_SLACK 1024u

/*
 * Does bl reach function @f from insn @i? The guess has no place for its entry, but for its first
 * insn, which lies behind the prologue.
 */
static bool is_near(const struct jit_ctx *jit, uint32_t i, uint32_t f)
{
	uint32_t start = jit->unit->funcs[f].start, distance;

	if (!jit->guess)
		return false;
	distance =
		start > i ? jit->guess[start] - jit->guess[i] : jit->guess[i] - jit->guess[start];
	return distance + CALL_SLACK < 1u << 27;
}

/* r10 is where the called function's frame ends, if it is not its own affair. */
static void move_frame(struct jit_ctx *jit,
		       uint32_t (*op)(enum a64_width, enum a64_reg, enum a64_reg, uint32_t))
{
	if (jit->unit->guarded)
		a64_put(jit, op(W64, A64_FRAME, A64_FRAME, BPF_FRAME));
}

void a64_emit_call(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	size_t inner = jit->inner[in->target];

	move_frame(jit, a64_sub_imm);
	if (is_near(jit, i, in->target)) {
		a64_put(jit, a64_bl(a64_rel_to(jit, inner)));
	} else {
		a64_put_address(jit, A64_FAR, jit->rx + inner);
		a64_put(jit, a64_blr(A64_FAR));
	}
	move_frame(jit, a64_add_imm);
}

void a64_call_c(struct jit_ctx *jit, uintptr_t fn)
{
	if (a64_calls_reach(jit, fn)) {
		a64_put(jit, a64_bl(a64_rel_to(jit, fn - jit->rx)));
		return;
	}
	a64_set_address(jit, A64_TMP, fn);
	a64_put(jit, a64_blr(A64_TMP));
}

void a64_emit_helper(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	a64_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	if (jit->flow->live_in[i + 1] & 1)
		a64_put(jit, a64_mov(W64, a64_reg(0), X0));
}

#define KEPT_SIZE 48 /* of five registers, and sp stays a multiple of 16 */

/* The arguments are kept while it is found out what to call. */
void a64_emit_callx(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum a64_reg rs = a64_read(jit, in->dst, A64_TMP);

	(void)i;
	a64_put(jit, a64_stp_pre(X0, X1, SP, -KEPT_SIZE));
	a64_put(jit, a64_stp(X2, X3, SP, 16));
	a64_put(jit, a64_ls(A64_STR, 8, X4, a64_at(SP, 32)));
	a64_put(jit, a64_mov(W64, X1, rs));
	a64_set_address(jit, X0, jit->outside.unit);
	a64_call_c(jit, jit->outside.calls_native);
	a64_put(jit, a64_mov(W64, A64_TMP, X0));
	a64_put(jit, a64_ls(A64_LDR, 8, X4, a64_at(SP, 32)));
	a64_put(jit, a64_ldp(X2, X3, SP, 16));
	a64_put(jit, a64_ldp_post(X0, X1, SP, KEPT_SIZE));
	move_frame(jit, a64_sub_imm);
	a64_put(jit, a64_blr(A64_TMP));
	move_frame(jit, a64_add_imm);
	a64_put(jit, a64_mov(W64, a64_reg(0), X0));
}

/* In the program at r0, which finds r2 .. r5 zero. From x16 it may land where calls do. */
static void go_on(struct jit_ctx *jit)
{
	a64_put(jit, a64_mov(W64, A64_FAR, a64_reg(0)));
	unwind(jit);
	a64_zero(jit, 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5);
	a64_put(jit, a64_br(A64_FAR));
}

/* r2 and r3 are where C has its second and third argument. */
void a64_emit_tail(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *start;
	int32_t size;

	(void)i;
	a64_put(jit, a64_stp_pre(X0, X1, SP, -16));
	a64_put(jit, a64_mov(W64, X0, A64_TAILS));
	a64_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	a64_put(jit, a64_mov(W64, a64_reg(0), X0));
	a64_put(jit, a64_ldp_post(X0, X1, SP, 16));
	start = jit->pos;
	go_on(jit); /* for its size */
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	a64_put(jit, a64_tbz(A64_NE, a64_reg(0), 63, size + 4));
	go_on(jit);
}

/* The function ends with 0. */
static void put_none(struct jit_ctx *jit)
{
	a64_set(jit, a64_reg(0), 0);
	a64_epilogue(jit);
}

/* The offset first: its register may be one of the arguments'. */
static void set_offset(struct jit_ctx *jit, const struct insn *in)
{
	enum a64_reg rs;

	if (in->flags & INSN_IMM) {
		a64_set(jit, X1, (uint32_t)in->imm);
		return;
	}
	rs = a64_read(jit, in->src, A64_MORE);
	a64_set(jit, A64_TMP, (uint32_t)in->imm);
	a64_put(jit, a64_add(W32, X1, rs, A64_TMP));
}

void a64_emit_packet(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *start;
	int32_t size;

	(void)i;
	set_offset(jit, in);
	a64_put(jit, a64_mov(W64, X0, a64_reg(6)));
	a64_set(jit, X2, in->bytes);
	a64_call_c(jit, jit->outside.packet_load);
	a64_put(jit, a64_mov(W64, a64_reg(0), X0));
	start = jit->pos;
	put_none(jit); /* for its size: a branch cannot be put before what is there */
	size = (int32_t)(jit->pos - start);
	jit->pos = start;
	a64_put(jit, a64_tbz(A64_EQ, a64_reg(0), 63, size + 4));
	put_none(jit);
}

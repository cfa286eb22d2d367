/* SPDX-License-Identifier: MIT */
/*
 * call.c - functions: prologue, calls and the way out, after the System V ABI
 *
 *	[rbp + 8]		return address		(rbp is r10)
 *	[rbp]			caller's rbp
 *	[rbp - stack ..]	the eBPF frame
 *	[.. - 8]		may_gotos that are left, if it has any
 *	[rsp ..]		callee-saved registers that this function changes
 *
 * Every part is there only if the function needs it: rbp and frame if it reads r10. One that
 * calls has rsp 16-aligned, if need be by eight bytes more above the saved registers. A function
 * that calls nothing and saves nothing keeps up to 128 bytes of frame in the red zone (ABI
 * section 3.2.2) and does not move rsp.
 *
 * In guarded units frames are elsewhere (bpf/guard.h), and rbp is set once by who enters.
 */
#include "jit/x86_64/x64.h"

#include "bpf/guard.h"

#define RED_ZONE 128u
#define SAVED_REGS (1u << 6 | 1u << 7 | 1u << 8 | 1u << 9)
#define FRAME_REG (1u << 10)

/* ---- prologue and epilogue ---- */

static struct jit_frame frame_of(const struct jit_ctx *jit)
{
	const struct func_flow *flow = &jit->flow->funcs[jit->func];
	bool calls = jit->has_calls[jit->func];
	uint32_t stack = jit->unit->guarded ? 0 : flow->stack + (flow->loops ? 8u : 0);
	struct jit_frame frame = {
		.saved = flow->writes & SAVED_REGS,
		.has_fp = stack || (!jit->unit->guarded && (flow->live_in & FRAME_REG)),
		.stack = stack,
	};
	uint32_t pushes = (uint32_t)__builtin_popcount(frame.saved) + frame.has_fp;

	if (!calls && !frame.saved && frame.stack <= RED_ZONE)
		frame.stack = 0;
	/* The return address took eight bytes of the caller's alignment. */
	if (calls && (8 + 8 * pushes + frame.stack) % 16) {
		frame.padded = frame.stack == 0;
		frame.stack += frame.stack ? 8 : 0;
	}
	return frame;
}

/* rsp -= bytes; -128 is an imm8 where +128 is not */
static void lower_stack(struct jit_ctx *jit, uint32_t bytes)
{
	if (bytes == 128)
		x64_add_imm(jit, W64, RSP, -128);
	else if (bytes)
		x64_sub_imm(jit, W64, RSP, (int32_t)bytes);
}

struct x64_mem x64_loops(const struct jit_ctx *jit)
{
	if (jit->unit->guarded)
		return x64_at(RBP, GUARD_SHADOW - 8);
	return x64_at(RBP, -(int32_t)jit->flow->funcs[jit->func].stack - 8);
}

/* Three pushes leave rsp 16-aligned for the call; the way back is behind it. */
void x64_begin_run(struct jit_ctx *jit)
{
	uint8_t *call;

	x64_push(jit, X64_TAILS);
	x64_push(jit, RAX);
	x64_push_imm8(jit, BPF_MAX_TAILS);
	x64_mov(jit, W64, X64_TAILS, RSP);
	x64_call(jit, 0);
	call = jit->pos;
	x64_add_imm(jit, W64, RSP, 16);
	x64_pop(jit, X64_TAILS);
	x64_ret(jit);
	call[-4] = (uint8_t)(jit->pos - call);
}

void x64_prologue(struct jit_ctx *jit)
{
	struct jit_frame frame = frame_of(jit);

	jit->frame = frame;
	if (frame.has_fp) {
		x64_push(jit, RBP);
		x64_mov(jit, W64, RBP, RSP);
	}
	lower_stack(jit, frame.stack);
	if (jit->flow->funcs[jit->func].loops)
		x64_store_imm(jit, 8, x64_loops(jit), BPF_MAX_LOOPS);
	if (frame.padded)
		x64_push(jit, RAX);
	for (unsigned int r = 6; r <= 9; r++)
		if (frame.saved >> r & 1)
			x64_push(jit, x64_reg(r));
}

/* leave drops the padding too; else it goes to rcx, as r4 is nobody's any more. */
static void unwind(struct jit_ctx *jit)
{
	const struct jit_frame *frame = &jit->frame;

	for (unsigned int r = 9; r >= 6; r--)
		if (frame->saved >> r & 1)
			x64_pop(jit, x64_reg(r));
	if (frame->has_fp)
		x64_leave(jit);
	else if (frame->padded)
		x64_pop(jit, RCX);
}

void x64_epilogue(struct jit_ctx *jit)
{
	unwind(jit);
	x64_ret(jit);
}

static unsigned int epilogue_size(const struct jit_frame *frame)
{
	unsigned int size = 1;

	for (unsigned int r = 6; r <= 9; r++)
		if (frame->saved >> r & 1)
			size += x64_reg(r) >= R8 ? 2 : 1;
	return size + (frame->has_fp || frame->padded);
}

/*
 * The first exit of a function holds the epilogue; a later one jumps to it if that is shorter. One
 * that is charged for is not jumped to: who jumps there has paid.
 */
void x64_emit_exit(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	unsigned int jump;

	if (jit->exit == JIT_NONE || in->charge) {
		if (!in->charge)
			jit->exit = i;
		x64_epilogue(jit);
		return;
	}
	jump = x64_is_short(jit, i, jit->exit) ? X64_SHORT_SIZE : X64_JMP_SIZE;
	if (jump < epilogue_size(&jit->frame))
		x64_jmp_to(jit, i, jit->exit);
	else
		x64_epilogue(jit);
}

void x64_zero(struct jit_ctx *jit, uint16_t mask)
{
	for (unsigned int r = 0; r < BPF_NREGS; r++)
		if (mask >> r & 1)
			x64_xor(jit, W32, x64_reg(r), x64_reg(r));
}

/* ---- calls ---- */

/* r10 is where the called function's frame ends, if it is not its own affair. */
static void move_frame(struct jit_ctx *jit, int32_t bytes)
{
	if (jit->unit->guarded)
		x64_add_imm(jit, W64, RBP, bytes);
}

void x64_emit_call(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	move_frame(jit, -BPF_FRAME);
	x64_call(jit, x64_rel(jit, jit->inner[in->target], X64_CALL_SIZE));
	move_frame(jit, BPF_FRAME);
}

/* rax: what most calls are about to set. */
void x64_call_c(struct jit_ctx *jit, uintptr_t fn)
{
	if (x64_reaches(jit, fn)) {
		x64_call(jit, x64_rel(jit, fn - jit->rx, X64_CALL_SIZE));
		return;
	}
	x64_set(jit, RAX, fn);
	x64_call_reg(jit, RAX);
}

void x64_emit_helper(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	x64_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
}

/* The arguments are kept while it is found out what to call; six pushes keep rsp aligned. */
void x64_emit_callx(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	static const uint8_t kept[] = {RDI, RSI, RDX, RCX, R8, RAX};

	(void)i;
	for (size_t k = 0; k < sizeof(kept); k++)
		x64_push(jit, (enum x64_reg)kept[k]);
	x64_mov(jit, W64, RSI, x64_reg(in->dst));
	x64_set(jit, RDI, jit->outside.unit);
	x64_call_c(jit, jit->outside.calls_native);
	x64_mov(jit, W64, X64_TMP, RAX);
	for (size_t k = sizeof(kept); k-- > 0;)
		x64_pop(jit, (enum x64_reg)kept[k]);
	move_frame(jit, -BPF_FRAME);
	x64_call_reg(jit, X64_TMP);
	move_frame(jit, BPF_FRAME);
}

/*
 * r2 and r3 are where C has its second and third argument; r1 is kept twice, so that rsp stays
 * aligned. The program finds r2 .. r5 zero.
 */
void x64_emit_tail(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *over;

	(void)i;
	x64_push(jit, RDI);
	x64_push(jit, RDI);
	x64_mov(jit, W64, RDI, X64_TAILS);
	x64_call_c(jit, (uintptr_t)jit->unit->helpers[in->target].fn);
	x64_pop(jit, RDI);
	x64_pop(jit, RDI);
	x64_test(jit, W64, RAX, RAX);
	over = x64_jcc_over(jit, CC_S);
	unwind(jit);
	x64_zero(jit, 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5);
	x64_jmp_reg(jit, RAX);
	x64_land(jit, over);
}

/* The offset first: its register may be one of the arguments'. */
void x64_emit_packet(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	uint8_t *over;

	(void)i;
	if (in->flags & INSN_IMM) {
		x64_mov_imm32(jit, RSI, (uint32_t)in->imm);
	} else {
		x64_mov(jit, W32, RSI, x64_reg(in->src));
		x64_add_imm(jit, W32, RSI, (int32_t)in->imm);
	}
	x64_mov(jit, W64, RDI, x64_reg(6));
	x64_mov_imm32(jit, RDX, in->bytes);
	x64_call_c(jit, jit->outside.packet_load);
	x64_test(jit, W64, RAX, RAX);
	over = x64_jcc_over(jit, CC_NS);
	x64_xor(jit, W32, RAX, RAX);
	x64_epilogue(jit);
	x64_land(jit, over);
}

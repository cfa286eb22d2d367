/* SPDX-License-Identifier: MIT */
/*
 * a64.h - what the files of the arm64 back-end share
 *
 *	eBPF    r0  r1  r2  r3  r4  r5  r6  r7  r8  r9  r10
 *	arm64   x7  x0  x1  x2  x3  x4  x19 x20 x21 x22 sp + size of the frame
 *
 * The AAPCS64's registers for arguments, so that every eBPF function is a C function of r1 .. r5,
 * and helpers are called with everything in place; results move between x0 and x7.
 *
 * r10 has no register: the frame ends where sp was, so that its slots are positive offsets of sp,
 * which loads and stores take scaled, and there is nothing to set up or to save. But in guarded
 * units (guard.c) it is x23, and x24 holds the guard. x9 .. x13 are
 * scratch within an insn; x16 too, for jumps that nothing else reaches. x18, the platform's, is
 * never touched. Return addresses are not signed (FEAT_PAuth): that is between a function and its
 * own stack, and no caller asks for it.
 *
 * Nothing is assumed of the flags between insns.
 */
#ifndef JIT_ARM64_A64_H
#define JIT_ARM64_A64_H

#include "jit/arm64/enc.h"
#include "jit/jit.h"

/* Scratch, named after its use, so that no two uses of one meet in an insn. */
#define A64_TMP X9     /* constants and intermediate values */
#define A64_ADDR X10   /* addresses and offsets */
#define A64_MORE X11   /* a second operand */
#define A64_FAILED X12 /* stxr: not stored */
#define A64_STORED X13 /* what stxr stores */
#define A64_FAR X16    /* jumps through a register */

#define A64_TAILS                                                                                  \
	X23 /* address of a run's count of tail calls, in other functions that make them */

#define A64_FP X29
#define A64_LR X30
#define A64_FRAME X23 /* r10, and */
#define A64_GUARD X24 /* the guard, in guarded units */

#define A64_FRAME_REG 10u /* the eBPF register */

/* The register that holds eBPF register @r, 0 .. 9. */
static inline enum a64_reg a64_reg(unsigned int r)
{
	static const uint8_t map[A64_FRAME_REG] = {X7, X0, X1, X2, X3, X4, X19, X20, X21, X22};

	return (enum a64_reg)map[r];
}

/* a64_frame_size - how far r10 is from sp (call.c) */
int32_t a64_frame_size(const struct jit_ctx *jit);

/* The register of one that is read: r10 may be made in @tmp. */
static inline enum a64_reg a64_read(struct jit_ctx *jit, unsigned int r, enum a64_reg tmp)
{
	if (r != A64_FRAME_REG)
		return a64_reg(r);
	if (jit->unit->guarded)
		return A64_FRAME;
	a64_put(jit, a64_add_imm(W64, tmp, SP, (uint32_t)a64_frame_size(jit)));
	return tmp;
}

static inline enum a64_width a64_width(const struct insn *in)
{
	return in->flags & INSN_W64 ? W64 : W32;
}

/* ---- constants and addresses (imm.c) ---- */

/* a64_set - rd = value, in the fewest instructions for the value, wherever they are */
void a64_set(struct jit_ctx *jit, enum a64_reg rd, uint64_t value);

/* a64_set_address - the same, or from the pc if that is shorter */
void a64_set_address(struct jit_ctx *jit, enum a64_reg rd, uint64_t addr);

/* a64_put_address - from the pc: of what is within 4 GiB, in two instructions always */
void a64_put_address(struct jit_ctx *jit, enum a64_reg rd, uint64_t addr);

/* a64_add_any - rd = rn + imm, which has 24 bits and a sign; both may be SP */
void a64_add_any(struct jit_ctx *jit, enum a64_width w, enum a64_reg rd, enum a64_reg rn,
		 int32_t imm);

/*
 * a64_calls_reach - can bl reach @addr from anywhere in the memory's range?
 *
 * Then it can wherever the image lands, and the size of the code does not depend on that.
 */
bool a64_calls_reach(const struct jit_ctx *jit, uintptr_t addr);

/* Emitters by kind: alu.c */
void a64_emit_alu(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_neg(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_movsx(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_swap(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_imm64(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* a64_unchanged - eBPF register @r keeps its value; 32 bits of it, if the insn works on those */
void a64_unchanged(struct jit_ctx *jit, enum a64_width w, unsigned int r, uint32_t i);

/* a64_and_mask - rd &= mask */
void a64_and_mask(struct jit_ctx *jit, enum a64_width w, enum a64_reg rd, uint64_t mask);

/* div.c: the four operations of INSN_ALU that divide */
void a64_emit_divmod(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* mem.c */
void a64_emit_load(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_store(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_atomic(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* branch.c */
void a64_emit_jump(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_maygoto(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_branch(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* call.c */
void a64_land(struct jit_ctx *jit);
void a64_begin_run(struct jit_ctx *jit);
void a64_prologue(struct jit_ctx *jit);
void a64_zero(struct jit_ctx *jit, uint16_t mask);
void a64_emit_call(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_packet(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_callx(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_helper(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_tail(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void a64_emit_exit(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* a64_epilogue - the way out of a function (call.c) */
void a64_epilogue(struct jit_ctx *jit);

/* a64_call_c - call a C function; x9 is free for the address */
void a64_call_c(struct jit_ctx *jit, uintptr_t fn);

/* guard.c */
extern const struct jit_guard a64_guard;

/* a64_loops - where a function counts its may_gotos (call.c) */
struct a64_mem a64_loops(const struct jit_ctx *jit);

/* a64_jump_to - end this insn with a jump to insn @target (branch.c) */
void a64_jump_to(struct jit_ctx *jit, uint32_t target);
/* a64_jump_size - bytes that takes, if @ahead more come before it */
unsigned int a64_jump_size(const struct jit_ctx *jit, uint32_t target, unsigned int ahead);
/* a64_rel_to - from here to an offset of the image. Sizing takes any value. */
int32_t a64_rel_to(const struct jit_ctx *jit, size_t target_at);

#endif

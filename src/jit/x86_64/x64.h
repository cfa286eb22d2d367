/* SPDX-License-Identifier: MIT */
/*
 * x64.h - what the files of the x86-64 back-end share
 *
 *	eBPF    r0  r1  r2  r3  r4  r5  r6  r7  r8  r9  r10
 *	x86-64  rax rdi rsi rdx rcx r8  rbx r13 r14 r15 rbp
 *
 * The System V ABI's registers where it has them, so that every eBPF function is a C function
 * of r1 .. r5, and helpers are called with everything in place. r9, r10 and r11 are scratch
 * within an insn. r12 has the address of a run's count of tail calls in functions that make them,
 * and of the guard in guarded units (guard.c); others do not touch it.
 *
 * Nothing is assumed of the flags between insns.
 */
#ifndef JIT_X86_64_X64_H
#define JIT_X86_64_X64_H

#include "jit/jit.h"
#include "jit/x86_64/enc.h"

/* Bits of jit_ctx.features, in the order of feature_names[] */
#define X64_BMI2 0x1u /* shlx, shrx, sarx */

/* Scratch, named after its use, so that no two uses of one meet in an insn. */
#define X64_TMP R11
#define X64_RCX_KEPT R11 /* r4, where an insn needs rcx itself */
#define X64_RAX_KEPT R10 /* r0, rax */
#define X64_RDX_KEPT R9  /* r3, rdx */

/* What x64_begin_run() sets. */
#define X64_TAILS R12

/* The register that holds eBPF register @r. */
static inline enum x64_reg x64_reg(unsigned int r)
{
	static const uint8_t map[BPF_NREGS] = {
		RAX, RDI, RSI, RDX, RCX, R8, RBX, R13, R14, R15, RBP,
	};

	return (enum x64_reg)map[r];
}

static inline enum x64_width x64_width(const struct insn *in)
{
	return in->flags & INSN_W64 ? W64 : W32;
}

/* May eBPF register @r be read after insn @i, which neither jumps nor ends its function? */
static inline bool x64_is_live(const struct jit_ctx *jit, unsigned int r, uint32_t i)
{
	return jit->flow->live_in[i + 1] >> r & 1;
}

/*
 * x64_reaches - can rel32 reach @addr from anywhere in the memory's range?
 *
 * Then it can wherever the image lands, and the size of the code does not depend on that.
 */
bool x64_reaches(const struct jit_ctx *jit, uintptr_t addr);

/* x64_set - rd = value, in the shortest form for the value */
void x64_set(struct jit_ctx *jit, enum x64_reg rd, uint64_t value);

/* Emitters by kind: alu.c */
void x64_emit_alu(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_neg(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_movsx(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_swap(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_imm64(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* div.c: the four operations of INSN_ALU that divide */
void x64_emit_divmod(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* mem.c */
void x64_emit_load(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_store(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_atomic(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* branch.c */
void x64_emit_jump(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_maygoto(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_branch(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* call.c */
void x64_begin_run(struct jit_ctx *jit);
void x64_prologue(struct jit_ctx *jit);
void x64_zero(struct jit_ctx *jit, uint16_t mask);
void x64_emit_call(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_packet(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_callx(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_helper(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_tail(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void x64_emit_exit(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* guard.c */
extern const struct jit_guard x64_guard;

/* x64_epilogue - the way out of a function (call.c) */
void x64_epilogue(struct jit_ctx *jit);

/* x64_call_c - call a C function; rax is free for the address (call.c) */
void x64_call_c(struct jit_ctx *jit, uintptr_t fn);

/* Where a function counts its may_gotos, below its eBPF frame (call.c). */
struct x64_mem x64_loops(const struct jit_ctx *jit);

/* What a jump needs: where it goes, and whether rel8 gets there (branch.c). */
bool x64_is_short(const struct jit_ctx *jit, uint32_t i, uint32_t target);
int32_t x64_rel(const struct jit_ctx *jit, size_t target_at, unsigned int size);
void x64_jmp_to(struct jit_ctx *jit, uint32_t i, uint32_t target);

#endif

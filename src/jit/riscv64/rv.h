/* SPDX-License-Identifier: MIT */
/*
 * rv.h - what the files of the RISC-V back-end share
 *
 *	eBPF    r0  r1  r2  r3  r4  r5  r6  r7  r8  r9  r10
 *	RISC-V  a5  a0  a1  a2  a3  a4  s1  s2  s3  s4  sp + frame.stack
 *
 * The ABI's registers for arguments, so that every eBPF function is a C function of r1 .. r5,
 * and helpers are called with everything in place; results move between a0 and a5. r0 .. r6 are
 * among the eight registers that compressed instructions can name.
 *
 * r10 has no register: the frame lies at sp, so that its slots are offsets of sp, which compressed
 * loads and stores take, and there is nothing to set up or to save. But in guarded units (guard.c)
 * it is s5, and s6 holds the guard. s0 is never touched: unwinders
 * by frame pointer skip these functions. t1 .. t5 are scratch within an insn; t0 is not used, as
 * jumps through it are taken for returns (chapter "RV32I", section "Unconditional Jumps").
 */
#ifndef JIT_RISCV64_RV_H
#define JIT_RISCV64_RV_H

#include "jit/jit.h"
#include "jit/riscv64/enc.h"

/* Scratch, named after its use, so that no two uses of one meet in an insn. */
#define RV_TMP RV_T1    /* constants and intermediate values */
#define RV_ADDR RV_T2   /* addresses */
#define RV_MORE RV_T3   /* a second operand */
#define RV_FAILED RV_T4 /* sc: not stored */
#define RV_KEPT RV_T5   /* r10 as what sc stores */

#define RV_FRAME RV_S5 /* r10, and */
#define RV_GUARD RV_S6 /* the guard, in guarded units */
#define RV_TAILS                                                                                   \
	RV_S5 /* address of a run's count of tail calls, in functions of others that make them */

#define RV_FRAME_REG 10u /* the eBPF register */

/* The register that holds eBPF register @r, 0 .. 9. */
static inline enum rv_reg rv_reg(unsigned int r)
{
	static const uint8_t map[RV_FRAME_REG] = {
		RV_A5, RV_A0, RV_A1, RV_A2, RV_A3, RV_A4, RV_S1, RV_S2, RV_S3, RV_S4,
	};

	return (enum rv_reg)map[r];
}

/* The same for one that is read: r10 may be made in @tmp. */
static inline enum rv_reg rv_read(struct jit_ctx *jit, unsigned int r, enum rv_reg tmp)
{
	if (r != RV_FRAME_REG)
		return rv_reg(r);
	if (jit->unit->guarded)
		return RV_FRAME;
	rv_put(jit, rv_addi(tmp, RV_SP, (int32_t)jit->frame.stack));
	return tmp;
}

static inline bool rv_has(const struct jit_ctx *jit, unsigned int feature)
{
	return jit->features & feature;
}

/* Does @in work on 64 bits? */
static inline bool rv_is_wide(const struct insn *in)
{
	return in->flags & INSN_W64;
}

/* ---- the upper halves of registers (form.c) ---- */

/*
 * What is known of a register whose value is of 32 bits: how its upper half continues it.
 * Both for 0 .. 0x7fffffff.
 */
enum {
	RV_SX = 1, /* sign-extended, as the CPU's 32-bit operations leave it */
	RV_ZX = 2, /* zero-extended, as eBPF has it */
};

/* rv_find_forms - once for a unit: 0 or -ENOMEM */
int rv_find_forms(struct jit_ctx *jit);

/* rv_form - what is known of eBPF register @r before insn @i */
unsigned int rv_form(const struct jit_ctx *jit, unsigned int r, uint32_t i);

/* rv_is_upper_live - may the upper half of @r be read after insn @i, which does not jump? */
bool rv_is_upper_live(const struct jit_ctx *jit, unsigned int r, uint32_t i);

/* rv_result_form - what the operation of insn @i, as alu.c emits it, leaves in the register */
unsigned int rv_result_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* ---- constants and addresses (li.c) ---- */

/* rv_set - rd = value, in the fewest instructions for the value, wherever they are */
void rv_set(struct jit_ctx *jit, enum rv_reg rd, int64_t value);

/* rv_set_address - the same, or from the pc if that is shorter */
void rv_set_address(struct jit_ctx *jit, enum rv_reg rd, uint64_t addr);

/*
 * rv_reaches - can auipc and 12 bits more reach @addr from anywhere in the memory's range?
 *
 * Then it can wherever the image lands, and the size of the code does not depend on that.
 */
bool rv_reaches(const struct jit_ctx *jit, uintptr_t addr);

/* rv_zext - rd = the low 32 bits of rs */
void rv_zext(struct jit_ctx *jit, enum rv_reg rd, enum rv_reg rs);

/* Emitters by kind: alu.c */
void rv_emit_alu(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_neg(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_movsx(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_swap(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_imm64(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* Does an ALU insn with this constant leave its register as it is, or at 0? */
bool rv_keeps(const struct insn *in);
bool rv_clears(const struct insn *in);

/* rv_finish - the result of a 32-bit operation, zero-extended if somebody looks */
void rv_finish(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* div.c: the four operations of INSN_ALU that divide */
void rv_emit_divmod(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* mem.c */
void rv_emit_load(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_store(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_atomic(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* branch.c */
void rv_emit_jump(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_maygoto(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_branch(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* call.c */
void rv_begin_run(struct jit_ctx *jit);
void rv_prologue(struct jit_ctx *jit);
void rv_zero(struct jit_ctx *jit, uint16_t mask);
void rv_emit_call(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_packet(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_callx(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_helper(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_tail(struct jit_ctx *jit, const struct insn *in, uint32_t i);
void rv_emit_exit(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/* rv_call_c - call a C function; a5 is free for the address */
void rv_call_c(struct jit_ctx *jit, uintptr_t fn);

/* rv_epilogue - the way out of a function */
void rv_epilogue(struct jit_ctx *jit);

/* guard.c */
extern const struct jit_guard rv_guard;

/* rv_jump_to - end this insn with a jump to insn @target (branch.c) */
void rv_jump_to(struct jit_ctx *jit, uint32_t target);
/* rv_jump_size - bytes that takes, if @ahead more come before it */
unsigned int rv_jump_size(const struct jit_ctx *jit, uint32_t target, unsigned int ahead);
/* rv_rel - from here to an offset of the image. Sizing takes any value. */
int32_t rv_rel(const struct jit_ctx *jit, size_t target_at);
/* rv_jump_far - auipc and jalr with @link, through @via: reaches +-2 GiB */
void rv_jump_far(struct jit_ctx *jit, enum rv_reg link, enum rv_reg via, int32_t rel);

#endif

/* SPDX-License-Identifier: MIT */
/* jit_fixture.h - what the JIT's tests share: programs built insn by insn, and ways to run them */
#ifndef TESTS_JIT_FIXTURE_H
#define TESTS_JIT_FIXTURE_H

#include "jit/jit.h"

#define NELEMS(array) (sizeof(array) / sizeof((array)[0]))

/* A unit that grows; out of memory ends the test program. */
struct prog {
	struct unit unit;
	uint32_t cap;
};

void prog_init(struct prog *prog);
void prog_fini(struct prog *prog);
/* Begin function number unit.nfuncs; the one before ends here. */
void prog_func(struct prog *prog, bool entry);
uint32_t prog_add(struct prog *prog, struct insn in);
/* The last function ends here; nothing is added after this. */
void prog_end(struct prog *prog);

/* Insns; @w is 0 or INSN_W64. */
struct insn alu_reg(unsigned int op, unsigned int w, unsigned int dst, unsigned int src);
struct insn alu_imm(unsigned int op, unsigned int w, unsigned int dst, int64_t imm);
struct insn imm64(unsigned int dst, uint64_t imm);
struct insn load(unsigned int bytes, unsigned int dst, unsigned int src, int32_t off);
struct insn store(unsigned int bytes, unsigned int dst, int32_t off, unsigned int src);
struct insn store_imm(unsigned int bytes, unsigned int dst, int32_t off, int32_t imm);
struct insn jump(uint32_t target);
struct insn branch_reg(unsigned int op, unsigned int w, unsigned int dst, unsigned int src);
struct insn branch_imm(unsigned int op, unsigned int w, unsigned int dst, int32_t imm);
struct insn call(uint32_t func);
struct insn helper(uint32_t index);
struct insn leave(void); /* exit */

/* Where code goes in these tests: one heap, near the test's own functions. */
const struct jit_mem *near_mem(void);
/* The same heap, declared so wide that nothing is within reach of rel32. */
const struct jit_mem *far_mem(void);

/*
 * is_turn - of trials that are many and alike an emulator makes every PROGPACK_TEST_EVERYth, and
 * hardware, where that is not set, all
 */
bool is_turn(void);

/* What the CPU can do: asked, or told by the environment where an emulator cannot be asked. */
unsigned int cpu_features(void);

/* Native code of a unit, compiled or the test fails. */
struct native {
	const struct jit_mem *mem;
	struct jit_image image;
};
struct native compile(const struct prog *prog, unsigned int features, const struct jit_mem *mem);
void native_fini(struct native *native);

/*
 * call_native - run a function with every register that is not an argument full of garbage
 *
 * Fails the test unless the callee-saved registers and the stack pointer come back unchanged.
 */
uint64_t call_native(const struct native *native, uint32_t func, uint64_t r1, uint64_t r2);

/*
 * call_with_regs - what call_native() is made of, one file an arch: call a function with
 * callee-saved registers from regs[], which become what it left in them
 */
#define JIT_KEPT 12 /* no arch has more */
uint64_t call_with_regs(uint64_t r1, uint64_t r2, const void *function, uint64_t regs[JIT_KEPT]);

#endif

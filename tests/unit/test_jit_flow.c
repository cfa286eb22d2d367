/* SPDX-License-Identifier: MIT */
/* test_jit_flow.c - calls, frames, and what programs may not see of their host */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit_fixture.h"

/* ---- helpers called by programs ---- */

static unsigned int misaligned; /* calls that found the stack not 16-aligned */

/* All registers that a callee need not keep, but for that of the result. */
#if defined(__x86_64__)
#define CLOBBER __asm__ volatile("" ::: "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
#elif defined(__aarch64__)
#define CLOBBER                                                                                    \
	__asm__ volatile("" ::                                                                     \
				 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",    \
				   "x11", "x12", "x13", "x14", "x15", "x16", "x17")
#elif defined(__riscv)
#define CLOBBER                                                                                    \
	__asm__ volatile("" ::                                                                     \
				 : "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2",     \
				   "t3", "t4", "t5", "t6")
#endif

/* Volatile: the compiler may not conclude from the ABI that the answer is always yes. */
static void check_alignment(void)
{
	volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (frame % 16)
		misaligned++;
}

/* Order matters, and every argument register is clobbered on the way. */
static __attribute__((noinline)) uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
					      uint64_t e)
{
	check_alignment();
	CLOBBER;
	return a + 10 * b + 100 * c + 1000 * d + 10000 * e;
}

static uint64_t identity(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	(void)b, (void)c, (void)d, (void)e;
	check_alignment();
	return a;
}

static const struct helper helpers[] = {
	{.id = 1, .nargs = 5, .name = "mix", .fn = mix},
	{.id = 2, .nargs = 1, .name = "identity", .fn = identity},
};

static void begin(struct prog *prog)
{
	prog_init(prog);
	prog->unit.helpers = helpers;
	prog->unit.nhelpers = NELEMS(helpers);
	prog_func(prog, true);
}

static struct insn set(unsigned int dst, int64_t imm)
{
	return alu_imm(ALU_MOV, INSN_W64, dst, imm);
}

static struct insn copy(unsigned int dst, unsigned int src)
{
	return alu_reg(ALU_MOV, INSN_W64, dst, src);
}

static void check_in(const struct prog *prog, const struct jit_mem *mem, uint64_t r1, uint64_t r2,
		     uint64_t expect)
{
	struct native native = compile(prog, 0, mem);

	assert_int_equal(call_native(&native, 0, r1, r2), expect);
	native_fini(&native);
}

/* All ways to run function 0 give @expect. Consumes the program. */
static void check(struct prog *prog, uint64_t r1, uint64_t r2, uint64_t expect)
{
	prog_end(prog);
	interp_prepare(&prog->unit);
	misaligned = 0;
	check_in(prog, near_mem(), r1, r2, expect);
	check_in(prog, far_mem(), r1, r2, expect);
	assert_int_equal(misaligned, 0);
	assert_int_equal(interp_run(&prog->unit, 0, r1, r2), expect);
	prog_fini(prog);
}

static void test_helper_args(void **state)
{
	struct prog prog;

	(void)state;
	begin(&prog);
	for (unsigned int r = 1; r <= 5; r++)
		prog_add(&prog, set(r, r));
	prog_add(&prog, helper(0));
	prog_add(&prog, leave());
	check(&prog, 0, 0, 54321);
}

/* @mask of r6 .. r9 written, with or without a frame: the stack is aligned, they survive. */
static void try_saved(unsigned int mask, unsigned int frame)
{
	uint64_t expect = 7;
	struct prog prog;

	begin(&prog);
	for (unsigned int r = 6; r <= 9; r++)
		if (mask >> r & 1)
			prog_add(&prog, set(r, (int64_t)1 << r));
	if (frame)
		prog_add(&prog, store_imm(8, 10, -(int32_t)frame, 1000));
	prog_add(&prog, set(1, 7));
	prog_add(&prog, helper(1));
	for (unsigned int r = 6; r <= 9; r++) {
		if (mask >> r & 1) {
			prog_add(&prog, alu_reg(ALU_ADD, INSN_W64, 0, r));
			expect += 1ull << r;
		}
	}
	if (frame) {
		prog_add(&prog, load(8, 1, 10, -(int32_t)frame));
		prog_add(&prog, alu_reg(ALU_ADD, INSN_W64, 0, 1));
		expect += 1000;
	}
	prog_add(&prog, leave());
	check(&prog, 0, 0, expect);
}

static void test_saved_and_aligned(void **state)
{
	static const unsigned int frames[] = {0, 8, 16, 24, 120, 128, 136, 256, 504, 512};

	(void)state;
	for (unsigned int mask = 0; mask < 16; mask++)
		for (size_t i = 0; i < NELEMS(frames); i++)
			try_saved(mask << 6, frames[i]);
}

/* ---- undefined registers ---- */

/* r0 = @r, first thing: garbage of the host's in it must not be seen. */
static void test_undefined_at_entry(void **state)
{
	struct prog prog;

	(void)state;
	for (unsigned int r = 0; r < 10; r++) {
		if (r == 1 || r == 2)
			continue;
		begin(&prog);
		prog_add(&prog, copy(0, r));
		prog_add(&prog, leave());
		check(&prog, 0, 0, 0);
	}
}

/* A program that sets nothing and exits. */
static void test_undefined_result(void **state)
{
	struct prog prog;

	(void)state;
	begin(&prog);
	prog_add(&prog, set(2, 1));
	prog_add(&prog, leave());
	check(&prog, 3, 4, 0);
}

static void try_undefined_after(unsigned int r, struct insn caller)
{
	struct prog prog;

	begin(&prog);
	for (unsigned int a = 1; a <= 5; a++)
		prog_add(&prog, set(a, 100 + a));
	prog_add(&prog, caller);
	prog_add(&prog, copy(0, r));
	prog_add(&prog, leave());
	prog_func(&prog, false);
	for (unsigned int a = 0; a <= 9; a++)
		prog_add(&prog, set(a, 200 + a));
	prog_add(&prog, leave());
	check(&prog, 0, 0, 0);
}

static void test_undefined_after_calls(void **state)
{
	(void)state;
	for (unsigned int r = 1; r <= 5; r++) {
		try_undefined_after(r, helper(0));
		try_undefined_after(r, call(1));
	}
}

/* A function that is called finds r0 and r6 .. r9 zero, and its caller's come back. */
static void test_undefined_in_callee(void **state)
{
	struct prog prog;

	(void)state;
	for (unsigned int r = 6; r <= 9; r++) {
		begin(&prog);
		prog_add(&prog, set(r, 1));
		prog_add(&prog, set(0, 2));
		prog_add(&prog, call(1));
		prog_add(&prog, alu_reg(ALU_ADD, INSN_W64, 0, r));
		prog_add(&prog, leave());
		prog_func(&prog, false);
		prog_add(&prog, alu_reg(ALU_ADD, INSN_W64, 0, r));
		prog_add(&prog, leave());
		check(&prog, 0, 0, 1);
	}
}

/* ---- local calls and frames ---- */

static void test_local_args(void **state)
{
	struct prog prog;

	(void)state;
	begin(&prog);
	for (unsigned int r = 1; r <= 5; r++)
		prog_add(&prog, set(r, r));
	prog_add(&prog, call(1));
	prog_add(&prog, leave());
	prog_func(&prog, false);
	prog_add(&prog, helper(0));
	prog_add(&prog, leave());
	check(&prog, 0, 0, 54321);
}

/*
 * A program that another one calls: its r3 .. r5 are arguments then, and zero when it is run
 * from outside.
 */
static void test_program_called_locally(void **state)
{
	struct native native;
	struct prog prog;

	(void)state;
	begin(&prog);
	for (unsigned int r = 1; r <= 5; r++)
		prog_add(&prog, set(r, r));
	prog_add(&prog, call(1));
	prog_add(&prog, leave());
	prog_func(&prog, true);
	prog_add(&prog, helper(0));
	prog_add(&prog, leave());
	prog_end(&prog);
	native = compile(&prog, 0, near_mem());
	assert_int_equal(call_native(&native, 0, 0, 0), 54321);
	assert_int_equal(call_native(&native, 1, 6, 7), 76);
	interp_prepare(&prog.unit);
	assert_int_equal(interp_run(&prog.unit, 0, 0, 0), 54321);
	assert_int_equal(interp_run(&prog.unit, 1, 6, 7), 76);
	native_fini(&native);
	prog_fini(&prog);
}

/*
 * Function @f of a chain: fills its whole frame with its number, calls the next one, then adds
 * up its frame, which nobody may have touched: 64 times its number.
 */
static void add_chain_func(struct prog *prog, unsigned int f, unsigned int depth)
{
	for (int32_t off = -8; off >= -BPF_FRAME; off -= 8)
		prog_add(prog, store_imm(8, 10, off, (int32_t)f + 1));
	prog_add(prog, set(0, 0));
	if (f + 1 < depth)
		prog_add(prog, call(f + 1));
	for (int32_t off = -8; off >= -BPF_FRAME; off -= 8) {
		prog_add(prog, load(8, 1, 10, off));
		prog_add(prog, alu_reg(ALU_ADD, INSN_W64, 0, 1));
	}
	prog_add(prog, leave());
}

static void test_deep_frames(void **state)
{
	struct prog prog;

	(void)state;
	begin(&prog);
	for (unsigned int f = 0; f < BPF_MAX_DEPTH; f++) {
		if (f)
			prog_func(&prog, false);
		add_chain_func(&prog, f, BPF_MAX_DEPTH);
	}
	check(&prog, 0, 0, 64 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8));
}

/* A leaf keeps a small frame in the red zone: every depth of frame reads back. */
static void test_leaf_frames(void **state)
{
	struct prog prog;

	(void)state;
	for (int32_t depth = 8; depth <= BPF_FRAME; depth += 8) {
		begin(&prog);
		for (int32_t off = -8; off >= -depth; off -= 8)
			prog_add(&prog, store_imm(8, 10, off, 3));
		prog_add(&prog, set(0, 0));
		for (int32_t off = -8; off >= -depth; off -= 8) {
			prog_add(&prog, load(8, 1, 10, off));
			prog_add(&prog, alu_reg(ALU_ADD, INSN_W64, 0, 1));
		}
		prog_add(&prog, leave());
		check(&prog, 0, 0, (uint64_t)(3 * depth / 8));
	}
}

/* The address of a frame is the same within a call, and passes to callees. */
static void test_frame_address(void **state)
{
	struct prog prog;

	(void)state;
	begin(&prog);
	prog_add(&prog, store_imm(8, 10, -16, 77));
	prog_add(&prog, copy(1, 10));
	prog_add(&prog, alu_imm(ALU_ADD, INSN_W64, 1, -16));
	prog_add(&prog, call(1));
	prog_add(&prog, load(8, 1, 10, -16));
	prog_add(&prog, alu_reg(ALU_ADD, INSN_W64, 0, 1));
	prog_add(&prog, leave());
	prog_func(&prog, false);
	prog_add(&prog, store_imm(8, 10, -16, 5));
	prog_add(&prog, load(8, 0, 1, 0));
	prog_add(&prog, store_imm(8, 1, 0, 100));
	prog_add(&prog, leave());
	check(&prog, 0, 0, 177);
}

/* r10 itself, without any access to the frame. */
static void test_frame_pointer_only(void **state)
{
	struct prog prog;

	(void)state;
	begin(&prog);
	prog_add(&prog, copy(0, 10));
	prog_add(&prog, alu_reg(ALU_SUB, INSN_W64, 0, 10));
	prog_add(&prog, leave());
	check(&prog, 0, 0, 0);
}

/* ---- exits ---- */

/* @mask of saved registers; @gap insns between two exits: the epilogue is shared or repeated. */
static void try_exits(unsigned int mask, unsigned int gap)
{
	struct prog prog;
	uint32_t branch;

	begin(&prog);
	for (unsigned int r = 6; r <= 9; r++)
		if (mask >> r & 1)
			prog_add(&prog, set(r, 0));
	prog_add(&prog, store(8, 10, -8, 1));
	branch = prog_add(&prog, branch_imm(COND_EQ, INSN_W64, 1, 0));
	prog_add(&prog, set(0, 1));
	prog_add(&prog, leave());
	prog.unit.ins[branch].target = prog_add(&prog, set(0, 2));
	for (unsigned int i = 0; i < gap; i++)
		prog_add(&prog, alu_imm(ALU_ADD, INSN_W64, 0, 1));
	prog_add(&prog, leave());
	prog_end(&prog);
	check_in(&prog, near_mem(), 0, 0, 2 + gap);
	check(&prog, 1, 0, 1);
}

static void test_exits(void **state)
{
	(void)state;
	for (unsigned int mask = 0; mask < 16; mask++)
		for (unsigned int gap = 0; gap < 100; gap += 11)
			try_exits(mask << 6, gap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helper_args),
		cmocka_unit_test(test_saved_and_aligned),
		cmocka_unit_test(test_undefined_at_entry),
		cmocka_unit_test(test_undefined_result),
		cmocka_unit_test(test_undefined_after_calls),
		cmocka_unit_test(test_undefined_in_callee),
		cmocka_unit_test(test_local_args),
		cmocka_unit_test(test_program_called_locally),
		cmocka_unit_test(test_deep_frames),
		cmocka_unit_test(test_leaf_frames),
		cmocka_unit_test(test_frame_address),
		cmocka_unit_test(test_frame_pointer_only),
		cmocka_unit_test(test_exits),
	};

	return cmocka_run_group_tests_name("jit calls", tests, NULL, NULL);
}

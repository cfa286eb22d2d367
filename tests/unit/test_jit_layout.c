/* SPDX-License-Identifier: MIT */
/* test_jit_layout.c - the driver's passes: forms and distances of jumps, and large programs */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit/x86_64/x64.h"
#include "jit_fixture.h"

static uint64_t run_and_free(const struct prog *prog, uint64_t r1, uint64_t r2)
{
	struct native native = compile(prog, 0, near_mem());
	uint64_t result = call_native(&native, 0, r1, r2);

	native_fini(&native);
	return result;
}

/* ---- jumps ---- */

/* @twos insns of two bytes of code and @threes of three; each adds 1 to r0. */
static void add_filler(struct prog *prog, uint32_t twos, uint32_t threes)
{
	for (uint32_t i = 0; i < twos; i++)
		prog_add(prog, alu_imm(ALU_ADD, 0, 0, 1));
	for (uint32_t i = 0; i < threes; i++)
		prog_add(prog, alu_imm(ALU_ADD, INSN_W64, 0, 1));
}

/* Over @bytes of code if r1 is 0; gives the number of insns run. */
static void try_forward(uint32_t bytes)
{
	uint32_t threes = bytes & 1, twos = (bytes - 3 * threes) / 2;
	struct prog prog;
	uint32_t over;

	prog_init(&prog);
	prog_func(&prog, true);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	over = prog_add(&prog, branch_imm(COND_EQ, INSN_W64, 1, 0));
	add_filler(&prog, twos, threes);
	prog.unit.ins[over].target = prog.unit.nins;
	prog_add(&prog, leave());
	prog_end(&prog);
	assert_int_equal(run_and_free(&prog, 0, 0), 0);
	assert_int_equal(run_and_free(&prog, 1, 0), twos + threes);
	prog_fini(&prog);
}

/* A loop of @bytes of code and a jump back, r1 times. */
static void try_backward(uint32_t bytes)
{
	uint32_t threes = bytes & 1, twos = (bytes - 3 * threes) / 2, top;
	struct insn again = branch_imm(COND_NE, INSN_W64, 1, 0);
	struct prog prog;

	prog_init(&prog);
	prog_func(&prog, true);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	top = prog_add(&prog, alu_imm(ALU_SUB, INSN_W64, 1, 1));
	add_filler(&prog, twos, threes);
	again.target = top;
	prog_add(&prog, again);
	prog_add(&prog, leave());
	prog_end(&prog);
	assert_int_equal(run_and_free(&prog, 3, 0), 3 * (twos + threes));
	prog_fini(&prog);
}

static void test_jump_distances(void **state)
{
	(void)state;
	try_forward(0);
	for (uint32_t bytes = 100; bytes < 140; bytes++) {
		try_forward(bytes);
		try_backward(bytes);
	}
	for (uint32_t bytes = 32760; bytes < 32776; bytes++) {
		try_forward(bytes);
		try_backward(bytes);
	}
	try_forward(1 << 20);
	try_backward(1 << 20);
}

/* How many bytes insn @at of function 0 takes. */
static uint32_t size_of(const struct prog *prog, uint32_t at)
{
	struct native native = compile(prog, 0, near_mem());
	uint32_t size = native.image.at[at + 1] - native.image.at[at];

	native_fini(&native);
	return size;
}

/* A jump over @bytes has the form that its distance asks for: none, rel8 or rel32. */
static void try_form(uint32_t bytes, uint32_t size)
{
	struct prog prog;

	prog_init(&prog);
	prog_func(&prog, true);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	prog_add(&prog, jump(0));
	add_filler(&prog,
		   bytes % 3 == 0   ? 0
		   : bytes % 3 == 2 ? 1
				    : 2,
		   bytes / 3 - (bytes % 3 == 1));
	prog.unit.ins[1].target = prog.unit.nins;
	prog_add(&prog, leave());
	prog_end(&prog);
	assert_int_equal(size_of(&prog, 1), size);
	prog_fini(&prog);
}

static void test_jump_forms(void **state)
{
	(void)state;
	try_form(0, 0);
	for (uint32_t bytes = 4; bytes <= 127; bytes++)
		try_form(bytes, X64_SHORT_SIZE);
	for (uint32_t bytes = 128; bytes < 160; bytes++)
		try_form(bytes, X64_JMP_SIZE);
}

/*
 * Branch i jumps over branch i + 1, and is short only if that is: one of them shrinks in each
 * pass, from the last to the first, and there are more of them than passes.
 *
 *	b0  124 bytes  b1  -> b0's target  124 bytes  b2  -> b1's target ...
 */
#define CHAIN 64

static void build_chain(struct prog *prog)
{
	uint32_t at[CHAIN];

	prog_init(prog);
	prog_func(prog, true);
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	for (uint32_t i = 0; i < CHAIN; i++) {
		/* test and jcc: 9 bytes while far, 5 when short */
		at[i] = prog_add(prog, branch_imm(COND_EQ, INSN_W64, 1, 0));
		if (i)
			prog->unit.ins[at[i - 1]].target = prog->unit.nins;
		add_filler(prog, 61, 0);
	}
	prog->unit.ins[at[CHAIN - 1]].target = prog->unit.nins;
	prog_add(prog, leave());
	prog_end(prog);
}

static void test_slow_convergence(void **state)
{
	struct prog prog;
	uint32_t last;

	(void)state;
	build_chain(&prog);
	last = prog.unit.nins - 1;
	/* The first has not shrunk although it could have: this is a chain that was cut off. */
	assert_int_equal(size_of(&prog, 1), 3 + X64_JCC_SIZE);
	assert_int_equal(size_of(&prog, last - 62), 3 + X64_SHORT_SIZE);
	assert_int_equal(run_and_free(&prog, 1, 0), 61 * CHAIN);
	/* Taken: b0, past b1, all of b1's filler, b2, past b3 ... */
	assert_int_equal(run_and_free(&prog, 0, 0), 61 * (CHAIN / 2));
	prog_fini(&prog);
}

/* Jumps to jumps to nothing disappear. */
static void test_jumps_to_next(void **state)
{
	struct prog prog;

	(void)state;
	prog_init(&prog);
	prog_func(&prog, true);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 9));
	prog_add(&prog, jump(3));
	prog_add(&prog, jump(3));
	prog_add(&prog, branch_imm(COND_EQ, INSN_W64, 1, 0));
	prog.unit.ins[3].target = 4;
	prog_add(&prog, leave());
	prog_end(&prog);
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(size_of(&prog, i), 0);
	assert_int_equal(run_and_free(&prog, 0, 0), 9);
	prog_fini(&prog);
}

static void test_million(void **state)
{
	const uint32_t count = 1000000;
	struct native native;
	struct prog prog;

	(void)state;
	prog_init(&prog);
	prog_func(&prog, true);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	add_filler(&prog, 0, count);
	prog_add(&prog, leave());
	prog_end(&prog);
	native = compile(&prog, 0, near_mem());
	assert_int_equal(native.image.size, 2 + 3 * count + 1);
	assert_int_equal(call_native(&native, 0, 0, 0), count);
	native_fini(&native);
	prog_fini(&prog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jump_distances),   cmocka_unit_test(test_jump_forms),
		cmocka_unit_test(test_slow_convergence), cmocka_unit_test(test_jumps_to_next),
		cmocka_unit_test(test_million),
	};

	return cmocka_run_group_tests_name("jit layout", tests, NULL, NULL);
}

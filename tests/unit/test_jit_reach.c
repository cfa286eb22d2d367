/* SPDX-License-Identifier: MIT */
/*
 * test_jit_reach.c - jumps, branches, exits and calls over every distance at which some arch
 * changes their form
 *
 * Distances are in insns of filler, two or four bytes of code each on RISC-V. What x86-64 does at
 * its distances is looked at byte by byte in test_jit_layout.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jit_fixture.h"

/* Around RISC-V's 256 bytes, 2 KiB, 4 KiB and 1 MiB, in units of two and of four bytes. */
static const struct {
	uint32_t from, to;
} distances[] = {
	{0, 4},       {56, 70},     {118, 132},       {504, 516},
	{1014, 1028}, {2038, 2052}, {262142, 262144}, {524286, 524288},
};

static void begin(struct prog *prog)
{
	prog_init(prog);
	prog_func(prog, true);
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
}

/* @count insns that add 1 to r0 each. */
static void add_filler(struct prog *prog, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		prog_add(prog, alu_imm(ALU_ADD, INSN_W64, 0, 1));
}

/* Insn @at jumps to the next one that is added. */
static void set_target(struct prog *prog, uint32_t at)
{
	prog->unit.ins[at].target = prog->unit.nins;
}

static void check(const struct prog *prog, unsigned int features, uint64_t r1, uint64_t expect)
{
	struct native native = compile(prog, features, near_mem());

	assert_int_equal(call_native(&native, 0, r1, 5), expect);
	native_fini(&native);
}

/* Consumes the program. */
static void check_both(struct prog *prog, uint64_t r1, uint64_t expect)
{
	if (is_turn())
		check(prog, 0, r1, expect);
	if (cpu_features() && is_turn())
		check(prog, cpu_features(), r1, expect);
}

/* Over @count insns if r1 is 0, by a branch with a short form and one without. */
static void try_branch_forward(uint32_t count)
{
	const struct insn branches[] = {
		branch_imm(COND_EQ, INSN_W64, 1, 0),
		branch_reg(COND_LT, INSN_W64, 1, 2),
	};

	for (size_t i = 0; i < NELEMS(branches); i++) {
		struct prog prog;
		uint32_t over;

		begin(&prog);
		over = prog_add(&prog, branches[i]);
		add_filler(&prog, count);
		set_target(&prog, over);
		prog_add(&prog, leave());
		prog_end(&prog);
		check_both(&prog, 0, 0);
		check_both(&prog, 9, count);
		prog_fini(&prog);
	}
}

/* Twice through @count insns; the jump back is a branch, or a jump behind one. */
static void try_backward(uint32_t count, bool jump_back)
{
	struct prog prog;
	uint32_t top, out = 0;

	begin(&prog);
	top = prog_add(&prog, alu_imm(ALU_SUB, INSN_W64, 1, 1));
	add_filler(&prog, count);
	if (jump_back) {
		out = prog_add(&prog, branch_imm(COND_EQ, INSN_W64, 1, 0));
		prog_add(&prog, jump(top));
	} else {
		struct insn again = branch_imm(COND_NE, INSN_W64, 1, 0);

		again.target = top;
		prog_add(&prog, again);
	}
	set_target(&prog, out);
	prog_add(&prog, leave());
	prog_end(&prog);
	check_both(&prog, 2, 2 * (uint64_t)count);
	prog_fini(&prog);
}

/* A jump over @count insns. */
static void try_jump_forward(uint32_t count)
{
	struct prog prog;
	uint32_t over;

	begin(&prog);
	over = prog_add(&prog, jump(0));
	add_filler(&prog, count);
	set_target(&prog, over);
	prog_add(&prog, leave());
	prog_end(&prog);
	check_both(&prog, 0, 0);
	prog_fini(&prog);
}

/* A second exit @count insns behind the first, of a function with much to restore. */
static void try_exits(uint32_t count)
{
	struct prog prog;
	uint32_t over;

	begin(&prog);
	for (unsigned int r = 6; r <= 9; r++)
		prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, r, 1));
	over = prog_add(&prog, branch_imm(COND_EQ, INSN_W64, 1, 0));
	prog_add(&prog, leave());
	set_target(&prog, over);
	prog_add(&prog, alu_imm(ALU_ADD, INSN_W64, 0, 3));
	add_filler(&prog, count);
	prog_add(&prog, leave());
	prog_end(&prog);
	check_both(&prog, 1, 0);
	check_both(&prog, 0, 3 + (uint64_t)count);
	prog_fini(&prog);
}

/* Two functions with @count insns between the call and what it calls, forwards and backwards. */
static void try_calls(uint32_t count)
{
	struct prog prog;

	begin(&prog);
	prog_add(&prog, call(2));
	prog_add(&prog, leave());
	prog_func(&prog, false);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 7));
	prog_add(&prog, leave());
	prog_func(&prog, false);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	add_filler(&prog, count);
	prog_add(&prog, alu_reg(ALU_MOV, INSN_W64, 6, 0));
	prog_add(&prog, call(1));
	prog_add(&prog, alu_reg(ALU_ADD, INSN_W64, 0, 6));
	prog_add(&prog, call(3));
	prog_add(&prog, leave());
	prog_func(&prog, false);
	prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	add_filler(&prog, count);
	prog_add(&prog, leave());
	prog_end(&prog);
	check_both(&prog, 0, count);
	prog_fini(&prog);
}

static void each_distance(void (*try)(uint32_t count))
{
	for (size_t i = 0; i < NELEMS(distances); i++)
		for (uint32_t n = distances[i].from; n <= distances[i].to; n++)
			try(n);
}

static void try_branch_backward(uint32_t count)
{
	try_backward(count, false);
}

static void try_jump_backward(uint32_t count)
{
	try_backward(count, true);
}

static void test_branches_forward(void **state)
{
	(void)state;
	each_distance(try_branch_forward);
}

static void test_branches_backward(void **state)
{
	(void)state;
	each_distance(try_branch_backward);
}

static void test_jumps_forward(void **state)
{
	(void)state;
	each_distance(try_jump_forward);
}

static void test_jumps_backward(void **state)
{
	(void)state;
	each_distance(try_jump_backward);
}

static void test_exits(void **state)
{
	(void)state;
	each_distance(try_exits);
}

static void test_calls(void **state)
{
	(void)state;
	each_distance(try_calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches_forward),
		cmocka_unit_test(test_branches_backward),
		cmocka_unit_test(test_jumps_forward),
		cmocka_unit_test(test_jumps_backward),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests_name("jit reach", tests, NULL, NULL);
}

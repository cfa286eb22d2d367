/* SPDX-License-Identifier: MIT */
/*
 * test_jit_random.c - programs at random, always the same ones, on the interpreter and natively
 *
 *	r9 = a block of memory; r0 .. r8 from it		what they start with
 *	40 insns at random, with branches forward		the body
 *	count down in memory, and again			each comes behind each
 *	some of r0 .. r8 to memory, whole or in part		which upper halves matter
 *
 * A JIT that leaves out work because of what it knows of registers is wrong in few programs: those
 * in which what it knows is not so on some way to an insn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit_trial.h"

#define PROGRAMS 4000
#define BODY 40
#define ROUNDS 3
#define WORDS 32 /* of memory; the last one counts */
#define COUNT_OFF (8 * (WORDS - 1))
#define MEM 9 /* the register with its address, that nothing else touches */

static uint64_t seed;

/* xorshift64 of G. Marsaglia, "Xorshift RNGs" */
static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)(next() >> 33) % n;
}

static unsigned int reg(void)
{
	return below(MEM);
}

static uint64_t value(void)
{
	return below(3) ? edges[below(NEDGES)] : next();
}

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	return a + 3 * b + 5 * c + 7 * d + 11 * e;
}

static const struct helper helpers[] = {{.id = 1, .nargs = 5, .name = "mix", .fn = mix}};

/* ---- insns at random ---- */

static struct insn random_alu(void)
{
	unsigned int op = below(ALU_OPS), w = below(2);

	if (below(2))
		return alu_reg(op, w, reg(), reg());
	if (op >= ALU_LSH && op <= ALU_ARSH && below(2))
		return alu_imm(op, w, reg(), 30 + (int32_t)below(5));
	return alu_imm(op, w, reg(), (int32_t)value());
}

static struct insn random_unary(void)
{
	uint8_t r = (uint8_t)reg(), w = (uint8_t)below(2);

	switch (below(4)) {
	case 0: return (struct insn){.kind = INSN_NEG, .flags = w, .dst = r};
	case 1: return imm64(r, value());
	case 2:
		return (struct insn){.kind = INSN_SWAP,
				     .op = (uint8_t)below(3),
				     .dst = r,
				     .bytes = (uint8_t)(2u << below(3))};
	default:
		return (struct insn){.kind = INSN_MOVSX,
				     .flags = w,
				     .dst = r,
				     .src = (uint8_t)reg(),
				     .bytes = (uint8_t)(1u << below(w ? 3 : 2))};
	}
}

static struct insn random_load(void)
{
	unsigned int bytes = 1u << below(4);
	struct insn in = load(bytes, reg(), MEM, (int32_t)below(COUNT_OFF - 8));

	if (bytes < 8 && below(2))
		in.flags = INSN_SX | INSN_W64;
	return in;
}

static struct insn random_store(void)
{
	unsigned int bytes = 1u << below(4);
	int32_t off = (int32_t)below(COUNT_OFF - 8);

	return below(2) ? store(bytes, MEM, off, reg())
			: store_imm(bytes, MEM, off, (int32_t)value());
}

static struct insn random_atomic(void)
{
	uint8_t op = (uint8_t)below(ATOMIC_OPS);
	bool fetch = op >= ATOMIC_XCHG || below(2);

	return (struct insn){.kind = INSN_ATOMIC,
			     .op = op,
			     .flags = fetch ? INSN_FETCH : 0,
			     .bytes = (uint8_t)(4u << below(2)),
			     .dst = MEM,
			     .src = (uint8_t)reg(),
			     .off = (int32_t)(8 * below(WORDS - 1))};
}

/* The target is filled in by whoever knows how many follow. */
static struct insn random_branch(void)
{
	unsigned int op = below(COND_OPS), w = below(2);

	if (below(8) == 0)
		return jump(0);
	return below(2) ? branch_reg(op, w, reg(), reg())
			: branch_imm(op, w, reg(), (int32_t)value());
}

static struct insn random_insn(void)
{
	switch (below(16)) {
	case 0: return helper(0);
	case 1: return call(1);
	case 2: return random_atomic();
	case 3: return random_store();
	case 4:
	case 5: return random_load();
	case 6:
	case 7: return random_unary();
	case 8:
	case 9:
	case 10: return random_branch();
	default: return random_alu();
	}
}

/* ---- programs ---- */

static void add_body(struct prog *prog)
{
	uint32_t end = prog->unit.nins + BODY;

	while (prog->unit.nins < end) {
		struct insn in = random_insn();
		uint32_t next_at = prog->unit.nins + 1;

		if (in.kind == INSN_JUMP || in.kind == INSN_BRANCH)
			in.target = next_at + below(end - next_at + 1);
		prog_add(prog, in);
	}
}

static void add_end(struct prog *prog, uint32_t top)
{
	struct insn again = branch_imm(COND_NE, INSN_W64, 8, 0);

	prog_add(prog, store(8, MEM, 8 * 10, 8));
	prog_add(prog, load(8, 8, MEM, COUNT_OFF));
	prog_add(prog, alu_imm(ALU_SUB, INSN_W64, 8, 1));
	prog_add(prog, store(8, MEM, COUNT_OFF, 8));
	again.target = top;
	prog_add(prog, again);
	for (unsigned int r = 0; r < MEM; r++)
		if (below(2))
			prog_add(prog, store(below(2) ? 4 : 8, MEM, (int32_t)(8 * r), r));
	prog_add(prog, leave());
}

/* What every run of the body may call: some arithmetic on its arguments. */
static void add_callee(struct prog *prog)
{
	prog_func(prog, false);
	for (unsigned int i = 0; i < 8; i++) {
		struct insn in = random_alu();

		prog_add(prog, in);
	}
	prog_add(prog, leave());
	prog_end(prog);
}

static void build(struct prog *prog)
{
	uint32_t top;

	prog_init(prog);
	prog->unit.helpers = helpers;
	prog->unit.nhelpers = 1;
	prog_func(prog, true);
	prog_add(prog, alu_reg(ALU_MOV, INSN_W64, MEM, 1));
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 1, 0));
	top = prog->unit.nins;
	for (unsigned int r = 0; r < MEM; r++)
		if (below(4))
			prog_add(prog, load(8, r, MEM, (int32_t)(8 * r)));
	add_body(prog);
	add_end(prog, top);
	add_callee(prog);
	interp_prepare(&prog->unit);
}

/* ---- comparison ---- */

static void print_program(const struct prog *prog)
{
	char text[80];

	for (uint32_t i = 0; i < prog->unit.nins; i++) {
		disasm(&prog->unit, i, text, sizeof(text));
		print_error("%3u %s\n", i, text);
	}
}

static void compare(const struct prog *prog, unsigned int features, const uint64_t start[WORDS])
{
	struct native native = compile(prog, features, near_mem());
	uint64_t jit[WORDS], interp[WORDS], jit_r0, interp_r0;

	memcpy(jit, start, sizeof(jit));
	memcpy(interp, start, sizeof(interp));
	jit_r0 = call_native(&native, 0, (uint64_t)(uintptr_t)jit, 0);
	interp_r0 = interp_run(&prog->unit, 0, (uint64_t)(uintptr_t)interp, 0);
	if (jit_r0 != interp_r0 || memcmp(jit, interp, sizeof(jit)) != 0) {
		print_program(prog);
		print_error("features %#x: r0 %#llx, interp %#llx\n", features,
			    (unsigned long long)jit_r0, (unsigned long long)interp_r0);
		for (unsigned int i = 0; i < WORDS; i++)
			if (jit[i] != interp[i])
				print_error("word %u: from %#llx: %#llx, interp %#llx\n", i,
					    (unsigned long long)start[i],
					    (unsigned long long)jit[i],
					    (unsigned long long)interp[i]);
		fail();
	}
	native_fini(&native);
}

/* Each with all features of the CPU, and every other one with some of them. */
static void test_random(void **state)
{
	uint64_t start[WORDS];
	struct prog prog;

	(void)state;
	for (unsigned int n = 0; n < PROGRAMS; n++) {
		seed = 0x9e3779b97f4a7c15u * (n + 1);
		build(&prog);
		for (unsigned int i = 0; i < WORDS; i++)
			start[i] = value();
		start[WORDS - 1] = ROUNDS;
		compare(&prog, cpu_features(), start);
		if (n % 2)
			compare(&prog, cpu_features() & (unsigned int)next(), start);
		prog_fini(&prog);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests_name("jit random", tests, NULL, NULL);
}

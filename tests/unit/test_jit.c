/* SPDX-License-Identifier: MIT */
/*
 * test_jit.c - every operation on every pair of registers, against plain C and the interpreter
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit_trial.h"

static unsigned int features; /* what code may use, for a whole test */

static const int32_t imm_edges[] = {
	0,   1,   -1,     2,       3,          8,         10,        31,
	32,  63,  64,     127,     128,        -127,      -128,      -129,
	255, 256, 0xffff, 0x10000, 0x40000000, INT32_MAX, INT32_MIN, INT32_MIN + 1,
	-7,
};

/* ---- reference ---- */

static uint64_t ref_div64(unsigned int op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case ALU_DIV: return b ? a / b : 0;
	case ALU_MOD: return b ? a % b : a;
	case ALU_SDIV: return b == 0 ? 0 : sb == -1 ? 0 - a : (uint64_t)(sa / sb);
	default: return b == 0 ? a : sb == -1 ? 0 : (uint64_t)(sa % sb);
	}
}

static uint64_t ref_alu64(unsigned int op, uint64_t a, uint64_t b)
{
	switch (op) {
	case ALU_ADD: return a + b;
	case ALU_SUB: return a - b;
	case ALU_MUL: return a * b;
	case ALU_OR: return a | b;
	case ALU_AND: return a & b;
	case ALU_XOR: return a ^ b;
	case ALU_LSH: return a << (b & 63);
	case ALU_RSH: return a >> (b & 63);
	case ALU_ARSH: return (uint64_t)((int64_t)a >> (b & 63));
	case ALU_MOV: return b;
	default: return ref_div64(op, a, b);
	}
}

/* The operands' low halves, extended as the operation takes them; the low half of the result. */
static uint64_t ref_alu32(unsigned int op, uint64_t a, uint64_t b)
{
	bool is_signed = op == ALU_SDIV || op == ALU_SMOD || op == ALU_ARSH;

	a = is_signed ? (uint64_t)(int64_t)(int32_t)a : (uint32_t)a;
	b = is_signed ? (uint64_t)(int64_t)(int32_t)b : (uint32_t)b;
	if (op == ALU_LSH || op == ALU_RSH || op == ALU_ARSH)
		b &= 31;
	return (uint32_t)ref_alu64(op, a, b);
}

static uint64_t ref_alu(unsigned int op, unsigned int w, uint64_t a, uint64_t b)
{
	return w ? ref_alu64(op, a, b) : ref_alu32(op, a, b);
}

static bool ref_cond(unsigned int op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case COND_EQ: return a == b;
	case COND_NE: return a != b;
	case COND_SET: return a & b;
	case COND_GT: return a > b;
	case COND_GE: return a >= b;
	case COND_LT: return a < b;
	case COND_LE: return a <= b;
	case COND_SGT: return sa > sb;
	case COND_SGE: return sa >= sb;
	case COND_SLT: return sa < sb;
	default: return sa <= sb;
	}
}

/* ---- arithmetic ---- */

static void try_reg_edges(const struct trial *t, const struct insn *in)
{
	struct machine m;
	uint64_t a;

	machine_init(&m);
	for (size_t i = 0; i < NEDGES; i++) {
		for (size_t k = 0; k < NEDGES; k++) {
			m.in[in->dst] = edges[i];
			m.in[in->src] = edges[k];
			a = m.in[in->dst]; /* edges[k] if both are one register */
			trial_check(t, &m, in->dst, ref_alu(in->op, in->flags, a, edges[k]));
		}
	}
}

static void try_alu_reg(unsigned int op, unsigned int w)
{
	for (unsigned int dst = 0; dst < NREGS; dst++) {
		for (unsigned int src = 0; src < NREGS; src++) {
			struct insn in = alu_reg(op, w, dst, src);
			struct trial t;

			if (!is_turn())
				continue;
			trial_init(&t, in, features);
			try_reg_edges(&t, &in);
			trial_fini(&t);
		}
	}
}

static void test_alu_reg(void **state)
{
	(void)state;
	for (unsigned int op = 0; op < ALU_OPS; op++)
		for (unsigned int w = 0; w <= INSN_W64; w++)
			try_alu_reg(op, w);
}

static void try_alu_imm(unsigned int op, unsigned int w, unsigned int dst, int32_t imm)
{
	struct insn in = alu_imm(op, w, dst, imm);
	struct machine m;
	struct trial t;

	machine_init(&m);
	trial_init(&t, in, features);
	for (size_t i = 0; i < NEDGES; i++) {
		m.in[dst] = edges[i];
		trial_check(&t, &m, dst, ref_alu(op, w, edges[i], (uint64_t)(int64_t)imm));
	}
	trial_fini(&t);
}

static void test_alu_imm(void **state)
{
	(void)state;
	for (unsigned int op = 0; op < ALU_OPS; op++)
		for (unsigned int w = 0; w <= INSN_W64; w++)
			for (unsigned int dst = 0; dst < NREGS; dst++)
				for (size_t i = 0; i < NELEMS(imm_edges); i++)
					if (is_turn())
						try_alu_imm(op, w, dst, imm_edges[i]);
}

/* One insn whose result is a function of one register. */
static void try_unary(struct insn in, uint64_t (*ref)(const struct insn *in, uint64_t value))
{
	struct machine m;
	struct trial t;

	machine_init(&m);
	trial_init(&t, in, features);
	for (size_t i = 0; i < NEDGES; i++) {
		m.in[in.src] = edges[i];
		trial_check(&t, &m, in.dst, ref(&in, edges[i]));
	}
	trial_fini(&t);
}

static uint64_t ref_neg(const struct insn *in, uint64_t value)
{
	return in->flags & INSN_W64 ? 0 - value : (uint32_t)(0 - value);
}

static uint64_t ref_movsx(const struct insn *in, uint64_t value)
{
	int64_t wide = in->bytes == 1   ? (int8_t)value
		       : in->bytes == 2 ? (int16_t)value
					: (int32_t)value;

	return in->flags & INSN_W64 ? (uint64_t)wide : (uint32_t)wide;
}

static uint64_t ref_swap(const struct insn *in, uint64_t value)
{
	bool swap = in->op != SWAP_LE;

	switch (in->bytes) {
	case 2: return swap ? __builtin_bswap16((uint16_t)value) : (uint16_t)value;
	case 4: return swap ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
	default: return swap ? __builtin_bswap64(value) : value;
	}
}

static void test_neg_swap(void **state)
{
	(void)state;
	for (uint8_t r = 0; r < NREGS; r++) {
		for (uint8_t w = 0; w <= INSN_W64; w++)
			try_unary((struct insn){.kind = INSN_NEG, .flags = w, .dst = r, .src = r},
				  ref_neg);
		for (uint8_t op = SWAP_LE; op <= SWAP_ALWAYS; op++)
			for (uint8_t bytes = 2; bytes <= 8; bytes *= 2)
				try_unary((struct insn){.kind = INSN_SWAP,
							.op = op,
							.dst = r,
							.src = r,
							.bytes = bytes},
					  ref_swap);
	}
}

static void test_movsx(void **state)
{
	(void)state;
	for (uint8_t dst = 0; dst < NREGS; dst++)
		for (uint8_t src = 0; src < NREGS; src++)
			for (uint8_t w = 0; w <= INSN_W64; w++)
				for (uint8_t bytes = 1; bytes <= (w ? 4 : 2); bytes *= 2)
					try_unary((struct insn){.kind = INSN_MOVSX,
								.flags = w,
								.dst = dst,
								.src = src,
								.bytes = bytes},
						  ref_movsx);
}

static uint64_t ref_imm64(const struct insn *in, uint64_t value)
{
	(void)value;
	return (uint64_t)in->imm;
}

/* Also addresses within reach of the code, for which there is a form of their own. */
static void test_imm64(void **state)
{
	uint64_t near = near_mem()->lo + 12345;

	(void)state;
	for (unsigned int r = 0; r < NREGS; r++) {
		struct insn in = imm64(r, near);

		in.src = in.dst;
		try_unary(in, ref_imm64);
		for (size_t i = 0; i < NEDGES; i++) {
			in.imm = (int64_t)edges[i];
			try_unary(in, ref_imm64);
		}
	}
}

/* ---- branches ---- */

/* r0 = 1 if taken, else 2, after operands were loaded; nothing else changes. */
static void branch_prog(struct prog *prog, struct insn in)
{
	prog_init(prog);
	prog_func(prog, true);
	if (in.flags & INSN_IMM) {
		prog_add(prog, load(8, in.dst, 1, 8 * in.dst));
	} else {
		unsigned int first = in.dst == 1 ? in.src : in.dst;
		unsigned int last = in.dst == 1 ? in.dst : in.src;

		prog_add(prog, load(8, first, 1, (int32_t)(8 * first)));
		prog_add(prog, load(8, last, first == 1 ? 2 : 1, (int32_t)(8 * last)));
	}
	in.target = prog->unit.nins + 3;
	prog_add(prog, in);
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 0, 2));
	prog_add(prog, leave());
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 0, 1));
	prog_add(prog, leave());
	prog_end(prog);
	interp_prepare(&prog->unit);
}

static uint64_t cut(unsigned int op, unsigned int w, uint64_t value)
{
	if (w)
		return value;
	return op >= COND_SGT ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
}

static void check_branch(const struct prog *prog, const struct native *native, const uint64_t *regs,
			 bool taken)
{
	uint64_t r1 = (uint64_t)(uintptr_t)regs;

	assert_int_equal(call_native(native, 0, r1, 0), taken ? 1 : 2);
	assert_int_equal(interp_run(&prog->unit, 0, r1, 0), taken ? 1 : 2);
}

static void try_branch_reg(unsigned int op, unsigned int w, unsigned int dst, unsigned int src)
{
	uint64_t regs[NREGS] = {0};
	struct native native;
	struct prog prog;

	branch_prog(&prog, branch_reg(op, w, dst, src));
	native = compile(&prog, features, near_mem());
	for (size_t i = 0; i < NEDGES; i++) {
		for (size_t k = 0; k < NEDGES; k++) {
			regs[dst] = edges[i];
			regs[src] = edges[k];
			check_branch(&prog, &native, regs,
				     ref_cond(op, cut(op, w, regs[dst]), cut(op, w, regs[src])));
		}
	}
	native_fini(&native);
	prog_fini(&prog);
}

static void test_branch_reg(void **state)
{
	(void)state;
	for (unsigned int op = 0; op < COND_OPS; op++)
		for (unsigned int w = 0; w <= INSN_W64; w++)
			for (unsigned int dst = 0; dst < NREGS; dst++)
				for (unsigned int src = 0; src < NREGS; src++)
					if (dst != src && is_turn())
						try_branch_reg(op, w, dst, src);
}

static void try_branch_imm(unsigned int op, unsigned int w, unsigned int dst, int32_t imm)
{
	uint64_t b = cut(op, w, (uint64_t)(int64_t)imm), regs[NREGS] = {0};
	struct native native;
	struct prog prog;

	branch_prog(&prog, branch_imm(op, w, dst, imm));
	native = compile(&prog, features, near_mem());
	for (size_t i = 0; i < NEDGES; i++) {
		regs[dst] = edges[i];
		check_branch(&prog, &native, regs, ref_cond(op, cut(op, w, edges[i]), b));
	}
	native_fini(&native);
	prog_fini(&prog);
}

static void test_branch_imm(void **state)
{
	(void)state;
	for (unsigned int op = 0; op < COND_OPS; op++)
		for (unsigned int w = 0; w <= INSN_W64; w++)
			for (unsigned int dst = 0; dst < NREGS; dst++)
				for (size_t i = 0; i < NELEMS(imm_edges); i++)
					if (is_turn())
						try_branch_imm(op, w, dst, imm_edges[i]);
}

static int without_features(void **state)
{
	(void)state;
	features = 0;
	return 0;
}

static int with_features(void **state)
{
	(void)state;
	features = cpu_features();
	return 0;
}

#define BASELINE(test) cmocka_unit_test_setup(test, without_features)
#define ALL(test) cmocka_unit_test_setup(test, with_features)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BASELINE(test_alu_reg),    ALL(test_alu_reg),         BASELINE(test_alu_imm),
		ALL(test_alu_imm),         BASELINE(test_neg_swap),   ALL(test_neg_swap),
		BASELINE(test_movsx),      ALL(test_movsx),           BASELINE(test_imm64),
		ALL(test_imm64),           BASELINE(test_branch_reg), ALL(test_branch_reg),
		BASELINE(test_branch_imm), ALL(test_branch_imm),
	};

	return cmocka_run_group_tests_name("jit", tests, NULL, NULL);
}

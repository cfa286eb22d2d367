/* SPDX-License-Identifier: MIT */
/* test_jit_mem.c - loads, stores and atomics: every pair of registers, every size, far offsets */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit_trial.h"

static const int32_t offsets[] = {0, 8, -8, 127, 128, -128, -129, INT16_MAX, INT16_MIN};

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static uint64_t low_bytes(uint64_t value, unsigned int bytes)
{
	return bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
}

static uint64_t extended(uint64_t value, unsigned int bytes)
{
	return bytes == 1   ? (uint64_t)(int8_t)value
	       : bytes == 2 ? (uint64_t)(int16_t)value
			    : (uint64_t)(int32_t)value;
}

/* ---- loads ---- */

static void try_load(struct insn in)
{
	struct machine m;
	struct trial t;
	uint64_t cell;

	if (!is_turn())
		return;
	machine_init(&m);
	trial_init(&t, in, 0);
	for (size_t i = 0; i < NEDGES; i++) {
		cell = edges[i];
		m.in[in.src] = address(&cell) - (uint64_t)(int64_t)in.off;
		trial_check(&t, &m, in.dst,
			    in.flags & INSN_SX ? extended(cell, in.bytes)
					       : low_bytes(cell, in.bytes));
	}
	trial_fini(&t);
}

static void try_loads(unsigned int dst, unsigned int src, int32_t off)
{
	for (unsigned int bytes = 1; bytes <= 8; bytes *= 2) {
		struct insn in = load(bytes, dst, src, off);

		try_load(in);
		in.flags = INSN_SX | INSN_W64;
		if (bytes < 8)
			try_load(in);
	}
}

static void test_load(void **state)
{
	(void)state;
	for (unsigned int dst = 0; dst < NREGS; dst++)
		for (unsigned int src = 0; src < NREGS; src++)
			for (size_t i = 0; i < NELEMS(offsets); i++)
				try_loads(dst, src, offsets[i]);
}

/* ---- stores ---- */

/* The low bytes of @value in memory; registers stay. */
static void try_store(const struct trial *t, struct machine *m, const struct insn *in)
{
	uint64_t cell, change[2] = {0x9696969696969696};
	uint64_t value, mask = low_bytes(UINT64_MAX, in->bytes);

	m->in[in->dst] = address(&cell) - (uint64_t)(int64_t)in->off;
	value = in->flags & INSN_IMM ? (uint64_t)in->imm : m->in[in->src];
	change[1] = (change[0] & ~mask) | (value & mask);
	trial_check_memory(t, m, m->in, &cell, change);
}

static void try_store_reg(struct insn in)
{
	struct machine m;
	struct trial t;

	if (!is_turn())
		return;
	machine_init(&m);
	trial_init(&t, in, 0);
	for (size_t i = 0; i < NEDGES; i++) {
		m.in[in.src] = edges[i];
		try_store(&t, &m, &in);
	}
	trial_fini(&t);
}

static void try_stores(unsigned int dst, unsigned int src, int32_t off)
{
	for (unsigned int bytes = 1; bytes <= 8; bytes *= 2)
		try_store_reg(store(bytes, dst, off, src));
}

static void test_store(void **state)
{
	(void)state;
	for (unsigned int dst = 0; dst < NREGS; dst++)
		for (unsigned int src = 0; src < NREGS; src++)
			for (size_t i = 0; i < NELEMS(offsets); i++)
				try_stores(dst, src, offsets[i]);
}

static void try_store_imm(struct insn in)
{
	struct machine m;
	struct trial t;

	if (!is_turn())
		return;
	machine_init(&m);
	trial_init(&t, in, 0);
	try_store(&t, &m, &in);
	trial_fini(&t);
}

static void test_store_imm(void **state)
{
	static const int32_t imms[] = {0,      1,          -1,        127,      128,
				       0x1234, -0x1234567, INT32_MAX, INT32_MIN};

	(void)state;
	for (unsigned int dst = 0; dst < NREGS; dst++)
		for (size_t i = 0; i < NELEMS(offsets); i++)
			for (size_t k = 0; k < NELEMS(imms); k++)
				for (unsigned int bytes = 1; bytes <= 8; bytes *= 2)
					try_store_imm(store_imm(bytes, dst, offsets[i], imms[k]));
}

/* ---- atomics ---- */

static uint64_t ref_new(unsigned int op, uint64_t old, uint64_t src, bool equal)
{
	switch (op) {
	case ATOMIC_ADD: return old + src;
	case ATOMIC_OR: return old | src;
	case ATOMIC_AND: return old & src;
	case ATOMIC_XOR: return old ^ src;
	case ATOMIC_XCHG: return src;
	default: return equal ? src : old;
	}
}

/* What becomes of the registers, in place; returns what becomes of the memory. */
static uint64_t ref_atomic(const struct insn *in, uint64_t *regs, uint64_t cell)
{
	uint64_t mask = low_bytes(UINT64_MAX, in->bytes), old = cell & mask;
	bool equal = (regs[0] & mask) == old;
	uint64_t made = ref_new(in->op, old, regs[in->src], equal) & mask;

	if (in->flags & INSN_FETCH)
		regs[in->op == ATOMIC_CMPXCHG ? 0 : in->src] = old;
	return (cell & ~mask) | made;
}

/* Values of memory, src and r0; where registers are one, the address wins, then src. */
static const uint64_t atomics[][3] = {
	{0, 0, 0},
	{1, 2, 1},
	{1, 2, 0x100000001},
	{0xffffffffffffffff, 1, 0xffffffff},
	{0xffffffff00000001, 0xffffffffffffffff, 0xffffffff00000001},
	{0x123456789abcdef0, 0x0ff00ff00ff00ff0, 0x123456789abcdef0},
	{0x123456789abcdef0, 0xf00ff00ff00ff00f, 0x9abcdef0},
	{0x8000000080000000, 0x8000000080000000, 0x7fffffff7fffffff},
};

static void try_atomic(struct insn in)
{
	struct machine m;
	struct trial t;
	uint64_t cell, change[2], expect[NREGS];

	if (!is_turn())
		return;
	machine_init(&m);
	trial_init(&t, in, 0);
	for (size_t i = 0; i < NELEMS(atomics); i++) {
		change[0] = atomics[i][0];
		m.in[0] = atomics[i][2];
		m.in[in.src] = atomics[i][1];
		m.in[in.dst] = address(&cell) - (uint64_t)(int64_t)in.off;
		memcpy(expect, m.in, sizeof(expect));
		change[1] = ref_atomic(&in, expect, change[0]);
		trial_check_memory(&t, &m, expect, &cell, change);
	}
	trial_fini(&t);
}

static void try_atomics(unsigned int op, bool fetch, unsigned int dst, unsigned int src)
{
	static const int32_t some_offsets[] = {0, -8, 1024};

	for (unsigned int bytes = 4; bytes <= 8; bytes += 4) {
		for (size_t i = 0; i < NELEMS(some_offsets); i++) {
			struct insn in = store(bytes, dst, some_offsets[i], src);

			in.kind = INSN_ATOMIC;
			in.op = (uint8_t)op;
			in.flags =
				(uint8_t)((bytes == 8 ? INSN_W64 : 0) | (fetch ? INSN_FETCH : 0));
			try_atomic(in);
		}
	}
}

static void test_atomic(void **state)
{
	(void)state;
	for (unsigned int op = 0; op < ATOMIC_OPS; op++)
		for (unsigned int dst = 0; dst < NREGS; dst++)
			for (unsigned int src = 0; src < NREGS; src++) {
				try_atomics(op, true, dst, src);
				if (op < ATOMIC_XCHG)
					try_atomics(op, false, dst, src);
			}
}

/* ---- threads ---- */

#define ROUNDS 1000000

/*
 * Toggles the bits of r2 in the cell at r1, ROUNDS times, by fetch-and-xor. r5 is what they
 * were left as; the result is how often they were found otherwise: a toggle was lost.
 */
static void build_toggler(struct prog *prog)
{
	struct insn toggle = store(8, 1, 0, 3), again = branch_imm(COND_NE, INSN_W64, 4, 0);
	struct insn as_left = branch_reg(COND_EQ, INSN_W64, 3, 5);

	toggle.kind = INSN_ATOMIC;
	toggle.op = ATOMIC_XOR;
	toggle.flags = INSN_W64 | INSN_FETCH;
	prog_init(prog);
	prog_func(prog, true);
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 0, 0));
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 5, 0));
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 4, ROUNDS));
	again.target = prog_add(prog, alu_reg(ALU_MOV, INSN_W64, 3, 2));
	prog_add(prog, toggle);
	prog_add(prog, alu_reg(ALU_AND, INSN_W64, 3, 2));
	as_left.target = prog->unit.nins + 2;
	prog_add(prog, as_left);
	prog_add(prog, alu_imm(ALU_ADD, INSN_W64, 0, 1));
	prog_add(prog, alu_reg(ALU_MOV, INSN_W64, 5, 3));
	prog_add(prog, alu_reg(ALU_XOR, INSN_W64, 5, 2));
	prog_add(prog, alu_imm(ALU_SUB, INSN_W64, 4, 1));
	prog_add(prog, again);
	prog_add(prog, leave());
	prog_end(prog);
}

struct toggling {
	const struct native *native;
	uint64_t *cell;
	uint64_t bits;
	pthread_barrier_t *start;
	uint64_t lost;
};

static void *toggle(void *arg)
{
	struct toggling *t = arg;

	pthread_barrier_wait(t->start);
	t->lost = call_native(t->native, 0, address(t->cell), t->bits);
	return NULL;
}

/* No toggle is lost where another thread comes between load and cmpxchg. */
static void test_contended(void **state)
{
	struct native native;
	struct prog prog;
	uint64_t cell = 0;
	pthread_barrier_t start;
	struct toggling other = {&native, &cell, 0xf0f0, &start, 0};
	struct toggling own = {&native, &cell, 0x0f0f, &start, 0};
	pthread_t thread;

	(void)state;
	build_toggler(&prog);
	native = compile(&prog, 0, near_mem());
	assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, toggle, &other), 0);
	toggle(&own);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_barrier_destroy(&start);
	assert_int_equal(own.lost + other.lost, 0);
	assert_int_equal(cell, 0);
	native_fini(&native);
	prog_fini(&prog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),      cmocka_unit_test(test_store),
		cmocka_unit_test(test_store_imm), cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_contended),
	};

	return cmocka_run_group_tests_name("jit memory", tests, NULL, NULL);
}

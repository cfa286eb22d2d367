/* SPDX-License-Identifier: MIT */
/* test_flow.c - liveness, frames and call chains: what JITs and loaders build on */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/calls.h"
#include "bpf/flow.h"
#include "insns.h"

#define EXIT                                                                                       \
	{                                                                                          \
		0x95, 0, 0, 0, 0                                                                   \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define R(n) (1u << (n))
#define R1_R5 (R(1) | R(2) | R(3) | R(4) | R(5))

/* Programs, and what is live at their start. */
static const struct live {
	const char *text;
	unsigned int live_in;
} lives[] = {
	{"exit\n", R(0)},
	{"r0 = 1\n exit\n", 0},
	{"r0 = r3\n exit\n", R(3)},
	{"w0 = w3\n exit\n", R(3)},
	{"r0 = (s8)r3\n exit\n", R(3)},
	{"r0 = 0x1 ll\n exit\n", 0},
	{"r0 += 1\n exit\n", R(0)},
	{"r0 += r4\n exit\n", R(0) | R(4)},
	{"r0 = -r0\n exit\n", R(0)},
	{"r0 = be16 r0\n exit\n", R(0)},
	{"r0 = *(u8 *)(r7 +0)\n exit\n", R(7)},
	{"*(u8 *)(r7 +0) = 1\n exit\n", R(0) | R(7)},
	{"*(u8 *)(r7 +0) = r8\n exit\n", R(0) | R(7) | R(8)},
	{"lock *(u64 *)(r7 +0) += r8\n exit\n", R(0) | R(7) | R(8)},
	{"r0 = atomic64_fetch_add((u64 *)(r7 +0), r0)\n exit\n", R(0) | R(7)},
	{"r0 = atomic64_cmpxchg((u64 *)(r7 +0), r0, r8)\n exit\n", R(0) | R(7) | R(8)},
	{"r3 = atomic64_xchg((u64 *)(r7 +0), r3)\n r0 = r3\n exit\n", R(3) | R(7)},
	{"goto pc+1\n r0 = r9\n exit\n", R(0)},
	{"if r1 > r2 goto pc+1\n r0 = r9\n exit\n", R(0) | R(1) | R(2) | R(9)},
	{"if r1 > 0x2 goto pc+1\n r0 = 0\n exit\n", R(0) | R(1)},
	{"call 0\n exit\n", 0},
	{"call 3\n exit\n", R(1) | R(2) | R(3)},
	{"call 99\n exit\n", R1_R5}, /* nobody knows it: it may read them all */
	{"call 1\n r0 = r3\n r0 += r6\n exit\n", R(1) | R(6)},
	/* a loop carries what its head reads to its end */
	{"r0 = 0\n r0 += r6\n r1 += -1\n if r1 != 0x0 goto pc-3\n exit\n", R(1) | R(6)},
	{"goto pc+2\n r0 = r5\n exit\n r5 = r6\n goto pc-4\n", R(6)},
	/* what a callee reads of the arguments, and nothing else of it */
	{"call f\n exit\n f:\n r0 = r2\n r0 += r7\n exit\n", R(2)},
	{"call f\n exit\n f:\n call g\n r0 += r6\n exit\n g:\n r0 = r4\n exit\n", R(4)},
	{"call f\n exit\n f:\n call 0\n call g\n exit\n g:\n r0 = r4\n exit\n", 0},
	{"call f\n exit\n g:\n r0 = r4\n exit\n f:\n call g\n exit\n", R(4)},
};

static void check_live(const struct live *want)
{
	struct prog prog;
	struct flow flow;

	assert_int_equal(prog_asm(&prog, want->text), 0);
	assert_int_equal(flow_init(&flow, &prog.unit), 0);
	assert_int_equal((uint16_t)flow.live_in[0], want->live_in);
	assert_int_equal(flow.funcs[0].live_in, want->live_in);
	flow_fini(&flow);
	prog_fini(&prog);
}

static void finds_what_is_live(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(lives); i++)
		check_live(&lives[i]);
}

/* Programs, and whose upper halves matter at their start. */
static const struct live uppers[] = {
	{"exit\n", R(0)},
	{"w0 = w3\n exit\n", 0},
	{"r0 = r3\n exit\n", R(3)},
	{"r0 = (s32)r3\n exit\n", 0},
	{"r0 = r3\n w0 = w0\n exit\n", 0},
	{"r0 = r3\n r0 += r4\n r0 *= 3\n r0 <<= 3\n r0 = -r0\n w0 = w0\n exit\n", 0},
	{"r0 = r3\n r0 += r4\n r0 *= 3\n r0 <<= 3\n r0 = -r0\n exit\n", R(3) | R(4)},
	{"r0 = r3\n r0 >>= 1\n w0 = w0\n exit\n", R(3)},
	{"r0 = r3\n r0 /= r4\n w0 = w0\n exit\n", R(3) | R(4)},
	{"r0 = r3\n r0 <<= r4\n exit\n", R(3)},
	{"r0 = r3\n r0 &= 1\n exit\n", 0},
	{"r0 = r3\n r0 &= -2\n exit\n", R(3)},
	{"r0 = r3\n r0 = le64 r0\n exit\n", R(3)},
	{"r0 = r3\n r0 = be32 r0\n exit\n", 0},
	{"w0 = 0\n if w3 > w4 goto pc+0\n exit\n", 0},
	{"w0 = 0\n if r3 > r4 goto pc+1\n exit\n exit\n", R(3) | R(4)},
	{"r0 = *(u32 *)(r3 +0)\n exit\n", R(3)},
	{"w0 = 0\n *(u32 *)(r3 +0) = r4\n exit\n", R(3)},
	{"w0 = 0\n *(u64 *)(r3 +0) = r4\n exit\n", R(3) | R(4)},
	{"w0 = 0\n lock *(u32 *)(r3 +0) += r4\n exit\n", R(3)},
	{"w0 = 0\n lock *(u64 *)(r3 +0) += r4\n exit\n", R(3) | R(4)},
	{"r0 = atomic_cmpxchg((u32 *)(r3 +0), r0, r4)\n exit\n", R(3)},
	{"r0 = atomic64_cmpxchg((u64 *)(r3 +0), r0, r4)\n exit\n", R(0) | R(3) | R(4)},
	{"call 3\n exit\n", R(1) | R(2) | R(3)}, /* a helper may look at all of its arguments */
	{"call f\n exit\n f:\n w0 = w2\n r0 += r3\n exit\n", R(3)},
	/* once round the loop it does */
	{"w0 = 0\n r3 = r4\n r0 += r3\n r4 = r5\n if w1 != 0x0 goto pc-4\n exit\n", R(4) | R(5)},
};

static void finds_whose_upper_half_is_live(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(uppers); i++) {
		struct prog prog;
		struct flow flow;

		assert_int_equal(prog_asm(&prog, uppers[i].text), 0);
		assert_int_equal(flow_init(&flow, &prog.unit), 0);
		if (flow_upper(flow.live_in[0]) != uppers[i].live_in)
			print_error("%s", uppers[i].text);
		assert_int_equal(flow_upper(flow.live_in[0]), uppers[i].live_in);
		flow_fini(&flow);
		prog_fini(&prog);
	}
}

/* Frames: the deepest byte touched, or all of it where r10 goes elsewhere. */
static const struct frame {
	const char *text;
	unsigned int stack;
} frames[] = {
	{"exit\n", 0},
	{"*(u64 *)(r10 -8) = 1\n exit\n", 8},
	{"*(u8 *)(r10 -1) = 1\n exit\n", 8},
	{"*(u8 *)(r10 -9) = r1\n exit\n", 16},
	{"r0 = *(u32 *)(r10 -20)\n *(u64 *)(r10 -8) = r0\n exit\n", 24},
	{"lock *(u32 *)(r10 -32) += r1\n exit\n", 32},
	{"*(u64 *)(r10 -512) = 1\n exit\n", 512},
	{"*(u8 *)(r10 -513) = 1\n exit\n", 512},
	{"*(u16 *)(r10 -1) = 1\n exit\n", 512}, /* its second byte is above */
	{"r0 = *(u8 *)(r10 +0)\n exit\n", 512},
	{"r1 = r10\n exit\n", 512},
	{"r1 = (s8)r10\n exit\n", 512},
	{"r1 += r10\n exit\n", 512},
	{"*(u64 *)(r10 -8) = r10\n exit\n", 512},
	{"*(u64 *)(r1 +0) = r10\n exit\n", 512},
	{"lock *(u64 *)(r10 -8) += r10\n exit\n", 512},
	{"if r10 > r1 goto pc+0\n exit\n", 512},
	{"if r1 > r10 goto pc+0\n exit\n", 512},
	{"if r10 > 0x5 goto pc+0\n exit\n", 512},
	/* a callee's frame is its own */
	{"*(u64 *)(r10 -8) = 1\n call f\n exit\n f:\n *(u64 *)(r10 -64) = 1\n exit\n", 8},
};

static void finds_how_much_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(frames); i++) {
		struct prog prog;
		struct flow flow;

		assert_int_equal(prog_asm(&prog, frames[i].text), 0);
		assert_int_equal(flow_init(&flow, &prog.unit), 0);
		assert_int_equal(flow.funcs[0].stack, frames[i].stack);
		flow_fini(&flow);
		prog_fini(&prog);
	}
}

/* r3 is read behind a helper call, r4 and r6 behind a local one; r1, r2 only before. */
static void finds_what_calls_leave_undefined(void **state)
{
	struct prog prog;
	struct flow flow;

	(void)state;
	assert_int_equal(prog_asm(&prog, "call 2\n"
					 "r0 += r3\n"
					 "call f\n"
					 "r0 += r4\n"
					 "r0 += r6\n"
					 "exit\n"
					 "f:\n"
					 "r6 = 1\n"
					 "r0 = r5\n"
					 "exit\n"),
			 0);
	assert_int_equal(flow_init(&flow, &prog.unit), 0);
	assert_int_equal(flow_undefined(&flow, &prog.unit, 0), R(3) | R(5));
	assert_int_equal(flow_undefined(&flow, &prog.unit, 1), 0);
	assert_int_equal(flow_undefined(&flow, &prog.unit, 2), R(4));
	assert_int_equal(flow.funcs[0].writes & ~R1_R5, R(0) | R(6)); /* r6: zeroed at entry */
	assert_int_equal(flow.funcs[1].writes, R(0) | R(6));
	flow_fini(&flow);
	prog_fini(&prog);
}

static void finds_what_is_undefined_at_entry(void **state)
{
	const char *reads_all = "r0 += r1\n r0 += r2\n r0 += r3\n r0 += r4\n r0 += r5\n"
				"r0 += r6\n r0 += r7\n r0 += r8\n r0 += r9\n exit\n";
	const unsigned int always = R(0) | R(6) | R(7) | R(8) | R(9);
	char text[256];
	struct prog prog;
	struct flow flow;

	(void)state;
	snprintf(text, sizeof(text), "call f\n exit\n f:\n %s", reads_all);
	assert_int_equal(prog_asm(&prog, text), 0);
	assert_int_equal(flow_init(&flow, &prog.unit), 0);
	assert_int_equal(flow_entry_undefined(&flow, &prog.unit, 0), 0);
	assert_int_equal(flow_outside_undefined(&flow, &prog.unit, 0), R(3) | R(4) | R(5));
	assert_int_equal(flow_entry_undefined(&flow, &prog.unit, 1), always);
	assert_int_equal(flow_outside_undefined(&flow, &prog.unit, 1), 0);
	prog.unit.funcs[1].entry = true;
	assert_int_equal(flow_outside_undefined(&flow, &prog.unit, 1), R(3) | R(4) | R(5));
	flow_fini(&flow);
	prog_fini(&prog);

	assert_int_equal(prog_asm(&prog, reads_all), 0);
	assert_int_equal(flow_init(&flow, &prog.unit), 0);
	assert_int_equal(flow_entry_undefined(&flow, &prog.unit, 0), always);
	assert_int_equal(flow_outside_undefined(&flow, &prog.unit, 0), R(3) | R(4) | R(5));
	flow_fini(&flow);
	prog_fini(&prog);
}

/*
 * The order that is worst for sweeps: entry -> last -> last but one .. -> 1: exit. Every
 * insn learns from the one before it that r0 is read.
 */
static void is_linear_on_backward_chains(void **state)
{
	enum { SLOTS = 1000000 };
	struct raw *raw = calloc(SLOTS, sizeof(*raw));
	struct prog prog;
	struct flow flow;

	(void)state;
	assert_non_null(raw);
	raw[0] = (struct raw){0x06, 0, 0, 0, SLOTS - 2};
	raw[1] = (struct raw)EXIT;
	for (uint32_t i = 2; i < SLOTS; i++)
		raw[i] = (struct raw){0x05, 0, 0, -2, 0};
	assert_int_equal(prog_raw(&prog, raw, SLOTS), 0);
	assert_int_equal(flow_init(&flow, &prog.unit), 0);
	assert_int_equal((uint16_t)flow.live_in[0], R(0));
	flow_fini(&flow);
	prog_fini(&prog);
	free(raw);
}

static void refuse_calls(struct prog *prog, const char *why)
{
	struct log log = prog_log(prog);

	assert_int_equal(calls_check(&prog->unit, &log), -ELOOP);
	assert_string_equal(prog->said, why);
}

static void refuses_recursion(void **state)
{
	struct prog prog;

	(void)state;
	assert_int_equal(prog_asm(&prog, "call pc-1\n exit\n"), 0);
	refuse_calls(&prog, "insn 0 (call pc-1 <main>): recursion: main -> main");
	prog_fini(&prog);
	assert_int_equal(prog_asm(&prog, "call f\n exit\n"
					 "f:\n call g\n exit\n"
					 "g:\n r0 = 1\n call f\n exit\n"),
			 0);
	refuse_calls(&prog, "insn 5 (call pc-4 <sub_2>): recursion: sub_2 -> sub_4 -> sub_2");
	prog_fini(&prog);
}

/* @count functions, each calling the next. */
static void make_chain(struct prog *prog, uint32_t count)
{
	struct raw *raw = calloc(2 * (size_t)count, sizeof(*raw));

	assert_non_null(raw);
	for (uint32_t f = 0; f < count; f++) {
		raw[2 * f] = (struct raw){0x85, 0, 1, 0, 1};
		raw[2 * f + 1] = (struct raw)EXIT;
	}
	raw[2 * count - 2] = (struct raw){0xb7, 0, 0, 0, 0};
	assert_int_equal(prog_raw(prog, raw, 2 * count), 0);
	free(raw);
}

static void limits_depth(void **state)
{
	struct prog prog;

	(void)state;
	make_chain(&prog, BPF_MAX_DEPTH);
	assert_int_equal(calls_check(&prog.unit, NULL), 0);
	prog_fini(&prog);
	make_chain(&prog, BPF_MAX_DEPTH + 1);
	refuse_calls(&prog,
		     "insn 0 (call pc+1 <sub_2>): calls nest more than 8 deep: main -> sub_2 "
		     "-> sub_4 -> sub_6 -> sub_8 -> sub_10 -> sub_12 -> sub_14 -> sub_16");
	prog_fini(&prog);
	make_chain(&prog, 200000);
	assert_int_equal(calls_check(&prog.unit, NULL), -ELOOP);
	prog_fini(&prog);
}

/* The deep chain is reached by the second call, through functions that were seen before. */
static void finds_deep_chains_behind_shallow_ones(void **state)
{
	struct prog prog;

	(void)state;
	assert_int_equal(prog_asm(&prog, "call c\n call a\n exit\n"
					 "a:\n call b\n exit\n"
					 "b:\n call c\n exit\n"
					 "c:\n call d\n exit\n"
					 "d:\n call e\n exit\n"
					 "e:\n call f\n exit\n"
					 "f:\n call g\n exit\n"
					 "g:\n call h\n exit\n"
					 "h:\n r0 = 0\n exit\n"),
			 0);
	refuse_calls(&prog,
		     "insn 1 (call pc+1 <sub_3>): calls nest more than 8 deep: main -> sub_3 "
		     "-> sub_5 -> sub_7 -> sub_9 -> sub_11 -> sub_13 -> sub_15 -> sub_17");
	prog_fini(&prog);
}

/* 7 layers of 40 functions, each calling all of the next layer: 40^7 chains, 280 functions. */
static void looks_at_each_function_once(void **state)
{
	enum { WIDTH = 40, LAYERS = 7, SLOTS = WIDTH + 1 };
	uint32_t count = SLOTS * (1 + WIDTH * LAYERS), n = 0;
	struct raw *raw = calloc(count, sizeof(*raw));
	struct prog prog;

	(void)state;
	assert_non_null(raw);
	for (uint32_t f = 0; f < 1 + WIDTH * LAYERS; f++) {
		uint32_t layer = f ? 1 + (f - 1) / WIDTH : 0;

		for (uint32_t i = 0; i < WIDTH; i++, n++) {
			uint32_t callee = 1 + layer * WIDTH + i;

			raw[n] = layer == LAYERS ? (struct raw){0xb7, 0, 0, 0, 0}
						 : (struct raw){0x85, 0, 1, 0,
								(int32_t)(callee * SLOTS - n - 1)};
		}
		raw[n++] = (struct raw)EXIT;
	}
	assert_int_equal(prog_raw(&prog, raw, count), 0);
	assert_int_equal(prog.unit.nfuncs, 1 + WIDTH * LAYERS);
	assert_int_equal(calls_check(&prog.unit, NULL), 0);
	prog_fini(&prog);
	free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_live),
		cmocka_unit_test(finds_whose_upper_half_is_live),
		cmocka_unit_test(finds_how_much_stack),
		cmocka_unit_test(finds_what_calls_leave_undefined),
		cmocka_unit_test(finds_what_is_undefined_at_entry),
		cmocka_unit_test(is_linear_on_backward_chains),
		cmocka_unit_test(refuses_recursion),
		cmocka_unit_test(limits_depth),
		cmocka_unit_test(finds_deep_chains_behind_shallow_ones),
		cmocka_unit_test(looks_at_each_function_once),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}

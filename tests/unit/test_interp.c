/* SPDX-License-Identifier: MIT */
/*
 * test_interp.c - the interpreter against arithmetic on wider numbers, and against RFC 9669
 *
 * The oracle computes in 128 bits, where nothing overflows, and cuts: it shares no trick with
 * the interpreter.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/calls.h"
#include "insns.h"

#define EXIT                                                                                       \
	{                                                                                          \
		0x95, 0, 0, 0, 0                                                                   \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t edges[] = {
	0,
	1,
	2,
	7,
	31,
	32,
	33,
	63,
	64,
	65,
	INT32_MAX,
	(uint64_t)INT32_MAX + 1,
	UINT32_MAX,
	(uint64_t)UINT32_MAX + 1,
	INT64_MAX,
	(uint64_t)INT64_MAX + 1,
	(uint64_t)-7,
	(uint64_t)-2,
	(uint64_t)-1,
	(uint64_t)INT32_MIN,
	0x0123456789abcdef,
	0xfedcba9876543210,
};

/* Operations as RFC 9669 section 4.1 encodes them: code, and off for signed division. */
static const struct alu {
	uint8_t code;
	int16_t off;
	enum alu_op op;
} alus[] = {
	{0x00, 0, ALU_ADD},  {0x10, 0, ALU_SUB}, {0x20, 0, ALU_MUL},  {0x30, 0, ALU_DIV},
	{0x30, 1, ALU_SDIV}, {0x90, 0, ALU_MOD}, {0x90, 1, ALU_SMOD}, {0x40, 0, ALU_OR},
	{0x50, 0, ALU_AND},  {0xa0, 0, ALU_XOR}, {0x60, 0, ALU_LSH},  {0x70, 0, ALU_RSH},
	{0xc0, 0, ALU_ARSH}, {0xb0, 0, ALU_MOV},
};

static const struct cond {
	uint8_t code;
	enum cond_op op;
} conds[] = {
	{0x10, COND_EQ},  {0x50, COND_NE},  {0x40, COND_SET}, {0x20, COND_GT},
	{0x30, COND_GE},  {0xa0, COND_LT},  {0xb0, COND_LE},  {0x60, COND_SGT},
	{0x70, COND_SGE}, {0xc0, COND_SLT}, {0xd0, COND_SLE},
};

/* A value of @width bits, as unsigned and as signed number. */
static __int128 as_unsigned(uint64_t value, int width)
{
	return width == 64 ? value : (uint32_t)value;
}

static __int128 as_signed(uint64_t value, int width)
{
	return width == 64 ? (int64_t)value : (int32_t)(uint32_t)value;
}

static __int128 floor_shift(__int128 value, int count)
{
	__int128 unit = (__int128)1 << count, rest = (value % unit + unit) % unit;

	return (value - rest) / unit;
}

static __int128 alu_exact(enum alu_op op, uint64_t a64, uint64_t b64, int width)
{
	__int128 a = as_unsigned(a64, width), b = as_unsigned(b64, width);
	__int128 sa = as_signed(a64, width), sb = as_signed(b64, width);
	int count = (int)(b % width);

	switch (op) {
	case ALU_ADD: return a + b;
	case ALU_SUB: return a - b;
	case ALU_MUL: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
	case ALU_DIV: return b ? a / b : 0;
	case ALU_SDIV: return sb ? sa / sb : 0;
	case ALU_MOD: return b ? a % b : a;
	case ALU_SMOD: return sb ? sa % sb : sa;
	case ALU_OR: return a | b;
	case ALU_AND: return a & b;
	case ALU_XOR: return a ^ b;
	case ALU_LSH: return (__int128)((unsigned __int128)a << count);
	case ALU_RSH: return a >> count;
	case ALU_ARSH: return floor_shift(sa, count);
	case ALU_MOV: return b;
	case ALU_OPS: break;
	}
	abort();
}

static bool cond_exact(enum cond_op op, uint64_t a64, uint64_t b64, int width)
{
	__int128 a = as_unsigned(a64, width), b = as_unsigned(b64, width);
	__int128 sa = as_signed(a64, width), sb = as_signed(b64, width);

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
	case COND_SLE: return sa <= sb;
	case COND_OPS: break;
	}
	abort();
}

static uint64_t run(struct prog *prog, uint64_t r1, uint64_t r2)
{
	assert_string_equal(prog->said, "");
	interp_prepare(&prog->unit);
	return interp_run(&prog->unit, 0, r1, r2);
}

static bool fits_imm(uint64_t value)
{
	return value == (uint64_t)(int32_t)value;
}

/*
 * Run "r0 = r1; r0 op= r2; exit" of one opcode on all pairs of edges. With @imm the operand
 * is in the instruction: pairs that do not fit are passed over.
 */
static void check_alu(const struct alu *alu, uint8_t class, bool imm, uint64_t b)
{
	int width = class == 0x07 ? 64 : 32;
	struct raw raw[] = {
		{0xbf, 0, 1, 0, 0},
		{(uint8_t)(alu->code | class | (imm ? 0 : 8)), 0, imm ? 0 : 2, alu->off,
		 imm ? (int32_t)b : 0},
		EXIT,
	};
	struct prog prog;

	if (imm && !fits_imm(b))
		return;
	assert_int_equal(prog_raw(&prog, raw, 3), 0);
	for (size_t i = 0; i < COUNT(edges); i++) {
		__int128 exact = alu_exact(alu->op, edges[i], b, width);
		uint64_t want = width == 64 ? (uint64_t)exact : (uint32_t)exact;

		assert_int_equal(run(&prog, edges[i], b), want);
	}
	prog_fini(&prog);
}

static void computes(void **state)
{
	(void)state;
	for (size_t op = 0; op < COUNT(alus); op++)
		for (size_t i = 0; i < COUNT(edges); i++) {
			check_alu(&alus[op], 0x07, false, edges[i]);
			check_alu(&alus[op], 0x07, true, edges[i]);
			check_alu(&alus[op], 0x04, false, edges[i]);
			check_alu(&alus[op], 0x04, true, edges[i]);
		}
}

/* "if r1 op r2 goto .." gives 1 where it jumps. */
static void check_cond(const struct cond *cond, uint8_t class, bool imm, uint64_t b)
{
	int width = class == 0x05 ? 64 : 32;
	struct raw raw[] = {
		{0xb7, 0, 0, 0, 1},
		{(uint8_t)(cond->code | class | (imm ? 0 : 8)), 1, imm ? 0 : 2, 1,
		 imm ? (int32_t)b : 0},
		{0xb7, 0, 0, 0, 0},
		EXIT,
	};
	struct prog prog;

	if (imm && !fits_imm(b))
		return;
	assert_int_equal(prog_raw(&prog, raw, 4), 0);
	for (size_t i = 0; i < COUNT(edges); i++)
		assert_int_equal(run(&prog, edges[i], b), cond_exact(cond->op, edges[i], b, width));
	prog_fini(&prog);
}

static void compares(void **state)
{
	(void)state;
	for (size_t op = 0; op < COUNT(conds); op++)
		for (size_t i = 0; i < COUNT(edges); i++) {
			check_cond(&conds[op], 0x05, false, edges[i]);
			check_cond(&conds[op], 0x05, true, edges[i]);
			check_cond(&conds[op], 0x06, false, edges[i]);
			check_cond(&conds[op], 0x06, true, edges[i]);
		}
}

/* Programs with r1 = 0xfedcba9876543210 and r2 = 5, and what they return. */
static const struct result {
	const char *text;
	uint64_t result;
} results[] = {
	{"r0 = r1\n r0 = -r0\n exit\n", 0x0123456789abcdf0},
	{"r0 = r1\n w0 = -w0\n exit\n", 0x89abcdf0},
	{"r0 = 0x8000000000000000 ll\n r0 = -r0\n exit\n", 0x8000000000000000},
	{"r0 = (s8)r1\n exit\n", 0x10},
	{"r1 >>= 32\n r0 = (s8)r1\n exit\n", 0xffffffffffffff98},
	{"r1 >>= 32\n r0 = (s16)r1\n exit\n", 0xffffffffffffba98},
	{"r1 >>= 32\n r0 = (s32)r1\n exit\n", 0xfffffffffedcba98},
	{"r1 >>= 32\n w0 = (s8)w1\n exit\n", 0xffffff98},
	{"r1 >>= 32\n w0 = (s16)w1\n exit\n", 0xffffba98},
	{"r0 = r1\n r0 = le16 r0\n exit\n", 0x3210},
	{"r0 = r1\n r0 = le32 r0\n exit\n", 0x76543210},
	{"r0 = r1\n r0 = le64 r0\n exit\n", 0xfedcba9876543210},
	{"r0 = r1\n r0 = be16 r0\n exit\n", 0x1032},
	{"r0 = r1\n r0 = be32 r0\n exit\n", 0x10325476},
	{"r0 = r1\n r0 = be64 r0\n exit\n", 0x1032547698badcfe},
	{"r0 = r1\n r0 = bswap16 r0\n exit\n", 0x1032},
	{"r0 = r1\n r0 = bswap32 r0\n exit\n", 0x10325476},
	{"r0 = r1\n r0 = bswap64 r0\n exit\n", 0x1032547698badcfe},
	{"r0 = 0x8899aabbccddeeff ll\n exit\n", 0x8899aabbccddeeff},
	/* memory, aligned or not; loads extend by their type */
	{"*(u64 *)(r10 -8) = r1\n r0 = *(u64 *)(r10 -8)\n exit\n", 0xfedcba9876543210},
	{"*(u64 *)(r10 -8) = r1\n r0 = *(u8 *)(r10 -1)\n exit\n", 0xfe},
	{"*(u64 *)(r10 -8) = r1\n r0 = *(u16 *)(r10 -5)\n exit\n", 0x9876},
	{"*(u64 *)(r10 -8) = r1\n r0 = *(u32 *)(r10 -7)\n exit\n", 0x98765432},
	{"*(u64 *)(r10 -8) = r1\n r0 = *(s8 *)(r10 -1)\n exit\n", 0xfffffffffffffffe},
	{"*(u64 *)(r10 -8) = r1\n r0 = *(s16 *)(r10 -3)\n exit\n", 0xffffffffffffdcba},
	{"*(u64 *)(r10 -8) = r1\n r0 = *(s32 *)(r10 -4)\n exit\n", 0xfffffffffedcba98},
	{"*(u64 *)(r10 -8) = -2\n r0 = *(u64 *)(r10 -8)\n exit\n", (uint64_t)-2},
	{"*(u64 *)(r10 -8) = 0\n *(u8 *)(r10 -7) = -2\n r0 = *(u64 *)(r10 -8)\n exit\n", 0xfe00},
	{"*(u64 *)(r10 -8) = 0\n *(u16 *)(r10 -7) = -2\n r0 = *(u64 *)(r10 -8)\n exit\n", 0xfffe00},
	{"*(u64 *)(r10 -8) = 0\n *(u32 *)(r10 -7) = -2\n r0 = *(u64 *)(r10 -8)\n exit\n",
	 0xfffffffe00},
	{"*(u64 *)(r10 -8) = 0\n *(u8 *)(r10 -8) = r1\n r0 = *(u64 *)(r10 -8)\n exit\n", 0x10},
	{"*(u64 *)(r10 -8) = 0\n *(u32 *)(r10 -8) = r1\n r0 = *(u64 *)(r10 -8)\n exit\n",
	 0x76543210},
	{"r3 = r10\n r3 += -512\n *(u64 *)(r3 +0) = r2\n r0 = *(u64 *)(r10 -512)\n exit\n", 5},
	/* jumps */
	{"r0 = 1\n goto pc+1\n r0 = 2\n exit\n", 1},
	{"r0 = 1\n gotol pc+1\n r0 = 2\n exit\n", 1},
	{"r0 = 0\n r0 += 3\n r2 += -1\n if r2 != 0x0 goto pc-3\n exit\n", 15},
};

static void gives_results(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(results); i++) {
		struct prog prog;

		assert_int_equal(prog_asm(&prog, results[i].text), 0);
		assert_int_equal(run(&prog, 0xfedcba9876543210, 5), results[i].result);
		prog_fini(&prog);
	}
}

/* One atomic: memory 0xf0000000f on r1, r2 = 0x100000001f. What is left, and r0, r2 after it. */
static const struct atomic {
	const char *text;
	uint64_t memory, r0, r2;
} atomics[] = {
	{"lock *(u64 *)(r1 +8) += r2", 0x1f0000002e, 0xf, 0x100000001f},
	{"lock *(u32 *)(r1 +8) += r2", 0xf0000002e, 0xf, 0x100000001f},
	{"lock *(u64 *)(r1 +8) |= r2", 0x1f0000001f, 0xf, 0x100000001f},
	{"lock *(u32 *)(r1 +8) |= r2", 0xf0000001f, 0xf, 0x100000001f},
	{"lock *(u64 *)(r1 +8) &= r2", 0xf, 0xf, 0x100000001f},
	{"lock *(u32 *)(r1 +8) &= r2", 0xf0000000f, 0xf, 0x100000001f},
	{"lock *(u64 *)(r1 +8) ^= r2", 0x1f00000010, 0xf, 0x100000001f},
	{"lock *(u32 *)(r1 +8) ^= r2", 0xf00000010, 0xf, 0x100000001f},
	{"r2 = atomic64_fetch_add((u64 *)(r1 +8), r2)", 0x1f0000002e, 0xf, 0xf0000000f},
	{"r2 = atomic_fetch_add((u32 *)(r1 +8), r2)", 0xf0000002e, 0xf, 0xf},
	{"r2 = atomic64_fetch_or((u64 *)(r1 +8), r2)", 0x1f0000001f, 0xf, 0xf0000000f},
	{"r2 = atomic_fetch_or((u32 *)(r1 +8), r2)", 0xf0000001f, 0xf, 0xf},
	{"r2 = atomic64_fetch_and((u64 *)(r1 +8), r2)", 0xf, 0xf, 0xf0000000f},
	{"r2 = atomic_fetch_and((u32 *)(r1 +8), r2)", 0xf0000000f, 0xf, 0xf},
	{"r2 = atomic64_fetch_xor((u64 *)(r1 +8), r2)", 0x1f00000010, 0xf, 0xf0000000f},
	{"r2 = atomic_fetch_xor((u32 *)(r1 +8), r2)", 0xf00000010, 0xf, 0xf},
	{"r2 = atomic64_xchg((u64 *)(r1 +8), r2)", 0x100000001f, 0xf, 0xf0000000f},
	{"r2 = atomic_xchg((u32 *)(r1 +8), r2)", 0xf0000001f, 0xf, 0xf},
	/* r0 is 0xf: another value in 64 bits, the same in 32 */
	{"r0 = atomic64_cmpxchg((u64 *)(r1 +8), r0, r2)", 0xf0000000f, 0xf0000000f, 0x100000001f},
	{"r0 = atomic_cmpxchg((u32 *)(r1 +8), r0, r2)", 0xf0000001f, 0xf, 0x100000001f},
	{"r0 = 0xf0000000f ll\nr0 = atomic64_cmpxchg((u64 *)(r1 +8), r0, r2)", 0x100000001f,
	 0xf0000000f, 0x100000001f},
	/* the upper half of r0 does not count, and is gone also where nothing was exchanged */
	{"r0 = 0x500000001 ll\nr0 = atomic_cmpxchg((u32 *)(r1 +8), r0, r2)", 0xf0000000f, 0xf,
	 0x100000001f},
};

static void check_atomic(const struct atomic *want)
{
	uint64_t memory[4] = {0, 0xf0000000f};
	char text[256];
	struct prog prog;

	snprintf(text, sizeof(text),
		 "r0 = 15\n r2 = 0x100000001f ll\n %s\n *(u64 *)(r1 +16) = r0\n"
		 "*(u64 *)(r1 +24) = r2\n exit\n",
		 want->text);
	assert_int_equal(prog_asm(&prog, text), 0);
	run(&prog, (uintptr_t)memory, 0);
	assert_int_equal(memory[1], want->memory);
	assert_int_equal(memory[2], want->r0);
	assert_int_equal(memory[3], want->r2);
	assert_int_equal(memory[0], 0);
	prog_fini(&prog);
}

static void does_atomics(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(atomics); i++)
		check_atomic(&atomics[i]);
}

/* A program's contribution from one thread: 10,000 times one, by each form of adding. */
static void *add_up(void *unit_and_counter)
{
	void **args = unit_and_counter;

	interp_run(args[0], 0, (uintptr_t)args[1], 10000);
	return NULL;
}

static void is_atomic_between_threads(void **state)
{
	uint64_t counters[2] = {0};
	struct prog prog;
	pthread_t thread;
	void *args[] = {&prog.unit, counters};

	(void)state;
	assert_int_equal(prog_asm(&prog, "r3 = 1\n"
					 "lock *(u64 *)(r1 +0) += r3\n"
					 "r3 = atomic64_fetch_add((u64 *)(r1 +8), r3)\n"
					 "r2 += -1\n"
					 "if r2 != 0x0 goto pc-5\n"
					 "exit\n"),
			 0);
	interp_prepare(&prog.unit);
	assert_int_equal(pthread_create(&thread, NULL, add_up, args), 0);
	add_up(args);
	pthread_join(thread, NULL);
	assert_int_equal(counters[0], 20000);
	assert_int_equal(counters[1], 20000);
	prog_fini(&prog);
}

static void starts_with_zeros(void **state)
{
	static const int rest[] = {0, 3, 4, 5, 6, 7, 8, 9};

	(void)state;
	for (size_t i = 0; i < COUNT(rest); i++) {
		char text[32];
		struct prog prog;

		snprintf(text, sizeof(text), "r0 = r%d\n exit\n", rest[i]);
		assert_int_equal(prog_asm(&prog, text), 0);
		assert_int_equal(run(&prog, ~0ull, ~0ull), 0);
		prog_fini(&prog);
	}
}

/* Set r0 .. r9 before a call, and fold those from @first up after it: 0 where all were zero. */
static uint64_t run_between(const char *call, const char *after, const char *rest)
{
	char text[512];
	struct prog prog;
	uint64_t result;

	snprintf(text, sizeof(text),
		 "r0 = 1\n r1 = 1\n r2 = 1\n r3 = 1\n r4 = 1\n r5 = 1\n r6 = 6\n r7 = 7\n r8 = 8\n"
		 "r9 = 9\n %s\n %s\n exit\n %s\n",
		 call, after, rest);
	assert_int_equal(prog_asm(&prog, text), 0);
	result = run(&prog, 0, 0);
	prog_fini(&prog);
	return result;
}

static void zeroes_what_calls_leave(void **state)
{
	const char *fold = "r0 = 0\n r0 |= r1\n r0 |= r2\n r0 |= r3\n r0 |= r4\n r0 |= r5";
	const char *keep = "r0 = r6\n r0 <<= 4\n r0 |= r7\n r0 <<= 4\n r0 |= r8\n r0 <<= 4\n"
			   "r0 |= r9";
	const char *clobber = "f:\n r1 = 3\n r6 = 3\n r7 = 3\n r8 = 3\n r9 = 3\n exit";
	const char *callee = "f:\n r0 |= r6\n r0 |= r7\n r0 |= r8\n r0 |= r9\n exit";

	(void)state;
	assert_int_equal(run_between("call 5", fold, ""), 0);
	assert_int_equal(run_between("call f", fold, clobber), 0);
	assert_int_equal(run_between("call 5", keep, ""), 0x6789);
	assert_int_equal(run_between("call f", keep, clobber), 0x6789);
	assert_int_equal(run_between("call f", "", callee), 0);
}

static void passes_arguments(void **state)
{
	const char *add = "f:\n r0 = r1\n r0 += r2\n r0 += r3\n r0 += r4\n r0 += r5\n exit";

	(void)state;
	assert_int_equal(run_between("call 5", "", ""), 0x11111);
	assert_int_equal(run_between("call f", "", add), 5);
}

/* Each level has a frame of its own, and the caller's is as it was. */
static void gives_each_level_a_frame(void **state)
{
	char text[2048];
	size_t len = 0;
	struct prog prog;

	(void)state;
	for (int level = 1; level <= BPF_MAX_DEPTH; level++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"*(u64 *)(r10 -8) = %d\n *(u64 *)(r10 -512) = %d\n %s\n"
					"r2 = *(u64 *)(r10 -8)\n r0 += r2\n"
					"r2 = *(u64 *)(r10 -512)\n r0 += r2\n exit\n",
					level, level * 16,
					level < BPF_MAX_DEPTH ? "call pc+5" : "r0 = 0");
	assert_true(len < sizeof(text));
	assert_int_equal(prog_asm(&prog, text), 0);
	assert_int_equal(calls_check(&prog.unit, NULL), 0);
	assert_int_equal(run(&prog, 0, 0), 36 + 36 * 16);
	prog_fini(&prog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(computes),
		cmocka_unit_test(compares),
		cmocka_unit_test(gives_results),
		cmocka_unit_test(does_atomics),
		cmocka_unit_test(is_atomic_between_threads),
		cmocka_unit_test(starts_with_zeros),
		cmocka_unit_test(zeroes_what_calls_leave),
		cmocka_unit_test(passes_arguments),
		cmocka_unit_test(gives_each_level_a_frame),
	};

	return cmocka_run_group_tests_name("interp", tests, NULL, NULL);
}

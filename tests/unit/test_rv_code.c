/* SPDX-License-Identifier: MIT */
/*
 * test_rv_code.c - how much code the RISC-V back-end makes of programs; nothing runs, on any host
 *
 * That the code is right is for the other tests on a RISC-V machine to show, and all of them pass
 * where every extension of an upper half is made twice and every jump is far.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "insns.h"
#include "jit/riscv64/rv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ALL (RV_C | RV_ZBA | RV_ZBB | RV_ZBS)

/* ---- memory in which nothing runs ---- */

static int take(void *ctx, size_t size, struct pp_code *code)
{
	*code = (struct pp_code){.rx = ctx, .rw = malloc(size), .size = size};
	return code->rw ? 0 : -ENOMEM;
}

static int finish(void *ctx, struct pp_code *code, size_t used)
{
	(void)ctx, (void)used;
	free(code->rw);
	return 0;
}

static int give(void *ctx, const void *rx)
{
	(void)ctx, (void)rx;
	return 0;
}

/* The size of a program's code, or of its insn @at. */
static size_t code_size(const struct unit *unit, unsigned int features, uint32_t at)
{
	const uintptr_t base = (uintptr_t)1 << 40;
	const struct jit_mem mem = {
		.ctx = (void *)base,
		.lo = base,
		.hi = base + (1 << 29),
		.alloc = take,
		.finalize = finish,
		.free = give,
	};
	const struct log silent = {0};
	const struct jit_job job = {
		.arch = &jit_riscv64,
		.features = features,
		.unit = unit,
		.mem = &mem,
		.log = &silent,
		.lines = true,
	};
	struct jit_image image;
	size_t size;

	assert_int_equal(jit_compile(&job, &image), 0);
	size = at < unit->nins ? image.at[at + 1] - image.at[at] : image.size;
	assert_int_equal(jit_image_fini(&image, &mem), 0);
	return size;
}

#define WHOLE UINT32_MAX

struct sized {
	const char *text;
	unsigned int features, size;
};

/* All that differ are named, then it fails. */
static void check(const struct sized *all, size_t count)
{
	unsigned int differ = 0;

	for (size_t i = 0; i < count; i++) {
		struct prog prog;
		size_t size;

		assert_int_equal(prog_asm(&prog, all[i].text), 0);
		size = code_size(&prog.unit, all[i].features, WHOLE);
		if (size != all[i].size) {
			print_error("%zu bytes, not %u, with features %#x of\n%s", size,
				    all[i].size, all[i].features, all[i].text);
			differ++;
		}
		prog_fini(&prog);
	}
	assert_int_equal(differ, 0);
}

/* ---- upper halves: instructions of four bytes, the last two mv a0, a5 and ret ---- */

static const struct sized uppers[] = {
	/* addw slli srli: what is returned is zero-extended, and not before the last of them */
	{"r0 = r1\n w0 += w2\n exit\n", 0, 6 * 4},
	{"r0 = r1\n w0 += w2\n w0 += w2\n exit\n", 0, 7 * 4},
	/* not what is known to have no upper half: a byte, a shift to the right, a mask, a rest */
	{"r0 = *(u8 *)(r1 +0)\n w0 |= 1\n exit\n", 0, 4 * 4},
	{"r0 = r1\n w0 >>= 1\n exit\n", 0, 4 * 4},
	{"r0 = r1\n w0 &= 15\n exit\n", 0, 4 * 4},
	{"r0 = r1\n w0 %= 10\n exit\n", 0, 5 * 4},
	{"r0 = *(u16 *)(r1 +0)\n w0 = w0\n exit\n", 0, 3 * 4},
	/* a register that is compared only is sign-extended, and compared as it is */
	{"w0 = 0\n w1 += 1\n if w1 == 0 goto pc+1\n w0 = 1\n exit\n", 0, 6 * 4},
	{"w0 = 0\n r1 = *(u32 *)(r1 +0)\n if w1 s< 0 goto pc+1\n w0 = 1\n exit\n", 0, 6 * 4},
	/* but an argument may be anything: sext.w before the branch, or once for both */
	{"w0 = 0\n if w1 == 0 goto pc+1\n w0 = 1\n exit\n", 0, 6 * 4},
	{"w0 = 0\n w1 = w1\n if w1 != w2 goto pc+0\n exit\n", 0, 3 * 4},
	/* one that is stored in part needs nothing */
	{"w0 = 0\n w1 += w2\n *(u32 *)(r3 +0) = r1\n exit\n", 0, 6 * 4},
	{"w0 = 0\n w1 += w2\n *(u64 *)(r3 +0) = r1\n exit\n", 0, 8 * 4},
	/* on one of two ways only it is known */
	{"r0 = *(u8 *)(r1 +0)\n if r2 == 0 goto pc+1\n r0 = r2\n w0 |= 1\n exit\n", 0, 8 * 4},
	{"r0 = *(u8 *)(r1 +0)\n if r2 == 0 goto pc+1\n r0 = 7\n w0 |= 1\n exit\n", 0, 6 * 4},
};

static void extends_what_is_read(void **state)
{
	(void)state;
	check(uppers, COUNT(uppers));
}

/* ---- constants ---- */

static const struct sized constants[] = {
	{"r0 = 0\n exit\n", 0, 12},
	{"r0 = 0\n exit\n", RV_C, 6},
	{"r0 = 2047\n exit\n", 0, 12},
	{"r0 = 0x12345000\n exit\n", 0, 12},
	{"r0 = 0x12345678\n exit\n", 0, 16},
	{"r0 = -2147483648\n exit\n", 0, 12},
	{"r0 = 0xffffffff ll\n exit\n", 0, 16},      /* -1, shifted right */
	{"r0 = 0x80000000 ll\n exit\n", 0, 16},      /* 1, shifted left */
	{"r0 = 0x80000000 ll\n exit\n", RV_ZBS, 12}, /* bseti */
	{"r0 = 0xdeadbeef ll\n exit\n", RV_ZBA, 20}, /* lui addiw zext.w */
	{"r0 = 0x1234500000000 ll\n exit\n", 0, 16}, /* lui slli */
	{"r0 = 0x123456789abcdef0 ll\n exit\n", 0, 10 * 4},
	/* within reach of the code: auipc addi, at any address of it */
	{"r0 = 0x10000012345 ll\n exit\n", 0, 16},
	{"r0 = 0x10000012345 ll\n exit\n", RV_C, 8 + 4},
};

static void makes_constants_of_few_instructions(void **state)
{
	(void)state;
	check(constants, COUNT(constants));
}

/* ---- forms of other kinds ---- */

static const struct sized forms[] = {
	/* slots of the frame are offsets of sp; nothing is saved for r10 */
	{"*(u64 *)(r10 -8) = r1\n r0 = *(u64 *)(r10 -8)\n exit\n", RV_C, 6 * 2},
	{"r0 = r10\n exit\n", RV_C, 2 * 2 + 4 + 2 + 2 * 2 - 2},
	/* a compressed branch, jumps over nothing left out, divisions by constants */
	{"r0 = 1\n if r1 == 0 goto pc+1\n r0 = 2\n exit\n", RV_C, 5 * 2},
	{"r0 = 1\n if r1 == 0 goto pc+0\n goto pc+0\n exit\n", RV_C, 3 * 2},
	{"r0 = r1\n r0 /= 8\n exit\n", RV_C, 4 * 2},
	{"r0 = r1\n r0 *= 8\n exit\n", RV_C, 4 * 2},
	{"r0 = r1\n r0 *= 9\n exit\n", RV_ZBA, 4 * 4},
	{"r0 = r1\n r0 /= r2\n exit\n", 0, 6 * 4}, /* seqz divu add */
	{"r0 = r1\n r0 %= r2\n exit\n", 0, 4 * 4},
	{"r0 = r1\n r0 = be64 r0\n exit\n", RV_ZBB, 4 * 4},
	{"r0 = r1\n r0 &= 0xffff\n exit\n", RV_ZBB, 4 * 4},
	{"r0 = r1\n r0 |= 0x10000\n exit\n", RV_ZBS, 4 * 4},
	{"r0 = 0\n if r1 & 0x10000 goto pc+1\n r0 = 1\n exit\n", 0, 6 * 4},
	{"r0 = 0\n if r1 s> -1 goto pc+1\n r0 = 1\n exit\n", 0, 5 * 4},
	{"r0 = 0\n *(u8 *)(r1 +0) = 0\n exit\n", ALL, 2 + 4 + 4},
};

static void takes_short_forms(void **state)
{
	(void)state;
	check(forms, COUNT(forms));
}

/* ---- branches by distance ---- */

/* Branch insn 0 over @count insns, all of four or of two bytes. */
static void try_form(const char *branch, uint32_t count, unsigned int features, size_t size)
{
	static char text[4096 * 128];
	size_t len = (size_t)snprintf(text, sizeof(text), branch, count);
	struct prog prog;

	for (uint32_t i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "r0 += 1\n");
	snprintf(text + len, sizeof(text) - len, "exit\n");
	assert_int_equal(prog_asm(&prog, text), 0);
	assert_int_equal(code_size(&prog.unit, features, 0), size);
	prog_fini(&prog);
}

static void chooses_the_form_by_distance(void **state)
{
	(void)state;
	try_form("if r1 == 0 goto pc+%u\n", 126, RV_C, 2); /* 254 bytes ahead */
	try_form("if r1 == 0 goto pc+%u\n", 127, RV_C, 4);
	try_form("if r1 == 0 goto pc+%u\n", 2045, RV_C, 4); /* 4094 */
	try_form("if r1 == 0 goto pc+%u\n", 2046, RV_C, 8);
	try_form("if r1 == r2 goto pc+%u\n", 1, RV_C, 4);
	try_form("if r1 == 0 goto pc+%u\n", 1, 0, 4);
	try_form("if r1 == 0 goto pc+%u\n", 1022, 0, 4);
	try_form("if r1 == 0 goto pc+%u\n", 1023, 0, 8);
	try_form("goto pc+%u\n", 1022, RV_C, 2); /* 2046 */
	try_form("goto pc+%u\n", 1023, RV_C, 4);
	try_form("goto pc+%u\n", 1, 0, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extends_what_is_read),
		cmocka_unit_test(makes_constants_of_few_instructions),
		cmocka_unit_test(takes_short_forms),
		cmocka_unit_test(chooses_the_form_by_distance),
	};

	return cmocka_run_group_tests_name("riscv64 code", tests, NULL, NULL);
}

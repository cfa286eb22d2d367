/* SPDX-License-Identifier: MIT */
/*
 * test_disasm.c - every form of instruction as text, and back
 *
 * Tables give encoding and text. Each text also goes through the tests' own assembler and
 * must give the encoding: the two know nothing of each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asm.h"
#include "insns.h"

#define EXIT                                                                                       \
	{                                                                                          \
		0x95, 0, 0, 0, 0                                                                   \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct form {
	struct raw raw;
	const char *text;
} forms[] = {
	{{0x07, 1, 0, 0, 5}, "r1 += 5"},
	{{0x07, 1, 0, 0, -8}, "r1 += -8"},
	{{0x0f, 1, 2, 0, 0}, "r1 += r2"},
	{{0x04, 1, 0, 0, INT32_MIN}, "w1 += -2147483648"},
	{{0x0c, 1, 2, 0, 0}, "w1 += w2"},
	{{0x17, 1, 0, 0, 5}, "r1 -= 5"},
	{{0x1c, 1, 2, 0, 0}, "w1 -= w2"},
	{{0x27, 1, 0, 0, 5}, "r1 *= 5"},
	{{0x2c, 1, 2, 0, 0}, "w1 *= w2"},
	{{0x37, 1, 0, 0, 5}, "r1 /= 5"},
	{{0x3c, 1, 2, 0, 0}, "w1 /= w2"},
	{{0x37, 1, 0, 1, -5}, "r1 s/= -5"},
	{{0x3c, 1, 2, 1, 0}, "w1 s/= w2"},
	{{0x97, 1, 0, 0, 5}, "r1 %= 5"},
	{{0x9c, 1, 2, 0, 0}, "w1 %= w2"},
	{{0x94, 1, 0, 1, 5}, "w1 s%= 5"},
	{{0x9f, 1, 2, 1, 0}, "r1 s%= r2"},
	{{0x47, 1, 0, 0, 5}, "r1 |= 5"},
	{{0x4c, 1, 2, 0, 0}, "w1 |= w2"},
	{{0x57, 1, 0, 0, 5}, "r1 &= 5"},
	{{0x5c, 1, 2, 0, 0}, "w1 &= w2"},
	{{0xa7, 1, 0, 0, 5}, "r1 ^= 5"},
	{{0xac, 1, 2, 0, 0}, "w1 ^= w2"},
	{{0x67, 1, 0, 0, 5}, "r1 <<= 5"},
	{{0x6c, 1, 2, 0, 0}, "w1 <<= w2"},
	{{0x77, 1, 0, 0, 63}, "r1 >>= 63"},
	{{0x7c, 1, 2, 0, 0}, "w1 >>= w2"},
	{{0xc7, 1, 0, 0, 64}, "r1 s>>= 64"},
	{{0xcc, 1, 2, 0, 0}, "w1 s>>= w2"},
	{{0xb7, 1, 0, 0, -1}, "r1 = -1"},
	{{0xbf, 9, 10, 0, 0}, "r9 = r10"},
	{{0xb4, 1, 0, 0, 5}, "w1 = 5"},
	{{0xbc, 1, 2, 0, 0}, "w1 = w2"},
	{{0xbf, 1, 2, 8, 0}, "r1 = (s8)r2"},
	{{0xbf, 1, 2, 16, 0}, "r1 = (s16)r2"},
	{{0xbf, 1, 2, 32, 0}, "r1 = (s32)r2"},
	{{0xbc, 1, 2, 8, 0}, "w1 = (s8)w2"},
	{{0xbc, 1, 2, 16, 0}, "w1 = (s16)w2"},
	{{0x87, 1, 0, 0, 0}, "r1 = -r1"},
	{{0x84, 1, 0, 0, 0}, "w1 = -w1"},
	{{0xd4, 1, 0, 0, 16}, "r1 = le16 r1"},
	{{0xd4, 1, 0, 0, 64}, "r1 = le64 r1"},
	{{0xdc, 1, 0, 0, 16}, "r1 = be16 r1"},
	{{0xdc, 1, 0, 0, 32}, "r1 = be32 r1"},
	{{0xd7, 1, 0, 0, 32}, "r1 = bswap32 r1"},
	{{0xd7, 1, 0, 0, 64}, "r1 = bswap64 r1"},

	{{0x71, 0, 1, 0, 0}, "r0 = *(u8 *)(r1 +0)"},
	{{0x69, 0, 1, -1, 0}, "r0 = *(u16 *)(r1 -1)"},
	{{0x61, 0, 1, 4, 0}, "r0 = *(u32 *)(r1 +4)"},
	{{0x79, 0, 10, -8, 0}, "r0 = *(u64 *)(r10 -8)"},
	{{0x91, 0, 1, 0, 0}, "r0 = *(s8 *)(r1 +0)"},
	{{0x89, 0, 1, INT16_MAX, 0}, "r0 = *(s16 *)(r1 +32767)"},
	{{0x81, 0, 1, INT16_MIN, 0}, "r0 = *(s32 *)(r1 -32768)"},
	{{0x72, 10, 0, -1, 5}, "*(u8 *)(r10 -1) = 5"},
	{{0x6a, 1, 0, 0, -5}, "*(u16 *)(r1 +0) = -5"},
	{{0x62, 1, 0, 0, 5}, "*(u32 *)(r1 +0) = 5"},
	{{0x7a, 1, 0, 0, 5}, "*(u64 *)(r1 +0) = 5"},
	{{0x73, 1, 2, 0, 0}, "*(u8 *)(r1 +0) = r2"},
	{{0x6b, 1, 2, 0, 0}, "*(u16 *)(r1 +0) = r2"},
	{{0x63, 1, 2, 0, 0}, "*(u32 *)(r1 +0) = r2"},
	{{0x7b, 10, 1, -8, 0}, "*(u64 *)(r10 -8) = r1"},

	{{0xdb, 1, 2, 0, 0x00}, "lock *(u64 *)(r1 +0) += r2"},
	{{0xc3, 1, 2, -4, 0x00}, "lock *(u32 *)(r1 -4) += r2"},
	{{0xdb, 1, 2, 0, 0x40}, "lock *(u64 *)(r1 +0) |= r2"},
	{{0xc3, 1, 2, 0, 0x50}, "lock *(u32 *)(r1 +0) &= r2"},
	{{0xdb, 1, 2, 0, 0xa0}, "lock *(u64 *)(r1 +0) ^= r2"},
	{{0xdb, 1, 2, 0, 0x01}, "r2 = atomic64_fetch_add((u64 *)(r1 +0), r2)"},
	{{0xc3, 1, 2, 0, 0x01}, "r2 = atomic_fetch_add((u32 *)(r1 +0), r2)"},
	{{0xdb, 1, 2, 0, 0x41}, "r2 = atomic64_fetch_or((u64 *)(r1 +0), r2)"},
	{{0xc3, 1, 2, 0, 0x51}, "r2 = atomic_fetch_and((u32 *)(r1 +0), r2)"},
	{{0xdb, 1, 2, 8, 0xa1}, "r2 = atomic64_fetch_xor((u64 *)(r1 +8), r2)"},
	{{0xdb, 1, 2, 0, 0xe1}, "r2 = atomic64_xchg((u64 *)(r1 +0), r2)"},
	{{0xc3, 1, 2, 0, 0xe1}, "r2 = atomic_xchg((u32 *)(r1 +0), r2)"},
	{{0xdb, 1, 2, 0, 0xf1}, "r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)"},
	{{0xc3, 1, 2, 0, 0xf1}, "r0 = atomic_cmpxchg((u32 *)(r1 +0), r0, r2)"},

	{{0x05, 0, 0, 3, 0}, "goto pc+3"},
	{{0x05, 0, 0, -1, 0}, "goto pc-1"},
	{{0x06, 0, 0, 0, 3}, "gotol pc+3"},
	{{0x06, 0, 0, 0, -1}, "gotol pc-1"},
	{{0x15, 1, 0, 0, 5}, "if r1 == 0x5 goto pc+0"},
	{{0x1e, 1, 2, 3, 0}, "if w1 == w2 goto pc+3"},
	{{0x55, 1, 0, 3, -1}, "if r1 != 0xffffffff goto pc+3"},
	{{0x5d, 1, 2, 3, 0}, "if r1 != r2 goto pc+3"},
	{{0x46, 1, 0, 3, 5}, "if w1 & 0x5 goto pc+3"},
	{{0x4d, 1, 2, 3, 0}, "if r1 & r2 goto pc+3"},
	{{0x25, 1, 0, 3, 5}, "if r1 > 0x5 goto pc+3"},
	{{0x2e, 1, 2, 3, 0}, "if w1 > w2 goto pc+3"},
	{{0x35, 1, 0, 3, 5}, "if r1 >= 0x5 goto pc+3"},
	{{0x3e, 1, 2, 3, 0}, "if w1 >= w2 goto pc+3"},
	{{0xa5, 1, 0, 3, 5}, "if r1 < 0x5 goto pc+3"},
	{{0xae, 1, 2, 3, 0}, "if w1 < w2 goto pc+3"},
	{{0xb5, 1, 0, 3, 5}, "if r1 <= 0x5 goto pc+3"},
	{{0xbe, 1, 2, 3, 0}, "if w1 <= w2 goto pc+3"},
	{{0x66, 1, 0, 3, 5}, "if w1 s> 0x5 goto pc+3"},
	{{0x6d, 1, 2, 3, 0}, "if r1 s> r2 goto pc+3"},
	{{0x75, 1, 0, 3, INT32_MIN}, "if r1 s>= 0x80000000 goto pc+3"},
	{{0x7e, 1, 2, 3, 0}, "if w1 s>= w2 goto pc+3"},
	{{0xc5, 1, 0, 3, 5}, "if r1 s< 0x5 goto pc+3"},
	{{0xce, 1, 2, -1, 0}, "if w1 s< w2 goto pc-1"},
	{{0xd6, 1, 0, 3, 5}, "if w1 s<= 0x5 goto pc+3"},
	{{0xdd, 1, 2, 3, 0}, "if r1 s<= r2 goto pc+3"},
	{{0x85, 0, 0, 0, 99}, "call 99"},
	{EXIT, "exit"},
};

static void check_text(const struct prog *prog, uint32_t at, const char *want)
{
	char text[128];
	int len = disasm(&prog->unit, at, text, sizeof(text));

	assert_string_equal(text, want);
	assert_int_equal(len, strlen(want));
}

static void writes_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		const struct raw raw[] = {forms[i].raw, EXIT, EXIT, EXIT, EXIT};
		struct prog prog;

		assert_int_equal(prog_raw(&prog, raw, COUNT(raw)), 0);
		check_text(&prog, 0, forms[i].text);
		prog_fini(&prog);
	}
}

static void is_what_the_assembler_reads(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		uint8_t want[BPF_SLOT], *slots;
		uint32_t nslots;

		raw_encode(&forms[i].raw, 1, want);
		assert_int_equal(asm_text(forms[i].text, 1, NULL, &slots, &nslots), 0);
		assert_int_equal(nslots, 1);
		assert_memory_equal(slots, want, sizeof(want));
		free(slots);
	}
}

static void writes_wide_loads(void **state)
{
	const char *const names[] = {"counters", "flows"};
	const struct raw raw[] = {
		{0x18, 1, 0, 0, 0x55667788}, {0, 0, 0, 0, 0x11223344},
		{0x18, 1, 0, 0, -1},         {0, 0, 0, 0, -1},
		{0x18, 2, 1, 0, 1},          {0},
		{0x18, 2, 2, 0, 0},          {0, 0, 0, 0, 8},
		{0x06, 0, 0, 0, -9},
	};
	struct prog prog;

	(void)state;
	assert_int_equal(prog_raw(&prog, raw, COUNT(raw)), 0);
	check_text(&prog, 0, "r1 = 0x1122334455667788 ll");
	check_text(&prog, 1, "r1 = 0xffffffffffffffff ll");
	check_text(&prog, 2, "r2 = map[1] ll");
	prog.unit.map_names = names;
	check_text(&prog, 2, "r2 = map[flows] ll");
	check_text(&prog, 3, "r2 = map[counters][0]+8 ll");
	check_text(&prog, 4, "gotol pc-9");
	prog_fini(&prog);
}

static void names_what_is_called(void **state)
{
	struct prog prog;

	(void)state;
	assert_int_equal(prog_asm(&prog, "call pc+4\n"
					 "call pc+1\n"
					 "exit\n"
					 "call 3\n"
					 "exit\n"
					 "exit\n"),
			 0);
	check_text(&prog, 0, "call pc+4 <sub_5>");
	check_text(&prog, 1, "call pc+1 <sub_3>");
	check_text(&prog, 3, "call three#3");
	prog_fini(&prog);
}

static void is_cut_like_snprintf(void **state)
{
	const struct raw raw[] = {EXIT};
	struct prog prog;
	char text[3] = "??";

	(void)state;
	assert_int_equal(prog_raw(&prog, raw, 1), 0);
	assert_int_equal(disasm(&prog.unit, 0, text, 3), 4);
	assert_string_equal(text, "ex");
	assert_int_equal(disasm(&prog.unit, 0, NULL, 0), 4);
	prog_fini(&prog);
}

/* 70,000 slots ahead: the distance is in slots, over 64-bit loads too. */
static void counts_slots(void **state)
{
	enum { WIDE = 35000 };
	struct raw *raw = calloc(2 * WIDE + 2, sizeof(*raw));
	struct prog prog;

	(void)state;
	assert_non_null(raw);
	raw[0] = (struct raw){0x06, 0, 0, 0, 2 * WIDE};
	for (uint32_t i = 0; i < WIDE; i++)
		raw[1 + 2 * i] = (struct raw){0x18, 0, 0, 0, 0};
	raw[2 * WIDE + 1] = (struct raw)EXIT;
	assert_int_equal(prog_raw(&prog, raw, 2 * WIDE + 2), 0);
	check_text(&prog, 0, "gotol pc+70000");
	prog_fini(&prog);
	free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_every_form),
		cmocka_unit_test(is_what_the_assembler_reads),
		cmocka_unit_test(writes_wide_loads),
		cmocka_unit_test(names_what_is_called),
		cmocka_unit_test(is_cut_like_snprintf),
		cmocka_unit_test(counts_slots),
	};

	return cmocka_run_group_tests_name("disasm", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_reader.c - case files and assembler text: what is malformed is named by file and line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asm.h"
#include "case.h"

static char message[512];

static void keep(void *ctx, const char *text)
{
	(void)ctx;
	snprintf(message, sizeof(message), "%s", text);
}

static const struct log keeper = {keep, NULL};

/* Read @text as a case file; its name in messages ends in ".bpf". */
static int read_text(const char *text, struct test_case *tc)
{
	char path[] = "/tmp/case-XXXXXX.bpf";
	int fd = mkstemps(path, 4), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	message[0] = '\0';
	err = case_read(path, &keeper, tc);
	unlink(path);
	return err;
}

static void a_case_is_read(void **state)
{
	struct test_case tc;

	(void)state;
	assert_int_equal(
		read_text("# what\n# for\n-- asm\nr0 = 7 ; seven\n\nexit\n-- mem\n01 02\n0304\n"
			  "-- mem-after\n01020305\n-- kernel skip: no reason\n"
			  "-- result\n0xffffffffffffffff\n",
			  &tc),
		0);
	assert_int_equal(tc.nslots, 2);
	assert_memory_equal(tc.slots, "\xb7\0\0\0\7\0\0\0\x95\0\0\0\0\0\0\0", 16);
	assert_int_equal(tc.mem_len, 4);
	assert_memory_equal(tc.mem, "\1\2\3\4", 4);
	assert_memory_equal(tc.mem_after, "\1\2\3\5", 4);
	assert_true(tc.result == UINT64_MAX);
	assert_string_equal(tc.kernel_skip, "no reason");
	assert_null(tc.error);
	case_free(&tc);
}

static void malformed_cases_are_named(void **state)
{
	static const struct {
		const char *text, *expect;
	} cases[] = {
		{"-- asm\nexit\n-- result\n0\n", ".bpf:1: a case begins with a comment"},
		{"# x\n-- asm\nexit\n-- asm\nexit\n-- result\n0\n", ".bpf:4: section given twice"},
		{"# x\n-- code\nexit\n", ".bpf:2: no such section"},
		{"# x\n-- kernel skip:\n", ".bpf:2: no such section"},
		{"# x\n-- result\n0\n", ".bpf:1: needs one of -- asm and -- raw"},
		{"# x\n-- asm\nexit\n", ".bpf:1: needs one of -- result and -- error"},
		{"# x\n-- asm\nexit\n-- result\n0\n-- error\ny\n",
		 ".bpf:1: needs one of -- result"},
		{"# x\n-- asm\nexit\n-- error\n\n", ".bpf:5: part of a message expected"},
		{"# x\n-- asm\nexit\n-- error\ny\n-- mem\n00\n", ".bpf:1: what is refused"},
		{"# x\n-- asm\nexit\n-- result\nzero\n", ".bpf:5: one hex number"},
		{"# x\n-- asm\nexit\n-- result\n1 2\n", ".bpf:5: one hex number"},
		{"# x\n-- asm\nexit\n-- result\n0x10000000000000000\n", ".bpf:5: one hex number"},
		{"# x\n-- asm\nexit\n-- result\n-1\n", ".bpf:5: one hex number"},
		{"# x\n-- raw\n95 0\n-- result\n0\n", ".bpf:3: hex bytes expected"},
		{"# x\n-- raw\n95 00\n\n0g\n-- result\n0\n", ".bpf:5: hex bytes expected"},
		{"# x\n-- raw\n95 00\n-- result\n0\n", ".bpf:3: not whole instructions"},
		{"# x\n-- asm\nexit\n-- mem\n00\n-- mem-after\n0000\n-- result\n0\n",
		 ".bpf:7: -- mem-after is not as long"},
		{"# x\n-- asm\nexit\n-- mem-after\n00\n-- result\n0\n",
		 ".bpf:5: -- mem-after without -- mem"},
		{"# x\n\n-- asm\nexit\nr0 == 1\n-- result\n0\n",
		 ".bpf:5: not an instruction: r0 =="},
	};
	struct test_case tc;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_text(cases[i].text, &tc), -EINVAL);
		if (!strstr(message, cases[i].expect))
			fail_msg("'%s', expected '%s'", message, cases[i].expect);
	}
	assert_int_equal(case_read("/nonexistent.bpf", &keeper, &tc), -ENOENT);
}

static void malformed_text_is_named(void **state)
{
	static const struct {
		const char *text, *expect;
	} cases[] = {
		{"exit\nr0 = 2147483648", "2: number does not fit its field"},
		{"r0 = -2147483649", "1: number does not fit"},
		{"r0 = 0xffffffff", "1: number does not fit"},
		{"w0 = 0x100000000", "1: number does not fit"},
		{"r0 = *(u8 *)(r1 +32768)", "1: number does not fit"},
		{"r0 = *(u8 *)(r1 -32769)", "1: number does not fit"},
		{"r0 = 0x10000000000000000 ll", "1: number needs more than 64 bits"},
		{"r0 = *(u8 *)(r1)", "1: not an instruction"},
		{"r16 = 0", "1: not an instruction"},
		{"r0 = w1", "1: not an instruction"},
		{"r0 = -r1", "1: not an instruction"},
		{"r0 = be16 r1", "1: not an instruction"},
		{"r0 = be8 r0", "1: not an instruction"},
		{"r0 = atomic64_fetch_add((u64 *)(r1 +0), r2)", "1: not an instruction"},
		{"r0 = atomic64_xchg((u32 *)(r1 +0), r0)", "1: not an instruction"},
		{"r1 = atomic64_cmpxchg((u64 *)(r2 +0), r1, r3)", "1: not an instruction"},
		{"exit now", "1: not an instruction"},
		{"gotoend\nend: exit", "1: not an instruction"},
		{"if r0 == w1 goto +0", "1: not an instruction"},
		{"goto end\nexit", "1: no such label"},
		{"a: exit\na: exit", "2: label defined twice"},
		{"goto a\n.repeat 32768\nexit\n.end\na: exit", "1: label too far"},
		{".repeat 2\nexit", "1: .repeat without .end"},
		{".repeat 0\nexit\n.end", "1: bad .repeat count"},
		{".repeat -1\nexit\n.end", "1: bad .repeat count"},
		{".repeat 2\n.end", "2: empty .repeat"},
		{".end", "1: .end without .repeat"},
		{".repeat 2\n.repeat 2\n", "2: .repeat within .repeat"},
		{".repeat 2\na: exit\n.end", "3: label in .repeat"},
		{".repeat 2097152\nexit\nexit\n.end", "4: program too long"},
	};
	uint8_t *slots;
	uint32_t nslots;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		message[0] = '\0';
		assert_int_equal(asm_text(cases[i].text, 1, &keeper, &slots, &nslots), -EINVAL);
		if (strncmp(message, cases[i].expect, strlen(cases[i].expect)) != 0)
			fail_msg("'%s', expected '%s'", message, cases[i].expect);
	}
}

/* Bytes as llvm-mc -arch=bpfel writes them, for what decode alone would not tell apart. */
static void text_is_encoded(void **state)
{
	static const struct {
		const char *text;
		uint8_t slot[8];
	} cases[] = {
		{"r3 = -1", {0xb7, 0x03, 0, 0, 0xff, 0xff, 0xff, 0xff}},
		{"w3+=w4", {0x0c, 0x43, 0, 0, 0, 0, 0, 0}},
		{"r1 s>>= 3", {0xc7, 0x01, 0, 0, 3, 0, 0, 0}},
		{"r1 s/= r2", {0x3f, 0x21, 1, 0, 0, 0, 0, 0}},
		{"w1 s%= 7", {0x94, 0x01, 1, 0, 7, 0, 0, 0}},
		{"r1 = (s16)r2", {0xbf, 0x21, 16, 0, 0, 0, 0, 0}},
		{"r5 = bswap32 r5", {0xd7, 0x05, 0, 0, 32, 0, 0, 0}},
		{"r5 = le64 r5", {0xd4, 0x05, 0, 0, 64, 0, 0, 0}},
		{"r0 = *(s16 *)(r1 -2)", {0x89, 0x10, 0xfe, 0xff, 0, 0, 0, 0}},
		{"*(u8 *)(r10 -1) = 5", {0x72, 0x0a, 0xff, 0xff, 5, 0, 0, 0}},
		{"*( u64 * )( r1 +8 ) = r2", {0x7b, 0x21, 8, 0, 0, 0, 0, 0}},
		{"if w1 s< -1 goto pc-2", {0xc6, 0x01, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"if r1 & 0x80000000 goto +1", {0x45, 0x01, 1, 0, 0, 0, 0, 0x80}},
		{"lock *(u32 *)(r1 +0) |= r2", {0xc3, 0x21, 0, 0, 0x40, 0, 0, 0}},
		{"r2 = atomic64_fetch_xor((u64 *)(r1 +0), r2)", {0xdb, 0x21, 0, 0, 0xa1, 0, 0, 0}},
		{"r0 = atomic_cmpxchg((u32 *)(r1 +0), r0, r2)", {0xc3, 0x21, 0, 0, 0xf1, 0, 0, 0}},
		{"call time#5", {0x85, 0, 0, 0, 5, 0, 0, 0}},
		{"call pc-2 <f>", {0x85, 0x10, 0, 0, 0xfe, 0xff, 0xff, 0xff}},
		{"gotol -1", {0x06, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}},
	};
	uint8_t *slots;
	uint32_t nslots;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(asm_text(cases[i].text, 1, &keeper, &slots, &nslots), 0);
		assert_int_equal(nslots, 1);
		assert_memory_equal(slots, cases[i].slot, 8);
		free(slots);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_case_is_read),
		cmocka_unit_test(malformed_cases_are_named),
		cmocka_unit_test(malformed_text_is_named),
		cmocka_unit_test(text_is_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_trace.c - the formats of bpf_trace_printk(), as the kernel takes and refuses them */
#include "object_fixture.h"

#include <errno.h>
#include <stdio.h>

#include "bpf/helper.h"
#include "os/fault.h"

static struct pp_bpf_object printer;

static int print(const char *format, size_t size, uint64_t a, uint64_t b, uint64_t c)
{
	const struct pp_bpf_object *before;
	uint64_t result;

	printer.opts = object_options();
	before = trace_enter(&printer);
	assert_int_equal(fault_hold(NULL), 0); /* over cmocka's own handler */
	result = trace_printk((uintptr_t)format, size, a, b, c);
	fault_drop(NULL);
	assert_ptr_equal(trace_enter(before), &printer);
	return (int)(int64_t)result;
}

static void conversions_print_as_in_the_kernel(void **state)
{
	static const struct {
		const char *format, *text;
		uint64_t arg;
	} cases[] = {
		{"plain", "plain", 0},
		{"", "", 0},
		{"100%%", "100%", 0},
		{"%d", "-1", 0xffffffff},
		{"%d", "1", 0x500000001},
		{"%i", "-2147483648", 0x80000000},
		{"%u", "4294967295", UINT64_MAX},
		{"%x", "deadbeef", 0x12deadbeef},
		{"%X", "DEADBEEF", 0xdeadbeef},
		{"%ld", "-1", UINT64_MAX},
		{"%lld", "-9223372036854775808", (uint64_t)1 << 63},
		{"%lli", "7", 7},
		{"%lu", "18446744073709551615", UINT64_MAX},
		{"%llu", "18446744073709551615", UINT64_MAX},
		{"%lx", "123456789abcdef0", 0x123456789abcdef0},
		{"%llx", "0", 0},
		{"%p", "00000000ffff0000", 0xffff0000},
		{"%p", "0000000000000000", 0},
		{"%c", "A", 'A'},
		{"[%5d]", "[   42]", 42},
		{"[%-5d]", "[42   ]", 42},
		{"[%05u]", "[00042]", 42},
		{"[%08llx]", "[0000002a]", 42},
		{"[%+d]", "[+42]", 42},
		{"%s", "", 0},
		{"%0000d", "7", 7},
		{"%-010d|", "-1        |", UINT64_MAX},
		{"%+-5i|", "+42  |", 42},
		{"% d", " 42", 42},
		{"%+x", "2a", 42},
		{"%06d", "-00042", (uint64_t)-42},
		{"%5c|", "    A|", 'A'},
		{"%-5c|", "A    |", 'A'},
		{"%px", "000000000000002a", 42},
		{"%6px", "    2a", 42},
		{"%pS", "0x2a", 42},
		{"%ps", "0x2a", 42},
		{"%pB", "0x2a", 42},
		{"%pI4", "0.0.0.0", 0},
		{"%pi4", "000.000.000.000", 0},
		{"%pi6", "00000000000000000000000000000000", 0},
		{"%pks", "", 0},
		{"\xc3\xa9", "\xc3\xa9", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = strlen(cases[i].format) + 1;

		assert_int_equal(print(cases[i].format, size, cases[i].arg, 0, 0),
				 strlen(cases[i].text));
		assert_string_equal(printed, cases[i].text);
	}
}

static void three_arguments_are_all_there_are(void **state)
{
	(void)state;
	assert_int_equal(print("%d %s, %x", 10, 1, (uintptr_t) "two", 3), 8);
	assert_string_equal(printed, "1 two, 3");
	assert_int_equal(print("%d%d%d%d", 9, 1, 2, 3), -EINVAL);
	assert_string_equal(printed, "");
}

static void other_formats_are_refused(void **state)
{
	static const char *const formats[] = {
		"%",     "%q",  "%f",    "%5",   "%l",
		"%ls",   "%lp", "%llld", "%hd",  "%pX",
		"%sx",   "%n",  "%*d",   "%.3s", "fine %d then %",
		"%-",    "%#x", "%pI5",  "%pk",  "bell \a",
		"%\x80", "%zu", "%lc",   "%pux", "%pksx",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		assert_int_equal(print(formats[i], strlen(formats[i]) + 1, 1, 2, 3), -EINVAL);
		assert_string_equal(printed, "");
	}
}

/* fmt_size is what the program says there is; the terminator must be among it. */
static void formats_end_within_their_size(void **state)
{
	char format[4] = {'a', 'b', 'c', 'd'};

	(void)state;
	assert_int_equal(print(format, sizeof(format), 0, 0, 0), -EINVAL);
	assert_int_equal(print("text", 0, 0, 0, 0), -EINVAL);
	assert_int_equal(print("text", 4, 0, 0, 0), -EINVAL);
	assert_int_equal(print("text", 5, 0, 0, 0), 4);
	assert_int_equal(print(NULL, 5, 0, 0, 0), -EINVAL);
}

/* What a pointer leads to is read, and where there is nothing, it counts as zeros. */
static void strings_and_addresses_are_behind_pointers(void **state)
{
	static const uint8_t ip[16] = {192, 168, 0, 1, 0xfe, 0x80};

	(void)state;
	assert_int_equal(print("%s|%5s|%-5s|", 13, (uintptr_t) "a", (uintptr_t) "b",
			       (uintptr_t) "c"),
			 14);
	assert_string_equal(printed, "a|    b|c    |");
	print("%pks,%20pus", 12, (uintptr_t) "k", (uintptr_t) "u", 0);
	assert_string_equal(printed, "k,u");
	print("%pI4 %pi4more,", 15, (uintptr_t)ip, (uintptr_t)ip, 0);
	assert_string_equal(printed, "192.168.0.1 192.168.000.001,");
	print("%pI6 %pi6", 10, (uintptr_t)ip, (uintptr_t)ip, 0);
	assert_string_equal(printed, "c0a8:0001:fe80:0000:0000:0000:0000:0000 "
				     "c0a80001fe8000000000000000000000");
	assert_int_equal(print("[%s%pI4]", 9, 16, 16, 0), 9);
	assert_string_equal(printed, "[0.0.0.0]");
}

static void long_text_is_cut(void **state)
{
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(print(text, sizeof(text), 0, 0, 0), -E2BIG);
	text[1023] = 0;
	assert_int_equal(print(text, sizeof(text), 0, 0, 0), 1023);
	assert_int_equal(strlen(printed), 1023);
	assert_int_equal(print("%5000d", 7, 1, 0, 0), 5000);
	assert_int_equal(strlen(printed), 1023);
	assert_int_equal(print("%99999999999d", 14, 1, 0, 0), (1 << 23) - 1);
}

/* All arguments together have 512 bytes; numbers take theirs too. */
static void text_in_arguments_has_little_room(void **state)
{
	char text[600];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(print("%s", 3, (uintptr_t)text, 0, 0), 511);
	assert_int_equal(print("%s%s", 5, (uintptr_t)text, (uintptr_t)text, 0), -ENOSPC);
	assert_string_equal(printed, "");
	text[506] = 0;
	assert_int_equal(print("%s%d", 5, (uintptr_t)text, 1, 0), 507);
	assert_int_equal(print("%s%ld", 6, (uintptr_t)text, 1, 0), -ENOSPC);
	assert_int_equal(print("%s%pI4", 7, (uintptr_t)text, (uintptr_t)text, 0), 506 + 4);
}

static void without_an_object_text_is_dropped(void **state)
{
	(void)state;
	assert_int_equal(trace_printk((uintptr_t) "text", 5, 0, 0, 0), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversions_print_as_in_the_kernel),
		cmocka_unit_test(three_arguments_are_all_there_are),
		cmocka_unit_test(other_formats_are_refused),
		cmocka_unit_test(formats_end_within_their_size),
		cmocka_unit_test(strings_and_addresses_are_behind_pointers),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(text_in_arguments_has_little_room),
		cmocka_unit_test(without_an_object_text_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_trace.c - the formats of bpf_trace_printk(), as the kernel takes and refuses them */
#include "object_fixture.h"

#include <errno.h>
#include <stdio.h>

#include "bpf/helper.h"

static struct pp_bpf_object printer;

static int print(const char *format, size_t size, uint64_t a, uint64_t b, uint64_t c)
{
	const struct pp_bpf_object *before;
	uint64_t result;

	printer.opts = object_options();
	before = trace_enter(&printer);
	result = trace_printk((uintptr_t)format, size, a, b, c);
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
		{"%p", "0xffff0000", 0xffff0000},
		{"%c", "A", 'A'},
		{"[%5d]", "[   42]", 42},
		{"[%-5d]", "[42   ]", 42},
		{"[%05u]", "[00042]", 42},
		{"[%08llx]", "[0000002a]", 42},
		{"[%+d]", "[+42]", 42},
		{"%s", "(null)", 0},
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
		"%",      "%q",  "%f",    "%5",   "%l",
		"%ls",    "%lp", "%llld", "%hd",  "%999d",
		"%0000d", "%n",  "%*d",   "%.3s", "fine %d then %",
		"%-",
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

static void long_text_is_cut(void **state)
{
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(print("%s%s", 5, (uintptr_t)text, (uintptr_t)text, 0), 1024);
	assert_int_equal(strlen(printed), 1024);
	assert_int_equal(print(text, sizeof(text), 0, 0, 0), 1024);
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
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(without_an_object_text_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

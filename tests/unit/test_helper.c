/* SPDX-License-Identifier: MIT */
/* test_helper.c - the built-in helpers, from programs, on every engine and in the kernel */
#include "helper_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NS UINT64_C(1000000000)
#define FOR_EACH_ENGINE(engine)                                                                    \
	for (enum helper_engine engine = 0; engine < (enum helper_engine)helper_engines(); engine++)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

static void clocks_are_the_systems(void **state)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_MONOTONIC_COARSE,
					   CLOCK_TAI};

	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {0};
		uint64_t before[COUNT(clocks)];

		for (size_t i = 0; i < COUNT(clocks); i++)
			before[i] = now(clocks[i]);
		helper_run(engine, "clocks", NULL, &shared);
		for (size_t i = 0; i < COUNT(clocks); i++)
			assert_in_range(shared.number[i], before[i], now(clocks[i]));
		assert_true(shared.number[5] <= UINT32_MAX);
	}
}

/* Both count from five minutes before 2^32, in the same ticks; some pass between the runs. */
static void jiffies_are_the_kernels(void **state)
{
	struct helpers_shared ours = {0}, kernels = {0};

	(void)state;
	helper_run(NATIVE, "clocks", NULL, &ours);
	assert_true(ours.number[4] > UINT32_MAX - UINT64_C(300) * 10000);
	if (helper_engines() <= KERNEL)
		return;
	helper_run(KERNEL, "clocks", NULL, &kernels);
	assert_in_range(kernels.number[4] + 1000 - ours.number[4], 0, 100000);
}

static void who_runs_is_this_thread(void **state)
{
	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {0};

		helper_run(engine, "who", NULL, &shared);
		assert_int_equal(shared.number[0], (uint64_t)getpid() << 32 | (uint32_t)gettid());
		assert_int_equal(shared.number[1], (uint64_t)getgid() << 32 | getuid());
		assert_in_range(shared.number[2], 0, sysconf(_SC_NPROCESSORS_CONF) - 1);
		assert_in_range(shared.number[3], 0, 1023);
	}
}

static void comm_is_cut_and_padded(void **state)
{
	static const char sixteen[16] = "fifteen letters";
	static const uint64_t sizes[] = {1, 5, 15, 16, 17, 64};

	(void)state;
	prctl(PR_SET_NAME, "fifteen letters");
	FOR_EACH_ENGINE(engine)
	{
		for (size_t i = 0; i < COUNT(sizes); i++) {
			struct helpers_shared shared = {.size = sizes[i]};
			size_t len = sizes[i] < 16 ? sizes[i] - 1 : 15;
			char wanted[64];

			memset(shared.out, 'x', sizeof(shared.out));
			memcpy(wanted, shared.out, sizeof(wanted));
			memset(wanted, 0, sizes[i]);
			memcpy(wanted, sixteen, len);
			helper_run(engine, "comm", NULL, &shared);
			assert_int_equal(shared.result, 0);
			assert_memory_equal(shared.out, wanted, sizeof(wanted));
		}
	}
}

struct number_case {
	const char *text;
	uint64_t flags;
	int64_t used;
	uint64_t value;
};

static void expect_numbers(const char *prog, const struct number_case *cases, size_t count)
{
	FOR_EACH_ENGINE(engine)
	{
		for (size_t i = 0; i < count; i++) {
			struct helpers_shared shared = {.flags = cases[i].flags};

			shared.size = strlen(cases[i].text) + 1;
			strcpy(shared.in, cases[i].text);
			shared.number[0] = 77;
			helper_run(engine, prog, NULL, &shared);
			if (shared.result != cases[i].used || shared.number[0] != cases[i].value)
				fail_msg("engine %d, %s(\"%s\"): %lld, %llx", engine, prog,
					 cases[i].text, (long long)shared.result,
					 (unsigned long long)shared.number[0]);
		}
	}
}

static void signed_numbers_are_read(void **state)
{
	static const struct number_case cases[] = {
		{"42", 0, 2, 42},
		{"-42 apples", 10, 3, (uint64_t)-42},
		{" \t\n7", 0, 4, 7},
		{"0x1F,", 0, 4, 31},
		{"0X1f", 16, 4, 31},
		{"1f", 16, 2, 31},
		{"0x", 16, -EINVAL, 0},
		{"0xg", 0, 1, 0},
		{"017", 0, 3, 15},
		{"08", 0, 1, 0},
		{"19", 8, 1, 1},
		{"-0", 0, 2, 0},
		{"+1", 0, -EINVAL, 0},
		{"- 1", 0, -EINVAL, 0},
		{"", 0, -EINVAL, 0},
		{"   ", 0, -EINVAL, 0},
		{"-", 0, -EINVAL, 0},
		{"x", 0, -EINVAL, 0},
		{"9223372036854775807", 0, 19, INT64_MAX},
		{"9223372036854775808", 0, -ERANGE, 0},
		{"-9223372036854775808", 0, 20, (uint64_t)1 << 63},
		{"-9223372036854775809", 0, -ERANGE, 0},
		{"18446744073709551616", 0, -ERANGE, 0},
		{"1", 2, -EINVAL, 0},
		{"1", 32, -EINVAL, 0},
		{"000000000000000000000000000000000000000000000000000000000001", 10, 60, 1},
	};

	(void)state;
	expect_numbers("to_long", cases, COUNT(cases));
}

static void unsigned_numbers_are_read(void **state)
{
	static const struct number_case cases[] = {
		{"42", 0, 2, 42},
		{"-42", 0, -EINVAL, 0},
		{"18446744073709551615", 0, 20, UINT64_MAX},
		{"18446744073709551616", 0, -ERANGE, 0},
		{"0xffffffffffffffff", 0, 18, UINT64_MAX},
		{"  0xFFFFFFFFFFFFFFFFF", 0, -ERANGE, 0},
		{"1777777777777777777777z", 8, 22, UINT64_MAX},
	};

	(void)state;
	expect_numbers("to_unsigned", cases, COUNT(cases));
}

static void strings_are_compared(void **state)
{
	static const struct {
		const char *a, *b;
		uint64_t size;
		int64_t order;
	} cases[] = {
		{"same", "same", 5, 0}, {"same", "sane", 5, -1}, {"sane", "same", 5, 1},
		{"same", "sane", 2, 0}, {"a", "ab", 64, -1},     {"ab", "a", 64, 1},
		{"\xff", "a", 2, 1},    {"", "", 1, 0},
	};

	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct helpers_shared shared = {.size = cases[i].size};

			strcpy(shared.in, cases[i].a);
			helper_run(engine, "compare", cases[i].b, &shared);
			assert_int_equal((int)shared.result, cases[i].order);
		}
	}
}

/* The kernel takes formats only that it has checked, so what is refused comes from "trace". */
static void text_is_formatted(void **state)
{
	static const struct {
		const char *format, *text;
		uint64_t number[4];
	} cases[] = {
		{"plain 100%%", "plain 100%", {0}},
		{"%d %u %x %X",
		 "-1 4294967295 ffffffff DEADBEEF",
		 {-1ull, -1ull, -1ull, 0xdeadbeef}},
		{"%ld %llu %lx %i",
		 "-1 18446744073709551615 8000000000000000 -2",
		 {-1ull, -1ull, (uint64_t)1 << 63, 0xfffffffe}},
		{"[%5d|%-5d|%05d|%+d]", "[   42|42   |-0042|+7]", {42, 42, -42ull, 7}},
		{"[% d|%0-5u|%+x|%3d]", "[ 42|42   |2a|12345]", {42, 42, 42, 12345}},
		{"[%+05d|%-+5i|%8x|%08lx]",
		 "[+0042|+7   |    beef|0000beef]",
		 {42, 7, 0xbeef, 0xbeef}},
		{"%px|%8px|%-8px|", "000000000000002a|      2b|2c      |", {42, 43, 44}},
		{"%px%px,%pxtra.", "00000000000000010000000000000002,0000000000000003.", {1, 2, 3}},
		{"[%c%c|%3c|%-3c]", "[AB|  C|D  ]", {'A', 'B', 'C', 'D'}},
		{"[%s|%5s]", "[|     ]", {0}},
		{"%pi4 %pI6", "000.000.000.000 0000:0000:0000:0000:0000:0000:0000:0000", {0}},
		{"%40d", "                                       7", {7}},
	};

	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct helpers_shared shared = {.size = sizeof(shared.out)};

			memcpy(shared.number, cases[i].number, sizeof(cases[i].number));
			helper_run(engine, "print_into", cases[i].format, &shared);
			assert_string_equal(shared.out, cases[i].text);
			assert_int_equal(shared.result, strlen(cases[i].text) + 1);
		}
	}
}

static void text_is_cut_and_measured(void **state)
{
	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {.size = 5, .number = {12345678}};

		memset(shared.out, 'x', sizeof(shared.out));
		helper_run(engine, "print_into", "%d", &shared);
		assert_int_equal(shared.result, 9);
		assert_memory_equal(shared.out, "1234\0xxx", 8);
		helper_run(engine, "measure", "%d,%d", &shared);
		assert_int_equal(shared.result, 11);
	}
}

static void formats_are_checked(void **state)
{
	static const struct {
		const char *format;
		int64_t result;
	} cases[] = {
		{"%d%d%d%d%d", 5},    {"%d%d%d%d%d%d", -EINVAL},
		{"%", -EINVAL},       {"%q", -EINVAL},
		{"%5", -EINVAL},      {"%l", -EINVAL},
		{"%ls", -EINVAL},     {"%lp", -EINVAL},
		{"%llld", -EINVAL},   {"%hd", -EINVAL},
		{"%n", -EINVAL},      {"%*d", -EINVAL},
		{"%.3s", -EINVAL},    {"ok %d then %", -EINVAL},
		{"%-", -EINVAL},      {"%#x", -EINVAL},
		{"%pI5", -EINVAL},    {"%pk", -EINVAL},
		{"bell \a", -EINVAL}, {"%zu", -EINVAL},
		{"%lc", -EINVAL},     {"%sx", -EINVAL},
		{"%pksx", -EINVAL},   {"%pX", -EINVAL},
		{"%0000d", 1},        {"%2000d", 2000},
		{"tab\t, %s", 6},     {"%pi6", 32},
		{"%999c", 999},       {"%px%s.", 17},
		{"%pI4word", 7},      {"%+-0 +-5d", 5},
	};

	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct helpers_shared shared = {0};

			helper_run(engine, "trace", cases[i].format, &shared);
			if (shared.result != cases[i].result)
				fail_msg("engine %d, \"%s\": %lld", engine, cases[i].format,
					 (long long)shared.result);
		}
	}
}

static void arguments_are_whole_numbers(void **state)
{
	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {0};

		helper_run(engine, "odd_arguments", "%d", &shared);
		assert_int_equal(shared.result, -EINVAL);
	}
}

/* A string that ends where memory does, and one that does not end before. */
static void strings_are_read_up_to_bad_memory(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = memory + page;

	(void)state;
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(end, page, PROT_NONE), 0);
	memset(memory, 'm', page);
	memcpy(end - 6, "\0text", 6);
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {.size = 64, .number = {(uintptr_t)end - 5}};

		helper_run(engine, "probe_string", NULL, &shared);
		assert_int_equal(shared.result, 5);
		assert_string_equal(shared.out, "text");
		shared.size = 3;
		helper_run(engine, "probe_string", NULL, &shared);
		assert_int_equal(shared.result, 3);
		assert_string_equal(shared.out, "te");
		shared = (struct helpers_shared){.size = 1, .number = {(uintptr_t)end - 5}};
		helper_run(engine, "probe_string", NULL, &shared);
		assert_int_equal(shared.result, 1);
		end[-1] = 'x';
		memset(shared.out, 'x', sizeof(shared.out));
		shared.size = 63;
		helper_run(engine, "probe_string", NULL, &shared);
		assert_int_equal(shared.result, -EFAULT);
		for (size_t i = 0; i < sizeof(shared.out); i++)
			assert_int_equal(shared.out[i], i < 63 ? 0 : 'x');
		end[-1] = 0;
	}
	munmap(memory, 2 * page);
}

static void sums_are_differences(void **state)
{
	static const uint64_t sizes[] = {0, 4, 8, 20, 64},
			      seeds[] = {0, 1, 0xffff, 0xffffffff, 0x12345678};
	struct helpers_shared wanted = {0};

	(void)state;
	for (size_t i = 0; i < 64; i++) {
		wanted.in[i] = (char)(i * 37 + 5);
		wanted.out[i] = (char)(i * 91 + 200);
	}
	for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes) * COUNT(seeds); i++) {
		wanted.number[0] = sizes[i % 5];
		wanted.number[1] = sizes[i / 5 % 5];
		wanted.flags = seeds[i / 25];
		wanted.result = -1;
		FOR_EACH_ENGINE(engine)
		{
			struct helpers_shared shared = wanted;

			helper_run(engine, "sum", NULL, &shared);
			if (wanted.result < 0)
				wanted.result = shared.result;
			assert_int_equal(shared.result, wanted.result);
			assert_in_range(shared.result, 0, 0xffff);
		}
	}
}

/* RFC 1071, section 3. */
static void a_sum_is_the_internets(void **state)
{
	struct helpers_shared shared = {.number = {0, 8}};

	(void)state;
	memcpy(shared.out, "\x00\x01\xf2\x03\xf4\xf5\xf6\xf7", 8);
	helper_run(INTERPRETER, "sum", NULL, &shared);
	assert_int_equal(shared.result, 0xf2dd);
}

static void loops_call_functions(void **state)
{
	static const struct {
		uint64_t count, stop, flags;
		int64_t result;
		uint64_t sum;
	} cases[] = {
		{0, 9, 0, 0, 0},
		{5, 9, 0, 5, 10},
		{100, 3, 0, 4, 6},
		{1, 0, 0, 1, 0},
		{5, 9, 1, -EINVAL, 0},
		{(8 << 20) + 1, 9, 0, -E2BIG, 0},
		{100000, 1 << 30, 0, 100000, 4999950000},
	};

	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct helpers_shared shared = {
				.number = {cases[i].count, cases[i].stop},
				.flags = cases[i].flags,
			};

			helper_run(engine, "loop", NULL, &shared);
			assert_int_equal(shared.result, cases[i].result);
			assert_int_equal(shared.number[2], cases[i].sum);
		}
	}
}

static void loops_nest(void **state)
{
	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {0};

		helper_run(engine, "nested", NULL, &shared);
		assert_int_equal(shared.result, 5);
		assert_int_equal(shared.number[0], 0 + 1 + 2 + 3 + 4);
	}
}

static void elements_are_visited(void **state)
{
	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {0};

		helper_run(engine, "for_each", NULL, &shared);
		assert_int_equal(shared.result, 4);
		assert_int_equal(shared.number[0], 0 + 10 + 20 + 30);
	}
}

static void locks_are_free_again(void **state)
{
	(void)state;
	FOR_EACH_ENGINE(engine)
	{
		struct helpers_shared shared = {0};

		helper_run(engine, "lock", NULL, &shared);
		assert_int_equal(shared.result, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_are_the_systems),
		cmocka_unit_test(jiffies_are_the_kernels),
		cmocka_unit_test(who_runs_is_this_thread),
		cmocka_unit_test(comm_is_cut_and_padded),
		cmocka_unit_test(signed_numbers_are_read),
		cmocka_unit_test(unsigned_numbers_are_read),
		cmocka_unit_test(strings_are_compared),
		cmocka_unit_test(text_is_formatted),
		cmocka_unit_test(text_is_cut_and_measured),
		cmocka_unit_test(formats_are_checked),
		cmocka_unit_test(arguments_are_whole_numbers),
		cmocka_unit_test(strings_are_read_up_to_bad_memory),
		cmocka_unit_test(sums_are_differences),
		cmocka_unit_test(a_sum_is_the_internets),
		cmocka_unit_test(loops_call_functions),
		cmocka_unit_test(loops_nest),
		cmocka_unit_test(elements_are_visited),
		cmocka_unit_test(locks_are_free_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

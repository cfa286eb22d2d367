/* SPDX-License-Identifier: MIT */
/*
 * test_object.c - what clang compiles, from file to result: programs, data, maps, helpers,
 * and each documented way to be refused
 */
#include "object_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void programs_are_the_global_functions_outside_text(void **state)
{
	static const char *const expected[][2] = {
		{"count", "xdp"},
		{"neighbour", "xdp"},
		{"pointers", "tc/pointers"},
		{"strings", "tc/strings"},
		{"maps", "maps_of_all_kinds"},
		{"fill", "full"},
		{"drop", "full"},
		{"print", "tp/print"},
		{"misc", "tp/misc"},
	};
	struct pp_bpf_object *object = object_open("whole", NULL);
	struct pp_bpf_prog *prog = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		prog = pp_bpf_prog_next(object, prog);
		assert_non_null(prog);
		assert_string_equal(pp_bpf_prog_name(prog), expected[i][0]);
		assert_string_equal(pp_bpf_prog_section(prog), expected[i][1]);
	}
	assert_null(pp_bpf_prog_next(object, prog));
	assert_null(pp_bpf_prog_by_name(object, "shared"));
	assert_null(pp_bpf_prog_by_name(object, "beside"));
	pp_bpf_close(object);
}

static void calls_cross_sections(void **state)
{
	struct pp_bpf_object *object = object_open("whole", NULL);

	(void)state;
	object_load(object);
	assert_int_equal(object_run(object, "count", NULL, 0), 1 * 3 + 7 + 2);
	assert_int_equal(object_interpret(object, "count", NULL, 0), 2 * 3 + 7 + 4);
	assert_int_equal(object_run(object, "neighbour", NULL, 5), (5 ^ 0xff) + 15);
	assert_int_equal(object_interpret(object, "neighbour", NULL, 5), (5 ^ 0xff) + 15);
	pp_bpf_close(object);
}

/* Variables of a section, by their offsets in it: clang sorts them as they are written. */
static void host_and_program_share_data(void **state)
{
	struct pp_bpf_object *object = object_open("whole", NULL);
	struct pp_bpf_map *bss, *data;
	struct pp_bpf_map_info info;
	uint64_t zeros[2];
	uint32_t key = 0, words[16] = {0};

	(void)state;
	object_load(object);
	bss = object_map(object, ".bss");
	data = object_map(object, ".data");
	object_run(object, "count", NULL, 0);
	assert_int_equal(pp_bpf_map_lookup(bss, &key, zeros), 0);
	assert_int_equal(zeros[0], 1);
	assert_int_equal(zeros[1], 2);
	zeros[0] = 100;
	assert_int_equal(pp_bpf_map_update(bss, &key, zeros, 0), 0);
	assert_int_equal(object_run(object, "count", NULL, 0), 101 * 3 + 7 + 4);

	pp_bpf_map_info(data, &info);
	assert_true(info.value_size <= sizeof(words));
	assert_int_equal(pp_bpf_map_lookup(data, &key, words), 0);
	assert_int_equal(words[0], 7);
	words[0] = 9;
	assert_int_equal(pp_bpf_map_update(data, &key, words, 0), 0);
	assert_int_equal(object_run(object, "count", NULL, 0), 102 * 3 + 9 + 6);
	pp_bpf_map_info(object_map(object, ".rodata"), &info);
	assert_int_equal(info.type, 2);
	assert_int_equal(info.max_entries, 1);
	pp_bpf_close(object);
}

static void pointers_in_data_point_to_data(void **state)
{
	struct pp_bpf_object *object = object_open("whole", NULL);

	(void)state;
	object_load(object);
	assert_int_equal(object_run(object, "pointers", NULL, 0), 30 * 1000 + 7);
	for (unsigned int i = 0; i < 3; i++) {
		const char *name = (const char *const[]){"zero", "one", "two"}[i];
		uint64_t expected = (uint64_t)name[0] << 16 | (uint64_t)name[2] << 8 | 'h';

		assert_int_equal(object_run(object, "strings", NULL, i), expected);
		assert_int_equal(object_interpret(object, "strings", NULL, i), expected);
	}
	pp_bpf_close(object);
}

static void maps_are_shared_with_the_host(void **state)
{
	struct pp_bpf_object *object = object_open("whole", NULL);
	uint64_t pair[2] = {1, 9}, value[2], count;
	uint32_t index = 1;

	(void)state;
	object_load(object);
	assert_int_equal(object_run(object, "maps", NULL, 9), 200 + 18);
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "counts"), &index, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "pairs"), pair, value), 0);
	assert_int_equal(value[1], 18);
	index = 0;
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "hidden"), &index, value), 0);
	assert_int_equal(value[1], 9);
	/* The program sees the map's error values as the kernel's helpers give them. */
	assert_int_equal(object_run(object, "fill", NULL, 9), (uint64_t)-EEXIST);
	assert_int_equal(object_run(object, "fill", NULL, 1), 0);
	assert_int_equal(object_run(object, "fill", NULL, 2), 0);
	assert_int_equal(object_run(object, "fill", NULL, 3), (uint64_t)-E2BIG);
	assert_int_equal(object_run(object, "drop", NULL, 9), 0);
	assert_int_equal(object_run(object, "drop", NULL, 9), (uint64_t)-ENOENT);
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "pairs"), pair, value), -ENOENT);
	pp_bpf_close(object);
}

static void maps_come_in_the_order_of_the_file(void **state)
{
	static const char *const expected[] = {
		".data", ".rodata", ".rodata.str1.1", ".bss", "counts", "hidden", "pairs",
	};
	struct pp_bpf_object *object = object_open("whole", NULL);
	struct pp_bpf_map *map = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		map = pp_bpf_map_next(object, map);
		assert_non_null(map);
		assert_string_equal(pp_bpf_map_name(map), expected[i]);
	}
	assert_null(pp_bpf_map_next(object, map));
	assert_null(pp_bpf_map_by_name(object, "license"));
	pp_bpf_close(object);
}

static void printing_reaches_the_object_from_every_entry(void **state)
{
	static const char text[] = "5 of them: abcdef0123456789\n";
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object = object_open("whole", &opts);
	struct pp_bpf_prog *prog;

	(void)state;
	object_load(object);
	assert_int_equal(object_run(object, "print", NULL, 5), sizeof(text) - 1);
	assert_string_equal(printed, text);
	printed[0] = 0;
	assert_int_equal(object_interpret(object, "print", NULL, 5), sizeof(text) - 1);
	assert_string_equal(printed, text);
	printed[0] = 0;
	prog = pp_bpf_prog_by_name(object, "print");
	if (pp_bpf_prog_entry(prog)) {
		pp_bpf_enter();
		assert_int_equal(pp_bpf_prog_entry(prog)(NULL, 5), sizeof(text) - 1);
		pp_bpf_leave();
		assert_string_equal(printed, text);
	}
	pp_bpf_close(object);
}

static void printing_goes_to_the_object_that_prints(void **state)
{
	struct pp_bpf_opts opts = object_options(), quiet = opts;
	struct pp_bpf_object *first, *second, *third;

	(void)state;
	quiet.print = NULL;
	first = object_open("whole", &quiet);
	second = object_open("whole", &opts);
	third = object_open("whole", &quiet);
	object_load(first);
	object_load(second);
	object_load(third);
	object_run(first, "print", NULL, 1);
	object_interpret(third, "print", NULL, 1);
	assert_string_equal(printed, "");
	pp_bpf_close(first);
	object_run(second, "print", NULL, 2);
	assert_string_equal(printed, "2 of them: abcdef0123456789\n");
	pp_bpf_close(second);
	pp_bpf_close(third);
}

static void builtin_helpers_answer(void **state)
{
	struct pp_bpf_object *object = object_open("whole", NULL);

	(void)state;
	object_load(object);
	assert_int_equal(object_run(object, "misc", NULL, 0),
			 (uint64_t)getpid() << 32 | (uint32_t)gettid());
	pp_bpf_close(object);
}

static uint64_t sum(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return r1 + 10 * r2 + 100 * r3 + 1000 * r4 + 10000 * r5;
}

static uint64_t twice(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r2, (void)r3, (void)r4, (void)r5;
	return r1 * 2;
}

static void missing_helpers_refuse_and_load_can_be_retried(void **state)
{
	struct pp_bpf_object *object = object_open("host", NULL);

	(void)state;
	assert_int_equal(pp_bpf_load(object), -ENOENT);
	assert_non_null(strstr(last_reason, "host_sum"));
	assert_int_equal(pp_bpf_register(object, 99, "host_sum", 5, twice), 0);
	assert_int_equal(pp_bpf_register(object, 99, "host_sum", 5, sum), 0);
	assert_int_equal(pp_bpf_load(object), -ENOENT);
	assert_non_null(strstr(last_reason, "70000"));
	assert_int_equal(pp_bpf_register(object, 70000, "double", 1, twice), 0);
	object_load(object);
	assert_int_equal(object_run(object, "by_name", NULL, 7), 43217 + 1);
	assert_int_equal(object_run(object, "by_id", NULL, 21), 42);
	assert_int_equal(pp_bpf_register(object, 1, "late", 1, twice), -EBUSY);
	assert_string_equal(last_reason, "host.bpf.o: helper 1: the object is loaded already");
	assert_int_equal(pp_bpf_load(object), -EALREADY);
	assert_string_equal(last_reason, "host.bpf.o: loaded already");
	pp_bpf_close(object);
}

/* r3: 8 bytes for the sum of the numbers that r1 and r2 say. */
static uint64_t sum_memory(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const uint64_t *numbers = (const uint64_t *)(uintptr_t)r1;
	uint64_t total = 0;

	(void)r4, (void)r5;
	for (size_t i = 0; i < r2 / sizeof(*numbers); i++)
		total += numbers[i];
	memcpy((void *)(uintptr_t)r3, &total, sizeof(total));
	return 0;
}

static struct pp_bpf_helper typed_helper(void)
{
	return (struct pp_bpf_helper){
		.size = sizeof(struct pp_bpf_helper),
		.name = "host_sum",
		.fn = sum_memory,
		.id = PP_BPF_BY_NAME,
		.nargs = 5,
		.args = {PP_BPF_ARG_IN, 0, PP_BPF_ARG_OUT_LONG},
	};
}

/* Known by its name alone; memory that it is given must be the program's. */
static void typed_helpers_get_what_they_say(void **state)
{
	static const unsigned int flags[] = {PP_BPF_NO_JIT, 0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct pp_bpf_helper helper = typed_helper();
		struct pp_bpf_opts opts = object_options();
		struct pp_bpf_object *object;
		struct pp_bpf_prog *prog;
		uint64_t result;

		opts.flags = flags[i];
		object = object_open("host", &opts);
		assert_int_equal(pp_bpf_register(object, INT32_MAX, "taken", 1, twice), 0);
		assert_int_equal(pp_bpf_register(object, 70000, "double", 1, twice), 0);
		assert_int_equal(pp_bpf_register_helper(object, &helper), 0);
		assert_int_equal(pp_bpf_register_helper(object, &helper), 0);
		object_load(object);
		assert_int_equal(object_run(object, "typed", NULL, 0), 42);
		prog = pp_bpf_prog_by_name(object, "typed");
		assert_int_equal(pp_bpf_run(prog, NULL, 1 << 20, &result), -EFAULT);
		pp_bpf_close(object);
	}
}

static void typed_helpers_are_checked(void **state)
{
	struct pp_bpf_object *object = object_open("host", NULL);
	struct pp_bpf_helper helper = typed_helper();

	(void)state;
	helper.args[3] = PP_BPF_ARG_OUT_LONG + 1;
	assert_int_equal(pp_bpf_register_helper(object, &helper), -EINVAL);
	assert_string_equal(last_reason,
			    "host.bpf.o: helper 'host_sum': an argument of no known type");
	helper = typed_helper();
	helper.args[4] = PP_BPF_ARG_OUT;
	assert_int_equal(pp_bpf_register_helper(object, &helper), -EINVAL);
	assert_string_equal(last_reason,
			    "host.bpf.o: helper 'host_sum': memory without a size behind it");
	helper = typed_helper();
	helper.nargs = 2;
	assert_int_equal(pp_bpf_register_helper(object, &helper), -EINVAL);
	assert_non_null(strstr(last_reason, "a type for an argument that it does not have"));
	helper.size = 8;
	assert_int_equal(pp_bpf_register_helper(object, &helper), -EINVAL);
	assert_int_equal(pp_bpf_register_helper(object, NULL), -EINVAL);
	assert_int_equal(pp_bpf_register(object, PP_BPF_BY_NAME, "no", 1, twice), -EINVAL);
	pp_bpf_close(object);
}

static void registering_checks_its_arguments(void **state)
{
	static const struct {
		uint32_t id;
		const char *name;
		unsigned int nargs;
		pp_bpf_helper_fn fn;
		const char *reason;
	} wrong[] = {
		{1, NULL, 1, twice, "host.bpf.o: helper 1: it has no name"},
		{1, "", 1, twice, "host.bpf.o: helper 1: it has no name"},
		{2, "six", 6, twice, "host.bpf.o: helper 2: more than 5 arguments"},
		{3, "none", 1, NULL, "host.bpf.o: helper 3: it has no function"},
		{2147483648, "far", 1, twice,
		 "host.bpf.o: helper 2147483648: the number is above 2147483647"},
	};
	struct pp_bpf_object *object = object_open("host", NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(pp_bpf_register(object, wrong[i].id, wrong[i].name, wrong[i].nargs,
						 wrong[i].fn),
				 -EINVAL);
		assert_string_equal(last_reason, wrong[i].reason);
	}
	assert_int_equal(pp_bpf_register(object, INT32_MAX, "last", 1, twice), 0);
	pp_bpf_close(object);
}

static void forty_sections_are_forty_programs(void **state)
{
	struct pp_bpf_object *object = object_open("many", NULL);
	uint64_t calls = 0;
	char name[16];

	(void)state;
	object_load(object);
	for (uint64_t i = 10; i < 50; i++) {
		snprintf(name, sizeof(name), "prog%u", (unsigned int)i);
		calls += i;
		assert_int_equal(object_run(object, name, NULL, 0), calls * 100 + i);
	}
	pp_bpf_close(object);
}

static void without_other_sections_text_has_the_programs(void **state)
{
	struct pp_bpf_object *object = object_open("text", NULL);

	(void)state;
	object_load(object);
	assert_null(pp_bpf_prog_by_name(object, "inner"));
	assert_int_equal(object_run(object, "first", NULL, 5), 16);
	assert_int_equal(object_run(object, "second", NULL, 5), 31);
	assert_int_equal(object_interpret(object, "second", NULL, 5), 31);
	pp_bpf_close(object);
}

/* Two programs in all; three names find the first, a static one is nobody's. */
static void every_name_of_a_function_is_it(void **state)
{
	struct pp_bpf_object *object = object_open("alias", NULL);
	struct pp_bpf_prog *prog = pp_bpf_prog_next(object, NULL);

	(void)state;
	assert_string_equal(pp_bpf_prog_name(prog), "prog");
	assert_string_equal(pp_bpf_prog_name(pp_bpf_prog_next(object, prog)), "misaligned");
	assert_null(pp_bpf_prog_next(object, pp_bpf_prog_next(object, prog)));
	assert_ptr_equal(pp_bpf_prog_by_name(object, "prog"), prog);
	assert_ptr_equal(pp_bpf_prog_by_name(object, "also_prog"), prog);
	assert_ptr_equal(pp_bpf_prog_by_name(object, "third_name"), prog);
	assert_null(pp_bpf_prog_by_name(object, "hidden"));
	assert_null(pp_bpf_prog_by_name(object, "outer"));
	object_load(object);
	assert_int_equal(object_run(object, "also_prog", NULL, 5), 15 + 18 + 2);
	assert_int_equal(object_interpret(object, "third_name", NULL, 5), 15 + 18 + 2);
	pp_bpf_close(object);
}

static void data_is_aligned_as_the_file_asks(void **state)
{
	struct pp_bpf_object *object = object_open("alias", NULL);

	(void)state;
	object_load(object);
	assert_int_equal(object_run(object, "misaligned", NULL, 0), 0);
	pp_bpf_close(object);
}

static uint64_t plain_total(uint64_t *total, uint64_t slot, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		*total += i * slot;
	return *total + (uint32_t)-10;
}

static void legacy_maps_work_for_every_instruction_set(void **state)
{
	static const char *const names[] = {"plain", "plain-v1", "plain-v2", "plain-v3"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct pp_bpf_object *object = object_open(names[i], NULL);
		uint64_t total = 0, key = 6, value;
		uint32_t index = 5;

		object_load(object);
		assert_int_equal(object_run(object, "run", NULL, 6), plain_total(&total, 6, 6));
		assert_int_equal(object_interpret(object, "run", NULL, 6),
				 plain_total(&total, 12, 6));
		assert_int_equal(pp_bpf_map_lookup(object_map(object, "slots"), &index, &value), 0);
		assert_int_equal(value, 12);
		assert_int_equal(pp_bpf_map_lookup(object_map(object, "words"), &key, &value), 0);
		assert_int_equal(value, 6);
		pp_bpf_close(object);
	}
}

static void run_both(struct pp_bpf_object *object, const char *name, size_t len, uint64_t want)
{
	assert_int_equal(object_run(object, name, NULL, len), want);
	assert_int_equal(object_interpret(object, name, NULL, len), want);
}

static void functions_are_called_by_address(void **state)
{
	struct pp_bpf_object *object = object_open("table", NULL);

	(void)state;
	object_load(object);
	run_both(object, "by_table", 30, 60);
	run_both(object, "by_table", 31, 32);
	run_both(object, "by_table", 32, 1024);
	run_both(object, "by_value", 9, 18);
	run_both(object, "by_value", 8, 64);
	run_both(object, "by_number", 5, (uint64_t)(int64_t)-EINVAL);
	run_both(object, "same", 0, 1);
	pp_bpf_close(object);
}

/* Where each is refused, with what, and which words the reason must have. */
static const struct refusal {
	const char *name;
	int open, load;
	const char *words[3];
} refusals[] = {
	{"MAP_TYPE", 0, -ENOTSUP, {"traces", "type 7"}},
	{"MAP_SIZES", 0, -ENOEXEC, {"wide", "key 8"}},
	{"MAP_CONFLICT", -ENOEXEC, 0, {"twofold", "key_size", ".maps"}},
	{"MAP_VALUES", 0, -ENOEXEC, {".text", ".maps", "no program"}},
	{"NO_HELPER_NAME", 0, -ENOENT, {"nobody_has_this", "'tc' +0x8", "that nothing defines"}},
	{"NO_HELPER_ID", 0, -ENOENT, {"9999", "'tc' +0x8", "no such helper"}},
	{"EXTERN_VARIABLE", 0, -ENOTSUP, {"elsewhere", "'tc' +0x0"}},
	{"UNKNOWN_SECTION", 0, -ENOEXEC, {"stray", "'tc' +0x0"}},
	{"TAIL_TAKEN", 0, -EINVAL, {"tail call in 'jump'", "address is taken"}},
	{"RECURSION", 0, -ELOOP, {"again"}},
	{"HUGE_BSS", -ENOEXEC, 0, {".bss"}},
	{"ALIGNED", -ENOTSUP, 0, {".data", "8192", "4096"}},
	{"COMMON", 0, -ENOTSUP, {"nowhere", "COMMON", "'tc' +0x0"}},
	{"WEAK_FUNCTION", 0, -ENOTSUP, {"perhaps", "a function that nothing defines", "'tc' +0x8"}},
	{"whole-g0", -ENOEXEC, 0, {".maps", "-g"}},
};

static void check_reason(const struct refusal *refusal)
{
	for (size_t i = 0; i < 3 && refusal->words[i]; i++) {
		if (!strstr(last_reason, refusal->words[i]))
			fail_msg("%s: '%s' lacks '%s'", refusal->name, last_reason,
				 refusal->words[i]);
	}
}

static void refusals_say_where_and_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *refusal = &refusals[i];
		const struct pp_bpf_opts opts = object_options();
		struct file file = object_file(refusal->name);
		struct pp_bpf_object *object = NULL;

		assert_int_equal(pp_bpf_open_mem(file.bytes, file.size, &opts, &object),
				 refusal->open);
		if (!refusal->open)
			assert_int_equal(pp_bpf_load(object), refusal->load);
		check_reason(refusal);
		pp_bpf_close(object);
		free(file.bytes);
	}
}

static void options_are_checked(void **state)
{
	struct {
		struct pp_bpf_opts known;
		uint64_t later;
	} opts = {.known = {.size = sizeof(opts)}};
	struct file file = object_file("text");
	struct pp_bpf_object *object;

	(void)state;
	assert_int_equal(pp_bpf_open_mem(file.bytes, file.size, &opts.known, &object), 0);
	pp_bpf_close(object);
	opts.later = 1;
	assert_int_equal(pp_bpf_open_mem(file.bytes, file.size, &opts.known, &object), -E2BIG);
	opts.known.size = 4;
	assert_int_equal(pp_bpf_open_mem(file.bytes, file.size, &opts.known, &object), -EINVAL);
	opts.known = object_options();
	opts.known.flags = 0x100 | PP_BPF_NO_JIT;
	assert_int_equal(pp_bpf_open_mem(file.bytes, file.size, &opts.known, &object), -EINVAL);
	assert_string_equal(last_reason, "<memory>: unknown flags 0x100");
	assert_int_equal(pp_bpf_open_file("/nowhere/x.o", NULL, &object), -ENOENT);
	assert_int_equal(pp_bpf_open_file("/", NULL, &object), -EISDIR);
	free(file.bytes);
}

static void names_in_reasons_are_the_objects(void **state)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object = object_open("NO_HELPER_ID", &opts);

	(void)state;
	assert_int_equal(pp_bpf_load(object), -ENOENT);
	assert_int_equal(strncmp(last_reason, "NO_HELPER_ID.bpf.o: ", 20), 0);
	pp_bpf_close(object);
	opts.name = "mine";
	object = object_open("NO_HELPER_ID", &opts);
	assert_int_equal(pp_bpf_load(object), -ENOENT);
	assert_int_equal(strncmp(last_reason, "mine: ", 6), 0);
	pp_bpf_close(object);
}

static void nothing_runs_before_load(void **state)
{
	struct pp_bpf_object *object = object_open("whole", NULL);
	struct pp_bpf_prog *prog = pp_bpf_prog_next(object, NULL);
	struct pp_bpf_map *map = object_map(object, "counts");
	struct pp_block image;
	uint64_t result = 77;
	uint32_t key = 0;

	(void)state;
	assert_int_equal(pp_bpf_run(prog, NULL, 0, &result), -EINVAL);
	assert_int_equal(pp_bpf_interpret(prog, NULL, 0, &result), -EINVAL);
	assert_int_equal(pp_bpf_prog_lines(prog, NULL, NULL), -EINVAL);
	assert_int_equal(pp_bpf_map_lookup(map, &key, &result), -EINVAL);
	assert_int_equal(pp_bpf_map_update(map, &key, &result, 0), -EINVAL);
	assert_int_equal(pp_bpf_map_delete(map, &key), -EINVAL);
	assert_int_equal(pp_bpf_map_next_key(map, NULL, &key), -EINVAL);
	assert_int_equal(pp_bpf_image(object, &image), -ENOENT);
	assert_null(pp_bpf_prog_entry(prog));
	assert_int_equal(result, 77);
	pp_bpf_close(object);
	pp_bpf_close(NULL);
}

static void without_jit_programs_are_interpreted(void **state)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct pp_block image;

	(void)state;
	opts.flags = PP_BPF_NO_JIT;
	object = object_open("whole", &opts);
	object_load(object);
	assert_null(pp_bpf_prog_entry(pp_bpf_prog_by_name(object, "count")));
	assert_int_equal(pp_bpf_prog_native_size(pp_bpf_prog_by_name(object, "count")), 0);
	assert_int_equal(pp_bpf_image(object, &image), -ENOENT);
	assert_int_equal(object_run(object, "count", NULL, 0), 12);
	object_run(object, "print", NULL, 5);
	assert_string_equal(printed, "5 of them: abcdef0123456789\n");
	pp_bpf_close(object);
}

static struct pp_heap *new_heap(size_t limit)
{
	const struct pp_opts opts = {.size = sizeof(opts), .limit = limit};
	struct pp_heap *heap;

	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	return heap;
}

static struct pp_stats stats_of(const struct pp_heap *heap)
{
	struct pp_stats stats = {.size = sizeof(stats)};

	assert_int_equal(pp_stats(heap, &stats), 0);
	return stats;
}

static void an_object_is_one_image(void **state)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct pp_block image;
	size_t sum_of_sizes = 0;

	(void)state;
	opts.heap = new_heap(0);
	object = object_open("many", &opts);
	object_load(object);
	if (pp_bpf_image(object, &image)) {
		print_message("# no JIT on this machine\n");
		goto out;
	}
	assert_int_equal(stats_of(opts.heap).blocks, 1);
	assert_int_equal(stats_of(opts.heap).allocs, 1);
	assert_int_equal(stats_of(opts.heap).copies, 1);
	for (struct pp_bpf_prog *prog = NULL; (prog = pp_bpf_prog_next(object, prog));)
		sum_of_sizes += pp_bpf_prog_native_size(prog);
	assert_true(sum_of_sizes && sum_of_sizes <= image.size);
out:
	pp_bpf_close(object);
	assert_int_equal(stats_of(opts.heap).blocks, 0);
	assert_int_equal(stats_of(opts.heap).used, 0);
	pp_heap_free(opts.heap);
}

static void a_load_without_room_can_be_retried(void **state)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct pp_code block;

	(void)state;
	opts.heap = new_heap(8192);
	object = object_open("whole", &opts);
	assert_int_equal(pp_alloc(opts.heap, 8000, &block), 0);
	if (!pp_bpf_load(object)) {
		print_message("# no JIT on this machine\n");
		goto out;
	}
	assert_int_equal(pp_bpf_load(object), -EDQUOT);
	assert_non_null(strstr(last_reason, "cannot compile"));
	assert_int_equal(stats_of(opts.heap).blocks, 1);
	assert_int_equal(pp_abort(opts.heap, &block), 0);
	object_load(object);
	assert_int_equal(object_run(object, "count", NULL, 0), 12);
out:
	pp_bpf_close(object);
	pp_heap_free(opts.heap);
}

/* What pp_bpf_prog_lines() told, in one string: functions, and the native bytes of all. */
struct listing {
	char text[8192];
	size_t native, lines;
};

static void add_line(void *ctx, const struct pp_bpf_line *line)
{
	struct listing *listing = ctx;
	size_t used = strlen(listing->text);

	if (line->function)
		used += (size_t)snprintf(listing->text + used, sizeof(listing->text) - used,
					 "%s:\n", line->function);
	snprintf(listing->text + used, sizeof(listing->text) - used, "%s+%u %s\n", line->section,
		 line->pc, line->text ? line->text : "prologue");
	listing->native += line->native_size;
	listing->lines++;
}

static void listings_follow_calls(void **state)
{
	struct pp_bpf_opts opts = object_options();
	static const unsigned int flags[] = {0, PP_BPF_KEEP_LINES, PP_BPF_NO_JIT};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct listing listing = {.lines = 0};
		struct pp_bpf_object *object;
		struct pp_bpf_prog *prog;

		opts.flags = flags[i];
		object = object_open("whole", &opts);
		object_load(object);
		prog = pp_bpf_prog_by_name(object, "count");
		assert_int_equal(pp_bpf_prog_lines(prog, add_line, &listing), 0);
		assert_int_equal(strncmp(listing.text, "count:\nxdp+0 ", 13), 0);
		assert_non_null(strstr(listing.text, "\nshared:\n.text+"));
		assert_non_null(strstr(listing.text, "\nscaled:\n.text+"));
		assert_null(strstr(listing.text, "neighbour:"));
		assert_non_null(strstr(listing.text, "map[.bss][0]"));
		if (flags[i] == PP_BPF_KEEP_LINES && pp_bpf_prog_native_size(prog))
			assert_true(listing.native >= pp_bpf_prog_native_size(prog));
		else
			assert_int_equal(listing.native, 0);
		pp_bpf_close(object);
	}
}

static unsigned int count_of(const char *text, const char *part)
{
	unsigned int count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

/* Every function once: those that programs share, and one that no program calls. */
static void a_whole_listing_has_each_function_once(void **state)
{
	static const char *const names[] = {"\nshared:\n", "\nscaled:\n", "\nneighbour:\n",
					    "\nbeside:\n", "\nmisc:\n"};
	struct pp_bpf_object *object = object_open("whole", NULL);
	struct listing whole = {.lines = 0};

	(void)state;
	assert_int_equal(pp_bpf_lines(object, add_line, &whole), -EINVAL);
	object_load(object);
	assert_int_equal(pp_bpf_lines(object, add_line, &whole), 0);
	assert_int_equal(strncmp(whole.text, "count:\nxdp+0 ", 13), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(count_of(whole.text, names[i]), 1);
	assert_non_null(strstr(whole.text, " call <shared>\n"));
	assert_non_null(strstr(whole.text, " call pc"));
	pp_bpf_close(object);

	object = object_open("alias", NULL);
	object_load(object);
	whole.text[0] = 0;
	assert_int_equal(pp_bpf_lines(object, add_line, &whole), 0);
	assert_int_equal(count_of(whole.text, ":\n"), 4);
	assert_non_null(strstr(whole.text, "\nlonely:\n"));
	pp_bpf_close(object);
}

static void raw_instructions_are_one_program(void **state)
{
	/* r0 = r2; call +1; exit; r0 += 5; exit */
	static const uint8_t code[] = {
		0xbf, 0x20, 0, 0, 0,    0, 0, 0, 0x85, 0x10, 0, 0, 1,    0, 0, 0, 0x95, 0, 0, 0,
		0,    0,    0, 0, 0xb7, 0, 0, 0, 5,    0,    0, 0, 0x95, 0, 0, 0, 0,    0, 0, 0,
	};
	const struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;

	(void)state;
	assert_int_equal(pp_bpf_open_raw(code, sizeof(code), &opts, &object), 0);
	object_load(object);
	assert_int_equal(object_run(object, "main", NULL, 9), 5);
	assert_string_equal(pp_bpf_prog_section(pp_bpf_prog_by_name(object, "main")), "");
	assert_null(pp_bpf_map_next(object, NULL));
	assert_null(pp_bpf_prog_next(object, pp_bpf_prog_next(object, NULL)));
	pp_bpf_close(object);
	assert_int_equal(pp_bpf_open_raw(code, 12, &opts, &object), -ENOEXEC);
	assert_int_equal(pp_bpf_open_raw(code, 0, &opts, &object), -ENOEXEC);
	assert_int_equal(pp_bpf_open_raw(code, 16, &opts, &object), -EINVAL);
}

static void raw_references_to_maps_are_refused(void **state)
{
	/* r1 = map[3] ll; exit; and the same with a value */
	uint8_t code[] = {
		0x18, 0x11, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0,
	};
	const struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pp_bpf_open_raw(code, sizeof(code), &opts, &object), 0);
		assert_int_equal(pp_bpf_load(object), -EINVAL);
		assert_non_null(strstr(last_reason, "no such map"));
		pp_bpf_close(object);
		code[1] = 0x21;
	}
}

/* A program that waits in a helper; closing must wait for it. */
static sem_t entered, go_on;
static volatile bool left;

static uint64_t wait_here(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r2, (void)r3, (void)r4, (void)r5;
	sem_post(&entered);
	sem_wait(&go_on);
	return r1;
}

static void *run_waiting(void *object)
{
	uint64_t result = object_run(object, "by_id", NULL, 5);

	left = true;
	return (void *)(uintptr_t)result;
}

static void *let_go(void *unused)
{
	const struct timespec while_close_begins = {.tv_nsec = 50000000};

	nanosleep(&while_close_begins, NULL);
	sem_post(&go_on);
	return unused;
}

static void closing_waits_for_runs(void **state)
{
	struct pp_bpf_object *object = object_open("host", NULL);
	pthread_t runner, releaser;
	void *result;

	(void)state;
	sem_init(&entered, 0, 0);
	sem_init(&go_on, 0, 0);
	assert_int_equal(pp_bpf_register(object, 99, "host_sum", 5, sum), 0);
	assert_int_equal(pp_bpf_register(object, 70000, "wait", 1, wait_here), 0);
	object_load(object);
	assert_int_equal(pthread_create(&runner, NULL, run_waiting, object), 0);
	sem_wait(&entered);
	assert_int_equal(pthread_create(&releaser, NULL, let_go, NULL), 0);
	pp_bpf_close(object);
	/* It got out of the program, though its thread may not have said so yet. */
	assert_int_equal(sem_trywait(&go_on), -1);
	assert_int_equal(pthread_join(runner, &result), 0);
	assert_int_equal(pthread_join(releaser, NULL), 0);
	assert_true(left);
	assert_int_equal((uintptr_t)result, 5);
}

static void objects_come_and_go(void **state)
{
	struct pp_bpf_opts opts = object_options();
	struct file file = object_file("whole");

	(void)state;
	opts.heap = new_heap(0);
	for (int i = 0; i < 200; i++) {
		struct pp_bpf_object *object;

		assert_int_equal(pp_bpf_open_mem(file.bytes, file.size, &opts, &object), 0);
		object_load(object);
		assert_int_equal(object_run(object, "count", NULL, 0), 12);
		pp_bpf_close(object);
	}
	assert_int_equal(stats_of(opts.heap).blocks, 0);
	pp_heap_free(opts.heap);
	free(file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_the_global_functions_outside_text),
		cmocka_unit_test(calls_cross_sections),
		cmocka_unit_test(host_and_program_share_data),
		cmocka_unit_test(pointers_in_data_point_to_data),
		cmocka_unit_test(maps_are_shared_with_the_host),
		cmocka_unit_test(maps_come_in_the_order_of_the_file),
		cmocka_unit_test(printing_reaches_the_object_from_every_entry),
		cmocka_unit_test(printing_goes_to_the_object_that_prints),
		cmocka_unit_test(builtin_helpers_answer),
		cmocka_unit_test(missing_helpers_refuse_and_load_can_be_retried),
		cmocka_unit_test(typed_helpers_get_what_they_say),
		cmocka_unit_test(typed_helpers_are_checked),
		cmocka_unit_test(registering_checks_its_arguments),
		cmocka_unit_test(forty_sections_are_forty_programs),
		cmocka_unit_test(without_other_sections_text_has_the_programs),
		cmocka_unit_test(every_name_of_a_function_is_it),
		cmocka_unit_test(data_is_aligned_as_the_file_asks),
		cmocka_unit_test(legacy_maps_work_for_every_instruction_set),
		cmocka_unit_test(functions_are_called_by_address),
		cmocka_unit_test(refusals_say_where_and_why),
		cmocka_unit_test(options_are_checked),
		cmocka_unit_test(names_in_reasons_are_the_objects),
		cmocka_unit_test(nothing_runs_before_load),
		cmocka_unit_test(without_jit_programs_are_interpreted),
		cmocka_unit_test(an_object_is_one_image),
		cmocka_unit_test(a_load_without_room_can_be_retried),
		cmocka_unit_test(listings_follow_calls),
		cmocka_unit_test(a_whole_listing_has_each_function_once),
		cmocka_unit_test(raw_instructions_are_one_program),
		cmocka_unit_test(raw_references_to_maps_are_refused),
		cmocka_unit_test(closing_waits_for_runs),
		cmocka_unit_test(objects_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

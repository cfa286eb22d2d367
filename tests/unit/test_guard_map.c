/* SPDX-License-Identifier: MIT */
/* test_guard_map.c - guarded programs and maps, arguments of helpers, functions that helpers call
 */
#include "object_fixture.h"

#include <errno.h>

static const unsigned int engines[] = {PP_BPF_NO_JIT, 0};
#define NENGINES (sizeof(engines) / sizeof(engines[0]))

/* With a map in its map of maps. */
static struct pp_bpf_object *loaded(size_t engine, uint64_t budget)
{
	const struct pp_bpf_map_info array = {.type = 2,
					      .key_size = 4,
					      .value_size = 8,
					      .max_entries = 2};
	const struct pp_bpf_map_info of_maps = {.type = 12,
						.key_size = 4,
						.value_size = 4,
						.max_entries = 2};
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_map *inner, *outer;
	struct pp_bpf_object *object;
	const uint32_t key = 1;

	assert_int_equal(pp_bpf_map_new("inner", &array, NULL, &inner), 0);
	assert_int_equal(pp_bpf_map_new("outer", &of_maps, inner, &outer), 0);
	assert_int_equal(pp_bpf_map_set_map(outer, &key, inner, 0), 0);
	opts.flags = engines[engine];
	opts.budget = budget;
	opts.maps = &outer;
	opts.nmaps = 1;
	object = object_open("guard", &opts);
	object_load(object);
	pp_bpf_map_free(inner);
	pp_bpf_map_free(outer);
	return object;
}

static int run(struct pp_bpf_object *object, const char *name, uint64_t off, uint64_t *result)
{
	struct pp_bpf_stop stop = {.function = NULL};
	int err = pp_bpf_run_stop(pp_bpf_prog_by_name(object, name), NULL, off, result, &stop);

	assert_int_equal(!!err, !!stop.function);
	return err;
}

/* @good, @bad: offsets from a value of 8 bytes */
static void values_are_all_there_is_of_a_map(void **state)
{
	static const struct {
		const char *name;
		uint64_t result;
		int64_t good[2], bad[3];
	} tries[] = {
		{"in_array", 1, {-8, 16}, {-9, 17, 24}}, {"in_hash", 7, {0, 0}, {-8, 1, 8}},
		{"in_percpu", 7, {0, 0}, {-8, 8, -1}},   {"in_trie", 7, {0, 0}, {-8, 1, -16}},
		{"in_inner", 1, {-8, 0}, {-9, 1, 8}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		for (size_t engine = 0; engine < NENGINES; engine++) {
			struct pp_bpf_object *object = loaded(engine, 0);
			uint64_t result = 0;

			assert_int_equal(run(object, tries[i].name, 0, &result), 0);
			assert_int_equal(result, tries[i].result);
			for (size_t k = 0; k < 2; k++)
				assert_int_equal(run(object, tries[i].name,
						     (uint64_t)tries[i].good[k], &result),
						 0);
			for (size_t k = 0; k < 3; k++)
				assert_int_equal(run(object, tries[i].name,
						     (uint64_t)tries[i].bad[k], &result),
						 -EFAULT);
			pp_bpf_close(object);
		}
	}
}

static void constants_are_not_written(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object = loaded(engine, 0);
		uint64_t result;

		assert_int_equal(run(object, "write_constant", 0, &result), -EFAULT);
		assert_int_equal(run(object, "write_variable", 0, &result), 0);
		assert_int_equal(result, 5);
		assert_int_equal(run(object, "write_variable", 1, &result), -EFAULT);
		pp_bpf_close(object);
	}
}

static void arguments_of_helpers_are_checked(void **state)
{
	static const char *const names[] = {
		"bad_map",   "bad_inner",  "bad_key",    "bad_value", "bad_pop",  "bad_probe",
		"bad_print", "bad_output", "bad_submit", "bad_twice", "bad_late", "bad_header",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t engine = 0; engine < NENGINES; engine++) {
			struct pp_bpf_object *object = loaded(engine, 0);
			uint64_t result = 77;
			int good = run(object, names[i], 0, &result);
			int bad = run(object, names[i], 1, &result);

			if (good || bad != -EFAULT)
				fail_msg("%s, engine %zu: %d and %d", names[i], engine, good, bad);
			pp_bpf_close(object);
		}
	}
}

/* What is printed may be anywhere; where there is no memory is no text. */
static void strings_may_be_nowhere(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object = loaded(engine, 0);
		uint64_t result = 0;

		assert_int_equal(run(object, "string_of_nowhere", 64, &result), 0);
		assert_string_equal(printed, "<>");
		assert_int_equal(run(object, "string_of_nowhere", (uintptr_t) "text", &result), 0);
		assert_string_equal(printed, "<><text>");
		pp_bpf_close(object);
	}
}

static void functions_that_helpers_call_are_guarded(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object = loaded(engine, 0);
		uint64_t result = 0;

		assert_int_equal(run(object, "each", 0, &result), 0);
		assert_int_equal(result, 300 + 12);
		assert_int_equal(run(object, "each", 8, &result), -EFAULT);
		assert_int_equal(run(object, "each", (uint64_t)-16, &result), -EFAULT);
		assert_int_equal(run(object, "each", 0, &result), 0);
		assert_int_equal(run(object, "each_key", 0, &result), -EFAULT);
		assert_int_equal(run(object, "each_none", 64, &result), -EFAULT);
		assert_int_equal(run(object, "each_again", 0, &result), -ELOOP);
		pp_bpf_close(object);
	}
}

/* The budget is the run's, whoever calls. */
static void functions_that_helpers_call_share_the_budget(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object;
		uint64_t result, budget;
		int enough = 0;

		for (budget = 1; !enough && budget < 200; budget++) {
			object = loaded(engine, budget);
			enough = !run(object, "each", 0, &result);
			pp_bpf_close(object);
		}
		assert_true(enough);
		assert_int_equal(result, 300 + 12);
		assert_true(budget > 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_all_there_is_of_a_map),
		cmocka_unit_test(constants_are_not_written),
		cmocka_unit_test(arguments_of_helpers_are_checked),
		cmocka_unit_test(strings_may_be_nowhere),
		cmocka_unit_test(functions_that_helpers_call_are_guarded),
		cmocka_unit_test(functions_that_helpers_call_share_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

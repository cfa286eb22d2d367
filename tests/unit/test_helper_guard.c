/* SPDX-License-Identifier: MIT */
/* test_helper_guard.c - helpers in guarded runs, and from threads: what the kernel's verifier is
 * for */
#include "object_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "guard_fixture.h"

#define TURNS 20000u
#define NTHREADS 3u

/* @off: of the number from 16 bytes of text */
static int run_strtol(unsigned int flags, int off)
{
	uint8_t text[16] = "42";
	char program[160];
	struct ran ran;

	snprintf(program, sizeof(program), "r2 = 3\n r3 = 0\n r4 = r1\n r4 += %d\n call 105\n exit",
		 off);
	ran = guard_text(program, flags, text, sizeof(text));
	if (!ran.err)
		assert_int_equal(ran.result, 2);
	return ran.err;
}

static void results_go_to_memory_of_the_program(void **state)
{
	(void)state;
	for (size_t i = 0; i < NENGINES; i++) {
		assert_int_equal(run_strtol(engines[i], 8), 0);
		assert_int_equal(run_strtol(engines[i], 5), 0);
		assert_int_equal(run_strtol(engines[i], 9), -EFAULT);
		assert_int_equal(run_strtol(engines[i], -1), -EFAULT);
	}
}

/* A program that is given 16 bytes, and must not run to its end. */
static void arguments_that_are_not_its_own_end_the_run(void **state)
{
	static const char *const programs[] = {
		/* a string that it could change, to have no end */
		"r3 = r1\n r2 = 4\n call 182\n exit",
		"r2 = 16\n r3 = r1\n r4 = 0\n r5 = 0\n call 165\n exit",
		/* sizes beyond the memory */
		"r2 = 17\n call 16\n exit",
		"r2 = -1\n call 16\n exit",
		"r2 = 17\n r3 = 0\n r4 = 0\n r5 = 0\n call 28\n exit",
		"r3 = r1\n r3 += 8\n r1 = 0\n r2 = 0\n r4 = 12\n r5 = 0\n call 28\n exit",
		"r2 = 8\n r3 = r1\n r3 += 8\n r4 = 16\n call 177\n exit",
		"r3 = r1\n r1 = 0\n r2 = 8\n call 45\n exit",
		/* no function, no lock */
		"r2 = r1\n r1 = 1\n r3 = 0\n r4 = 0\n call 181\n exit",
		"r1 += 13\n call 93\n exit",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		for (size_t engine = 0; engine < NENGINES; engine++) {
			uint8_t mem[16] = {0};
			struct ran ran = guard_text(programs[i], engines[engine], mem, sizeof(mem));

			if (ran.err != -EFAULT)
				fail_msg("engine %zu, %s: %d", engine, programs[i], ran.err);
		}
	}
}

static struct pp_bpf_object *loaded(unsigned int flags)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;

	opts.flags = flags;
	object = object_open("helpers", &opts);
	object_load(object);
	return object;
}

/* 8 functions that helpers called are active at most. */
static void functions_that_helpers_call_end_somewhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < NENGINES; i++) {
		struct pp_bpf_object *object = loaded(engines[i]);
		struct pp_bpf_prog *prog = pp_bpf_prog_by_name(object, "endless");
		uint64_t result;

		assert_int_equal(pp_bpf_run(prog, NULL, 0, &result), -ELOOP);
		pp_bpf_close(object);
		object = loaded(engines[i] | PP_BPF_TRUSTED);
		assert_int_equal(object_run(object, "endless", NULL, 0), 8);
		assert_int_equal(object_run(object, "endless", NULL, 0), 8);
		pp_bpf_close(object);
	}
}

static void a_run_that_ends_gives_its_lock_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < NENGINES; i++) {
		struct pp_bpf_object *object = loaded(engines[i]);
		uint64_t result;

		assert_int_equal(pp_bpf_run(pp_bpf_prog_by_name(object, "keep_lock"), NULL, 0,
					    &result),
				 -EFAULT);
		assert_int_equal(object_run(object, "lock", NULL, 0), 0);
		pp_bpf_close(object);
	}
}

static void *take_turns(void *arg)
{
	struct pp_bpf_object *object = arg;

	for (unsigned int i = 0; i < TURNS; i++)
		object_run(object, "lock", NULL, 0);
	return NULL;
}

static void locks_exclude_other_threads(void **state)
{
	(void)state;
	for (size_t i = 0; i < NENGINES; i++) {
		struct pp_bpf_object *object = loaded(engines[i]);
		pthread_t threads[NTHREADS];
		const uint32_t zero = 0;
		uint32_t value[3];

		for (unsigned int t = 0; t < NTHREADS; t++)
			assert_int_equal(pthread_create(&threads[t], NULL, take_turns, object), 0);
		for (unsigned int t = 0; t < NTHREADS; t++)
			pthread_join(threads[t], NULL);
		assert_int_equal(pp_bpf_map_lookup(object_map(object, "locked"), &zero, value), 0);
		assert_int_equal(value[0], 0);
		assert_int_equal(value[1], NTHREADS * TURNS);
		assert_int_equal(value[2], 2 * NTHREADS * TURNS);
		pp_bpf_close(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_go_to_memory_of_the_program),
		cmocka_unit_test(arguments_that_are_not_its_own_end_the_run),
		cmocka_unit_test(functions_that_helpers_call_end_somewhere),
		cmocka_unit_test(a_run_that_ends_gives_its_lock_back),
		cmocka_unit_test(locks_exclude_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

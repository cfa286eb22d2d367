/* SPDX-License-Identifier: MIT */
/* test_tail.c - tail calls, by native code and by the interpreter; tests/objects/tail.bpf.c */
#include "object_fixture.h"

#include <errno.h>
#include <pthread.h>

#include "jit_fixture.h"

#define SLOTS 40u
#define NONE 39u /* a slot that stays empty */
#define TIMES 200

/* struct step - as the programs have it */
struct step {
	uint64_t index, steps;
	int64_t error;
};

typedef int (*run_fn)(const struct pp_bpf_prog *prog, void *data, size_t len, uint64_t *result);
static run_fn engine;
static unsigned int mode; /* of all objects: PP_BPF_TRUSTED or 0 */

static uint64_t run(const struct pp_bpf_prog *prog, struct step *step)
{
	uint64_t result;

	assert_int_equal(engine(prog, step, sizeof(*step), &result), 0);
	return result;
}

/* As r1, in an object of its own; r0 of a helper is not of interest. */
static struct pp_bpf_prog *another;

static uint64_t run_another(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r2, (void)r3, (void)r4, (void)r5;
	return run(another, (void *)(uintptr_t)r1);
}

/* @jumps: NULL, or the array that it shares */
static struct pp_bpf_object *make_loaded(struct pp_bpf_map *jumps, unsigned int flags)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;

	opts.maps = &jumps;
	opts.nmaps = jumps ? 1 : 0;
	opts.flags = mode | flags;
	object = object_open("tail", &opts);
	assert_int_equal(pp_bpf_register(object, 1000, "host_sum", 5, run_another), 0);
	object_load(object);
	return object;
}

static struct pp_bpf_prog *prog_of(struct pp_bpf_object *object, const char *name)
{
	struct pp_bpf_prog *prog = pp_bpf_prog_by_name(object, name);

	assert_non_null(prog);
	return prog;
}

static struct pp_bpf_map *jumps_of(struct pp_bpf_object *object)
{
	return object_map(object, "jumps");
}

static void put(struct pp_bpf_object *in, uint32_t slot, struct pp_bpf_object *from,
		const char *name)
{
	assert_int_equal(pp_bpf_map_set_prog(jumps_of(in), &slot, prog_of(from, name), 0), 0);
}

/* Run @name with slot 0 holding @target, which goes on at slot 0 too. */
static uint64_t run_to(struct pp_bpf_object *object, const char *name, const char *target,
		       struct step *step)
{
	put(object, 0, object, target);
	*step = (struct step){.index = 0};
	return run(prog_of(object, name), step);
}

static void at_most_33(void **state)
{
	struct pp_bpf_object *object = make_loaded(NULL, 0);
	struct step step;

	(void)state;
	assert_int_equal(run_to(object, "loop", "loop", &step), 1 + BPF_MAX_TAILS);
	assert_int_equal(step.error, -ELOOP);
	/* and each run has them anew */
	assert_int_equal(run_to(object, "loop", "loop", &step), 34);
	pp_bpf_close(object);
}

static void across_objects(void **state)
{
	struct pp_bpf_object *one = make_loaded(NULL, 0), *other = make_loaded(jumps_of(one), 0);
	struct step step = {.index = 0};

	(void)state;
	put(one, 0, other, "loop");
	assert_int_equal(run(prog_of(one, "loop"), &step), 34);
	put(one, 0, other, "leaf");
	assert_int_equal(run(prog_of(one, "loop"), &step), 7);
	put(one, 0, other, "busy");
	assert_int_equal(run(prog_of(one, "loop"), &step), 8);
	pp_bpf_close(other); /* empties the slot */
	step = (struct step){.index = 0};
	assert_int_equal(run(prog_of(one, "loop"), &step), 1);
	assert_int_equal(step.error, -ENOENT);
	pp_bpf_close(one);
}

static int64_t failure(struct pp_bpf_object *object, const char *name, uint64_t index)
{
	struct step step = {.index = index, .steps = 100};
	uint64_t result = run(prog_of(object, name), &step);

	assert_int_equal(result, step.steps);
	assert_in_range(result, 100, 101);
	return step.error;
}

static void failing_goes_on_behind_it(void **state)
{
	struct pp_bpf_object *object = make_loaded(NULL, 0);

	(void)state;
	assert_int_equal(failure(object, "loop", NONE), -ENOENT);
	assert_int_equal(failure(object, "loop", SLOTS), -E2BIG);
	assert_int_equal(failure(object, "loop", UINT32_MAX), -E2BIG);
	assert_int_equal(failure(object, "wrong", 0), -EINVAL);
	pp_bpf_close(object);
}

/* As in the kernel, which loads the register's lower half. */
static void an_index_has_32_bits(void **state)
{
	struct pp_bpf_object *object = make_loaded(NULL, 0);
	struct step step = {.index = (uint64_t)1 << 32};

	(void)state;
	put(object, 0, object, "leaf");
	assert_int_equal(run(prog_of(object, "loop"), &step), 7);
	pp_bpf_close(object);
}

static void subprograms_return_what_they_went_on_in(void **state)
{
	struct pp_bpf_object *object = make_loaded(NULL, 0);
	struct step step;

	(void)state;
	assert_int_equal(run_to(object, "by_sub", "leaf", &step), 0x1007);
	assert_int_equal(step.steps, 2);
	assert_int_equal(run_to(object, "by_sub", "busy", &step), 0x1008);
	assert_int_equal(step.steps, 2);
	step = (struct step){.index = NONE};
	assert_int_equal(run(prog_of(object, "by_sub"), &step), 0x1005);
	assert_int_equal(step.error, -ENOENT);
	pp_bpf_close(object);
}

static void a_run_counts_them_in_all_its_functions(void **state)
{
	struct pp_bpf_object *object = make_loaded(NULL, 0);
	struct step step;

	(void)state;
	/* 34 programs wait for each other; the last one's subprogram gives 5 */
	assert_int_equal(run_to(object, "nest", "nest", &step), 5 + 34);
	assert_int_equal(step.steps, 34);
	/* 33 for the first subprogram, of which one was its own, none for the second */
	assert_int_equal(run_to(object, "twice", "loop", &step), 33 * 0x1000 + 5);
	assert_int_equal(step.error, -ELOOP);
	pp_bpf_close(object);
}

static void a_run_within_counts_its_own(void **state)
{
	struct pp_bpf_object *object = make_loaded(NULL, 0), *inner = make_loaded(NULL, 0);
	struct step step;

	(void)state;
	put(inner, 0, inner, "loop");
	another = prog_of(inner, "loop");
	assert_int_equal(run_to(object, "outer", "loop", &step), 34 + 33);
	assert_int_equal(run_to(object, "outer", "outer", &step), 34 * 34);
	pp_bpf_close(inner);
	pp_bpf_close(object);
}

/* Native code does not become the interpreter's, which has a program for everything. */
static void native_and_interpreted_programs(void **state)
{
	struct pp_bpf_object *native = make_loaded(NULL, 0);
	struct pp_bpf_object *interpreted = make_loaded(jumps_of(native), PP_BPF_NO_JIT);
	/* the entries of guarded programs are not given */
	bool is_native = pp_bpf_prog_entry(prog_of(native, "loop")) && engine == pp_bpf_run;
	struct step step = {.index = 0};

	(void)state;
	put(native, 0, interpreted, "leaf");
	assert_int_equal(run(prog_of(native, "loop"), &step), is_native ? 1 : 7);
	assert_int_equal(step.error, is_native ? -ENOTSUP : 0);
	put(native, 0, native, "leaf");
	assert_int_equal(run(prog_of(interpreted, "loop"), &step), 7);
	pp_bpf_close(interpreted);
	pp_bpf_close(native);
}

/* Whoever enters from outside finds its registers and its stack as they were. */
static void the_hosts_registers_are_kept(void **state)
{
	static const uint64_t before[JIT_KEPT] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	static const char *const targets[] = {"busy", "leaf", "by_sub", "nest"};
	struct pp_bpf_object *object = make_loaded(NULL, 0);

	(void)state;
	if (!pp_bpf_prog_entry(prog_of(object, "loop"))) {
		print_message("skipped: no native code on this machine\n");
		pp_bpf_close(object);
		skip();
	}
	for (size_t i = 0; i < NELEMS(targets); i++) {
		struct step step = {.index = 0};
		uint64_t regs[JIT_KEPT];
		pp_bpf_entry_fn entry = pp_bpf_prog_entry(prog_of(object, "by_sub"));

		put(object, 0, object, targets[i]);
		memcpy(regs, before, sizeof(regs));
		pp_bpf_enter();
		call_with_regs((uintptr_t)&step, 0, (const void *)(uintptr_t)entry, regs);
		pp_bpf_leave();
		assert_memory_equal(regs, before, sizeof(regs));
	}
	pp_bpf_close(object);
}

/* r0 = 12; callx r0; exit: what calls by register finds no such helper */
static void not_by_register(void **state)
{
	static const uint8_t code[] = {
		0xb7, 0, 0, 0, 12, 0, 0, 0, 0x8d, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0,
	};
	const struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct step step;

	(void)state;
	assert_int_equal(pp_bpf_open_raw(code, sizeof(code), &opts, &object), 0);
	object_load(object);
	assert_int_equal((int64_t)run(prog_of(object, "main"), &step), -EINVAL);
	pp_bpf_close(object);
}

/* ---- while slots change ---- */

struct replacing {
	struct pp_bpf_object *root;
	run_fn engine;
	unsigned int wrong;
	bool stop;
};

/* Programs that the slot has had, never none. */
static void *call_on(void *arg)
{
	struct replacing *replacing = arg;
	struct pp_bpf_prog *prog = prog_of(replacing->root, "loop");

	while (!__atomic_load_n(&replacing->stop, __ATOMIC_ACQUIRE)) {
		struct step step = {.index = 0};
		uint64_t result;

		if (replacing->engine(prog, &step, sizeof(step), &result) || result != 7)
			__atomic_add_fetch(&replacing->wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Each of an object that is closed as soon as another one is there. */
static void programs_are_replaced_under_those_who_run(void **state)
{
	struct replacing replacing = {.root = make_loaded(NULL, 0), .engine = engine};
	struct pp_bpf_object *now = make_loaded(jumps_of(replacing.root), 0), *next;
	pthread_t threads[2];

	(void)state;
	put(replacing.root, 0, now, "leaf");
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_on, &replacing), 0);
	for (int i = 0; i < TIMES; i++) {
		next = make_loaded(jumps_of(replacing.root), 0);
		put(replacing.root, 0, next, "leaf");
		pp_bpf_close(now);
		now = next;
	}
	__atomic_store_n(&replacing.stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(replacing.wrong, 0);
	pp_bpf_close(now);
	pp_bpf_close(replacing.root);
}

/* Those who check accesses, and those who do not, do not go on in each other. */
static void guarded_and_trusted_programs(void **state)
{
	struct pp_bpf_object *own = make_loaded(NULL, 0), *other;
	struct step step = {.index = 0};

	(void)state;
	mode ^= PP_BPF_TRUSTED;
	other = make_loaded(jumps_of(own), 0);
	put(own, 0, other, "leaf");
	assert_int_equal(run(prog_of(own, "loop"), &step), 1);
	assert_int_equal(step.error, -ENOTSUP);
	pp_bpf_close(other);
	pp_bpf_close(own);
}

/* Nobody gets around a budget by a program without. */
static void budgets_and_none(void **state)
{
	struct pp_bpf_object *own = make_loaded(NULL, 0), *other;
	struct pp_bpf_map *jumps = jumps_of(own);
	struct pp_bpf_opts opts = object_options();
	struct step step = {.index = 0};

	(void)state;
	opts.maps = &jumps;
	opts.nmaps = 1;
	opts.flags = mode;
	opts.budget = 10000;
	other = object_open("tail", &opts);
	assert_int_equal(pp_bpf_register(other, 1000, "host_sum", 5, run_another), 0);
	object_load(other);
	put(own, 0, own, "leaf");
	assert_int_equal(run(prog_of(other, "loop"), &step), 1);
	assert_int_equal(step.error, -ENOTSUP);
	put(own, 0, other, "leaf");
	step = (struct step){.index = 0};
	assert_int_equal(run(prog_of(other, "loop"), &step), 7);
	pp_bpf_close(other);
	pp_bpf_close(own);
}

/* The run ends where another object's program does what it must not, and says which that is. */
static void a_stop_is_in_the_program_that_ran(void **state)
{
	struct pp_bpf_object *one = make_loaded(NULL, 0), *other = make_loaded(jumps_of(one), 0);
	struct step step = {.index = 0};
	struct pp_bpf_stop stop = {.address = 0};
	uint64_t result;

	(void)state;
	put(one, 0, other, "bad");
	assert_int_equal(pp_bpf_run_stop(prog_of(one, "nest"), &step, sizeof(step), &result, &stop),
			 -EFAULT);
	assert_string_equal(stop.function, "bad");
	assert_int_equal(stop.address, 64);
	/* and nothing is left of it */
	put(one, 0, other, "leaf");
	assert_int_equal(run(prog_of(one, "nest"), &step), 8);
	pp_bpf_close(other);
	pp_bpf_close(one);
}

/* A chain of 34 programs on a budget that is enough for some of them, and for all. */
static void a_budget_is_the_runs(void **state)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct step step = {.index = 0};
	uint64_t result;

	(void)state;
	for (opts.budget = 100; opts.budget <= 10000; opts.budget += 9900) {
		object = object_open("tail", &opts);
		assert_int_equal(pp_bpf_register(object, 1000, "host_sum", 5, run_another), 0);
		object_load(object);
		put(object, 0, object, "loop");
		step.steps = 0;
		assert_int_equal(engine(prog_of(object, "loop"), &step, sizeof(step), &result),
				 opts.budget == 100 ? -ETIME : 0);
		assert_in_range(step.steps, opts.budget == 100 ? 2 : 34,
				opts.budget == 100 ? 33 : 34);
		pp_bpf_close(object);
	}
}

static int natively(void **state)
{
	(void)state;
	engine = pp_bpf_run;
	mode = PP_BPF_TRUSTED;
	return 0;
}

static int interpreted(void **state)
{
	(void)state;
	engine = pp_bpf_interpret;
	mode = PP_BPF_TRUSTED;
	return 0;
}

static int guarded(void **state)
{
	(void)state;
	engine = pp_bpf_run;
	mode = 0;
	return 0;
}

static int guarded_interpreted(void **state)
{
	(void)state;
	engine = pp_bpf_interpret;
	mode = 0;
	return 0;
}

#define TRUSTED(fn)                                                                                \
	{#fn, fn, natively, NULL, NULL},                                                           \
	{                                                                                          \
#fn "_interpreted", fn, interpreted, NULL, NULL                                    \
	}
#define GUARDED(fn)                                                                                \
	{#fn "_guarded", fn, guarded, NULL, NULL},                                                 \
	{                                                                                          \
#fn "_guarded_interpreted", fn, guarded_interpreted, NULL, NULL                    \
	}
#define IN_ALL(fn) TRUSTED(fn), GUARDED(fn)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_ALL(at_most_33),
		IN_ALL(across_objects),
		IN_ALL(failing_goes_on_behind_it),
		IN_ALL(an_index_has_32_bits),
		IN_ALL(subprograms_return_what_they_went_on_in),
		IN_ALL(a_run_counts_them_in_all_its_functions),
		IN_ALL(a_run_within_counts_its_own),
		IN_ALL(native_and_interpreted_programs),
		IN_ALL(guarded_and_trusted_programs),
		IN_ALL(not_by_register),
		IN_ALL(programs_are_replaced_under_those_who_run),
		GUARDED(a_stop_is_in_the_program_that_ran),
		GUARDED(budgets_and_none),
		GUARDED(a_budget_is_the_runs),
		cmocka_unit_test_setup(the_hosts_registers_are_kept, natively),
	};

	return cmocka_run_group_tests_name("tail calls", tests, NULL, NULL);
}

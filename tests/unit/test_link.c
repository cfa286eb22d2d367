/* SPDX-License-Identifier: MIT */
/* test_link.c - objects that are counted and go in batches; programs that are replaced */
#include "object_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#define OBJECTS 16
#define TIMES 200
#define THREADS 3

/* r0 = VERSION; exit */
static struct pp_bpf_object *version(struct pp_heap *heap, uint8_t number, unsigned int flags)
{
	const uint8_t code[] = {0xb7, 0, 0, 0, number, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0};
	const struct pp_bpf_opts opts = {
		.size = sizeof(opts),
		.heap = heap,
		.flags = PP_BPF_TRUSTED | flags,
	};
	struct pp_bpf_object *object;

	assert_int_equal(pp_bpf_open_raw(code, sizeof(code), &opts, &object), 0);
	assert_int_equal(pp_bpf_load(object), 0);
	return object;
}

static struct pp_bpf_prog *main_of(struct pp_bpf_object *object)
{
	return pp_bpf_prog_by_name(object, "main");
}

static struct pp_stats stats_of(struct pp_heap *heap)
{
	struct pp_stats stats = {.size = sizeof(stats)};

	assert_int_equal(pp_stats(heap, &stats), 0);
	return stats;
}

static uint64_t run(const struct pp_bpf_link *link)
{
	uint64_t result;

	assert_int_equal(pp_bpf_link_run(link, NULL, 0, &result), 0);
	return result;
}

static void an_object_is_there_as_long_as_anybody_has_it(void **state)
{
	struct pp_bpf_object *object;
	struct pp_bpf_link *link;
	struct pp_heap *heap;

	(void)state;
	assert_int_equal(pp_heap_new(NULL, &heap), 0);
	object = version(heap, 1, 0);
	pp_bpf_hold(object);
	assert_int_equal(pp_bpf_link_new(main_of(object), &link), 0);
	pp_bpf_close(object);
	assert_int_equal(object_run(object, "main", NULL, 0), 1);
	pp_bpf_close(object);
	assert_int_equal(run(link), 1);
	assert_int_equal(stats_of(heap).used > 0, !!pp_bpf_prog_entry(main_of(object)));
	pp_bpf_link_free(link);
	assert_int_equal(stats_of(heap).used, 0);
	pp_heap_free(heap);
	pp_bpf_link_free(NULL);
}

static void an_update_ends_what_was_there(void **state)
{
	struct pp_bpf_object *one, *two;
	struct pp_bpf_link *link;
	struct pp_heap *heap;

	(void)state;
	assert_int_equal(pp_heap_new(NULL, &heap), 0);
	one = version(heap, 1, 0);
	two = version(heap, 2, 0);
	assert_int_equal(pp_bpf_link_new(main_of(one), &link), 0);
	assert_int_equal(pp_bpf_link_update(link, main_of(two), main_of(two)), -EPERM);
	assert_int_equal(run(link), 1);
	assert_int_equal(pp_bpf_link_update(link, main_of(two), main_of(one)), 0);
	assert_int_equal(run(link), 2);
	pp_bpf_enter();
	assert_ptr_equal(pp_bpf_link_prog(link), main_of(two));
	pp_bpf_leave();
	assert_int_equal(pp_bpf_link_update(link, main_of(one), NULL), 0);
	pp_bpf_close(two);
	pp_bpf_close(one);
	assert_int_equal(run(link), 1);
	/* the same one again: it is not lost on the way */
	assert_int_equal(pp_bpf_link_update(link, main_of(one), NULL), 0);
	assert_int_equal(run(link), 1);
	pp_bpf_link_free(link);
	assert_int_equal(stats_of(heap).used, 0);
	pp_heap_free(heap);
}

static void only_loaded_programs(void **state)
{
	static const uint8_t code[] = {0xb7, 0, 0, 0, 7, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0};
	struct pp_bpf_object *open, *loaded = version(NULL, 1, 0);
	struct pp_bpf_link *link;

	(void)state;
	assert_int_equal(pp_bpf_open_raw(code, sizeof(code), NULL, &open), 0);
	assert_int_equal(pp_bpf_link_new(main_of(open), &link), -EINVAL);
	assert_int_equal(pp_bpf_link_new(main_of(loaded), &link), 0);
	assert_int_equal(pp_bpf_link_update(link, main_of(open), NULL), -EINVAL);
	assert_int_equal(run(link), 1);
	pp_bpf_link_free(link);
	pp_bpf_close(open);
	pp_bpf_close(loaded);
}

/* Of objects in two heaps, one interpreted, one held once more, and none. */
static void a_batch_is_one_sync(void **state)
{
	struct pp_bpf_object *objects[OBJECTS + 4], *held;
	struct pp_heap *heap, *other;
	uint64_t syncs;

	(void)state;
	assert_int_equal(pp_heap_new(NULL, &heap), 0);
	assert_int_equal(pp_heap_new(NULL, &other), 0);
	for (uint8_t i = 0; i < OBJECTS; i++)
		objects[i] = version(heap, i, 0);
	objects[OBJECTS] = version(other, 99, 0);
	objects[OBJECTS + 1] = version(heap, 98, PP_BPF_NO_JIT);
	objects[OBJECTS + 2] = NULL;
	held = objects[OBJECTS + 3] = version(heap, 97, 0);
	pp_bpf_hold(held);
	syncs = stats_of(heap).syncs;
	pp_bpf_close_batch(objects, OBJECTS + 4);
	assert_in_range(stats_of(heap).syncs - syncs, 0, 1);
	assert_int_equal(stats_of(other).used, 0);
	assert_int_equal(object_run(held, "main", NULL, 0), 97);
	pp_bpf_close(held);
	assert_int_equal(stats_of(heap).used, 0);
	pp_heap_free(heap);
	pp_heap_free(other);
}

/* r1 = 0; call 1000; r0 = 5; exit: a program that ends itself, of which the rest runs on */
static struct pp_bpf_link *own;
static struct pp_bpf_object *next;

static uint64_t replace_me(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint64_t)pp_bpf_link_update(own, main_of(next), NULL);
}

static void a_program_may_replace_itself(void **state)
{
	static const uint8_t code[] = {
		0x85, 0, 0, 0, 0xe8, 3, 0, 0, 0x07, 0, 0, 0, 5, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0,
	};
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct pp_heap *heap;

	(void)state;
	assert_int_equal(pp_heap_new(NULL, &heap), 0);
	opts.heap = heap;
	assert_int_equal(pp_bpf_open_raw(code, sizeof(code), &opts, &object), 0);
	assert_int_equal(pp_bpf_register(object, 1000, "replace_me", 0, replace_me), 0);
	object_load(object);
	next = version(NULL, 2, 0);
	assert_int_equal(pp_bpf_link_new(main_of(object), &own), 0);
	pp_bpf_close(object);
	assert_int_equal(run(own), 5);
	assert_int_equal(stats_of(heap).used, 0); /* freed behind the run */
	assert_int_equal(run(own), 2);
	pp_bpf_close(next);
	pp_bpf_link_free(own);
	pp_heap_free(heap);
}

/* ---- threads ---- */

struct calls {
	struct pp_bpf_link *link;
	uint64_t made, lost;
	bool stop;
};

/* Versions only grow: a run is of the one before at the earliest. */
static void *call_on(void *arg)
{
	struct calls *calls = arg;
	uint64_t seen = 1, result;

	while (!__atomic_load_n(&calls->stop, __ATOMIC_ACQUIRE)) {
		if (pp_bpf_link_run(calls->link, NULL, 0, &result) || result < seen)
			__atomic_add_fetch(&calls->lost, 1, __ATOMIC_RELAXED);
		seen = result;
		__atomic_add_fetch(&calls->made, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Somebody has run what is there, or has had the time to. */
static void wait_for_a_call(const struct calls *calls)
{
	uint64_t made = __atomic_load_n(&calls->made, __ATOMIC_RELAXED);

	for (int i = 0; i < 10000 && __atomic_load_n(&calls->made, __ATOMIC_RELAXED) == made; i++)
		sched_yield();
}

/* Each version's object belongs to the link alone, and goes as soon as it is replaced. */
static void no_call_is_lost(unsigned int flags)
{
	struct pp_bpf_object *object;
	struct calls calls = {.stop = false};
	pthread_t threads[THREADS];
	struct pp_heap *heap;

	assert_int_equal(pp_heap_new(NULL, &heap), 0);
	object = version(heap, 1, flags);
	assert_int_equal(pp_bpf_link_new(main_of(object), &calls.link), 0);
	pp_bpf_close(object);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_on, &calls), 0);
	for (uint8_t i = 2; i < TIMES; i++) {
		object = version(heap, i, flags);
		wait_for_a_call(&calls);
		assert_int_equal(pp_bpf_link_update(calls.link, main_of(object), NULL), 0);
		pp_bpf_close(object);
		assert_int_equal(run(calls.link), i);
	}
	__atomic_store_n(&calls.stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(calls.made > 0);
	assert_int_equal(calls.lost, 0);
	pp_bpf_link_free(calls.link);
	assert_int_equal(stats_of(heap).used, 0);
	pp_heap_free(heap);
}

static void no_call_of_native_code_is_lost(void **state)
{
	(void)state;
	no_call_is_lost(0);
}

static void nor_of_what_is_interpreted(void **state)
{
	(void)state;
	no_call_is_lost(PP_BPF_NO_JIT);
}

/* Several update one link: each replaces what it has seen there, and each version ends once. */
static void *update_on(void *arg)
{
	struct calls *calls = arg;

	for (uint8_t i = 0; i < TIMES / 4; i++) {
		struct pp_bpf_object *object = version(NULL, i, PP_BPF_NO_JIT);

		__atomic_add_fetch(&calls->lost,
				   pp_bpf_link_update(calls->link, main_of(object), NULL) != 0,
				   __ATOMIC_RELAXED);
		pp_bpf_close(object);
	}
	return NULL;
}

static void threads_update_one_link(void **state)
{
	struct pp_bpf_object *object = version(NULL, 1, 0);
	struct calls calls = {.stop = false};
	pthread_t threads[THREADS];

	(void)state;
	assert_int_equal(pp_bpf_link_new(main_of(object), &calls.link), 0);
	pp_bpf_close(object);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, update_on, &calls), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(calls.lost, 0);
	assert_int_equal(run(calls.link), TIMES / 4 - 1);
	pp_bpf_link_free(calls.link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_is_there_as_long_as_anybody_has_it),
		cmocka_unit_test(an_update_ends_what_was_there),
		cmocka_unit_test(only_loaded_programs),
		cmocka_unit_test(a_batch_is_one_sync),
		cmocka_unit_test(a_program_may_replace_itself),
		cmocka_unit_test(no_call_of_native_code_is_lost),
		cmocka_unit_test(nor_of_what_is_interpreted),
		cmocka_unit_test(threads_update_one_link),
	};

	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}

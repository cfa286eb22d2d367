/* SPDX-License-Identifier: MIT */
/*
 * test_threads.c - all calls from several threads at once, and lookups that take no lock: from
 * a thread and from a signal handler that interrupts the writers
 */
#include "heap_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#define THREADS 4u
#define ROUNDS 1500u
#define LIVE 16u

/* Threads count what went wrong; only the main one may assert. */
struct worker {
	pthread_t thread;
	struct pp_heap *heap;
	uint32_t number;
	unsigned int wrong;
};

static size_t size_of(uint32_t value)
{
	return 10 + value * 2654435761u % 3000;
}

static void *new_block(struct worker *worker, uint32_t value)
{
	struct pp_code code;
	struct pp_block block;
	size_t used;

	if (pp_alloc(worker->heap, size_of(value), &code)) {
		worker->wrong++;
		return NULL;
	}
	worker->wrong += !is_traps(code.rx, code.size);
	used = emit_return(code.rw, value);
	worker->wrong += pp_finalize(worker->heap, &code, used) != 0;
	worker->wrong += call(code.rx) != value;
	worker->wrong += pp_lookup(worker->heap, (uint8_t *)code.rx + 63, &block) != 0;
	worker->wrong += block.rx != code.rx || block.size != code.size;
	return code.rx;
}

static void end_block(struct worker *worker, void *rx, uint32_t value)
{
	worker->wrong += call(rx) != value;
	worker->wrong += pp_free(worker->heap, rx) != 0;
}

static void *churn(void *arg)
{
	struct worker *worker = arg;
	void *rx[LIVE] = {0};
	uint32_t value[LIVE];

	for (uint32_t i = 0; i < ROUNDS; i++) {
		size_t slot = i * 7 % LIVE;

		if (rx[slot])
			end_block(worker, rx[slot], value[slot]);
		value[slot] = worker->number << 20 | i;
		rx[slot] = new_block(worker, value[slot]);
	}
	for (size_t i = 0; i < LIVE; i++) {
		if (rx[i])
			end_block(worker, rx[i], value[i]);
	}
	return NULL;
}

static void run_workers(struct worker *workers, struct pp_heap *heap, void *(*body)(void *))
{
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.heap = heap, .number = i + 1};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, body, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].wrong, 0);
	}
}

static void threads_share_a_heap(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct worker workers[THREADS];
	struct pp_stats stats;

	run_workers(workers, heap, churn);
	stats = test_stats(heap);
	assert_int_equal(stats.used + stats.blocks + stats.open, 0);
	assert_int_equal(stats.finalizes, THREADS * ROUNDS);
	assert_int_equal(stats.frees, THREADS * ROUNDS);
	assert_int_equal(stats.syncs, 2 * THREADS * ROUNDS);
	assert_int_equal(stats.fail_args + stats.fail_stale, 0);
	pp_heap_free(heap);
}

/* More than half a pack each: every one needs a new pack, and all ask at once. */
static void *grow(void *arg)
{
	struct worker *worker = arg;
	struct pp_code code;
	int err = pp_alloc(worker->heap, 2 * MIB - worker->number * 4096, &code);

	worker->wrong += err != 0;
	if (!err)
		worker->wrong += !is_traps(code.rx, code.size);
	return NULL;
}

static void threads_grow_a_heap(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), THREADS);
	struct worker workers[THREADS];

	run_workers(workers, heap, grow);
	assert_int_equal(test_stats(heap).packs, THREADS);
	assert_int_equal(test_stats(heap).open, THREADS);
	pp_heap_free(heap);
}

static void *race_block;

/* All free the same block: one of them did. */
static void *free_same(void *arg)
{
	struct worker *worker = arg;
	int err = pp_free(worker->heap, race_block);

	worker->wrong += err && err != -ESTALE;
	return NULL;
}

static void one_of_many_frees_succeeds(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct worker workers[THREADS];

	for (unsigned int i = 1; i <= 200; i++) {
		race_block = test_block(heap, 5000, 1);
		run_workers(workers, heap, free_same);
		assert_int_equal(test_stats(heap).frees, i);
		assert_int_equal(test_stats(heap).used, 0);
	}
	assert_int_equal(test_stats(heap).fail_stale, 200 * (THREADS - 1));
	pp_heap_free(heap);
}

/* A block that stays, with neighbours that come and go on both sides. */
static struct {
	struct pp_heap *heap;
	uint8_t *rx;
	unsigned int lookups, wrong;
} stable;

static void look_up_stable(void)
{
	struct pp_block block = {0};

	if (pp_lookup(stable.heap, stable.rx + 64 * 99 + 5, &block) || block.rx != stable.rx ||
	    block.size != 64 * 100)
		__atomic_fetch_add(&stable.wrong, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&stable.lookups, 1, __ATOMIC_RELAXED);
}

static void on_alarm(int number)
{
	(void)number;
	look_up_stable();
}

static void place_stable(struct pp_heap *heap)
{
	void *before = test_block(heap, 3000, 1);

	stable.heap = heap;
	stable.rx = test_block(heap, 64 * 100, 2);
	stable.lookups = stable.wrong = 0;
	assert_int_equal(pp_free(heap, before), 0);
}

static void lookup_interrupts_anything(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct worker worker = {.heap = heap, .number = 1};
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, old;
	struct itimerval often = {{0, 500}, {0, 500}}, never = {0};

	place_stable(heap);
	assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < 100 && __atomic_load_n(&stable.lookups, __ATOMIC_RELAXED) < 50; i++)
		churn(&worker);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_int_equal(worker.wrong, 0);
	assert_int_equal(stable.wrong, 0);
	assert_true(stable.lookups > 0);
	pp_heap_free(heap);
}

static bool done;

static void *keep_looking(void *arg)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		look_up_stable();
	return arg;
}

/* No lookup ever sees its block run on into a neighbour that is made or freed meanwhile. */
static void lookup_races_with_neighbours(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct worker workers[THREADS];
	pthread_t reader;

	place_stable(heap);
	done = false;
	assert_int_equal(pthread_create(&reader, NULL, keep_looking, NULL), 0);
	run_workers(workers, heap, churn);
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	assert_int_equal(stable.wrong, 0);
	assert_true(stable.lookups > 0);
	pp_heap_free(heap);
}

/* Blocks so large that packs are grown and returned all the time. */
static void *churn_packs(void *arg)
{
	struct worker *worker = arg;

	for (uint32_t i = 0; i < 60; i++) {
		uint32_t value = worker->number << 20 | i;
		struct pp_code code;
		size_t size = MIB + i % 7 * 300000;

		if (pp_alloc(worker->heap, size, &code)) {
			worker->wrong++;
			continue;
		}
		emit_return(code.rw, value);
		worker->wrong += pp_finalize(worker->heap, &code, size) != 0;
		end_block(worker, code.rx, value);
	}
	return NULL;
}

/* So many packs that two neighbours are free, however the other threads' blocks lie. */
static void lookup_races_with_packs(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4 * THREADS + 2);
	struct worker workers[THREADS];
	pthread_t reader;

	place_stable(heap);
	done = false;
	assert_int_equal(pthread_create(&reader, NULL, keep_looking, NULL), 0);
	run_workers(workers, heap, churn_packs);
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	assert_int_equal(stable.wrong, 0);
	assert_true(pp_heap_tidy(heap) <= 0); /* each shard may have had a spare one */
	assert_true(test_stats(heap).packs <= 2);
	assert_int_equal(test_stats(heap).blocks, 1);
	pp_heap_free(heap);
}

static void *keep_running(void *arg)
{
	struct worker *worker = arg;

	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		worker->wrong += call(stable.rx) != 2;
	return NULL;
}

/* Code runs while its neighbours are loaded, freed, and its pack made huge. */
static void code_runs_beside_churn(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct worker workers[THREADS], runner = {.heap = heap};

	place_stable(heap);
	done = false;
	assert_int_equal(pthread_create(&runner.thread, NULL, keep_running, &runner), 0);
	run_workers(workers, heap, churn);
	test_block(heap, 2 * MIB - 64 * 200, 1);
	run_workers(workers, heap, churn);
	assert_true(pp_heap_tidy(heap) <= 0);
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(runner.thread, NULL);
	assert_int_equal(runner.wrong, 0);
	pp_heap_free(heap);
}

/* Batches of several threads, and a walk and figures at any time. */
static void *churn_batches(void *arg)
{
	struct worker *worker = arg;
	struct pp_code code[LIVE];
	const void *rx[LIVE];
	size_t used[LIVE];

	for (uint32_t round = 0; round < ROUNDS / LIVE; round++) {
		for (uint32_t i = 0; i < LIVE; i++) {
			worker->wrong += pp_alloc(worker->heap, size_of(i), &code[i]) != 0;
			used[i] = emit_return(code[i].rw, worker->number + i);
			rx[i] = code[i].rx;
		}
		worker->wrong += pp_finalize_batch(worker->heap, code, used, LIVE) != 0;
		for (uint32_t i = 0; i < LIVE; i++)
			worker->wrong += call(rx[i]) != worker->number + i;
		worker->wrong += pp_free_batch(worker->heap, rx, LIVE) != 0;
	}
	return NULL;
}

static void threads_batch(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct worker workers[THREADS];

	run_workers(workers, heap, churn_batches);
	assert_int_equal(test_stats(heap).blocks, 0);
	assert_int_equal(test_stats(heap).frees, THREADS * (ROUNDS / LIVE) * LIVE);
	assert_int_equal(test_stats(heap).syncs, 2 * THREADS * (ROUNDS / LIVE));
	pp_heap_free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(threads_share_a_heap),         EACH_WRITER(threads_grow_a_heap),
		EACH_WRITER(one_of_many_frees_succeeds),   EACH_WRITER(lookup_interrupts_anything),
		EACH_WRITER(lookup_races_with_neighbours), EACH_WRITER(lookup_races_with_packs),
		EACH_WRITER(code_runs_beside_churn),       EACH_WRITER(threads_batch),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}

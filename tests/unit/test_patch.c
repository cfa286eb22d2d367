/* SPDX-License-Identifier: MIT */
/* test_patch.c - live code that changes under the threads that run it */
#include "heap/heap.h"
#include "heap_test.h"
#include "os/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

/* Their functions differ in one byte of the first word, on each arch. */
#define OLD 0u
#define NEW 7u
/* And these in more than one. */
#define FAR 0x7f3u

static uint64_t word_of(uint32_t value)
{
	uint8_t code[64];
	uint64_t word;

	cpu_fill_traps(code, sizeof(code));
	emit_return(code, value);
	memcpy(&word, code, sizeof(word));
	return word;
}

static int patch_to(struct pp_heap *heap, void *rx, uint32_t value)
{
	uint64_t word = word_of(value);

	return pp_patch(heap, rx, &word, sizeof(word));
}

static void patch_changes_what_runs(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	void *rx = test_block(heap, 64, OLD);
	struct pp_stats before = test_stats(heap), after;

	assert_int_equal(patch_to(heap, rx, NEW), 0);
	assert_int_equal(call(rx), NEW);
	assert_int_equal(patch_to(heap, rx, NEW), 0);
	after = test_stats(heap);
	assert_int_equal(after.patches, 2);
	assert_int_equal(after.syncs - before.syncs, 2);
	assert_int_equal(after.copies, before.copies);
	assert_int_equal(pp_free(heap, rx), 0);
	assert_true(is_traps(rx, 64));
	pp_heap_free(heap);
}

static void patch_of_many_bytes_is_whole_or_refused(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	void *rx = test_block(heap, 64, OLD);
	int err = patch_to(heap, rx, FAR);

	assert_int_equal(err, WRITER(state) == PP_WRITER_ALIAS ? 0 : -ENOTSUP);
	assert_int_equal(call(rx), err ? OLD : FAR);
	assert_int_equal(test_stats(heap).fail_args, err ? 1 : 0);
	if (err)
		assert_non_null(strstr(test_log, "one byte at once"));
	pp_heap_free(heap);
}

/* Each size at each offset: exactly these bytes, and only within a word. */
static void patch_stays_in_its_word(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	size_t most = WRITER(state) == PP_WRITER_ALIAS ? 8 : 1;
	uint8_t expected[64], bytes[9];
	struct pp_code code;

	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	memset(code.rw, 0, 64);
	memset(expected, 0, 64);
	assert_int_equal(pp_finalize(heap, &code, 64), 0);
	for (size_t at = 0; at < 16; at++) {
		for (size_t size = 0; size <= 9; size++) {
			bool fits = size && at % 8 + size <= 8;
			uint8_t *to = (uint8_t *)code.rx + at;

			memset(bytes, (int)(1 + at * 10 + size), sizeof(bytes));
			assert_int_equal(pp_patch(heap, to, bytes, size), !fits         ? -EINVAL
									  : size > most ? -ENOTSUP
											: 0);
			if (fits && size <= most)
				memcpy(expected + at, bytes, size);
			assert_memory_equal(code.rx, expected, 64);
		}
	}
	pp_heap_free(heap);
}

static void patch_wants_a_live_block(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	uint8_t *rx = test_block(heap, 64, OLD), byte = 0x90;
	struct pp_code open;

	assert_int_equal(pp_alloc(heap, 64, &open), 0);
	assert_int_equal(pp_patch(heap, open.rx, &byte, 1), -ENOENT);
	assert_int_equal(pp_patch(heap, (uint8_t *)open.rx + 64, &byte, 1), -ENOENT);
	assert_int_equal(pp_patch(heap, rx - 1, &byte, 1), -ENOENT);
	assert_int_equal(pp_patch(heap, &byte, &byte, 1), -ENOENT);
	assert_int_equal(pp_free(heap, rx), 0);
	assert_int_equal(pp_patch(heap, rx, &byte, 1), -ENOENT);
	assert_true(is_traps(rx, 64));
	assert_true(is_traps(open.rx, 64));
	assert_int_equal(test_stats(heap).fail_args, 5);
	pp_heap_free(heap);
}

static struct {
	void *rx;
	uint32_t values[2];
	uint32_t newest; /* 0, or the number of the patch that is synced: its value is [number % 2]
			  */
	bool done;
	unsigned int calls, wrong;
} run;

/* Whoever was told of a value must not see the one before it. */
static void *keep_calling(void *arg)
{
	while (!__atomic_load_n(&run.done, __ATOMIC_ACQUIRE)) {
		uint32_t before = __atomic_load_n(&run.newest, __ATOMIC_ACQUIRE);
		uint32_t got = call(run.rx);
		uint32_t after = __atomic_load_n(&run.newest, __ATOMIC_ACQUIRE);
		bool wrong = got != run.values[0] && got != run.values[1];

		if (before && before == after)
			wrong |= got != run.values[before % 2];
		if (wrong)
			__atomic_fetch_add(&run.wrong, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&run.calls, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static void running_threads_see_old_or_new(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	pthread_t thread[2];

	memset(&run, 0, sizeof(run));
	run.values[1] = WRITER(state) == PP_WRITER_ALIAS ? FAR : NEW;
	run.rx = test_block(heap, 64, OLD);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, keep_calling, NULL), 0);
	while (!__atomic_load_n(&run.calls, __ATOMIC_RELAXED))
		sched_yield();
	for (uint32_t i = 1; i <= 3000; i++) {
		__atomic_store_n(&run.newest, 0, __ATOMIC_RELEASE);
		assert_int_equal(patch_to(heap, run.rx, run.values[i % 2]), 0);
		__atomic_store_n(&run.newest, i, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&run.done, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(run.wrong, 0);
	pp_heap_free(heap);
}

/* Four threads write a byte each of one word, over and over: none is lost. */
static struct pp_heap *shared;
static uint8_t *shared_word;

static void *patch_own_byte(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;

	for (int n = 1; n <= 500; n++) {
		uint8_t byte = (uint8_t)n;

		if (pp_patch(shared, shared_word + i, &byte, 1) || shared_word[i] != byte)
			return shared;
	}
	return NULL;
}

static void patches_of_one_word_are_not_lost(void **state)
{
	pthread_t thread[4];
	void *failed;

	shared = test_heap(WRITER(state), 1);
	shared_word = test_block(shared, 64, OLD);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, patch_own_byte, (void *)(uintptr_t)i);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(thread[i], &failed);
		assert_null(failed);
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(shared_word[i], (uint8_t)500);
	pp_heap_free(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(patch_changes_what_runs),
		EACH_WRITER(patch_of_many_bytes_is_whole_or_refused),
		EACH_WRITER(patch_stays_in_its_word),
		EACH_WRITER(patch_wants_a_live_block),
		EACH_WRITER(running_threads_see_old_or_new),
		EACH_WRITER(patches_of_one_word_are_not_lost),
	};

	return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}

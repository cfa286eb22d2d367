/* SPDX-License-Identifier: MIT */
/* test_batch.c - many blocks at once: one sync, all or nothing */
#include "heap/heap.h"
#include "heap_test.h"

#include <errno.h>

#define N 50u

struct batch {
	struct pp_heap *heap;
	struct pp_code code[N];
	size_t used[N];
};

static struct batch open_batch(enum pp_writer writer)
{
	struct batch batch = {.heap = test_heap(writer, 2)};

	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(pp_alloc(batch.heap, 64 * (1 + i % 5), &batch.code[i]), 0);
		batch.used[i] = emit_return(batch.code[i].rw, 1000 + i);
	}
	return batch;
}

static void batch_is_one_sync(void **state)
{
	struct batch batch = open_batch(WRITER(state));
	struct pp_stats before = test_stats(batch.heap), after;
	const void *rx[N];

	assert_int_equal(pp_finalize_batch(batch.heap, batch.code, batch.used, N), 0);
	after = test_stats(batch.heap);
	assert_int_equal(after.syncs - before.syncs, 1);
	assert_int_equal(after.copies - before.copies, N);
	assert_int_equal(after.finalizes, N);
	assert_int_equal(after.open, 0);
	assert_int_equal(after.used, 64 * N);
	for (uint32_t i = 0; i < N; i++) {
		rx[i] = batch.code[i].rx;
		assert_null(batch.code[i].rw);
		assert_int_equal(batch.code[i].size, 64);
		assert_int_equal(call(rx[i]), 1000 + i);
	}
	before = after;
	assert_int_equal(pp_free_batch(batch.heap, rx, N), 0);
	after = test_stats(batch.heap);
	assert_int_equal(after.syncs - before.syncs, 1);
	assert_int_equal(after.fills - before.fills, N);
	assert_int_equal(after.used + after.blocks, 0);
	for (uint32_t i = 0; i < N; i++)
		assert_true(is_traps(rx[i], 64));
	pp_heap_free(batch.heap);
}

static void empty_batch_is_nothing(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_stats before = test_stats(heap), after;

	assert_int_equal(pp_finalize_batch(heap, NULL, NULL, 0), 0);
	assert_int_equal(pp_free_batch(heap, NULL, 0), 0);
	after = test_stats(heap);
	assert_memory_equal(&before, &after, sizeof(before));
	pp_heap_free(heap);
}

/* The bad one first, in the middle, last: none is finalized, and all can be afterwards. */
static void stale_batch_consumes_nothing(void **state)
{
	struct batch batch = open_batch(WRITER(state));
	const size_t bad[] = {0, N / 2, N - 1};

	for (size_t i = 0; i < 3; i++) {
		struct pp_code code = batch.code[bad[i]];

		batch.code[bad[i]] = batch.code[(bad[i] + 1) % N];
		assert_int_equal(pp_finalize_batch(batch.heap, batch.code, batch.used, N), -ESTALE);
		batch.code[bad[i]] = code;
		assert_int_equal(test_stats(batch.heap).open, N);
		assert_non_null(batch.code[0].rw);
	}
	assert_int_equal(pp_finalize_batch(batch.heap, batch.code, batch.used, N), 0);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(call(batch.code[i].rx), 1000 + i);
	pp_heap_free(batch.heap);
}

static void refused_batch_is_given_back(void **state)
{
	for (int overflow = 0; overflow < 2; overflow++) {
		struct batch batch = open_batch(WRITER(state));
		uint8_t *last = batch.code[N - 1].rw;

		if (overflow)
			last[batch.code[N - 1].size] ^= 1;
		else
			batch.used[N - 1] = 0;
		assert_int_equal(pp_finalize_batch(batch.heap, batch.code, batch.used, N),
				 overflow ? -EOVERFLOW : -EINVAL);
		assert_int_equal(test_stats(batch.heap).blocks, 0);
		assert_int_equal(test_stats(batch.heap).fail_args, 1);
		for (size_t i = 0; i < N; i++) {
			assert_null(batch.code[i].rw);
			assert_true(is_traps(batch.code[i].rx, 64));
		}
		pp_heap_free(batch.heap);
	}
}

static void wrong_free_batch_changes_nothing(void **state)
{
	struct batch batch = open_batch(WRITER(state));
	struct pp_stats before, after;
	const void *rx[N];

	assert_int_equal(pp_finalize_batch(batch.heap, batch.code, batch.used, N), 0);
	for (size_t i = 0; i < N; i++)
		rx[i] = batch.code[i].rx;
	before = test_stats(batch.heap);
	rx[N - 1] = rx[0];
	assert_int_equal(pp_free_batch(batch.heap, rx, N), -ESTALE);
	rx[N - 1] = (const uint8_t *)rx[0] + 1;
	assert_int_equal(pp_free_batch(batch.heap, rx, N), -EINVAL);
	rx[N - 1] = &batch;
	assert_int_equal(pp_free_batch(batch.heap, rx, N), -EINVAL);
	after = test_stats(batch.heap);
	assert_same_state(&before, &after);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(call(batch.code[i].rx), 1000 + i);
	rx[N - 1] = batch.code[N - 1].rx;
	assert_int_equal(pp_free_batch(batch.heap, rx, N), 0);
	pp_heap_free(batch.heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(batch_is_one_sync),
		EACH_WRITER(empty_batch_is_nothing),
		EACH_WRITER(stale_batch_consumes_nothing),
		EACH_WRITER(refused_batch_is_given_back),
		EACH_WRITER(wrong_free_batch_changes_nothing),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}

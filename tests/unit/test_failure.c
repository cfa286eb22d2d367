/* SPDX-License-Identifier: MIT */
/*
 * test_failure.c - writers that fail or look back: a wrapper around the heap's own one
 *
 * It counts what really reaches executable memory, fails on demand after half of the bytes, and
 * calls the heap from inside, which would never return if the heap's lock were held.
 */
#include "heap/heap.h"
#include "heap_test.h"

#include <errno.h>

static struct {
	const struct writer *real;
	struct pp_heap *heap;
	unsigned int maps, copies, fills;
	int fail_maps_from; /* fail the nth map and all later ones; 0 is never */
	int map_error;
	bool fail_copy, fail_fill, fail_unmap, look_back;
} spy;

static void look_back(void)
{
	struct pp_code code;

	if (!spy.look_back)
		return;
	spy.look_back = false;
	assert_int_equal(pp_alloc(spy.heap, 64, &code), 0);
	assert_int_equal(pp_abort(spy.heap, &code), 0);
	test_stats(spy.heap);
}

static int spy_grow(struct memory *mem, size_t p, size_t from, size_t to)
{
	spy.maps++;
	look_back();
	if (spy.fail_maps_from && (int)spy.maps >= spy.fail_maps_from)
		return log_error(&mem->log, -spy.map_error, "no map %u", spy.maps);
	return spy.real->grow(mem, p, from, to);
}

static int spy_unmap(struct memory *mem, size_t p)
{
	if (spy.fail_unmap)
		return -ENOMEM;
	return spy.real->unmap(mem, p);
}

static int spy_copy(struct memory *mem, uint8_t *rx, const uint8_t *from, size_t size)
{
	spy.copies++;
	look_back();
	if (!spy.fail_copy)
		return spy.real->copy(mem, rx, from, size);
	assert_int_equal(spy.real->copy(mem, rx, from, size / 2), 0);
	return -EIO;
}

static int spy_fill(struct memory *mem, uint8_t *rx, size_t size)
{
	spy.fills++;
	look_back();
	if (!spy.fail_fill)
		return spy.real->fill(mem, rx, size);
	assert_int_equal(spy.real->fill(mem, rx, size / 2 / PP_CHUNK * PP_CHUNK), 0);
	return -EIO;
}

static int spy_reopen(struct memory *mem)
{
	return spy.real->reopen ? spy.real->reopen(mem) : 0;
}

static void spy_close(struct memory *mem)
{
	spy.real->close(mem);
}

static const struct writer spy_writer = {
	.id = PP_WRITER_POKE,
	.name = "spy",
	.close = spy_close,
	.reopen = spy_reopen,
	.grow = spy_grow,
	.unmap = spy_unmap,
	.copy = spy_copy,
	.fill = spy_fill,
};

static struct pp_heap *spied_heap(enum pp_writer writer, size_t packs)
{
	struct pp_heap *heap = test_heap(writer, packs);

	memset(&spy, 0, sizeof(spy));
	spy.heap = heap;
	spy.map_error = ENOMEM;
	spy.real = heap->mem.writer;
	heap->mem.writer = &spy_writer;
	return heap;
}

static void writes_are_as_few_as_counted(void **state)
{
	struct pp_heap *heap = spied_heap(WRITER(state), 1);
	struct pp_code code;

	for (size_t size = 64; size < MIB; size = size * 7 + 13) {
		void *rx = test_block(heap, size, 1);

		assert_int_equal(spy.copies, 1);
		assert_int_equal(spy.fills, 0);
		assert_int_equal(pp_free(heap, rx), 0);
		assert_int_equal(spy.copies, 1);
		assert_int_equal(spy.fills, 1);
		spy.copies = spy.fills = 0;
	}
	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	assert_int_equal(pp_abort(heap, &code), 0);
	assert_int_equal(spy.copies + spy.fills, 0);
	pp_heap_free(heap);
}

/* The copy failed half-way: the code that arrived is gone, and so is the block. */
static void failed_copy_gives_back(void **state)
{
	struct pp_heap *heap = spied_heap(WRITER(state), 1);
	struct pp_code code;
	struct pp_stats stats;
	struct pp_block block;

	assert_int_equal(pp_alloc(heap, 1000, &code), 0);
	memset(code.rw, 0x90, 1000);
	spy.fail_copy = true;
	assert_int_equal(pp_finalize(heap, &code, 1000), -EIO);
	spy.fail_copy = false;
	assert_null(code.rw);
	assert_true(is_traps(code.rx, 1024));
	assert_int_equal(pp_lookup(heap, code.rx, &block), -ENOENT);
	assert_int_equal(pp_free(heap, code.rx), -ESTALE);
	stats = test_stats(heap);
	assert_int_equal(stats.used + stats.blocks + stats.open, 0);
	assert_int_equal(stats.finalizes + stats.copies, 0);
	assert_int_equal(stats.fail_write, 1);
	assert_ptr_equal(test_block(heap, 64, 1), code.rx);
	pp_heap_free(heap);
}

/* Where no traps can be written either, nobody gets these chunks again. */
static void half_copy_that_stays_is_never_reused(void **state)
{
	struct pp_heap *heap = spied_heap(WRITER(state), 1);
	struct pp_code code, next;
	struct pp_block block;

	assert_int_equal(pp_alloc(heap, 1000, &code), 0);
	spy.fail_copy = spy.fail_fill = true;
	assert_int_equal(pp_finalize(heap, &code, 1000), -EIO);
	spy.fail_copy = spy.fail_fill = false;
	assert_int_equal(pp_free(heap, code.rx), -ESTALE);
	assert_int_equal(pp_finalize(heap, &code, 1000), -ESTALE);
	assert_int_equal(pp_lookup(heap, code.rx, &block), 0);
	assert_int_equal(block.size, 1024);
	assert_int_equal(pp_alloc(heap, 64, &next), 0);
	assert_ptr_equal(next.rx, (uint8_t *)code.rx + 1024);
	assert_int_equal(test_stats(heap).used, 1024 + 64);
	assert_int_equal(test_stats(heap).blocks, 2);
	assert_int_equal(test_stats(heap).open, 1);
	pp_heap_free(heap);
}

static void failed_fill_keeps_the_block(void **state)
{
	struct pp_heap *heap = spied_heap(WRITER(state), 1);
	void *rx = test_block(heap, 64, 21);
	struct pp_stats before = test_stats(heap), after;

	spy.fail_fill = true;
	assert_int_equal(pp_free(heap, rx), -EIO);
	spy.fail_fill = false;
	after = test_stats(heap);
	assert_same_state(&before, &after);
	assert_int_equal(after.fail_write, 1);
	assert_int_equal(call(rx), 21);
	assert_int_equal(pp_free(heap, rx), 0);
	assert_true(is_traps(rx, 64));
	pp_heap_free(heap);
}

/* The nth pack of a large block fails: those before it are unmapped again, for each n. */
static void failed_growth_is_undone(void **state)
{
	for (int nth = 1; nth <= 3; nth++) {
		struct pp_heap *heap = spied_heap(WRITER(state), 4);
		struct pp_stats before, after;
		struct pp_code code;

		test_block(heap, 64, 1);
		before = test_stats(heap);
		spy.fail_maps_from = nth;
		assert_int_equal(pp_alloc(heap, 6 * MIB, &code), -ENOMEM);
		assert_int_equal(spy.maps, nth);
		after = test_stats(heap);
		assert_same_state(&before, &after);
		assert_int_equal(after.fail_memory, 1);
		spy.fail_maps_from = 0;
		assert_int_equal(pp_alloc(heap, 6 * MIB, &code), 0);
		assert_true(is_traps(code.rx, code.size));
		pp_heap_free(heap);
	}
}

/* Whatever the kernel calls it: the arguments were fine, and the reservation has room. */
static void failed_growth_is_of_memory(void **state)
{
	static const int errors[] = {ENOMEM, EMFILE, EFBIG, EPERM, EACCES, EINVAL, ENOENT};
	size_t count = sizeof(errors) / sizeof(*errors);
	struct pp_heap *heap = spied_heap(WRITER(state), 4);
	struct pp_stats stats;
	struct pp_code code;

	spy.fail_maps_from = 1;
	for (size_t i = 0; i < count; i++) {
		spy.map_error = errors[i];
		assert_int_equal(pp_alloc(heap, 6 * MIB, &code), -errors[i]);
	}
	stats = test_stats(heap);
	assert_int_equal(stats.fail_memory, count);
	assert_int_equal(stats.fail_args + stats.fail_space + stats.fail_write, 0);
	pp_heap_free(heap);
}

/* A pack that cannot be unmapped stays, and is used again. */
static void failed_unmap_keeps_the_pack(void **state)
{
	struct pp_heap *heap = spied_heap(WRITER(state), 2);
	void *a = test_block(heap, 2 * MIB, 1), *b = test_block(heap, 2 * MIB, 1);

	spy.fail_unmap = true;
	assert_int_equal(pp_free(heap, a), 0);
	assert_int_equal(pp_free(heap, b), 0);
	assert_int_equal(test_stats(heap).packs, 2);
	assert_int_equal(pp_heap_tidy(heap), -ENOMEM);
	spy.maps = 0;
	assert_ptr_equal(test_block(heap, 4 * MIB, 7), a);
	assert_int_equal(spy.maps, 0);
	assert_int_equal(pp_free(heap, a), 0);
	spy.fail_unmap = false;
	assert_int_equal(pp_heap_tidy(heap), 0);
	assert_int_equal(test_stats(heap).packs, 1);
	assert_int_equal(test_stats(heap).committed, 2 * MIB);
	pp_heap_free(heap);
}

static void no_lock_is_held_while_writing(void **state)
{
	struct pp_heap *heap = spied_heap(WRITER(state), 4);
	void *rx;

	spy.look_back = true;
	rx = test_block(heap, 64, 1);
	assert_false(spy.look_back);
	spy.look_back = true;
	assert_int_equal(pp_free(heap, rx), 0);
	assert_false(spy.look_back);
	spy.look_back = true;
	test_block(heap, 4 * MIB, 1);
	assert_false(spy.look_back);
	pp_heap_free(heap);
}

static void use_heap(void *heap)
{
	struct pp_code code;

	CHECK(!pp_alloc(heap, 4 * MIB, &code));
	CHECK(!pp_abort(heap, &code));
	CHECK(!pp_heap_tidy(heap));
}

/* Told of a failure: goes on with the heap, here and in a child. */
static void use_and_fork(void *ctx, const char *message)
{
	int *told = ctx;

	CHECK(strlen(message) > 0);
	if ((*told)++)
		return;
	spy.fail_maps_from = 0;
	use_heap(spy.heap);
	CHECK(run_child(use_heap, spy.heap) == 0);
}

static void fail_and_log(void *state)
{
	struct pp_heap *heap = spied_heap(*(enum pp_writer *)state, 4);
	uint8_t *block = test_block(heap, 64, 1);
	struct pp_code code;
	int told = 0;

	heap->mem.log = (struct log){use_and_fork, &told};
	spy.fail_maps_from = 1;
	CHECK(pp_alloc(heap, 4 * MIB, &code) == -ENOMEM);
	CHECK(told == 2); /* the writer's reason, and what it meant */
	told = 0;
	CHECK(pp_patch(heap, block + 64, "", 1) == -ENOENT);
	CHECK(told == 1);
	CHECK(call(block) == 1);
	pp_heap_free(heap);
}

/* In a child, as what waits for itself waits for ever. */
static void log_function_may_fork_and_use_the_heap(void **state)
{
	assert_int_equal(run_child(fail_and_log, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(writes_are_as_few_as_counted),
		EACH_WRITER(failed_copy_gives_back),
		EACH_WRITER(half_copy_that_stays_is_never_reused),
		EACH_WRITER(failed_fill_keeps_the_block),
		EACH_WRITER(failed_growth_is_undone),
		EACH_WRITER(failed_growth_is_of_memory),
		EACH_WRITER(failed_unmap_keeps_the_pack),
		EACH_WRITER(no_lock_is_held_while_writing),
		EACH_WRITER(log_function_may_fork_and_use_the_heap),
	};

	return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}

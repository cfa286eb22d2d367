/* SPDX-License-Identifier: MIT */
/*
 * test_grow.c - packs that grow, become huge, and are returned: what a heap costs at each size,
 * and that the figures are those of smaps
 */
#include "heap/heap.h"
#include "heap/pack.h"
#include "heap_test.h"

#include <errno.h>

#define KIB ((size_t)1 << 10)

/* Executable bytes of the heap's range, by /proc/self/maps. */
static bool add_executable(const struct mapping *m, void *arg)
{
	uintptr_t *range = arg;

	if (m->perms[2] == 'x' && m->lo >= range[0] && m->hi <= range[1])
		range[2] += m->hi - m->lo;
	return true;
}

static size_t executable(const struct pp_heap *heap)
{
	uintptr_t range[3] = {0};

	pp_heap_range(heap, &range[0], &range[1]);
	each_mapping(add_executable, range);
	return range[2];
}

static void packs_double(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct pp_stats stats;

	for (size_t used = 0; used < 4 * MIB; used += 32 * KIB) {
		size_t grown = 64 * KIB;

		while (grown < used % (2 * MIB))
			grown *= 2;
		if (used % (2 * MIB) == 0 && used)
			grown = 0;
		stats = test_stats(heap);
		assert_int_equal(stats.committed, used / (2 * MIB) * 2 * MIB + grown);
		assert_int_equal(stats.committed, executable(heap));
		assert_int_equal(stats.packs, (stats.committed + 2 * MIB - 1) / (2 * MIB));
		test_block(heap, 32 * KIB, 1);
	}
	pp_heap_free(heap);
}

/* A block that the growing pack cannot hold gets a whole pack: one pack grows at a time. */
static void one_pack_grows_at_a_time(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	uint8_t *small = test_block(heap, 64, 1), *large = test_block(heap, 2 * MIB - 64, 1);

	assert_true(large == small + 64 || large == small + 2 * MIB);
	assert_ptr_equal(test_block(heap, 2 * MIB, 1), small + (large == small + 64 ? 2 : 4) * MIB);
	assert_int_equal(test_stats(heap).committed, executable(heap));
	pp_heap_free(heap);
}

static void one_empty_pack_is_kept(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	uint8_t *block[4];

	for (size_t i = 0; i < 4; i++)
		block[i] = test_block(heap, 2 * MIB, 1);
	assert_int_equal(test_stats(heap).packs, 4);
	assert_int_equal(pp_free(heap, block[1]), 0);
	assert_int_equal(test_stats(heap).packs, 4);
	assert_int_equal(pp_free(heap, block[2]), 0);
	assert_int_equal(test_stats(heap).packs, 3);
	assert_int_equal(test_stats(heap).committed, executable(heap));
	assert_ptr_equal(test_block(heap, 100, 1), block[1]);
	assert_int_equal(pp_free(heap, block[3]), 0);
	assert_int_equal(pp_free(heap, block[0]), 0);
	assert_int_equal(pp_free(heap, block[1]), 0);
	assert_int_equal(test_stats(heap).packs, 1);
	assert_int_equal(executable(heap), 2 * MIB);
	pp_heap_free(heap);
}

/* Load and unload over a pack's boundary maps nothing. */
static void boundary_is_quiet(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	uintptr_t rx = 0;

	test_block(heap, 2 * MIB - 64, 1);
	test_block(heap, 64, 1);
	for (int i = 0; i < 10; i++) {
		void *block = test_block(heap, 64, 1);

		if (rx)
			assert_int_equal(rx, (uintptr_t)block);
		rx = (uintptr_t)block;
		assert_int_equal(pp_free(heap, block), 0);
		assert_int_equal(test_stats(heap).packs, 2);
	}
	pp_heap_free(heap);
}

/* The spare is not kept for ever: after many frees that did without, it is returned too. */
static void unused_spare_is_returned(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	void *block = test_block(heap, MIB - 4096, 1), *spare = test_block(heap, 2 * MIB, 1);

	assert_int_equal(pp_free(heap, spare), 0);
	for (int i = 0; i < 1023; i++)
		assert_int_equal(pp_free(heap, test_block(heap, 64, 1)), 0);
	assert_int_equal(test_stats(heap).packs, 2);
	assert_int_equal(pp_free(heap, test_block(heap, 64, 1)), 0);
	assert_int_equal(test_stats(heap).packs, 1);
	assert_int_equal(pp_free(heap, block), 0);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(pp_free(heap, test_block(heap, 64, 1)), 0);
	assert_int_equal(test_stats(heap).packs, 1);
	pp_heap_free(heap);
}

/* Packs that are needed again and again stay: at most four, and until they are not. */
static void packs_do_not_come_and_go(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 8);
	void *small = test_block(heap, 64, 1);

	for (int i = 0; i < 6; i++) {
		void *large = test_block(heap, 6 * MIB, 2);

		assert_int_equal(test_stats(heap).packs, 4);
		assert_int_equal(pp_free(heap, large), 0);
		assert_int_equal(test_stats(heap).packs, i ? 4 : 2);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pp_free(heap, test_block(heap, 12 * MIB, 2)), 0);
	assert_int_equal(test_stats(heap).packs, 5);
	for (int i = 0; i < 1024; i++)
		assert_int_equal(pp_free(heap, test_block(heap, 64, 1)), 0);
	assert_int_equal(test_stats(heap).packs, 1);
	assert_int_equal(pp_free(heap, test_block(heap, 6 * MIB, 2)), 0);
	assert_int_equal(test_stats(heap).packs, 2);
	assert_int_equal(call(small), 1);
	pp_heap_free(heap);
}

/* A returned pack is as new when it is needed again. */
static void returned_packs_come_back(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 3);
	struct pp_code code;

	for (int i = 0; i < 4; i++) {
		uint8_t *a = test_block(heap, 2 * MIB, 1), *b = test_block(heap, 3 * MIB, 2);

		assert_int_equal(pp_free(heap, a), 0);
		assert_int_equal(pp_free(heap, b), 0);
		assert_true(pp_heap_tidy(heap) <= 0);
		assert_int_equal(test_stats(heap).packs, 1);
		assert_int_equal(pp_alloc(heap, 6 * MIB, &code), 0);
		assert_true(is_traps(code.rx, code.size));
		assert_int_equal(pp_abort(heap, &code), 0);
		assert_int_equal(executable(heap), test_stats(heap).committed);
	}
	pp_heap_free(heap);
}

static bool gives_huge(const struct pp_heap *heap)
{
	struct memory mem = heap->mem;

	return !pack_make_huge(&mem, 0);
}

/* The growth that makes a pack whole makes it huge; nothing before it does. */
static void whole_packs_become_huge(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);

	for (size_t used = 0; used < 2 * MIB; used += 32 * KIB) {
		test_block(heap, 32 * KIB, 1);
		if (used + 32 * KIB <= MIB)
			assert_int_equal(test_stats(heap).huge, 0);
	}
	if (!gives_huge(heap)) {
		print_message("skipped: the kernel gives no huge page now\n");
		pp_heap_free(heap);
		skip();
	}
	assert_int_equal(pp_heap_tidy(heap), 0);
	assert_int_equal(test_stats(heap).huge, 2 * MIB);
	pp_heap_free(heap);
}

static void tidy_leaves_small_pages(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 2);
	struct pp_heap *heap = NULL;

	opts.flags = PP_SMALL_PAGES;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	for (size_t used = 0; used < 4 * MIB; used += 32 * KIB)
		test_block(heap, 32 * KIB, 1);
	assert_int_equal(pp_heap_tidy(heap), 0);
	assert_int_equal(test_stats(heap).huge, 0);
	assert_int_equal(test_stats(heap).committed, 4 * MIB);
	pp_heap_free(heap);
}

static size_t resident(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	CHECK(file && fscanf(file, "%*u %lu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Twice, so that libc's and the kernel's own first uses are not counted. */
static void measure_small_program(void *writer)
{
	struct pp_opts opts = test_opts(*(enum pp_writer *)writer, 256);
	size_t before = 0;

	for (int i = 0; i < 2; i++) {
		struct pp_heap *heap;
		void *rx;

		before = resident();
		CHECK(!pp_heap_new(&opts, &heap));
		rx = test_block(heap, 100, 3);
		CHECK(call(rx) == 3);
		fprintf(stderr, "# one small program: %zu KiB\n", (resident() - before) / KIB);
		CHECK(!i || resident() - before <= 128 * KIB);
		pp_heap_free(heap);
	}
}

static void one_small_program_takes_little(void **state)
{
	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers take memory of their own\n");
		skip();
	}
	assert_int_equal(run_child(measure_small_program, *state), 0);
}

/* No growth: every pack has all of its memory, huge where the kernel gives that, when it comes. */
static void whole_packs_do_not_grow(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 4);
	struct pp_heap *heap;
	struct pp_stats stats;
	uint8_t *first;

	opts.flags = PP_WHOLE_PACKS;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	first = test_block(heap, 64, 5);
	stats = test_stats(heap);
	assert_int_equal(stats.committed, 2 * MIB);
	assert_int_equal(stats.committed, executable(heap));
	assert_true(is_traps(first + 64, 2 * MIB - 64));
	assert_int_equal(call(first), 5);
	test_block(heap, 2 * MIB - 64, 1);
	test_block(heap, 64, 6);
	assert_int_equal(test_stats(heap).committed, 4 * MIB);
	assert_int_equal(test_stats(heap).committed, executable(heap));
	if (WRITER(state) == PP_WRITER_POKE && gives_anonymous_huge())
		assert_int_equal(test_stats(heap).huge, 4 * MIB); /* from birth */
	if (!gives_huge(heap)) {
		print_message("skipped: the kernel gives no huge page now\n");
		pp_heap_free(heap);
		skip();
	}
	assert_int_equal(pp_heap_tidy(heap), 0);
	assert_int_equal(test_stats(heap).huge, 4 * MIB);
	pp_heap_free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(packs_double),
		EACH_WRITER(one_pack_grows_at_a_time),
		EACH_WRITER(one_empty_pack_is_kept),
		EACH_WRITER(boundary_is_quiet),
		EACH_WRITER(unused_spare_is_returned),
		EACH_WRITER(packs_do_not_come_and_go),
		EACH_WRITER(returned_packs_come_back),
		EACH_WRITER(whole_packs_become_huge),
		EACH_WRITER(tidy_leaves_small_pages),
		EACH_WRITER(one_small_program_takes_little),
		EACH_WRITER(whole_packs_do_not_grow),
	};

	return cmocka_run_group_tests_name("grow", tests, NULL, NULL);
}

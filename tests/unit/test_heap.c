/* SPDX-License-Identifier: MIT */
/* test_heap.c - <progpack.h> sentence by sentence, with both writers */
#include "heap_test.h"
#include "os/cpu.h"
#include "os/os.h"

#include <dirent.h>
#include <errno.h>

/* What a fresh heap has. */
#define GROWN ((size_t)64 << 10)

static void options_are_checked(void **state)
{
	struct pp_opts opts = test_opts(PP_WRITER_AUTO, 1);
	struct {
		struct pp_opts opts;
		uint64_t later;
	} next = {.opts = opts};
	struct pp_heap *heap = (void *)state, *untouched = heap;

	opts.size = sizeof(opts) - 1;
	assert_int_equal(pp_heap_new(&opts, &heap), -EINVAL);
	opts = test_opts((enum pp_writer)7, 1);
	assert_int_equal(pp_heap_new(&opts, &heap), -EINVAL);
	assert_string_equal(test_log, "no writer 7\n");
	opts = test_opts(PP_WRITER_AUTO, 1);
	opts.flags = 0x8000;
	assert_int_equal(pp_heap_new(&opts, &heap), -EINVAL);
	opts = test_opts(PP_WRITER_AUTO, 1);
	opts.reserve = SIZE_MAX;
	assert_int_equal(pp_heap_new(&opts, &heap), -EINVAL);
	next.opts.size = sizeof(next);
	next.later = 1;
	test_log[0] = 0;
	assert_int_equal(pp_heap_new(&next.opts, &heap), -E2BIG);
	assert_string_equal(test_log, "options that this version does not know\n");
	assert_ptr_equal(heap, untouched);
	next.later = 0;
	assert_int_equal(pp_heap_new(&next.opts, &heap), 0);
	pp_heap_free(heap);
	pp_heap_free(NULL);
}

static void defaults_are_what_the_header_says(void **state)
{
	struct pp_heap *heap = NULL;
	struct pp_stats stats;
	uintptr_t lo, hi;

	(void)state;
	assert_int_equal(pp_heap_new(NULL, &heap), 0);
	stats = test_stats(heap);
	pp_heap_range(heap, &lo, &hi);
	assert_int_equal(stats.reserved, cpu_default_reserve());
	assert_int_equal(hi - lo, cpu_default_reserve());
	assert_int_equal(lo % (2 * MIB), 0);
	assert_int_not_equal(stats.writer, PP_WRITER_AUTO);
	assert_int_equal(stats.limit, 0);
	pp_heap_free(heap);
}

static void reservation_is_whole_packs(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 0);
	struct pp_heap *heap = NULL;

	opts.reserve = 2 * MIB + 1;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	assert_int_equal(test_stats(heap).reserved, 4 * MIB);
	pp_heap_free(heap);
}

static void names_are_both_ways(void **state)
{
	enum pp_writer writer = PP_WRITER_ALIAS;

	(void)state;
	assert_string_equal(pp_writer_name(PP_WRITER_AUTO), "auto");
	assert_string_equal(pp_writer_name(PP_WRITER_POKE), "poke");
	assert_string_equal(pp_writer_name(PP_WRITER_ALIAS), "alias");
	assert_null(pp_writer_name((enum pp_writer)3));
	assert_int_equal(pp_writer_by_name("poke", &writer), 0);
	assert_int_equal(writer, PP_WRITER_POKE);
	assert_int_equal(pp_writer_by_name("Poke", &writer), -EINVAL);
	assert_int_equal(pp_writer_by_name("", &writer), -EINVAL);
	assert_int_equal(writer, PP_WRITER_POKE);
}

static void block_is_emitted_run_and_freed(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_code code;
	struct pp_block block;
	size_t used;

	assert_int_equal(pp_alloc(heap, 100, &code), 0);
	assert_int_equal(code.size, 128);
	assert_int_equal((uintptr_t)code.rx % PP_CHUNK, 0);
	assert_true(is_traps(code.rw, code.size));
	assert_true(is_traps(code.rx, code.size));
	assert_int_equal(test_stats(heap).open, 1);
	used = emit_return(code.rw, 77);
	assert_true(is_traps(code.rx, code.size));
	assert_int_equal(pp_finalize(heap, &code, used), 0);
	assert_null(code.rw);
	assert_int_equal(code.size, 64);
	assert_int_equal(call(code.rx), 77);
	assert_true(is_traps((uint8_t *)code.rx + used, 128 - used));
	assert_int_equal(pp_lookup(heap, code.rx, &block), 0);
	assert_int_equal(block.size, 64);
	assert_int_equal(pp_free(heap, code.rx), 0);
	assert_true(is_traps(code.rx, 128));
	assert_int_equal(pp_lookup(heap, code.rx, &block), -ENOENT);
	pp_heap_free(heap);
}

static void alloc_refuses(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 1);
	struct pp_heap *heap = NULL;
	struct pp_code code, untouched;
	struct pp_stats before, after;

	opts.limit = 1000;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	memset(&code, 0x5a, sizeof(code));
	untouched = code;
	before = test_stats(heap);
	assert_int_equal(pp_alloc(heap, 0, &code), -EINVAL);
	assert_int_equal(pp_alloc(heap, 2 * MIB + 1, &code), -E2BIG);
	assert_int_equal(pp_alloc(heap, SIZE_MAX, &code), -E2BIG);
	assert_int_equal(pp_alloc(heap, 961, &code), -EDQUOT);
	assert_memory_equal(&code, &untouched, sizeof(code));
	after = test_stats(heap);
	assert_same_state(&before, &after);
	assert_int_equal(after.fail_args, 3);
	assert_int_equal(after.fail_limit, 1);
	assert_string_equal(test_log, "pp_alloc: a block of no bytes\n"
				      "pp_alloc: larger than the heap\n"
				      "pp_alloc: larger than the heap\n"
				      "pp_alloc: over the heap's limit\n");
	pp_heap_free(heap);
}

static void limit_counts_whole_chunks(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 1);
	struct pp_heap *heap = NULL;
	struct pp_code code, other;

	opts.limit = 1000;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	assert_int_equal(pp_alloc(heap, 960, &code), 0);
	assert_int_equal(pp_alloc(heap, 1, &other), -EDQUOT);
	assert_int_equal(pp_finalize(heap, &code, 1), 0);
	assert_int_equal(test_stats(heap).used, 64);
	assert_int_equal(pp_alloc(heap, 896, &other), 0);
	assert_int_equal(pp_alloc(heap, 1, &code), -EDQUOT);
	assert_int_equal(pp_abort(heap, &other), 0);
	assert_int_equal(pp_alloc(heap, 896, &other), 0);
	pp_heap_free(heap);
}

static void full_reservation_is_enospc(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct pp_stats before, after;
	struct pp_code code;
	uint8_t *block[4];

	for (size_t i = 0; i < 4; i++)
		block[i] = test_block(heap, MIB, 1);
	before = test_stats(heap);
	assert_int_equal(before.largest_free, 0);
	assert_int_equal(pp_alloc(heap, 1, &code), -ENOSPC);
	after = test_stats(heap);
	assert_same_state(&before, &after);
	assert_int_equal(after.fail_space, 1);
	assert_int_equal(pp_free(heap, block[1]), 0);
	assert_int_equal(pp_free(heap, block[2]), 0);
	assert_int_equal(pp_alloc(heap, MIB + 64, &code), -ENOSPC);
	assert_ptr_equal(test_block(heap, MIB, 2), block[1]);
	pp_heap_free(heap);
}

/* The tail that finalize gives back is the next block; at no point is a chunk in two blocks. */
static void tail_is_reused(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_code code;
	uint8_t *next;

	assert_int_equal(pp_alloc(heap, 64 * 100, &code), 0);
	memset(code.rw, 0x11, code.size);
	assert_int_equal(pp_finalize(heap, &code, 64 * 3 + 1), 0);
	assert_int_equal(code.size, 64 * 4);
	next = test_block(heap, 64, 5);
	assert_ptr_equal(next, (uint8_t *)code.rx + 64 * 4);
	assert_true(is_traps((uint8_t *)code.rx + 64 * 3 + 1, 63));
	assert_int_equal(pp_free(heap, code.rx), 0);
	assert_int_equal(call(next), 5);
	assert_int_equal(test_stats(heap).used, 64);
	pp_heap_free(heap);
}

static void finalize_refuses_sizes(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_stats before = test_stats(heap), after;
	size_t used[] = {0, 129, SIZE_MAX};
	struct pp_code code;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(pp_alloc(heap, 128, &code), 0);
		memset(code.rw, 0x11, 128);
		assert_int_equal(pp_finalize(heap, &code, used[i]), -EINVAL);
		assert_null(code.rw);
		assert_true(is_traps(code.rx, 128));
		assert_int_equal(pp_finalize(heap, &code, 1), -ESTALE);
	}
	after = test_stats(heap);
	assert_int_equal(after.used, 0);
	assert_int_equal(after.open, 0);
	assert_int_equal(after.blocks, 0);
	assert_int_equal(after.copies, before.copies);
	assert_int_equal(after.fail_args, 3);
	assert_int_equal(after.fail_stale, 3);
	pp_heap_free(heap);
}

/* Every byte of the guard, and not one before it. */
static void overflow_is_noticed(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_code code;

	for (size_t i = 0; i < 64; i++) {
		assert_int_equal(pp_alloc(heap, 64, &code), 0);
		((uint8_t *)code.rw)[64 + i] ^= 1;
		assert_int_equal(pp_finalize(heap, &code, 64), -EOVERFLOW);
		assert_null(code.rw);
		assert_true(is_traps(code.rx, 64));
	}
	assert_int_equal(test_stats(heap).blocks, 0);
	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	((uint8_t *)code.rw)[63] ^= 1;
	assert_int_equal(pp_finalize(heap, &code, 64), 0);
	pp_heap_free(heap);
}

static void ended_blocks_are_stale(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_code code, copy, other = {0};
	struct pp_stats before, after;

	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	copy = code;
	assert_int_equal(pp_abort(heap, &code), 0);
	assert_null(code.rw);
	before = test_stats(heap);
	assert_int_equal(pp_abort(heap, &code), -ESTALE);
	assert_int_equal(pp_abort(heap, &copy), -ESTALE);
	assert_int_equal(pp_finalize(heap, &copy, 1), -ESTALE);
	assert_int_equal(pp_finalize(heap, &other, 1), -ESTALE);
	other.rx = &other;
	assert_int_equal(pp_finalize(heap, &other, 1), -ESTALE);
	assert_non_null(copy.rw);
	after = test_stats(heap);
	assert_same_state(&before, &after);
	assert_int_equal(after.fail_stale, 5);
	pp_heap_free(heap);
}

/* A new open block at the same place is not ended by the old one's struct. */
static void old_struct_claims_nothing(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_code open, old;

	assert_int_equal(pp_alloc(heap, 64, &open), 0);
	old = open;
	old.rw = &old;
	assert_int_equal(pp_finalize(heap, &old, 1), -ESTALE);
	old.rw = NULL;
	assert_int_equal(pp_finalize(heap, &old, 1), -ESTALE);
	assert_int_equal(pp_abort(heap, &old), -ESTALE);
	old = open;
	old.rx = (uint8_t *)open.rx + 1;
	assert_int_equal(pp_finalize(heap, &old, 1), -ESTALE);
	assert_int_equal(pp_finalize(heap, &open, 1), 0);
	pp_heap_free(heap);
}

/* Each wrong free: its error, and not one byte or figure changed. */
static void wrong_frees_change_nothing(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	uint8_t *first = test_block(heap, 200, 1), *freed = test_block(heap, 64, 2);
	uint8_t *last = test_block(heap, 64, 3), *copy = malloc(GROWN), *lo;
	struct pp_stats before, after;
	struct pp_code open;
	uintptr_t base, end;
	int on_stack;

	assert_int_equal(pp_free(heap, freed), 0);
	assert_int_equal(pp_alloc(heap, 300, &open), 0);
	pp_heap_range(heap, &base, &end);
	lo = first;
	assert_int_equal((uintptr_t)lo, base);
	memcpy(copy, lo, GROWN);
	before = test_stats(heap);
	assert_int_equal(pp_free(heap, freed), -ESTALE);
	assert_int_equal(pp_free(heap, first + 64), -EINVAL);
	assert_int_equal(pp_free(heap, first + 1), -EINVAL);
	assert_int_equal(pp_free(heap, last + 63), -EINVAL);
	assert_int_equal(pp_free(heap, open.rx), -EBUSY);
	assert_int_equal(pp_free(heap, (uint8_t *)open.rx + 64), -EINVAL);
	assert_int_equal(pp_free(heap, lo + GROWN / 2), -ESTALE);
	assert_int_equal(pp_free(heap, lo + GROWN), -ESTALE);
	assert_int_equal(pp_free(heap, lo + 2 * MIB), -ESTALE);
	assert_int_equal(pp_free(heap, lo + 4 * MIB), -EINVAL);
	assert_int_equal(pp_free(heap, lo - 64), -EINVAL);
	assert_int_equal(pp_free(heap, &on_stack), -EINVAL);
	assert_int_equal(pp_free(heap, NULL), -EINVAL);
	after = test_stats(heap);
	assert_same_state(&before, &after);
	assert_memory_equal(copy, lo, GROWN);
	assert_int_equal(after.fail_stale, 4);
	assert_int_equal(after.fail_args, 9);
	assert_int_equal(call(first) + call(last), 4);
	free(copy);
	pp_heap_free(heap);
}

static void one_write_and_one_sync_whatever_the_size(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	size_t sizes[] = {64, 41024};

	for (size_t i = 0; i < 2; i++) {
		struct pp_stats start = test_stats(heap), copied, filled;
		void *block = test_block(heap, sizes[i], 1);

		copied = test_stats(heap);
		assert_int_equal(copied.copies - start.copies, 1);
		assert_int_equal(copied.fills - start.fills, 0);
		assert_int_equal(copied.syncs - start.syncs, 1);
		assert_int_equal(pp_free(heap, block), 0);
		filled = test_stats(heap);
		assert_int_equal(filled.copies - copied.copies, 0);
		assert_int_equal(filled.fills - copied.fills, 1);
		assert_int_equal(filled.syncs - copied.syncs, 1);
	}
	pp_heap_free(heap);
}

static void calls_are_counted(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct pp_code code;
	struct pp_stats stats;
	void *block = test_block(heap, 3 * 64, 1);

	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	stats = test_stats(heap);
	assert_int_equal(stats.writer, WRITER(state));
	assert_int_equal(stats.used, 256);
	assert_int_equal(stats.blocks, 2);
	assert_int_equal(stats.open, 1);
	assert_int_equal(stats.packs, 1);
	assert_int_equal(stats.committed, GROWN);
	assert_int_equal(stats.reserved, 4 * MIB);
	assert_int_equal(stats.largest_free, GROWN - 256);
	assert_int_equal(pp_abort(heap, &code), 0);
	assert_int_equal(pp_free(heap, block), 0);
	stats = test_stats(heap);
	assert_int_equal(stats.allocs, 2);
	assert_int_equal(stats.finalizes, 1);
	assert_int_equal(stats.aborts, 1);
	assert_int_equal(stats.frees, 1);
	assert_int_equal(stats.used + stats.blocks + stats.open, 0);
	pp_heap_free(heap);
}

static void stats_are_sized(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct {
		struct pp_stats stats;
		uint64_t later;
	} next = {.stats.size = sizeof(next), .later = 1};
	struct pp_stats small = {.size = sizeof(small) - 1, .reserved = 42};

	assert_int_equal(pp_stats(heap, &small), -EINVAL);
	assert_true(strstr(test_log, "pp_stats: no size "));
	assert_int_equal(small.reserved, 42);
	assert_int_equal(pp_stats(heap, &next.stats), 0);
	assert_int_equal(next.stats.size, sizeof(next));
	assert_int_equal(next.stats.reserved, 2 * MIB);
	assert_int_equal(next.later, 0);
	pp_heap_free(heap);
}

/* A block over several packs is written, found and freed as any other. */
static void block_of_several_packs(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	size_t size = 5 * MIB;
	uint8_t *small = test_block(heap, 64, 1), *rx;
	struct pp_block block;
	struct pp_code code, more;

	assert_int_equal(pp_alloc(heap, size, &code), 0);
	rx = code.rx;
	assert_ptr_equal(rx, small + 2 * MIB);
	for (size_t i = 0; i < size; i++)
		((uint8_t *)code.rw)[i] = (uint8_t)(i * 7 >> 4);
	assert_int_equal(pp_finalize(heap, &code, size), 0);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(rx[i], (uint8_t)(i * 7 >> 4));
	assert_int_equal(pp_lookup(heap, rx + size - 1, &block), 0);
	assert_ptr_equal(block.rx, rx);
	assert_int_equal(block.size, size);
	assert_int_equal(pp_alloc(heap, 2 * MIB, &more), -ENOSPC);
	assert_int_equal(pp_alloc(heap, MIB, &more), 0);
	assert_ptr_equal(more.rx, rx + size); /* what the last pack has left is just enough */
	assert_int_equal(pp_free(heap, rx + 2 * MIB), -EINVAL);
	assert_int_equal(pp_free(heap, rx), 0);
	assert_int_equal(test_stats(heap).largest_free, 2 * MIB); /* of two, one is returned */
	assert_int_equal(test_stats(heap).packs, 3);
	assert_int_equal(pp_abort(heap, &more), 0);
	assert_int_equal(pp_free(heap, small), 0);
	assert_int_equal(pp_alloc(heap, 8 * MIB, &more), 0);
	assert_ptr_equal(more.rx, small);
	pp_heap_free(heap);
}

static void *aligned_block(struct pp_heap *heap, size_t size, size_t align)
{
	struct pp_block_opts opts = {.size = sizeof(opts), .align = align};
	struct pp_code code;

	if (pp_alloc_with(heap, size, &opts, &code))
		return NULL;
	emit_return(code.rw, 6);
	assert_int_equal(pp_finalize(heap, &code, size), 0);
	assert_int_equal((uintptr_t)code.rx % align, 0);
	assert_int_equal(call(code.rx), 6);
	return code.rx;
}

/* Each alignment at each size up to a pack, in a heap that has to grow for it. */
static void blocks_are_aligned(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);

	for (size_t align = 64; align <= 4096; align *= 2) {
		for (size_t size = 64; size <= 2 * MIB; size *= 8) {
			void *odd = test_block(heap, 64, 1), *rx = aligned_block(heap, size, align);

			assert_non_null(rx);
			assert_int_equal(pp_free(heap, rx), 0);
			if (size % 128)
				assert_int_equal(pp_free(heap, odd), 0);
		}
	}
	pp_heap_free(heap);
}

/* Where only runs are left that happen to be aligned, they are found too. */
static void last_aligned_room_is_found(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	uint8_t *rx[512];

	for (size_t i = 0; i < 512; i++)
		rx[i] = test_block(heap, 4096, 1);
	assert_int_equal(pp_free(heap, rx[77]), 0);
	assert_ptr_equal(aligned_block(heap, 4096, 4096), rx[77]);
	assert_null(aligned_block(heap, 64, 4096));
	assert_int_equal(pp_free(heap, rx[5]), 0);
	test_block(heap, 64, 1);
	assert_null(aligned_block(heap, 64, 4096));
	assert_ptr_equal(aligned_block(heap, 64, 2048), rx[5] + 2048);
	pp_heap_free(heap);
}

/* Holes of just their size are used again before anything grows, between blocks of any size. */
static void aligned_holes_are_used_again(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 8);
	uint8_t *rx[1024];

	for (size_t i = 0; i < 1024; i++)
		rx[i] = aligned_block(heap, 4096, 4096);
	assert_int_equal(test_stats(heap).committed, 4 * MIB);
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = round; i < 1024; i += 1 + round)
			assert_int_equal(pp_free(heap, rx[i]), 0);
		for (size_t i = round; i < 1024; i += 1 + round)
			rx[i] = aligned_block(heap, 4096, 4096);
	}
	assert_int_equal(test_stats(heap).committed, 4 * MIB);
	for (size_t i = 0; i < 1024; i += 2)
		assert_int_equal(pp_free(heap, rx[i]), 0);
	for (size_t i = 0; i < 512; i++)
		assert_non_null(aligned_block(heap, 2048 + 64, 2048));
	assert_int_equal(test_stats(heap).committed, 4 * MIB);
	pp_heap_free(heap);
}

static void lookup_knows_every_byte(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	uint8_t *a = test_block(heap, 64, 1), *b = test_block(heap, 300, 2);
	uint8_t *hole = test_block(heap, 64, 3), *c = test_block(heap, 100, 4);
	struct pp_block block = {.size = 7};

	assert_int_equal(pp_free(heap, hole), 0);
	for (uint8_t *pc = a - 100; pc < c + 300; pc++) {
		uint8_t *start = pc < a ? NULL : pc < b ? a : pc < hole ? b : pc < c ? NULL : c;
		int err = pp_lookup(heap, pc, &block);

		if (pc >= c + 128)
			start = NULL;
		assert_int_equal(err, start ? 0 : -ENOENT);
		if (!start)
			continue;
		assert_ptr_equal(block.rx, start);
		assert_int_equal(block.size, start == a ? 64 : start == b ? 320 : 128);
	}
	assert_int_equal(pp_lookup(heap, NULL, &block), -ENOENT);
	assert_int_equal(pp_lookup(heap, (void *)UINTPTR_MAX, &block), -ENOENT);
	pp_heap_free(heap);
}

/* The far end of the heap's range from @anchor. */
static size_t farthest(const struct pp_heap *heap, uintptr_t anchor)
{
	uintptr_t lo, hi;

	pp_heap_range(heap, &lo, &hi);
	return anchor < lo + (hi - lo) / 2 ? hi - anchor : anchor - lo;
}

static void heap_is_near_its_anchor(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 8);
	struct pp_heap *heap = NULL;

	opts.anchor = &test_log;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	assert_true(farthest(heap, (uintptr_t)&test_log) <= cpu_reach());
	pp_heap_free(heap);
}

extern const char __executable_start, etext; /* of the linker */

/* Whether all code of this program can call all code of a new heap, and be called. */
static bool is_near_program(const struct pp_opts *opts)
{
	struct pp_heap *heap = NULL;
	size_t far, far_end;

	assert_int_equal(pp_heap_new(opts, &heap), 0);
	far = farthest(heap, (uintptr_t)&__executable_start);
	far_end = farthest(heap, (uintptr_t)&etext);
	pp_heap_free(heap);
	return far <= cpu_reach() && far_end <= cpu_reach();
}

/* Without an anchor too, as without any options. Sanitizers have their shadow where they like. */
static void default_heap_is_near_the_program(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 8);
	bool near = is_near_program(&opts);

	if (UNDER_SANITIZER && !near) {
		print_message("no addresses near the program under this sanitizer\n");
		skip();
	}
	assert_true(near);
	if (cpu_default_reserve() < cpu_reach())
		assert_true(is_near_program(NULL));
}

static long count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static bool see_guard(const struct mapping *m, void *arg)
{
	uintptr_t *at = arg;

	if (*at >= m->lo && *at < m->hi && !strcmp(m->perms, "---p"))
		*at = 0;
	return *at != 0;
}

static void full_heap_ends_in_a_guard_page(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	uintptr_t lo, hi;

	test_block(heap, 2 * MIB, 1);
	pp_heap_range(heap, &lo, &hi);
	each_mapping(see_guard, &hi);
	assert_int_equal(hi, 0);
	pp_heap_free(heap);
}

static bool see_remains(const struct mapping *m, void *arg)
{
	uintptr_t *range = arg;

	assert_null(strstr(m->path, "memfd:progpack"));
	assert_false(m->perms[2] == 'x' && m->lo < range[1] && m->hi > range[0]);
	return true;
}

/* Two views a pack at most, one descriptor a heap, and nothing left of it afterwards. */
static void mappings_and_descriptors_are_few(void **state)
{
	const long maps = os_count_maps(), fds = count_fds();
	struct pp_heap *heap = test_heap(WRITER(state), 8);
	uintptr_t range[2];
	struct pp_code code;

	pp_heap_range(heap, &range[0], &range[1]);
	for (int i = 0; i < 8; i++)
		test_block(heap, 2 * MIB - 4096, 1);
	for (int i = 0; i < 400; i++)
		test_block(heap, 64, 1);
	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	if (!UNDER_SANITIZER) /* which map memory of their own */
		assert_true(os_count_maps() - maps <= 2 * 8 + 8);
	assert_true(count_fds() - fds <= 1);
	pp_heap_free(heap);
	each_mapping(see_remains, range);
	assert_int_equal(count_fds(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_checked),
		cmocka_unit_test(defaults_are_what_the_header_says),
		cmocka_unit_test(names_are_both_ways),
		EACH_WRITER(reservation_is_whole_packs),
		EACH_WRITER(block_is_emitted_run_and_freed),
		EACH_WRITER(alloc_refuses),
		EACH_WRITER(limit_counts_whole_chunks),
		EACH_WRITER(full_reservation_is_enospc),
		EACH_WRITER(tail_is_reused),
		EACH_WRITER(finalize_refuses_sizes),
		EACH_WRITER(overflow_is_noticed),
		EACH_WRITER(ended_blocks_are_stale),
		EACH_WRITER(old_struct_claims_nothing),
		EACH_WRITER(wrong_frees_change_nothing),
		EACH_WRITER(one_write_and_one_sync_whatever_the_size),
		EACH_WRITER(calls_are_counted),
		EACH_WRITER(stats_are_sized),
		EACH_WRITER(block_of_several_packs),
		EACH_WRITER(blocks_are_aligned),
		EACH_WRITER(last_aligned_room_is_found),
		EACH_WRITER(aligned_holes_are_used_again),
		EACH_WRITER(lookup_knows_every_byte),
		EACH_WRITER(heap_is_near_its_anchor),
		EACH_WRITER(default_heap_is_near_the_program),
		EACH_WRITER(full_heap_ends_in_a_guard_page),
		EACH_WRITER(mappings_and_descriptors_are_few),
	};

	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}

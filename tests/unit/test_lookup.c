/* SPDX-License-Identifier: MIT */
/*
 * test_lookup.c - lookups that race, step by step instead of by luck
 *
 * The linker wraps what a race is made of (--wrap): after each word of a bitmap that changes, the
 * bitmaps are remembered, so that a reader can be given any two moments of the past; and in the
 * middle of a lookup a hook may change the heap.
 */
#include "heap/heap.h"
#include "heap_test.h"

#include <errno.h>

void __real_bitmap_set(uint64_t *map, size_t from, size_t count);
void __wrap_bitmap_set(uint64_t *map, size_t from, size_t count);
void __real_bitmap_clear(uint64_t *map, size_t from, size_t count);
void __wrap_bitmap_clear(uint64_t *map, size_t from, size_t count);
size_t __real_index_block(const struct index *ix, size_t at);
size_t __wrap_index_block(const struct index *ix, size_t at);

#define WORDS (PACK_CHUNKS / BITMAP_WORD)
#define MOMENTS 256u

/* What a reader may find in the maps of one pack, at each moment in order. */
static struct {
	const struct index *ix; /* NULL while nothing is remembered */
	size_t count;
	struct {
		uint64_t used[WORDS], first[WORDS];
	} moment[MOMENTS];
} past;

static void remember(void)
{
	if (!past.ix)
		return;
	assert_true(past.count < MOMENTS);
	memcpy(past.moment[past.count].used, past.ix->used, sizeof(past.moment->used));
	memcpy(past.moment[past.count].first, past.ix->first, sizeof(past.moment->first));
	past.count++;
}

/* bitmap.h promises nothing about several words but that they change one after the other. */
static void change_by_words(void (*change)(uint64_t *map, size_t from, size_t count), uint64_t *map,
			    size_t from, size_t count)
{
	while (count) {
		size_t here = BITMAP_WORD - from % BITMAP_WORD;

		if (here > count)
			here = count;
		change(map, from, here);
		remember();
		from += here;
		count -= here;
	}
}

void __wrap_bitmap_set(uint64_t *map, size_t from, size_t count)
{
	change_by_words(__real_bitmap_set, map, from, count);
}

void __wrap_bitmap_clear(uint64_t *map, size_t from, size_t count)
{
	change_by_words(__real_bitmap_clear, map, from, count);
}

/* The block that stands while its neighbours come and go, and a neighbour's life. */
#define STANDS 70u

struct step {
	enum { TAKE, GIVE } what;
	size_t at, chunks; /* counted from the end of the block that stands, or from chunk 0 */
};

/* Several; smaller ones in place of one; one over several old ones, and its tail in two parts. */
static const struct step behind[] = {
	{TAKE, 0, 5},  {TAKE, 5, 1},  {TAKE, 6, 70},  {TAKE, 76, 3},   {GIVE, 0, 5},
	{TAKE, 0, 2},  {TAKE, 2, 3},  {GIVE, 2, 3},   {GIVE, 5, 1},    {GIVE, 0, 2},
	{GIVE, 6, 70}, {TAKE, 0, 76}, {GIVE, 4, 72},  {TAKE, 4, 1},    {GIVE, 1, 3},
	{TAKE, 1, 3},  {GIVE, 0, 1},  {GIVE, 1, 3},   {GIVE, 4, 1},    {TAKE, 0, 1},
	{GIVE, 0, 1},  {GIVE, 76, 3}, {TAKE, 0, 200}, {GIVE, 64, 136}, {GIVE, 0, 64},
};

static const struct step in_front[] = {
	{TAKE, 0, 60}, {TAKE, 60, 10}, {GIVE, 60, 10}, {TAKE, 60, 3}, {TAKE, 63, 7},
	{GIVE, 0, 60}, {GIVE, 60, 3},  {GIVE, 63, 7},  {TAKE, 0, 70}, {GIVE, 0, 70},
};

static void play(struct index *ix, const struct step *steps, size_t count, size_t origin)
{
	for (size_t i = 0; i < count; i++) {
		const struct step *step = &steps[i];

		if (step->what == TAKE)
			index_take(ix, origin + step->at, step->chunks);
		else
			index_give(ix, origin + step->at, step->chunks);
	}
}

/* A reader that loaded `used` at moment @i and `first` at moment @j. */
static struct index seen(size_t i, size_t j)
{
	return (struct index){.packs = 1,
			      .used = past.moment[i].used,
			      .first = past.moment[j].first};
}

static void check_every_reader(size_t size)
{
	for (size_t i = 0; i < past.count; i++) {
		for (size_t j = i; j < past.count; j++) {
			struct index ix = seen(i, j);

			assert_int_equal(__real_index_block(&ix, STANDS + size - 1), STANDS);
			assert_int_equal(index_size(&ix, STANDS), size);
		}
	}
}

static void block_never_runs_into_its_neighbours(void **state)
{
	static const size_t sizes[] = {1, 2, 57, 58, 59, 64, 121, 122, 130};
	struct pp_heap *heap = test_heap(PP_WRITER_AUTO, 1);
	struct index *ix = &heap->index;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		index_take(ix, STANDS, sizes[i]);
		past.count = 0;
		past.ix = ix;
		remember();
		play(ix, behind, sizeof(behind) / sizeof(*behind), STANDS + sizes[i]);
		play(ix, in_front, sizeof(in_front) / sizeof(*in_front), 0);
		past.ix = NULL;
		assert_true(past.count > 100);
		check_every_reader(sizes[i]);
		index_give(ix, STANDS, sizes[i]);
	}
	pp_heap_free(heap);
}

/* Three blocks in a row; a lookup in the one in the middle is interrupted by @hook. */
#define FRONT 4u
#define MIDDLE 10u

static struct {
	void (*hook)(void);
	struct pp_heap *heap;
	uint8_t *front, *middle;
} race;

size_t __wrap_index_block(const struct index *ix, size_t at)
{
	size_t first = __real_index_block(ix, at);
	void (*hook)(void) = race.hook;

	race.hook = NULL;
	if (hook)
		hook();
	return first;
}

static void free_it(void)
{
	assert_int_equal(pp_free(race.heap, race.middle), 0);
}

static void make_one_smaller(void)
{
	free_it();
	assert_ptr_equal(test_block(race.heap, 3 * PP_CHUNK, 1), race.middle);
}

static void make_two(void)
{
	make_one_smaller();
	assert_ptr_equal(test_block(race.heap, (MIDDLE - 3) * PP_CHUNK, 1),
			 race.middle + 3 * PP_CHUNK);
}

static void make_one_larger(void)
{
	free_it();
	assert_int_equal(pp_free(race.heap, race.front), 0);
	assert_ptr_equal(test_block(race.heap, (FRONT + MIDDLE - 1) * PP_CHUNK, 1), race.front);
}

static void start_race(void (*hook)(void))
{
	race.heap = test_heap(PP_WRITER_AUTO, 1);
	race.front = test_block(race.heap, FRONT * PP_CHUNK, 1);
	race.middle = test_block(race.heap, MIDDLE * PP_CHUNK, 1);
	assert_ptr_equal(race.middle, race.front + FRONT * PP_CHUNK);
	test_block(race.heap, PP_CHUNK, 1);
	race.hook = hook;
}

static bool contains(const struct pp_block *block, const uint8_t *pc)
{
	return (uintptr_t)pc - (uintptr_t)block->rx < block->size;
}

static void block_found_has_the_address(void **state)
{
	void (*const hooks[])(void) = {free_it, make_one_smaller, make_two, make_one_larger};

	(void)state;
	for (size_t i = 0; i < (sizeof(hooks) / sizeof(*hooks)) * MIDDLE; i++) {
		struct pp_block block;
		uint8_t *pc;
		int err;

		start_race(hooks[i / MIDDLE]);
		pc = race.middle + i % MIDDLE * PP_CHUNK + 5;
		err = pp_lookup(race.heap, pc, &block);
		assert_null(race.hook);
		assert_true(err == -ENOENT || (!err && contains(&block, pc)));
		pp_heap_free(race.heap);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_never_runs_into_its_neighbours),
		cmocka_unit_test(block_found_has_the_address),
	};

	return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test_bitmap.c - the bitmap against one bool a bit, every range of a few words */
#include "base/bitmap.h"
#include "heap_test.h"

#define BITS 200u
#define WORDS 4u

struct pair {
	uint64_t map[WORDS];
	bool naive[BITS];
};

static void assert_equal_pair(const struct pair *pair)
{
	for (size_t i = 0; i < BITS; i++)
		assert_int_equal(bitmap_get(pair->map, i), pair->naive[i]);
	for (size_t i = BITS; i < WORDS * 64; i++)
		assert_false(bitmap_get(pair->map, i));
}

static void set_range(struct pair *pair, size_t from, size_t count, bool value)
{
	if (value)
		bitmap_set(pair->map, from, count);
	else
		bitmap_clear(pair->map, from, count);
	for (size_t i = from; i < from + count; i++)
		pair->naive[i] = value;
}

static size_t naive_next(const bool *naive, size_t from, size_t to, bool value)
{
	while (from < to && naive[from] != value)
		from++;
	return from < to ? from : to;
}

static size_t naive_last(const bool *naive, size_t from, size_t to)
{
	while (to > from) {
		if (naive[--to])
			return to;
	}
	return BITMAP_NONE;
}

static void assert_same_answers(const struct pair *pair, size_t from, size_t to)
{
	assert_int_equal(bitmap_next_one(pair->map, from, to),
			 naive_next(pair->naive, from, to, true));
	assert_int_equal(bitmap_next_zero(pair->map, from, to),
			 naive_next(pair->naive, from, to, false));
	assert_int_equal(bitmap_last_one(pair->map, from, to), naive_last(pair->naive, from, to));
}

static void every_range_is_set_and_cleared(void **state)
{
	(void)state;
	for (size_t from = 0; from < BITS; from += 3) {
		for (size_t count = 0; count <= BITS - from; count++) {
			struct pair pair = {0};

			set_range(&pair, from, count, true);
			assert_equal_pair(&pair);
			set_range(&pair, from + count / 3, count / 2, false);
			assert_equal_pair(&pair);
		}
	}
}

static void every_search_agrees(void **state)
{
	struct pair pair = {0};

	(void)state;
	set_range(&pair, 5, 1, true);
	set_range(&pair, 63, 2, true);
	set_range(&pair, 70, 65, true);
	set_range(&pair, 191, 9, true);
	for (size_t from = 0; from <= BITS; from++) {
		for (size_t to = 0; to <= BITS; to++) {
			if (from <= to)
				assert_same_answers(&pair, from, to);
		}
	}
}

static void random_changes_agree(void **state)
{
	struct pair pair = {0};

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t from = (size_t)rand() % BITS, to = from + (size_t)rand() % (BITS - from + 1);

		set_range(&pair, from, to - from, rand() & 1);
		assert_same_answers(&pair, (size_t)rand() % (to + 1), to);
	}
	assert_equal_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_range_is_set_and_cleared),
		cmocka_unit_test(every_search_agrees),
		cmocka_unit_test(random_changes_agree),
	};

	return cmocka_run_group_tests_name("bitmap", tests, NULL, NULL);
}

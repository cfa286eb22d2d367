/* SPDX-License-Identifier: MIT */
/* test_runs.c - the tree of kinds against a plain array, for shapes of one to five levels */
#include "heap/runs.h"
#include "heap_test.h"

#define KINDS (RUNS_PLANES * 64u)

struct pair {
	struct runs runs;
	void *memory;
	uint64_t (*naive)[RUNS_PLANES];
	size_t leaves;
};

static struct pair new_pair(size_t leaves)
{
	struct pair pair = {.leaves = leaves};

	pair.memory = aligned_alloc(64, runs_bytes(leaves));
	memset(pair.memory, 0, runs_bytes(leaves));
	pair.naive = calloc(leaves, sizeof(*pair.naive));
	runs_init(&pair.runs, leaves, pair.memory);
	return pair;
}

static void free_pair(struct pair *pair)
{
	free(pair->memory);
	free(pair->naive);
}

static size_t naive_next(const struct pair *pair, size_t kind, size_t leaf)
{
	for (; leaf < pair->leaves; leaf++) {
		if (pair->naive[leaf][kind / 64] >> kind % 64 & 1)
			return leaf;
	}
	return RUNS_NONE;
}

static size_t naive_lowest(const struct pair *pair, size_t kind)
{
	while (kind < KINDS && naive_next(pair, kind, 0) == RUNS_NONE)
		kind++;
	return kind < KINDS ? kind : RUNS_NONE;
}

static size_t naive_highest(const struct pair *pair)
{
	for (size_t kind = KINDS; kind--;) {
		if (naive_next(pair, kind, 0) != RUNS_NONE)
			return kind;
	}
	return RUNS_NONE;
}

static void change_and_compare(struct pair *pair)
{
	size_t leaf = (size_t)rand() % pair->leaves, kind = (size_t)rand() % KINDS;
	uint64_t *kinds = pair->naive[leaf];

	if (rand() % 3)
		kinds[kind / 64] ^= UINT64_C(1) << kind % 64;
	else
		memset(kinds, 0, sizeof(*pair->naive));
	runs_set(&pair->runs, leaf, kinds);
	leaf = (size_t)rand() % (pair->leaves + 1);
	assert_int_equal(runs_next_leaf(&pair->runs, kind, leaf), naive_next(pair, kind, leaf));
	assert_int_equal(runs_first_leaf(&pair->runs, kind), naive_next(pair, kind, 0));
	assert_int_equal(runs_lowest_kind(&pair->runs, kind), naive_lowest(pair, kind));
	assert_int_equal(runs_highest_kind(&pair->runs), naive_highest(pair));
}

static void tree_agrees_with_an_array(void **state)
{
	const size_t leaves[] = {1, 7, 8, 9, 64, 65, 128, 513, 5000};

	(void)state;
	srand(1);
	for (size_t i = 0; i < sizeof(leaves) / sizeof(*leaves); i++) {
		struct pair pair = new_pair(leaves[i]);

		for (int n = 0; n < 400; n++)
			change_and_compare(&pair);
		free_pair(&pair);
	}
}

/* Longer runs are never of a lower kind, and short ones have a kind each. */
static void kinds_are_in_order_of_length(void **state)
{
	(void)state;
	assert_int_equal(runs_kind(1), 0);
	for (size_t chunks = 2; chunks <= 32768; chunks++) {
		size_t step = runs_kind(chunks) - runs_kind(chunks - 1);

		if (chunks <= RUNS_EXACT)
			assert_int_equal(step, 1);
		assert_true(step <= 1);
	}
	assert_true(runs_kind(32768) < KINDS);
	assert_int_equal(runs_kind(32768) - runs_kind(32767), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_agrees_with_an_array),
		cmocka_unit_test(kinds_are_in_order_of_length),
	};

	return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}

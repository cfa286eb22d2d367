/* SPDX-License-Identifier: MIT */
/* test_walk.c - pp_walk() and the names of blocks, against what was allocated */
#include "heap_test.h"

#include <errno.h>
#include <pthread.h>

#define MAX_RUNS 4096

/* What a walk saw; names are copied, as they are only valid meanwhile. */
struct seen {
	size_t n;
	struct pp_run run[MAX_RUNS];
	char name[MAX_RUNS][32];
};

static int see(void *ctx, const struct pp_run *run)
{
	struct seen *seen = ctx;

	if (seen->n == MAX_RUNS)
		return -E2BIG;
	seen->run[seen->n] = *run;
	snprintf(seen->name[seen->n], sizeof(seen->name[0]), "%s", run->name ? run->name : "-");
	seen->n++;
	return 0;
}

static struct seen *walk(const struct pp_heap *heap)
{
	static struct seen seen;

	seen.n = 0;
	assert_int_equal(pp_walk(heap, see, &seen), 0);
	return &seen;
}

static size_t sum_of(const struct seen *seen, enum pp_run_state state, size_t *runs)
{
	size_t bytes = 0, n = 0;

	for (size_t i = 0; i < seen->n; i++) {
		if (seen->run[i].state != state)
			continue;
		bytes += seen->run[i].size;
		n++;
	}
	if (runs)
		*runs = n;
	return bytes;
}

static const char *state_name(enum pp_run_state state)
{
	static const char *const names[] = {"free", "open", "live", "ungrown"};

	return names[state];
}

/* The first runs as text: "live 64 name, free 1984". */
static const char *describe(const struct seen *seen, size_t n)
{
	static char text[1024];
	size_t used = 0;

	for (size_t i = 0; i < n && i < seen->n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %zu %.31s",
					 i ? ", " : "", state_name(seen->run[i].state),
					 seen->run[i].size, seen->name[i]);
	return text;
}

static void *named(struct pp_heap *heap, size_t size, const char *name)
{
	struct pp_block_opts opts = {.size = sizeof(opts), .name = name};
	struct pp_code code;

	assert_int_equal(pp_alloc_with(heap, size, &opts, &code), 0);
	emit_return(code.rw, 1);
	assert_int_equal(pp_finalize(heap, &code, size), 0);
	return code.rx;
}

static void new_heap_is_free(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	const struct seen *seen = walk(heap);
	uintptr_t lo, hi;

	pp_heap_range(heap, &lo, &hi);
	assert_int_equal(seen->run[0].state, PP_RUN_FREE);
	assert_int_equal((uintptr_t)seen->run[0].rx, lo);
	assert_int_equal(sum_of(seen, PP_RUN_FREE, NULL), test_stats(heap).committed);
	assert_int_equal(sum_of(seen, PP_RUN_FREE, NULL) + sum_of(seen, PP_RUN_UNGROWN, NULL),
			 2 * MIB);
	pp_heap_free(heap);
}

static void each_state_is_shown(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	void *a = test_block(heap, 100, 1), *b = test_block(heap, 64, 2);
	struct pp_code open;

	assert_int_equal(pp_alloc(heap, 300, &open), 0);
	assert_string_equal(describe(walk(heap), 3), "live 128 -, live 64 -, open 320 -");
	assert_int_equal(pp_finalize(heap, &open, 10), 0);
	assert_int_equal(pp_free(heap, a), 0);
	assert_string_equal(describe(walk(heap), 3), "free 128 -, live 64 -, live 64 -");
	assert_int_equal(pp_free(heap, b), 0);
	assert_string_equal(describe(walk(heap), 2), "free 192 -, live 64 -");
	pp_heap_free(heap);
}

static void names_come_and_go_with_their_blocks(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_block_opts opts = {.size = sizeof(opts)};
	char name[] = "first";
	struct pp_code code;
	void *a, *b;

	a = named(heap, 64, name);
	name[0] = 'F'; /* it was copied */
	b = named(heap, 64, "second");
	opts.name = "third";
	assert_int_equal(pp_alloc_with(heap, 1000, &opts, &code), 0);
	assert_string_equal(describe(walk(heap), 3),
			    "live 64 first, live 64 second, open 1024 third");
	assert_int_equal(pp_abort(heap, &code), 0);
	assert_int_equal(pp_free(heap, a), 0);
	assert_string_equal(describe(walk(heap), 2), "free 64 -, live 64 second");
	test_block(heap, 64, 1); /* the same place, without a name */
	assert_string_equal(describe(walk(heap), 2), "live 64 -, live 64 second");
	assert_int_equal(pp_free(heap, b), 0);
	named(heap, 64, "");
	assert_string_equal(describe(walk(heap), 2), "live 64 -, live 64 ");
	pp_heap_free(heap); /* with a name in it */
}

static void failed_finalize_takes_the_name(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_block_opts opts = {.size = sizeof(opts), .name = "gone"};
	struct pp_code code;

	assert_int_equal(pp_alloc_with(heap, 64, &opts, &code), 0);
	assert_int_equal(pp_finalize(heap, &code, 65), -EINVAL);
	test_block(heap, 64, 1);
	assert_string_equal(describe(walk(heap), 1), "live 64 -");
	pp_heap_free(heap);
}

static int stop_at_second(void *ctx, const struct pp_run *run)
{
	(void)run;
	return ++*(int *)ctx == 2 ? 7 : 0;
}

static void walks_can_be_stopped(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	int seen = 0;

	test_block(heap, 64, 1);
	test_block(heap, 64, 1);
	assert_int_equal(pp_walk(heap, stop_at_second, &seen), 7);
	assert_int_equal(seen, 2);
	pp_heap_free(heap);
}

static void large_blocks_are_one_run(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	void *rx = test_block(heap, 5 * MIB, 1);
	const struct seen *seen = walk(heap);
	size_t at = 0;

	while (at < seen->n && seen->run[at].rx != rx)
		at++;
	assert_true(at < seen->n);
	assert_int_equal(seen->run[at].size, 5 * MIB);
	assert_int_equal(seen->run[at].state, PP_RUN_LIVE);
	pp_heap_free(heap);
}

/* Sizes and order as they come: what a walk shows adds up to what pp_stats() says. */
static void runs_add_up(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 8);
	void *block[300] = {0};
	uint32_t random = 1;
	const struct seen *seen;
	struct pp_stats stats;
	size_t live_runs;

	for (size_t i = 0; i < 3000; i++) {
		void **slot;

		random = random * 1664525 + 1013904223;
		slot = &block[(random >> 8) % 300];
		if (*slot)
			assert_int_equal(pp_free(heap, *slot), 0);
		*slot = test_block(heap, 64 + (random >> 16) % 16000, 1);
	}
	seen = walk(heap);
	stats = test_stats(heap);
	assert_int_equal(sum_of(seen, PP_RUN_LIVE, &live_runs), stats.used);
	assert_int_equal(live_runs, stats.blocks);
	assert_int_equal(stats.used + sum_of(seen, PP_RUN_FREE, NULL), stats.committed);
	for (size_t i = 1; i < seen->n; i++) {
		const struct pp_run *last = &seen->run[i - 1];
		uintptr_t end = (uintptr_t)last->rx + last->size;

		assert_true((uintptr_t)seen->run[i].rx >= end);
		if (end % (2 * MIB))
			assert_int_equal((uintptr_t)seen->run[i].rx, end);
		if (last->state == PP_RUN_FREE && end % (2 * MIB))
			assert_int_not_equal(seen->run[i].state, PP_RUN_FREE);
	}
	pp_heap_free(heap);
}

static void thousands_of_names(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	static void *block[MAX_RUNS - 1];
	const struct seen *seen;
	size_t n = MAX_RUNS - 2;
	char text[16];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "block%zu", i);
		block[i] = named(heap, 64, text);
	}
	seen = walk(heap);
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(seen->run[i].rx, block[i]);
		snprintf(text, sizeof(text), "block%zu", i);
		assert_string_equal(seen->name[i], text);
	}
	for (size_t i = 0; i < n; i += 2)
		assert_int_equal(pp_free(heap, block[i]), 0);
	seen = walk(heap);
	assert_string_equal(describe(seen, 2), "free 64 -, live 64 block1");
	pp_heap_free(heap);
}

static void batches_take_names_too(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_block_opts opts = {.size = sizeof(opts)};
	struct pp_code code[3];
	const size_t used[3] = {64, 64, 64};
	const void *rx[3];

	for (size_t i = 0; i < 3; i++) {
		opts.name = (const char *[]){"one", "two", "three"}[i];
		assert_int_equal(pp_alloc_with(heap, 64, &opts, &code[i]), 0);
		emit_return(code[i].rw, 1);
		rx[i] = code[i].rx;
	}
	assert_int_equal(pp_finalize_batch(heap, code, used, 3), 0);
	assert_string_equal(describe(walk(heap), 3), "live 64 one, live 64 two, live 64 three");
	assert_int_equal(pp_free_batch(heap, rx, 3), 0);
	for (size_t i = 0; i < 3; i++)
		test_block(heap, 64, 1);
	assert_string_equal(describe(walk(heap), 3), "live 64 -, live 64 -, live 64 -");
	pp_heap_free(heap);
}

/* Which names a heap's mappings have; private ones only where the kernel names them. */
struct mappings {
	uintptr_t lo, hi;
	size_t named, nameless, other;
};

static bool check_name(const struct mapping *mapping, void *arg)
{
	struct mappings *count = arg;
	const char *name = strstr(mapping->path, "progpack:");

	if (mapping->lo < count->lo || mapping->hi > count->hi || !strchr(mapping->perms, 'x'))
		return true;
	if (!mapping->path[0])
		count->nameless++;
	else if (name && !strncmp(name, "progpack:my heap", strlen("progpack:my heap")))
		count->named++;
	else
		count->other++;
	return true;
}

static void heaps_name_their_mappings(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 2);
	struct mappings count = {0};
	struct pp_heap *heap;

	opts.name =
		"my heap, whose name is far longer than the eighty bytes that a mapping's may be";
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	test_block(heap, 3 * MIB, 1);
	pp_heap_range(heap, &count.lo, &count.hi);
	each_mapping(check_name, &count);
	assert_int_equal(count.other, 0);
	if (WRITER(state) == PP_WRITER_ALIAS)
		assert_int_equal(count.nameless, 0);
	assert_true(count.named + count.nameless > 0);
	assert_true(!count.named || !count.nameless);
	pp_heap_free(heap);
}

/* Blocks with names come and go until told to stop. */
struct churn {
	struct pp_heap *heap;
	int stop;
};

static void *come_and_go(void *arg)
{
	struct churn *churn = arg;
	void *block[64] = {0};

	for (size_t i = 0; !__atomic_load_n(&churn->stop, __ATOMIC_RELAXED); i = (i + 1) % 64) {
		struct pp_block_opts opts = {.size = sizeof(opts), .name = "churn"};
		struct pp_code code;

		if (block[i] && pp_free(churn->heap, block[i]))
			abort();
		if (pp_alloc_with(churn->heap, 64 + 64 * i, &opts, &code))
			abort();
		emit_return(code.rw, 1);
		if (pp_finalize(churn->heap, &code, code.size))
			abort();
		block[i] = code.rx;
	}
	return NULL;
}

/* Whatever others do: whole packs, and blocks that have their name while they live. */
static int check_run(void *ctx, const struct pp_run *run)
{
	*(size_t *)ctx += run->size;
	return run->state == PP_RUN_LIVE && (!run->name || strcmp(run->name, "churn") != 0);
}

static void walks_see_whole_packs_while_others_work(void **state)
{
	struct churn churn = {.heap = test_heap(WRITER(state), 2)};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, come_and_go, &churn), 0);
	for (size_t i = 0; i < 1000; i++) {
		size_t bytes = 0;

		assert_int_equal(pp_walk(churn.heap, check_run, &bytes), 0);
		assert_int_equal(bytes % (2 * MIB), 0);
	}
	__atomic_store_n(&churn.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	pp_heap_free(churn.heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(new_heap_is_free),
		EACH_WRITER(each_state_is_shown),
		EACH_WRITER(names_come_and_go_with_their_blocks),
		EACH_WRITER(failed_finalize_takes_the_name),
		EACH_WRITER(walks_can_be_stopped),
		EACH_WRITER(large_blocks_are_one_run),
		EACH_WRITER(runs_add_up),
		EACH_WRITER(thousands_of_names),
		EACH_WRITER(batches_take_names_too),
		EACH_WRITER(heaps_name_their_mappings),
		EACH_WRITER(walks_see_whole_packs_while_others_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

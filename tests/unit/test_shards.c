/* SPDX-License-Identifier: MIT */
/*
 * test_shards.c - threads that want a heap at once get shards of their own, and the heap stays one:
 * its room, its limit, batches, forks, walks and figures
 *
 * A guest is a thread that allocates from the second shard: it came while the first was locked.
 * It does what it is told while the test waits, so that nothing here depends on the scheduler.
 */
#include "heap/heap.h"
#include "heap_test.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>

#define KIB ((size_t)1 << 10)
#define PACK (2 * MIB)

static struct {
	pthread_t thread;
	sem_t told, done;
	struct pp_heap *heap;
	size_t size; /* wanted; 0: go home */
	const char *name;
	struct pp_code code;
	int err;
} guest;

static int allocate(struct pp_heap *heap, size_t size, const char *name, struct pp_code *code)
{
	const struct pp_block_opts opts = {.size = sizeof(opts), .name = name};

	return pp_alloc_with(heap, size, &opts, code);
}

static void *serve(void *arg)
{
	while (!sem_wait(&guest.told) && guest.size) {
		guest.err = allocate(guest.heap, guest.size, guest.name, &guest.code);
		sem_post(&guest.done);
	}
	return arg;
}

static void tell(size_t size)
{
	guest.size = size;
	sem_post(&guest.told);
}

static void wait_for_guest(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	assert_int_equal(sem_timedwait(&guest.done, &end), 0);
}

static int guest_alloc(size_t size, struct pp_code *code)
{
	tell(size);
	wait_for_guest();
	if (!guest.err)
		*code = guest.code;
	return guest.err;
}

static unsigned int shard_number(const struct pp_heap *heap, const void *rx)
{
	return shard_of(heap, heap_chunk(heap, rx))->index.id;
}

/* It finds the first shard locked, for as long as there is no second. */
static void guest_comes(struct pp_heap *heap)
{
	sem_init(&guest.told, 0, 0);
	sem_init(&guest.done, 0, 0);
	guest.heap = heap;
	guest.name = NULL;
	lock_take(&heap->first.lock);
	assert_int_equal(pthread_create(&guest.thread, NULL, serve, NULL), 0);
	tell(64);
	for (int i = 0; i < 5000 && shard_count(heap) < 2; i++)
		usleep(1000);
	lock_give(&heap->first.lock);
	wait_for_guest();
	assert_int_equal(guest.err, 0);
	assert_int_equal(shard_count(heap), 2);
}

/* With nothing in its shard but a spare pack. */
static void guest_comes_for_nothing(struct pp_heap *heap)
{
	guest_comes(heap);
	assert_int_equal(pp_abort(heap, &guest.code), 0);
}

static void guest_goes(void)
{
	tell(0);
	pthread_join(guest.thread, NULL);
	sem_destroy(&guest.told);
	sem_destroy(&guest.done);
}

static void *live(struct pp_heap *heap, struct pp_code *code, uint32_t value)
{
	emit_return(code->rw, value);
	assert_int_equal(pp_finalize(heap, code, code->size), 0);
	assert_int_equal(call(code->rx), value);
	return code->rx;
}

static void *guest_block(size_t size, uint32_t value)
{
	struct pp_code code = {0};

	assert_int_equal(guest_alloc(size, &code), 0);
	assert_int_equal(shard_number(guest.heap, code.rx), 1);
	return live(guest.heap, &code, value);
}

static void who_finds_a_shard_locked_gets_another(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	void *own = test_block(heap, 64, 1), *others;

	assert_int_equal(shard_count(heap), 1);
	guest_comes(heap);
	assert_int_equal(shard_number(heap, guest.code.rx), 1);
	others = guest_block(64, 2);
	assert_int_equal(shard_number(heap, own), 0);
	assert_int_equal(shard_number(heap, test_block(heap, 64, 3)), 0);
	assert_int_equal(test_stats(heap).blocks, 4);
	assert_int_equal(pp_free(heap, others), 0);
	assert_int_equal(call(own), 1);
	guest_goes();
	pp_heap_free(heap);
}

static void *come_and_go(void *arg)
{
	return test_block(arg, 64, 7);
}

/* Threads that are not in each other's way share the first one: one small program costs as much. */
static void threads_in_turn_have_one_shard(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);

	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		void *rx;

		assert_int_equal(pthread_create(&thread, NULL, come_and_go, heap), 0);
		assert_int_equal(pthread_join(thread, &rx), 0);
		assert_int_equal(shard_number(heap, rx), 0);
	}
	assert_int_equal(shard_count(heap), 1);
	assert_int_equal(test_stats(heap).committed, 64 * KIB);
	pp_heap_free(heap);
}

static void one_pack_is_one_shard(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);

	assert_int_equal(heap->shards_max, 1);
	pp_heap_free(heap);
}

/* The first shard has one pack that is full; in the second there is grown room, and more to grow.
 */
static void full_shard_finds_room_in_another(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	struct pp_code code = {0};
	void *rx;

	test_block(heap, PACK, 1);
	guest_comes(heap);
	rx = test_block(heap, 1 * KIB, 2);
	assert_int_equal(shard_number(heap, rx), 1);
	rx = test_block(heap, 1 * MIB, 3);
	assert_int_equal(shard_number(heap, rx), 1);
	assert_int_equal(call(rx), 3);
	assert_int_equal(pp_alloc(heap, 1 * MIB, &code), -ENOSPC);
	assert_int_equal(test_stats(heap).fail_space, 1);
	assert_int_equal(pp_alloc(heap, 900 * KIB, &code), 0);
	guest_goes();
	pp_heap_free(heap);
}

/* A spare pack of the second shard is in the way of a block that needs both. */
static void spare_packs_are_returned_before_there_is_no_room(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	void *rx;

	guest_comes_for_nothing(heap);
	assert_int_equal(test_stats(heap).packs, 2);
	rx = test_block(heap, 3 * MIB, 5);
	assert_int_equal(shard_number(heap, rx), 0);
	assert_int_equal(shard_number(heap, (uint8_t *)rx + PACK), 0);
	assert_int_equal(test_stats(heap).used, 3 * MIB);
	guest_goes();
	pp_heap_free(heap);
}

/* A block of several packs takes those that the other shard has left, and leaves its own alone. */
static void large_blocks_lie_between_anothers_packs(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 5);
	struct pp_code code = {0};
	void *small, *large, *rest;

	test_block(heap, 64, 1);
	guest_comes(heap);
	small = guest.code.rx;
	large = test_block(heap, PACK + 64, 2);
	assert_int_equal(heap_chunk(heap, small), PACK_CHUNKS);
	assert_int_equal(heap_chunk(heap, large), 2 * PACK_CHUNKS);
	rest = guest_block(PACK, 3);
	assert_int_equal(heap_chunk(heap, rest), 4 * PACK_CHUNKS);
	assert_int_equal(pp_free(heap, large), 0);
	assert_int_equal(guest_alloc(PACK + 64, &code), 0); /* with the help of a spare pack */
	assert_ptr_equal(code.rx, large);
	guest_goes();
	pp_heap_free(heap);
}

/* The second shard's second spare pack is returned, and the first shard's next. */
static void packs_pass_from_shard_to_shard(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 3);
	void *own = test_block(heap, PACK, 1), *low, *high, *again;

	guest_comes_for_nothing(heap);
	low = guest_block(PACK, 2);
	high = guest_block(PACK, 2);
	assert_int_equal(pp_free(heap, low), 0);
	assert_int_equal(pp_free(heap, high), 0);
	assert_int_equal(test_stats(heap).packs, 2);
	assert_int_equal(pp_free(heap, high), -ESTALE);
	again = test_block(heap, PACK, 3);
	assert_ptr_equal(again, high);
	assert_int_equal(shard_number(heap, again), 0);
	assert_int_equal(shard_number(heap, guest_block(PACK, 4)), 1);
	assert_int_equal(test_stats(heap).blocks, 3);
	assert_int_equal(call(own), 1);
	assert_int_equal(pp_free(heap, again), 0);
	guest_goes();
	pp_heap_free(heap);
}

/* All shards of an idle heap have one spare pack together. */
static void tidy_leaves_one_spare_pack(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);

	guest_comes_for_nothing(heap);
	assert_int_equal(test_stats(heap).packs, 2);
	assert_int_equal(pp_heap_tidy(heap), 0);
	assert_int_equal(test_stats(heap).packs, 1);
	assert_int_equal(guest_alloc(64, &guest.code), 0);
	guest_goes();
	pp_heap_free(heap);
}

#define MIXED 6u

/* Open blocks of both shards in turn. */
static void open_mixed(struct pp_heap *heap, struct pp_code *code, size_t *used)
{
	for (uint32_t i = 0; i < MIXED; i++) {
		if (i % 2)
			assert_int_equal(guest_alloc(640, &code[i]), 0);
		else
			assert_int_equal(pp_alloc(heap, 640, &code[i]), 0);
		assert_int_equal(shard_number(heap, code[i].rx), i % 2);
		used[i] = emit_return(code[i].rw, i);
	}
}

static void batches_cross_shards(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	struct pp_code code[MIXED];
	const void *rx[MIXED];
	size_t used[MIXED];
	struct pp_stats before;

	guest_comes_for_nothing(heap);
	open_mixed(heap, code, used);
	before = test_stats(heap);
	assert_int_equal(pp_finalize_batch(heap, code, used, MIXED), 0);
	for (uint32_t i = 0; i < MIXED; i++) {
		rx[i] = code[i].rx;
		assert_int_equal(call(rx[i]), i);
	}
	assert_int_equal(test_stats(heap).syncs, before.syncs + 1);
	assert_int_equal(test_stats(heap).finalizes, before.finalizes + MIXED);
	assert_int_equal(pp_free_batch(heap, rx, MIXED), 0);
	assert_int_equal(test_stats(heap).syncs, before.syncs + 2);
	assert_int_equal(test_stats(heap).blocks, 0);
	assert_int_equal(test_stats(heap).used, 0);
	guest_goes();
	pp_heap_free(heap);
}

/* The last one is bad, in the other shard than the first. */
static void batches_across_shards_are_all_or_nothing(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	struct pp_code code[MIXED], last;
	const void *rx[MIXED];
	size_t used[MIXED];
	struct pp_stats before, after;

	guest_comes_for_nothing(heap);
	open_mixed(heap, code, used);
	last = code[MIXED - 1];
	code[MIXED - 1].rw = NULL;
	before = test_stats(heap);
	assert_int_equal(pp_finalize_batch(heap, code, used, MIXED), -ESTALE);
	after = test_stats(heap);
	assert_same_state(&before, &after);
	code[MIXED - 1] = last;
	assert_int_equal(pp_finalize_batch(heap, code, used, MIXED), 0);
	for (uint32_t i = 0; i < MIXED; i++)
		rx[i] = code[i].rx;
	rx[MIXED - 1] = rx[1];
	before = test_stats(heap);
	assert_int_equal(pp_free_batch(heap, rx, MIXED), -ESTALE);
	after = test_stats(heap);
	assert_same_state(&before, &after);
	rx[MIXED - 1] = last.rx;
	assert_int_equal(pp_free_batch(heap, rx, MIXED), 0);
	guest_goes();
	pp_heap_free(heap);
}

/* A bad length in one shard gives back the blocks of both. */
static void refused_batch_gives_back_both_shards(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	struct pp_code code[MIXED];
	size_t used[MIXED];

	guest_comes_for_nothing(heap);
	open_mixed(heap, code, used);
	used[MIXED - 1] = 0;
	assert_int_equal(pp_finalize_batch(heap, code, used, MIXED), -EINVAL);
	assert_int_equal(test_stats(heap).blocks, 0);
	assert_int_equal(test_stats(heap).used, 0);
	assert_int_equal(heap->first.counts.used, 0);
	assert_int_equal(heap->shard[1]->counts.used, 0);
	guest_goes();
	pp_heap_free(heap);
}

#define LIMIT_BLOCKS 500u

static struct pp_heap *limited_heap(enum pp_writer writer)
{
	struct pp_opts opts = test_opts(writer, 4);
	struct pp_heap *heap = NULL;

	opts.limit = (size_t)LIMIT_BLOCKS * PP_CHUNK;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	return heap;
}

static void limit_counts_all_shards(void **state)
{
	struct pp_heap *heap = limited_heap(WRITER(state));
	struct pp_code code = {0}, others = {0};

	guest_comes_for_nothing(heap);
	assert_int_equal(pp_alloc(heap, 200 * PP_CHUNK, &code), 0);
	assert_int_equal(guest_alloc(300 * PP_CHUNK, &others), 0);
	assert_int_equal(guest_alloc(1, &code), -EDQUOT);
	assert_int_equal(pp_alloc(heap, 1, &code), -EDQUOT);
	assert_int_equal(pp_finalize(heap, &others, 299 * PP_CHUNK), 0);
	assert_int_equal(pp_alloc(heap, PP_CHUNK + 1, &code), -EDQUOT);
	assert_int_equal(pp_alloc(heap, PP_CHUNK, &code), 0);
	assert_int_equal(pp_free(heap, others.rx), 0);
	assert_int_equal(guest_alloc(299 * PP_CHUNK, &others), 0);
	assert_int_equal(test_stats(heap).used, LIMIT_BLOCKS * PP_CHUNK);
	guest_goes();
	pp_heap_free(heap);
}

static void *take_all(void *arg)
{
	uintptr_t count = 0;
	struct pp_code code;

	while (!pp_alloc(arg, 64, &code))
		count++;
	return (void *)count;
}

#define TAKERS 4u

/* However they race, they get just what there is. */
static void limit_is_exact_among_threads(void **state)
{
	struct pp_heap *heap = limited_heap(WRITER(state));
	pthread_t thread[TAKERS];
	uintptr_t sum = 0;

	for (size_t i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_all, heap), 0);
	for (size_t i = 0; i < TAKERS; i++) {
		void *count;

		assert_int_equal(pthread_join(thread[i], &count), 0);
		sum += (uintptr_t)count;
	}
	assert_int_equal(sum, LIMIT_BLOCKS);
	assert_int_equal(test_stats(heap).used, LIMIT_BLOCKS * PP_CHUNK);
	pp_heap_free(heap);
}

static struct {
	void *own, *others;
} forked;

/* Blocks of both shards: the child's are its own, and so is what it makes of them. */
static void live_on(struct pp_heap *heap)
{
	CHECK(call(forked.own) == 1);
	CHECK(call(forked.others) == 2);
	CHECK(!pp_free(heap, forked.own));
	CHECK(!pp_free(heap, forked.others));
	CHECK(test_stats(heap).blocks == 0);
	CHECK(test_stats(heap).used == 0);
	CHECK(call(test_block(heap, 64, 3)) == 3);
	CHECK(call(test_block(heap, 3 * MIB, 4)) == 4);
	CHECK(test_stats(heap).blocks == 2);
	pp_heap_free(heap);
}

static void run_in(pid_t (*fork_by)(void), struct pp_heap *heap)
{
	pid_t pid = fork_by();
	int status;

	if (!pid) {
		alarm(30);
		live_on(heap);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void prepare_fork(struct pp_heap *heap)
{
	forked.own = test_block(heap, 3000, 1);
	guest_comes_for_nothing(heap);
	forked.others = guest_block(3000, 2);
}

static void children_have_all_shards(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);

	prepare_fork(heap);
	run_in(fork, heap);
	if (WRITER(state) == PP_WRITER_POKE)
		run_in(raw_fork, heap);
	guest_goes();
	live_on(heap);
}

/* A thread was changing the second shard when the child was made by a raw system call. */
static void torn_shard_is_rebuilt(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_POKE, 4);
	struct shard *shard;
	struct index *ix;
	size_t at;

	(void)state;
	prepare_fork(heap);
	shard = heap->shard[1];
	ix = &shard->index;
	at = heap_chunk(heap, forked.others);
	lock_take(&shard->lock);
	ix->empty = 3;
	ix->pack[at / PACK_CHUNKS].free = 1;
	shard->counts.used = 77;
	runs_set(&ix->runs, at / RUNS_LEAF, (uint64_t[RUNS_PLANES]){~UINT64_C(0)});
	run_in(raw_fork, heap);
	lock_give(&shard->lock);
	guest_goes();
}

/* What is left of a give in the second shard; the first's blocks beside it are no part of it. */
static void torn_give_is_ended_in_its_shard(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_POKE, 4);
	struct pp_stats before, after;
	void *rx;

	(void)state;
	test_block(heap, PACK - 64 * KIB, 1); /* what is free behind it is not the other shard's */
	guest_comes_for_nothing(heap);
	before = test_stats(heap);
	rx = guest_block(PACK, 2);
	assert_int_equal(heap_chunk(heap, rx), PACK_CHUNKS);
	bitmap_clear(heap->index.used, PACK_CHUNKS, 64);
	heap->first.lock.held = heap->shard[1]->lock.held = 1;
	*heap->fork.alive = 0;
	after = test_stats(heap);
	assert_int_equal(after.used, before.used);
	assert_int_equal(after.blocks, before.blocks);
	guest_block(32 * KIB, 3);
	guest_goes();
	pp_heap_free(heap);
}

struct seen {
	unsigned int live, names;
	size_t bytes, last;
	struct pp_heap *heap;
};

static int see(void *ctx, const struct pp_run *run)
{
	struct seen *seen = ctx;
	size_t at = heap_chunk(seen->heap, run->rx);

	assert_true(at >= seen->last);
	seen->last = at;
	seen->live += run->state == PP_RUN_LIVE;
	seen->names += run->name && !strcmp(run->name, "others");
	seen->bytes += run->size;
	return 0;
}

/* In the order of addresses, whoever owns them, with their names. */
static void walk_shows_all_shards(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	struct seen seen = {.heap = heap};
	struct pp_code code = {0};

	guest_comes_for_nothing(heap);
	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	live(heap, &code, 1);
	guest.name = "others";
	guest_block(64, 2);
	assert_int_equal(pp_walk(heap, see, &seen), 0);
	assert_int_equal(seen.live, 2);
	assert_int_equal(seen.names, 1);
	assert_int_equal(seen.bytes, 2 * PACK);
	guest_goes();
	pp_heap_free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(who_finds_a_shard_locked_gets_another),
		EACH_WRITER(threads_in_turn_have_one_shard),
		EACH_WRITER(one_pack_is_one_shard),
		EACH_WRITER(full_shard_finds_room_in_another),
		EACH_WRITER(spare_packs_are_returned_before_there_is_no_room),
		EACH_WRITER(large_blocks_lie_between_anothers_packs),
		EACH_WRITER(packs_pass_from_shard_to_shard),
		EACH_WRITER(tidy_leaves_one_spare_pack),
		EACH_WRITER(batches_cross_shards),
		EACH_WRITER(batches_across_shards_are_all_or_nothing),
		EACH_WRITER(refused_batch_gives_back_both_shards),
		EACH_WRITER(limit_counts_all_shards),
		EACH_WRITER(limit_is_exact_among_threads),
		EACH_WRITER(children_have_all_shards),
		cmocka_unit_test(torn_shard_is_rebuilt),
		cmocka_unit_test(torn_give_is_ended_in_its_shard),
		EACH_WRITER(walk_shows_all_shards),
	};

	return cmocka_run_group_tests_name("shards", tests, NULL, NULL);
}

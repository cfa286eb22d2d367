/* SPDX-License-Identifier: MIT */
/*
 * test_fork.c - parent and child go on with a heap, and neither sees what the other does: by
 * fork(), by a system call that runs no handlers, and while other threads use the heap
 */
#include "heap/heap.h"
#include "heap_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Run @body in a child; the exit status as waitpid() has it. */
static int run_in(pid_t (*fork_by)(void), void (*body)(struct pp_heap *heap), struct pp_heap *heap)
{
	int status;
	pid_t pid = fork_by();

	if (!pid) {
		alarm(30);
		body(heap);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static struct {
	void *freed, *patched, *kept;
	struct pp_code open;
} block;

static struct pp_heap *heap_before_fork(enum pp_writer writer)
{
	struct pp_heap *heap = test_heap(writer, 4);

	block.freed = test_block(heap, 64, 1);
	block.patched = test_block(heap, 64, 0);
	block.kept = test_block(heap, 3 * MIB, 3);
	assert_int_equal(pp_alloc(heap, 64, &block.open), 0);
	emit_return(block.open.rw, 4);
	return heap;
}

static int patch_to_seven(struct pp_heap *heap)
{
	uint8_t code[64], old[64];
	size_t i = 0;

	emit_return(old, 0);
	emit_return(code, 7);
	while (code[i] == old[i])
		i++;
	return pp_patch(heap, (uint8_t *)block.patched + i, &code[i], 1);
}

/* All that a process does with a heap; the other's is as it was. */
static void live_on(struct pp_heap *heap)
{
	void *again, *large;

	CHECK(call(block.freed) == 1);
	CHECK(call(block.patched) == 0);
	CHECK(call(block.kept) == 3);
	CHECK(!pp_free(heap, block.freed));
	CHECK(is_traps(block.freed, 64));
	again = test_block(heap, 64, 9);
	CHECK(again == block.freed);
	CHECK(call(again) == 9);
	CHECK(!patch_to_seven(heap));
	CHECK(call(block.patched) == 7);
	CHECK(!pp_finalize(heap, &block.open, 64));
	CHECK(call(block.open.rx) == 4);
	large = test_block(heap, 2 * MIB - 4096, 5);
	CHECK(call(large) == 5);
	CHECK(!pp_free(heap, large));
	CHECK(!pp_free(heap, block.kept));
	CHECK(test_stats(heap).blocks == 3);
}

static void live_on_and_end(struct pp_heap *heap)
{
	live_on(heap);
	pp_heap_free(heap);
}

/* The child first: the parent finds everything as before, and goes on. */
static void child_changes_nothing_here(void **state)
{
	struct pp_heap *heap = heap_before_fork(WRITER(state));

	assert_int_equal(run_in(fork, live_on_and_end, heap), 0);
	live_on(heap);
	pp_heap_free(heap);
}

static int gate[2];

static void wait_and_live_on(struct pp_heap *heap)
{
	char byte;

	CHECK(read(gate[0], &byte, 1) == 1);
	live_on(heap);
}

static void parent_first(pid_t (*fork_by)(void), enum pp_writer writer)
{
	struct pp_heap *heap = heap_before_fork(writer);
	int status;
	pid_t pid;

	assert_int_equal(pipe(gate), 0);
	pid = fork_by();
	if (!pid) {
		alarm(60);
		wait_and_live_on(heap);
		_exit(0);
	}
	live_on(heap);
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(gate[0]);
	close(gate[1]);
	pp_heap_free(heap);
}

static void parent_changes_nothing_there(void **state)
{
	parent_first(fork, WRITER(state));
}

static void raw_fork_of_poke_is_the_same(void **state)
{
	struct pp_heap *heap = heap_before_fork(PP_WRITER_POKE);

	(void)state;
	assert_int_equal(run_in(raw_fork, live_on_and_end, heap), 0);
	live_on(heap);
	pp_heap_free(heap);
	parent_first(raw_fork, PP_WRITER_POKE);
}

/* Code runs, nothing is written, and the log says why. */
static void refuse_to_write(struct pp_heap *heap)
{
	struct pp_code code = {0};
	uint8_t byte = 0;

	CHECK(call(block.freed) == 1);
	test_log[0] = 0;
	CHECK(pp_free(heap, block.freed) == -EPERM);
	CHECK(strstr(test_log, "shares its code with its parent"));
	CHECK(pp_alloc(heap, 64, &code) == -EPERM);
	CHECK(pp_finalize(heap, &block.open, 64) == -EPERM);
	CHECK(pp_patch(heap, block.patched, &byte, 1) == -EPERM);
	CHECK(pp_heap_tidy(heap) == -EPERM);
	CHECK(!pp_abort(heap, &block.open));
	CHECK(test_stats(heap).blocks == 3);
	CHECK(call(block.kept) == 3);
	pp_heap_free(heap);
}

static void refuse_twice(struct pp_heap *heap)
{
	CHECK(pp_free(heap, block.freed) == -EPERM);
	CHECK(run_in(fork, refuse_to_write, heap) == 0);
}

static void raw_fork_of_alias_cannot_write(void **state)
{
	struct pp_heap *heap = heap_before_fork(PP_WRITER_ALIAS);

	(void)state;
	assert_int_equal(run_in(raw_fork, refuse_to_write, heap), 0);
	assert_int_equal(run_in(raw_fork, refuse_twice, heap), 0);
	live_on(heap);
	pp_heap_free(heap);
}

static int see_live(void *rx, const struct pp_run *run)
{
	return run->rx == rx && run->state == PP_RUN_LIVE;
}

static void free_and_patch(struct pp_heap *heap)
{
	uint8_t *kept = block.kept;

	CHECK(!pp_free(heap, block.patched));
	CHECK(!pp_patch(heap, kept + 64, kept + 64, 1));
}

/* A thread is patching it, and is not there in the child. */
static void block_being_patched_is_nobodys_in_a_child(void **state)
{
	struct pp_heap *heap = heap_before_fork(PP_WRITER_POKE);

	(void)state;
	pthread_mutex_lock(&heap->patch);
	heap->first.patched = heap_chunk(heap, block.patched);
	assert_int_equal(pp_walk(heap, see_live, block.patched), 1);
	assert_int_equal(pp_free(heap, block.patched), -EBUSY);
	assert_int_equal(run_in(raw_fork, free_and_patch, heap), 0);
	heap->first.patched = INDEX_NONE;
	pthread_mutex_unlock(&heap->patch);
	free_and_patch(heap);
	pp_heap_free(heap);
}

static int see_huge(void *arg, const struct pp_run *run)
{
	(void)arg;
	return run->huge;
}

/* What fork() and a write have split is one page again after pp_heap_tidy(). */
static void tidy_up(struct pp_heap *heap)
{
	CHECK(!pp_free(heap, block.freed));
	CHECK(!pp_walk(heap, see_huge, NULL));
	CHECK(!pp_heap_tidy(heap));
	CHECK(pp_walk(heap, see_huge, NULL));
	CHECK(test_stats(heap).huge == 2 * MIB);
}

static void wait_and_tidy_up(struct pp_heap *heap)
{
	char byte;

	CHECK(read(gate[0], &byte, 1) == 1);
	tidy_up(heap);
}

static void tidy_makes_huge_again(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	int status;
	pid_t pid;

	block.freed = test_block(heap, 8192, 1);
	block.kept = test_block(heap, 2 * MIB - 8192, 3);
	if (pp_heap_tidy(heap) || test_stats(heap).huge != 2 * MIB) {
		print_message("skipped: the kernel gives no huge page now\n");
		pp_heap_free(heap);
		skip();
	}
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (!pid) {
		alarm(30);
		wait_and_tidy_up(heap);
		_exit(0);
	}
	if (WRITER(state) == PP_WRITER_POKE)
		tidy_up(heap);
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(gate[0]);
	close(gate[1]);
	assert_int_equal(test_stats(heap).huge, 2 * MIB);
	pp_heap_free(heap);
}

/* Nobody tells the parent of a raw fork that its writes split pages: tidy asks the kernel. */
static void tidy_makes_huge_again_after_a_raw_fork(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_POKE, 1);
	int status;
	pid_t pid;

	(void)state;
	block.freed = test_block(heap, 8192, 1);
	block.kept = test_block(heap, 2 * MIB - 8192, 3);
	if (pp_heap_tidy(heap) || test_stats(heap).huge != 2 * MIB) {
		print_message("skipped: the kernel gives no huge page now\n");
		pp_heap_free(heap);
		skip();
	}
	pid = raw_fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(pp_free(heap, block.freed), 0);
	assert_int_equal(test_stats(heap).huge, 0);
	assert_int_equal(pp_heap_tidy(heap), 0);
	assert_int_equal(test_stats(heap).huge, 2 * MIB);
	assert_int_equal(call(block.kept), 3);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	pp_heap_free(heap);
}

static unsigned int told;

/* Told why the child cannot write: asks the very heap, whose call it is in. */
static void ask_the_heap(void *ctx, const char *message)
{
	struct pp_heap *heap = *(struct pp_heap **)ctx;
	struct pp_stats stats = {.size = sizeof(stats)};

	CHECK(strlen(message) > 0);
	if (told++)
		return;
	CHECK(!pp_walk(heap, see_huge, NULL));
	CHECK(pp_stats(heap, &stats) <= 0); /* no descriptor for smaps */
	CHECK(pp_free(heap, block.freed) == -EPERM);
	CHECK(call(block.kept) == 3);
}

static void enter_without_descriptors(struct pp_heap *heap)
{
	const struct rlimit none = {0, 0};

	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	heap->mem.log = (struct log){ask_the_heap, &heap};
	told = 0;
	CHECK(pp_free(heap, block.freed) == -EPERM);
	CHECK(told >= 3); /* opening it, and for each free */
}

static void log_function_may_use_a_heap_that_is_entered(void **state)
{
	struct pp_heap *heap = heap_before_fork(PP_WRITER_POKE);

	(void)state;
	assert_int_equal(run_in(raw_fork, enter_without_descriptors, heap), 0);
	assert_int_equal(run_in(fork, enter_without_descriptors, heap), 0);
	pp_heap_free(heap);
}

/* An own heap works there in any case. */
static void use_own_heap(struct pp_heap *heap)
{
	struct pp_heap *own = test_heap(test_stats(heap).writer, 1);

	CHECK(own);
	CHECK(call(test_block(own, 64, 8)) == 8);
	pp_heap_free(own);
}

static void child_may_have_its_own(void **state)
{
	struct pp_heap *heap = heap_before_fork(WRITER(state));

	assert_int_equal(run_in(raw_fork, use_own_heap, heap), 0);
	assert_int_equal(run_in(fork, use_own_heap, heap), 0);
	pp_heap_free(heap);
}

static void fork_again(struct pp_heap *heap)
{
	CHECK(run_in(fork, live_on, heap) == 0);
	live_on(heap);
}

static void grandchildren_are_apart_too(void **state)
{
	struct pp_heap *heap = heap_before_fork(WRITER(state));

	assert_int_equal(run_in(fork, fork_again, heap), 0);
	live_on(heap);
	pp_heap_free(heap);
}

static struct {
	struct pp_heap *heap; /* NULL: not now */
	int status;
} beside;

/* All that waits for the lock of all heaps, which the parent has. */
static void use_all_heaps(struct pp_heap *heap)
{
	use_own_heap(heap);
	CHECK(run_in(fork, use_own_heap, heap) == 0);
	pp_heap_free(heap);
}

/* Installed before any heap, so that it runs after the heaps' handler: their locks are held. */
static void fork_raw_during_fork(void)
{
	struct pp_heap *heap = beside.heap;

	beside.heap = NULL;
	if (heap)
		beside.status = run_in(raw_fork, use_all_heaps, heap);
}

static void raw_fork_beside_a_fork(void **state)
{
	struct pp_heap *heap = heap_before_fork(WRITER(state));

	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers hold locks of their own over fork\n");
		pp_heap_free(heap);
		skip();
	}
	beside.heap = heap;
	beside.status = -1;
	assert_int_equal(run_in(fork, live_on, heap), 0);
	assert_int_equal(beside.status, 0);
	live_on(heap);
	pp_heap_free(heap);
}

/* Without a page that fork() wipes, the process's id tells. */
static void works_without_a_wiped_page(void **state)
{
	struct pp_heap *heap = heap_before_fork(WRITER(state));
	uint32_t *page = heap->fork.alive;

	heap->fork.alive = NULL;
	assert_int_equal(run_in(fork, live_on, heap), 0);
	if (WRITER(state) == PP_WRITER_POKE)
		assert_int_equal(run_in(raw_fork, live_on, heap), 0);
	else
		assert_int_equal(run_in(raw_fork, refuse_to_write, heap), 0);
	live_on(heap);
	heap->fork.alive = page;
	pp_heap_free(heap);
}

#define ENTERING 4

static pthread_barrier_t entrance;

static void *enter(void *arg)
{
	struct pp_heap *heap = arg;

	pthread_barrier_wait(&entrance);
	for (uint32_t i = 0; i < 20; i++) {
		void *rx = test_block(heap, 100, i);

		CHECK(call(rx) == i);
		CHECK(!pp_free(heap, rx));
	}
	return NULL;
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void enter_at_once(struct pp_heap *heap)
{
	int descriptors = count_descriptors();
	pthread_t thread[ENTERING];

	CHECK(!pthread_barrier_init(&entrance, NULL, ENTERING));
	for (size_t i = 0; i < ENTERING; i++)
		CHECK(!pthread_create(&thread[i], NULL, enter, heap));
	for (size_t i = 0; i < ENTERING; i++)
		CHECK(!pthread_join(thread[i], NULL));
	/* each shard may have a pack that grows */
	CHECK(count_descriptors() < descriptors + (int)shard_count(heap));
	CHECK(test_stats(heap).blocks == 1);
}

/* A thread was entering when this process was made: its work is begun again here. */
static void enter_after_one_was_lost(struct pp_heap *heap)
{
	if (heap->fork.alive)
		*heap->fork.alive = 0;
	heap->fork.pid = -getppid();
	enter_at_once(heap);
}

static void threads_of_a_child_enter_at_once(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	uint32_t *page = heap->fork.alive;

	assert_non_null(test_block(heap, 100, 5));
	for (int i = 0; i < 200; i++) {
		heap->fork.alive = i % 2 ? NULL : page;
		assert_int_equal(run_in(fork, enter_at_once, heap), 0);
	}
	if (WRITER(state) == PP_WRITER_POKE)
		assert_int_equal(run_in(fork, enter_after_one_was_lost, heap), 0);
	heap->fork.alive = page;
	pp_heap_free(heap);
}

/* Nobody goes on before the one that enters is done. */
static void others_wait_for_who_enters(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	uint32_t *page = heap->fork.alive;
	pthread_t thread;

	assert_non_null(test_block(heap, 100, 5));
	heap->fork.alive = NULL;
	heap->fork.pid = -getpid();
	assert_int_equal(pthread_barrier_init(&entrance, NULL, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, enter, heap), 0);
	usleep(20000);
	assert_int_equal(heap->first.counts.allocs, 1);
	__atomic_store_n(&heap->fork.pid, getpid(), __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	heap->fork.alive = page;
	pp_heap_free(heap);
}

static bool stop;

static void *keep_churning(void *arg)
{
	struct pp_heap *heap = arg;
	unsigned int wrong = 0;

	for (uint32_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		void *rx = test_block(heap, 64 + i % 50 * 100, i);

		wrong += call(rx) != i;
		wrong += pp_free(heap, rx) != 0;
	}
	return wrong ? heap : NULL;
}

/* The blocks of the other threads stay as they were; what was open or dying is nobody's. */
static void churn_alone(struct pp_heap *heap)
{
	for (uint32_t i = 0; i < 100; i++) {
		void *rx = test_block(heap, 64 + i % 50 * 100, i);

		CHECK(call(rx) == i);
		CHECK(!pp_free(heap, rx));
	}
	CHECK(call(block.kept) == 3);
	CHECK(!pp_free(heap, block.kept));
}

static void fork_from_threads(struct pp_heap *heap, pid_t (*fork_by)(void),
			      void (*body)(struct pp_heap *heap))
{
	pthread_t thread[3];
	void *failed;

	block.kept = test_block(heap, 100, 3);
	stop = false;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, keep_churning, heap), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(run_in(fork_by, body, heap), 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < 3; i++) {
		pthread_join(thread[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(test_stats(heap).blocks, 1);
}

static void threaded_process_forks(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);

	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers do not survive fork in a threaded process\n");
		pp_heap_free(heap);
		skip();
	}
	fork_from_threads(heap, fork, churn_alone);
	pp_heap_free(heap);
}

/* The allocator of libc may be locked in such a child; its code, and the heap's locks, are not. */
static void look_only(struct pp_heap *heap)
{
	const void *rx = block.kept;
	struct pp_block found;

	CHECK(call(rx) == 3);
	CHECK(!pp_lookup(heap, rx, &found));
	CHECK(!pp_free(heap, rx));
	CHECK(pp_free(heap, rx) == -ESTALE);
	CHECK(is_traps(rx, 64));
}

static void threaded_process_forks_raw(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_POKE, 2);

	(void)state;
	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers do not survive fork in a threaded process\n");
		pp_heap_free(heap);
		skip();
	}
	heap->mem.log.fn = NULL; /* the test's own log has a lock */
	fork_from_threads(heap, raw_fork, look_only);
	pp_heap_free(heap);
}

/* What a thread was changing when it was lost is worked out again. */
static void torn_index_is_rebuilt(void **state)
{
	struct pp_heap *heap = heap_before_fork(PP_WRITER_POKE);
	struct index_pack *pack = &heap->index.pack[0];

	struct pp_stats before, after;

	(void)state;
	assert_int_equal(pp_free(heap, block.freed), 0);
	before = test_stats(heap);
	heap->first.lock.held = 1;
	pack->free = 1;
	heap->first.index.empty = 7;
	heap->first.index.highest++;
	runs_set(&heap->first.index.runs, 0, (uint64_t[RUNS_PLANES]){~UINT64_C(0)});
	heap->first.counts.used = heap->first.counts.blocks = 77;
	heap->stats.packs = heap->stats.committed = 77;
	*heap->fork.alive = 0;
	after = test_stats(heap);
	assert_same_state(&before, &after);
	assert_ptr_equal(test_block(heap, 64, 2), block.freed);
	assert_int_equal(heap->first.index.empty, 0);
	pp_heap_free(heap);
}

/* Of a block that was freed only the first word of bits is cleared. */
static void torn_give_is_ended(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_POKE, 4);
	struct pp_stats before = test_stats(heap), after;
	void *rx = test_block(heap, 10000, 1), *next = test_block(heap, 64, 2);

	(void)state;
	assert_int_equal(pp_free(heap, next), 0);
	assert_int_equal(heap->mem.writer->fill(&heap->mem, rx, 10000 / 64 * 64 + 64), 0);
	bitmap_clear(heap->index.used, heap_chunk(heap, rx), 64);
	heap->first.lock.held = 1;
	*heap->fork.alive = 0;
	after = test_stats(heap);
	assert_int_equal(after.used, before.used);
	assert_int_equal(after.blocks, before.blocks);
	assert_int_equal(after.largest_free, before.largest_free);
	assert_ptr_equal(test_block(heap, 10000, 3), rx);
	pp_heap_free(heap);
}

static bool see_code_of(const struct mapping *m, void *arg)
{
	uintptr_t lo, hi;

	pp_heap_range(arg, &lo, &hi);
	CHECK(m->lo >= hi || m->hi <= lo);
	CHECK(!strstr(m->path, "memfd:progpack"));
	return true;
}

static void have_no_code(struct pp_heap *heap)
{
	struct pp_code code = {0};
	struct pp_block found;
	struct pp_stats stats = {.size = sizeof(stats)};

	test_log[0] = 0;
	CHECK(pp_alloc(heap, 64, &code) == -EPERM);
	CHECK(strstr(test_log, "PP_NOFORK"));
	CHECK(pp_finalize(heap, &block.open, 64) == -EPERM);
	CHECK(pp_abort(heap, &block.open) == -EPERM);
	CHECK(pp_free(heap, block.freed) == -EPERM);
	CHECK(pp_lookup(heap, block.freed, &found) == -ENOENT);
	CHECK(pp_stats(heap, &stats) == -EPERM);
	CHECK(pp_heap_tidy(heap) == -EPERM);
	if (!UNDER_SANITIZER) /* which map what they need anywhere */
		each_mapping(see_code_of, heap);
	pp_heap_free(heap);
}

static void nofork_leaves_children_without_code(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 4);
	struct pp_heap *heap = NULL;

	opts.flags = PP_NOFORK;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	block.freed = test_block(heap, 64, 1);
	block.patched = test_block(heap, 64, 0);
	block.kept = test_block(heap, 3 * MIB, 3);
	assert_int_equal(pp_alloc(heap, 64, &block.open), 0);
	emit_return(block.open.rw, 4);
	assert_int_equal(run_in(fork, have_no_code, heap), 0);
	assert_int_equal(run_in(raw_fork, have_no_code, heap), 0);
	live_on(heap);
	pp_heap_free(heap);
}

/* Sealed packs cannot be replaced by copies: poke needs none, alias is frozen. */
static void child_of_a_sealed_heap(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 4);
	struct pp_heap *heap = NULL;

	opts.flags = PP_SEAL;
	if (pp_heap_new(&opts, &heap) == -ENOSYS) {
		print_message("skipped: this kernel has no mseal (Linux 6.10)\n");
		skip();
	}
	block.freed = test_block(heap, 64, 1);
	block.patched = test_block(heap, 64, 0);
	block.kept = test_block(heap, 3 * MIB, 3);
	assert_int_equal(pp_alloc(heap, 64, &block.open), 0);
	emit_return(block.open.rw, 4);
	if (WRITER(state) == PP_WRITER_POKE)
		assert_int_equal(run_in(fork, live_on_and_end, heap), 0);
	else
		assert_int_equal(run_in(fork, refuse_to_write, heap), 0);
	live_on(heap);
	pp_heap_free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(child_changes_nothing_here),
		EACH_WRITER(parent_changes_nothing_there),
		cmocka_unit_test(raw_fork_of_poke_is_the_same),
		cmocka_unit_test(raw_fork_of_alias_cannot_write),
		cmocka_unit_test(block_being_patched_is_nobodys_in_a_child),
		EACH_WRITER(tidy_makes_huge_again),
		cmocka_unit_test(tidy_makes_huge_again_after_a_raw_fork),
		cmocka_unit_test(log_function_may_use_a_heap_that_is_entered),
		EACH_WRITER(child_may_have_its_own),
		EACH_WRITER(grandchildren_are_apart_too),
		EACH_WRITER(raw_fork_beside_a_fork),
		EACH_WRITER(works_without_a_wiped_page),
		EACH_WRITER(threads_of_a_child_enter_at_once),
		EACH_WRITER(others_wait_for_who_enters),
		EACH_WRITER(threaded_process_forks),
		cmocka_unit_test(threaded_process_forks_raw),
		cmocka_unit_test(torn_index_is_rebuilt),
		cmocka_unit_test(torn_give_is_ended),
		EACH_WRITER(nofork_leaves_children_without_code),
		EACH_WRITER(child_of_a_sealed_heap), /* last: sealed packs stay mapped */
	};

	if (pthread_atfork(fork_raw_during_fork, NULL, NULL))
		return 1;
	return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}

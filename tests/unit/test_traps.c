/* SPDX-License-Identifier: MIT */
/*
 * test_traps.c - what is not code traps: proven by running it, in children
 *
 * x86-64 stops with SIGTRAP at every offset (INT3); arm64 too, at every instruction (BRK);
 * RISC-V with SIGILL at every halfword.
 */
#include "heap_test.h"

#include <signal.h>
#include <sys/wait.h>

#if defined(__x86_64__)
#define ENTRY 1u
#define TRAP_SIGNAL SIGTRAP
#elif defined(__aarch64__)
#define ENTRY 4u
#define TRAP_SIGNAL SIGTRAP
#else
#define ENTRY 2u
#define TRAP_SIGNAL SIGILL
#endif

static void run_at(void *rx)
{
	call(rx);
}

static bool traps_at(uint8_t *rx)
{
	int status = run_child(run_at, rx);

	return WIFSIGNALED(status) && WTERMSIG(status) == TRAP_SIGNAL;
}

static void raise_signal(void *number)
{
	raise(*(int *)number);
	_exit(7);
}

/* What the tests of this directory rely on, or a child that faults would go on testing. */
static void faults_kill_children(void **state)
{
	int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGABRT};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		int status = run_child(raise_signal, &faults[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), faults[i]);
	}
}

static void live_code_runs(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);

	assert_int_equal(run_child(run_at, test_block(heap, 64, 1)), 0);
	pp_heap_free(heap);
}

static void freed_chunk_traps_at_each_offset(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	uint8_t *freed = test_block(heap, 64, 1);

	assert_int_equal(pp_free(heap, freed), 0);
	for (size_t i = 0; i < 64; i += ENTRY)
		assert_true(traps_at(freed + i));
	pp_heap_free(heap);
}

static void freed_large_block_traps(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	size_t size = 2 * MIB + 4096;
	uint8_t *freed = test_block(heap, size, 1);

	test_block(heap, MIB, 1); /* keeps the second pack */
	assert_int_equal(pp_free(heap, freed), 0);
	assert_true(traps_at(freed));
	assert_true(traps_at(freed + 2 * MIB - ENTRY));
	assert_true(traps_at(freed + 2 * MIB));
	assert_true(traps_at(freed + size - ENTRY));
	pp_heap_free(heap);
}

static bool faults_at(uint8_t *rx)
{
	int status = run_child(run_at, rx);

	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

/* The last bytes that a pack has at each size, and the first that it has not yet. */
static void grown_memory_traps_and_the_rest_faults(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 2);
	uint8_t *base = test_block(heap, 64, 1);
	struct pp_code code;

	for (size_t grown = 64 << 10; grown < 2 * MIB; grown *= 2) {
		assert_int_equal(test_stats(heap).committed, grown);
		assert_true(traps_at(base + 64));
		assert_true(traps_at(base + grown - ENTRY));
		assert_true(faults_at(base + grown));
		assert_int_equal(pp_alloc(heap, grown, &code), 0);
		assert_int_equal(pp_abort(heap, &code), 0);
	}
	assert_true(traps_at(base + 2 * MIB - ENTRY));
	assert_true(faults_at(base + 2 * MIB));
	pp_heap_free(heap);
}

/* The probe ran in the first chunk of the heap, and left nothing. */
static void probe_leaves_traps(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	uintptr_t lo, hi;

	pp_heap_range(heap, &lo, &hi);
	for (size_t i = 0; i < 64; i += ENTRY)
		assert_true(traps_at((uint8_t *)lo + i));
	pp_heap_free(heap);
}

/* Also where the emitter wrote more than it said it used. */
static void tail_padding_traps(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_code code;
	size_t used;

	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	memset(code.rw, 0x90, code.size);
	used = emit_return(code.rw, 3);
	assert_int_equal(pp_finalize(heap, &code, used), 0);
	assert_int_equal(call(code.rx), 3);
	for (size_t i = used; i < 64; i += ENTRY)
		assert_true(traps_at((uint8_t *)code.rx + i));
	pp_heap_free(heap);
}

static void open_block_traps(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 1);
	struct pp_code code;

	assert_int_equal(pp_alloc(heap, 64, &code), 0);
	emit_return(code.rw, 3);
	assert_true(traps_at(code.rx));
	assert_int_equal(pp_abort(heap, &code), 0);
	assert_true(traps_at(code.rx));
	pp_heap_free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_kill_children),
		EACH_WRITER(live_code_runs),
		EACH_WRITER(freed_chunk_traps_at_each_offset),
		EACH_WRITER(freed_large_block_traps),
		EACH_WRITER(grown_memory_traps_and_the_rest_faults),
		EACH_WRITER(probe_leaves_traps),
		EACH_WRITER(tail_padding_traps),
		EACH_WRITER(open_block_traps),
	};

	return cmocka_run_group_tests_name("traps", tests, NULL, NULL);
}

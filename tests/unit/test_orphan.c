/* SPDX-License-Identifier: MIT */
/*
 * test_orphan.c - a child of a fork that ran no handlers uses nothing of malloc's
 *
 * malloc() and its like are wrapped by the linker: where its locks may be held by nobody, a call is
 * the end of the child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"
#include "heap_test.h"

#include <signal.h>
#include <sys/wait.h>

static bool is_orphan;

static void must_not_be(const char *what)
{
	CHECK(!is_orphan || !what);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	must_not_be("malloc");
	return __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	must_not_be("calloc");
	return __real_calloc(count, size);
}

void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size)
{
	must_not_be("aligned_alloc");
	return __real_aligned_alloc(align, size);
}

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
	must_not_be("free");
	__real_free(p);
}

#define LARGE (96u << 10) /* no buffer of that size is kept */

static const struct pp_block_opts named = {.size = sizeof(named), .name = "a block"};

static void *make(struct pp_heap *heap, size_t size, uint32_t value)
{
	struct pp_code code;
	void *rx;

	CHECK(!pp_alloc_with(heap, size, &named, &code));
	rx = code.rx;
	emit_return(code.rw, value);
	CHECK(!pp_finalize(heap, &code, size));
	CHECK(call(rx) == value);
	return rx;
}

static struct {
	void *named;
	struct pp_code open;
} of_parent;

static struct pp_heap *heap_of_parent(void)
{
	struct pp_heap *heap = test_heap(PP_WRITER_POKE, 4);

	heap->mem.log.fn = NULL;
	of_parent.named = make(heap, 64, 3);
	assert_int_equal(pp_alloc_with(heap, LARGE, &named, &of_parent.open), 0);
	emit_return(of_parent.open.rw, 4);
	return heap;
}

static void use(struct pp_heap *heap)
{
	void *own[2] = {make(heap, 64, 5), make(heap, LARGE, 6)};

	CHECK(!pp_free(heap, own[0]));
	CHECK(!pp_free(heap, own[1]));
}

static void use_all(struct pp_heap *heap)
{
	struct pp_opts opts = test_opts(PP_WRITER_POKE, 2);
	struct pp_heap *other;
	void *rx = of_parent.open.rx;

	use(heap);
	CHECK(!pp_free(heap, of_parent.named));
	CHECK(!pp_finalize(heap, &of_parent.open, 64));
	CHECK(call(rx) == 4);
	CHECK(!pp_free(heap, rx));
	CHECK(!pp_heap_new(&opts, &other));
	use(other);
	pp_heap_free(other);
	pp_heap_free(heap);
}

static int run_in(pid_t (*fork_by)(void), void (*body)(struct pp_heap *heap), struct pp_heap *heap)
{
	int status;
	pid_t pid = fork_by();

	if (!pid) {
		alarm(30);
		is_orphan = is_orphan || fork_by == raw_fork;
		body(heap);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

static void orphan_needs_no_malloc(void **state)
{
	struct pp_heap *heap = heap_of_parent();

	(void)state;
	assert_int_equal(run_in(raw_fork, use_all, heap), 0);
	use(heap);
	pp_heap_free(heap);
}

static void fork_to_use_all(struct pp_heap *heap)
{
	use(heap);
	CHECK(run_in(raw_fork, use_all, heap) == 0);
	CHECK(run_in(fork, use_all, heap) == 0);
}

/* Whose handlers run, but where malloc() is as the orphan has it. */
static void nor_do_its_children(void **state)
{
	struct pp_heap *heap = heap_of_parent();

	(void)state;
	assert_int_equal(run_in(raw_fork, fork_to_use_all, heap), 0);
	assert_int_equal(run_in(fork, fork_to_use_all, heap), 0);
	pp_heap_free(heap);
}

static void make_a_heap_first(struct pp_heap *heap)
{
	struct pp_opts opts = test_opts(PP_WRITER_ALIAS, 2);
	struct pp_heap *other;

	CHECK(!pp_heap_new(&opts, &other));
	use(other);
	pp_heap_free(other);
	pp_heap_free(heap);
}

static void new_heap_first(void **state)
{
	struct pp_heap *heap = heap_of_parent();

	(void)state;
	assert_int_equal(run_in(raw_fork, make_a_heap_first, heap), 0);
	assert_int_equal(run_in(raw_fork, pp_heap_free, heap), 0);
	pp_heap_free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orphan_needs_no_malloc),
		cmocka_unit_test(nor_do_its_children),
		cmocka_unit_test(new_heap_first),
	};

	return cmocka_run_group_tests_name("orphan", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_object_failure.c - the nth allocation fails, for every n of opening and of loading
 *
 * Linked with --wrap: our own calls of malloc() and its kin come here, those of libraries do
 * not. What failed must leave nothing (sanitizers look), and loading must then work.
 */
#include "object_fixture.h"

#include <errno.h>
#include <signal.h>

static unsigned int until_failure; /* 0: none fails */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__real_reallocarray(void *at, size_t count, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_reallocarray(void *at, size_t count, size_t size);

static bool fails(void)
{
	return until_failure && !--until_failure;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size)
{
	return fails() ? NULL : __real_realloc(at, size);
}

void *__wrap_reallocarray(void *at, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(at, count, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(align, size);
}

/* More than any object here needs; the loops end when nothing fails any more. */
#define MAX_ALLOCATIONS 2000

static void opening(const char *name)
{
	const struct pp_bpf_opts opts = object_options();
	struct file file = object_file(name);
	unsigned int n;

	for (n = 1; n < MAX_ALLOCATIONS; n++) {
		struct pp_bpf_object *object;
		bool failed;
		int err;

		until_failure = n;
		err = pp_bpf_open_mem(file.bytes, file.size, &opts, &object);
		failed = !until_failure;
		until_failure = 0;
		assert_int_equal(err, failed ? -ENOMEM : 0);
		if (!err) {
			pp_bpf_close(object);
			break;
		}
	}
	assert_true(n > 10 && n < MAX_ALLOCATIONS);
	free(file.bytes);
}

static void loading(const char *name, struct pp_heap *heap)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct pp_stats stats = {.size = sizeof(stats)};
	struct sigaction before, after;
	unsigned int n;
	int err = -ENOMEM;

	opts.heap = heap;
	opts.flags = PP_BPF_KEEP_LINES | PP_BPF_PROBE;
	sigaction(SIGSEGV, NULL, &before);
	object = object_open(name, &opts);
	for (n = 1; n < MAX_ALLOCATIONS && err; n++) {
		bool failed;

		until_failure = n;
		err = pp_bpf_load(object);
		failed = !until_failure;
		until_failure = 0;
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_int_equal(pp_stats(heap, &stats), 0);
		sigaction(SIGSEGV, NULL, &after);
		assert_int_equal(after.sa_handler == before.sa_handler, err != 0);
		if (err)
			assert_int_equal(stats.blocks, 0);
	}
	assert_true(n > 5 && n < MAX_ALLOCATIONS);
	pp_bpf_close(object);
	sigaction(SIGSEGV, NULL, &after);
	assert_ptr_equal(after.sa_handler, before.sa_handler);
}

static void every_allocation_of_opening_may_fail(void **state)
{
	(void)state;
	opening("whole");
	opening("plain");
	opening("many");
	opening("maps");
}

static void every_allocation_of_loading_may_fail(void **state)
{
	struct pp_heap *heap;

	(void)state;
	assert_int_equal(pp_heap_new(NULL, &heap), 0);
	loading("whole", heap);
	loading("plain", heap);
	loading("many", heap);
	loading("maps", heap);
	pp_heap_free(heap);
}

/* Types with what each of them wants: key, value, entries, flags. */
static const struct pp_bpf_map_info kinds[] = {
	{1, 4, 8, 4, 0, 0},  {1, 4, 8, 4, 1, 0},     {2, 4, 8, 4, 0, 0},  {3, 4, 4, 4, 0, 0},
	{5, 4, 8, 4, 0, 0},  {6, 4, 8, 4, 0, 0},     {9, 4, 8, 4, 0, 0},  {10, 4, 8, 4, 0, 0},
	{11, 8, 8, 4, 1, 0}, {12, 4, 4, 4, 0, 0},    {13, 4, 4, 4, 0, 0}, {22, 0, 8, 4, 0, 0},
	{23, 0, 8, 4, 0, 0}, {27, 0, 0, 4096, 0, 0}, {30, 0, 8, 4, 0, 0},
};

static void make_map(const struct pp_bpf_map_info *info, const struct pp_bpf_map *array)
{
	bool of_maps = info->type == 12 || info->type == 13;
	struct pp_bpf_map *map;
	int err = -ENOMEM;
	unsigned int n;

	for (n = 1; n < MAX_ALLOCATIONS && err; n++) {
		until_failure = n;
		err = pp_bpf_map_new("map", info, of_maps ? array : NULL, &map);
		until_failure = 0;
		assert_true(!err || err == -ENOMEM);
	}
	assert_int_equal(err, 0);
	assert_true(n > 2);
	pp_bpf_map_free(map);
}

static void every_allocation_of_maps_may_fail(void **state)
{
	const struct pp_bpf_map_info info = {2, 4, 8, 4, 0, 0};
	struct pp_bpf_map *array;

	(void)state;
	assert_int_equal(pp_bpf_map_new("array", &info, NULL, &array), 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		make_map(&kinds[i], array);
	pp_bpf_map_free(array);
}

/* A map without preallocation takes memory as it grows: what was refused can be done later. */
static void every_allocation_of_elements_may_fail(void **state)
{
	const struct pp_bpf_map_info info = {1, 4, 40000, 4, 1, 0};
	static uint8_t value[40000];
	struct pp_bpf_map *map;

	(void)state;
	assert_int_equal(pp_bpf_map_new("map", &info, NULL, &map), 0);
	for (uint32_t key = 0; key < 4; key++) {
		until_failure = 1;
		if (pp_bpf_map_update(map, &key, value, 0) == -ENOMEM)
			assert_int_equal(until_failure, 0);
		until_failure = 0;
		assert_int_equal(pp_bpf_map_update(map, &key, value, 0), 0);
	}
	pp_bpf_map_free(map);
}

static void every_allocation_of_handles_may_fail(void **state)
{
	const struct pp_bpf_map_info info = {27, 0, 0, 4096, 0, 0};
	struct pp_bpf_map *map, *handle;
	struct pp_bpf_ring *ring;

	(void)state;
	assert_int_equal(pp_bpf_map_new("ring", &info, NULL, &map), 0);
	until_failure = 1;
	assert_int_equal(pp_bpf_map_share(map, &handle), -ENOMEM);
	until_failure = 1;
	assert_int_equal(pp_bpf_ring_new(map, NULL, NULL, &ring), -ENOMEM);
	until_failure = 0;
	assert_int_equal(pp_bpf_ring_new(map, NULL, NULL, &ring), 0);
	pp_bpf_ring_free(ring);
	pp_bpf_map_free(map);
}

static void ignore_line(void *ctx, const struct pp_bpf_line *line)
{
	(void)ctx;
	(void)line;
}

static void every_allocation_of_the_rest_may_fail(void **state)
{
	static const uint8_t code[] = {0xb7, 0, 0, 0, 5, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0};
	struct pp_bpf_object *object;
	unsigned int n;
	int err = -ENOMEM;

	(void)state;
	for (n = 1; n < MAX_ALLOCATIONS && err; n++) {
		until_failure = n;
		err = pp_bpf_open_raw(code, sizeof(code), NULL, &object);
		until_failure = 0;
		assert_true(!err || err == -ENOMEM);
	}
	err = -ENOMEM;
	for (n = 1; n < MAX_ALLOCATIONS && err; n++) {
		until_failure = n;
		err = pp_bpf_register(object, 1, "name", 0, (pp_bpf_helper_fn)(uintptr_t)code);
		until_failure = 0;
		assert_true(!err || err == -ENOMEM);
	}
	object_load(object);
	err = -ENOMEM;
	for (n = 1; n < MAX_ALLOCATIONS && err; n++) {
		until_failure = n;
		err = pp_bpf_prog_lines(pp_bpf_prog_next(object, NULL), ignore_line, NULL);
		until_failure = 0;
		assert_true(!err || err == -ENOMEM);
	}
	err = -ENOMEM;
	for (n = 1; n < MAX_ALLOCATIONS && err; n++) {
		until_failure = n;
		err = pp_bpf_lines(object, ignore_line, NULL);
		until_failure = 0;
		assert_true(!err || err == -ENOMEM);
	}
	pp_bpf_close(object);
}

/* An update that finds no memory changes nothing; the map takes it when there is some. */
static void updates_may_fail(void **state)
{
	struct pp_bpf_object *object = object_open("plain", NULL);
	uint64_t key = 1, value = 5;

	(void)state;
	object_load(object);
	until_failure = 1;
	assert_int_equal(pp_bpf_map_update(object_map(object, "words"), &key, &value, 0), -ENOMEM);
	until_failure = 0;
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "words"), &key, &value), -ENOENT);
	assert_int_equal(pp_bpf_map_update(object_map(object, "words"), &key, &value, 0), 0);
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "words"), &key, &value), 0);
	assert_int_equal(value, 5);
	pp_bpf_close(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_of_opening_may_fail),
		cmocka_unit_test(every_allocation_of_loading_may_fail),
		cmocka_unit_test(every_allocation_of_maps_may_fail),
		cmocka_unit_test(every_allocation_of_elements_may_fail),
		cmocka_unit_test(every_allocation_of_handles_may_fail),
		cmocka_unit_test(every_allocation_of_the_rest_may_fail),
		cmocka_unit_test(updates_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

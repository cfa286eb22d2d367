/* SPDX-License-Identifier: MIT */
/* test_map.c - array and hash maps against Linux's error values, and hash maps under threads */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/map.h"

static int create_error(uint32_t type, uint32_t key, uint32_t value, uint32_t entries,
			uint32_t flags)
{
	const struct pp_bpf_map_info info = {type, key, value, entries, flags, 0};
	struct pp_bpf_map *map = NULL;
	int err = pp_bpf_map_new("map", &info, NULL, &map);

	pp_bpf_map_free(map);
	return err;
}

static struct pp_bpf_map *create(uint32_t type, uint32_t key, uint32_t value, uint32_t entries)
{
	const struct pp_bpf_map_info info = {type, key, value, entries, 0, 0};
	struct pp_bpf_map *map;

	assert_int_equal(pp_bpf_map_new("map", &info, NULL, &map), 0);
	return map;
}

/* What a program's helpers call. */
static void *lookup(const struct pp_bpf_map *map, const void *key)
{
	return map->core->ops->lookup(map->core, key);
}

static void definitions_are_checked(void **state)
{
	(void)state;
	assert_int_equal(create_error(MAP_TYPE_ARRAY, 8, 8, 1, 0), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_ARRAY, 4, 0, 1, 0), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_ARRAY, 4, 8, 0, 0), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_ARRAY, 4, UINT32_MAX, UINT32_MAX, 0), -E2BIG);
	assert_int_equal(create_error(MAP_TYPE_ARRAY, 4, 8, 1, MAP_NO_PREALLOC), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_ARRAY, 4, 8, 1, MAP_MMAPABLE), 0);
	assert_int_equal(create_error(MAP_TYPE_HASH, 0, 8, 1, 0), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_HASH, 8, 0, 1, 0), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_HASH, 8, 8, 0, 0), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_HASH, UINT32_MAX, UINT32_MAX, 1, 0), -E2BIG);
	assert_int_equal(create_error(MAP_TYPE_HASH, 8, 8, 1, 1u << 31), -EINVAL);
	assert_int_equal(create_error(MAP_TYPE_HASH, 8, 8, 1, MAP_NO_PREALLOC), 0);
	for (uint32_t type = 0; type < 40; type++) {
		if (!map_has_type(type))
			assert_int_equal(create_error(type, 4, 8, 1, 0), -ENOTSUP);
	}
}

static void arrays_have_all_entries_always(void **state)
{
	struct pp_bpf_map *map = create(MAP_TYPE_ARRAY, 4, 12, 3);
	uint32_t index = 2, next, value[3] = {1, 2, 3}, seen[3];

	(void)state;
	assert_int_equal(pp_bpf_map_lookup(map, &index, seen), 0);
	assert_int_equal(seen[0] | seen[1] | seen[2], 0);
	assert_int_equal(pp_bpf_map_update(map, &index, value, MAP_ANY), 0);
	assert_int_equal(pp_bpf_map_update(map, &index, value, MAP_EXIST), 0);
	assert_int_equal(pp_bpf_map_update(map, &index, value, MAP_NOEXIST), -EEXIST);
	assert_int_equal(pp_bpf_map_update(map, &index, value, 3), -EINVAL);
	assert_int_equal(pp_bpf_map_lookup(map, &index, seen), 0);
	assert_memory_equal(seen, value, sizeof(value));
	assert_int_equal(pp_bpf_map_delete(map, &index), -EINVAL);
	index = 3;
	assert_int_equal(pp_bpf_map_update(map, &index, value, MAP_ANY), -E2BIG);
	assert_int_equal(pp_bpf_map_lookup(map, &index, seen), -ENOENT);
	assert_int_equal(pp_bpf_map_next_key(map, &index, &next), 0);
	assert_int_equal(next, 0);
	assert_int_equal(pp_bpf_map_next_key(map, NULL, &next), 0);
	assert_int_equal(next, 0);
	for (index = 0; index < 2; index++) {
		assert_int_equal(pp_bpf_map_next_key(map, &index, &next), 0);
		assert_int_equal(next, index + 1);
	}
	assert_int_equal(pp_bpf_map_next_key(map, &index, &next), -ENOENT);
	pp_bpf_map_free(map);
}

static void array_values_are_aligned_and_in_bounds(void **state)
{
	static const uint32_t sizes[] = {1, 7, 8, 9, 64, 65};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pp_bpf_map *map = create(MAP_TYPE_ARRAY, 4, sizes[i], 5);
		uint8_t *last = NULL;

		for (uint32_t index = 0; index < 5; index++) {
			uint8_t *value = lookup(map, &index);

			assert_int_equal((uintptr_t)value % (index ? 8 : 64), 0);
			assert_true(!last || value >= last + sizes[i]);
			memset(value, 0xff, sizes[i]); /* sanitizers watch */
			last = value;
		}
		pp_bpf_map_free(map);
	}
}

static void only_values_of_one_entry_have_addresses(void **state)
{
	struct pp_bpf_map *one = create(MAP_TYPE_ARRAY, 4, 16, 1);
	struct pp_bpf_map *two = create(MAP_TYPE_ARRAY, 4, 16, 2);
	struct pp_bpf_map *hash = create(MAP_TYPE_HASH, 4, 16, 1);
	uint32_t index = 0;

	(void)state;
	assert_ptr_equal(map_value_address(one->core, 0), lookup(one, &index));
	assert_ptr_equal(map_value_address(one->core, 16),
			 (char *)map_value_address(one->core, 0) + 16);
	assert_null(map_value_address(one->core, 17));
	assert_null(map_value_address(one->core, UINT64_MAX));
	assert_null(map_value_address(two->core, 0));
	assert_null(map_value_address(hash->core, 0));
	pp_bpf_map_free(one);
	pp_bpf_map_free(two);
	pp_bpf_map_free(hash);
}

static void hash_updates_follow_their_flags(void **state)
{
	struct pp_bpf_map *map = create(MAP_TYPE_HASH, 3, 5, 2);
	char seen[5];

	(void)state;
	assert_int_equal(pp_bpf_map_lookup(map, "one", seen), -ENOENT);
	assert_int_equal(pp_bpf_map_update(map, "one", "aaaa", MAP_EXIST), -ENOENT);
	assert_int_equal(pp_bpf_map_update(map, "one", "bbbb", MAP_NOEXIST), 0);
	assert_int_equal(pp_bpf_map_update(map, "one", "cccc", MAP_NOEXIST), -EEXIST);
	assert_int_equal(pp_bpf_map_update(map, "one", "dddd", MAP_EXIST), 0);
	assert_int_equal(pp_bpf_map_update(map, "one", "eeee", 3), -EINVAL);
	assert_int_equal(pp_bpf_map_lookup(map, "one", seen), 0);
	assert_string_equal(seen, "dddd");
	assert_int_equal(pp_bpf_map_update(map, "two", "ffff", MAP_ANY), 0);
	assert_int_equal(pp_bpf_map_update(map, "six", "gggg", MAP_ANY), -E2BIG);
	assert_int_equal(pp_bpf_map_update(map, "six", "gggg", MAP_EXIST), -ENOENT);
	/* What is there can be changed in a full map. */
	assert_int_equal(pp_bpf_map_update(map, "two", "hhhh", MAP_ANY), 0);
	assert_int_equal(pp_bpf_map_update(map, "two", "hhhh", MAP_NOEXIST), -EEXIST);
	assert_int_equal(pp_bpf_map_delete(map, "one"), 0);
	assert_int_equal(pp_bpf_map_delete(map, "one"), -ENOENT);
	assert_int_equal(pp_bpf_map_update(map, "six", "iiii", MAP_ANY), 0);
	assert_int_equal(pp_bpf_map_lookup(map, "six", seen), 0);
	assert_string_equal(seen, "iiii");
	pp_bpf_map_free(map);
}

static void hash_keys_are_all_walked(void **state)
{
	struct pp_bpf_map *map = create(MAP_TYPE_HASH, 8, 8, 1000);
	uint64_t key, sum = 0, count = 0;
	int err;

	(void)state;
	assert_int_equal(pp_bpf_map_next_key(map, NULL, &key), -ENOENT);
	for (key = 0; key < 1000; key++)
		assert_int_equal(pp_bpf_map_update(map, &key, &key, MAP_ANY), 0);
	assert_int_equal(pp_bpf_map_update(map, &key, &key, MAP_ANY), -E2BIG);
	for (err = pp_bpf_map_next_key(map, NULL, &key); !err && count < 2000; count++) {
		sum += key;
		err = pp_bpf_map_next_key(map, &key, &key);
	}
	assert_int_equal(err, -ENOENT);
	assert_int_equal(count, 1000);
	assert_int_equal(sum, 999 * 1000 / 2);
	key = 5000; /* not there: the walk starts again */
	assert_int_equal(pp_bpf_map_next_key(map, &key, &key), 0);
	pp_bpf_map_free(map);
}

static void hash_keys_of_every_size_are_told_apart(void **state)
{
	uint8_t key[40] = {0};

	(void)state;
	for (uint32_t size = 1; size <= sizeof(key); size++) {
		struct pp_bpf_map *map = create(MAP_TYPE_HASH, size, 4, 64);

		for (uint32_t i = 0; i < size; i++) {
			key[i] = 1;
			assert_int_equal(pp_bpf_map_update(map, key, &i, MAP_NOEXIST), 0);
			key[i] = 0;
		}
		for (uint32_t i = 0, value; i < size; i++) {
			key[i] = 1;
			assert_int_equal(pp_bpf_map_lookup(map, key, &value), 0);
			assert_int_equal(value, i);
			key[i] = 0;
		}
		pp_bpf_map_free(map);
	}
}

/* A value that a program looked up stays what it was until its section ends. */
static void replaced_values_stay_readable_in_a_section(void **state)
{
	struct pp_bpf_map *map = create(MAP_TYPE_HASH, 4, 8, 4);
	uint64_t value = 1, *held;
	uint32_t key = 3;

	(void)state;
	assert_int_equal(pp_bpf_map_update(map, &key, &value, MAP_ANY), 0);
	pp_bpf_enter();
	held = lookup(map, &key);
	value = 2;
	assert_int_equal(pp_bpf_map_update(map, &key, &value, MAP_ANY), 0);
	assert_int_equal(*held, 1);
	assert_int_equal(pp_bpf_map_delete(map, &key), 0);
	assert_int_equal(*held, 1);
	pp_bpf_leave();
	pp_bpf_map_free(map);
}

/* @flags: of the map; in a section: replacements of a value until it is another key's, or @most. */
static uint32_t replacements_until_reused(uint32_t flags, uint32_t most)
{
	const struct pp_bpf_map_info info = {MAP_TYPE_HASH, 4, 8, 4, flags, 0};
	struct pp_bpf_map *map;
	uint64_t value = 0, *held;
	uint32_t key = 3, i;

	assert_int_equal(pp_bpf_map_new("map", &info, NULL, &map), 0);
	assert_int_equal(pp_bpf_map_update(map, &key, &value, MAP_ANY), 0);
	pp_bpf_enter();
	held = lookup(map, &key);
	for (i = 0; i < most && !*held; i++) {
		value++;
		assert_int_equal(pp_bpf_map_update(map, &key, &value, MAP_ANY), 0);
	}
	pp_bpf_leave();
	pp_bpf_map_free(map);
	return i;
}

/* With preallocation soon, so that few items stay in the cache; without it not while it is held. */
static void places_are_reused_as_the_flag_says(void **state)
{
	uint32_t soon = replacements_until_reused(0, 1000);

	(void)state;
	assert_true(soon > 32 && soon < 100);
	assert_int_equal(replacements_until_reused(MAP_NO_PREALLOC, 1000), 1000);
}

static size_t heap_in_use(void)
{
	return mallinfo2().uordblks;
}

/* 64 MiB of values are retired in all; sections end every 64 updates. */
static void retired_values_are_freed_as_sections_end(void **state)
{
	const struct pp_bpf_map_info info = {MAP_TYPE_HASH, 4, 16384, 4, MAP_NO_PREALLOC, 0};
	struct pp_bpf_map *map;
	char *value = calloc(1, 16384);
	uint32_t key = 1;
	size_t before = heap_in_use();

	(void)state;
	assert_int_equal(pp_bpf_map_new("map", &info, NULL, &map), 0);
	assert_non_null(value);
	for (int i = 0; i < 64; i++) {
		pp_bpf_enter();
		for (int j = 0; j < 64; j++)
			assert_int_equal(map_update(map->core, &key, value, MAP_ANY), 0);
		pp_bpf_leave();
	}
	/* Zero under sanitizers, which have their own malloc: then they watch for leaks. */
	assert_true(heap_in_use() < before + (4u << 20));
	free(value);
	pp_bpf_map_free(map);
}

#define THREADS 4
#define ROUNDS 20000
#define KEYS 64

/* Values are pairs of equal numbers; one that is not was torn or freed. */
struct worker {
	struct pp_bpf_map *map;
	pthread_t thread;
	uint32_t number;
	unsigned int torn, failed;
};

static void one_round(struct worker *worker, uint32_t random)
{
	uint64_t value[2] = {random, random};
	uint32_t key = random % KEYS;
	const uint64_t *seen;
	int err = 0;

	pp_bpf_enter();
	seen = lookup(worker->map, &key);
	if (seen && seen[0] != seen[1])
		worker->torn++;
	if (random & 0x10000)
		err = map_update(worker->map->core, &key, value, (random >> 17) % 3);
	else if (random & 0x20000)
		err = map_erase(worker->map->core, &key);
	if (err && err != -EEXIST && err != -ENOENT && err != -E2BIG)
		worker->failed++;
	pp_bpf_leave();
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint32_t random = worker->number * 2654435761u + 1;

	for (int i = 0; i < ROUNDS; i++) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		one_round(worker, random);
	}
	return NULL;
}

static uint32_t count_keys(const struct pp_bpf_map *map)
{
	uint32_t key, count = 0;
	int err = pp_bpf_map_next_key(map, NULL, &key);

	for (; !err && count <= KEYS; count++)
		err = pp_bpf_map_next_key(map, &key, &key);
	return count;
}

/* With fewer places than keys, so that all outcomes happen. */
static void threads_may_do_everything_at_once(void **state)
{
	const struct pp_bpf_map_info info = {
		MAP_TYPE_HASH, 4, 16, KEYS / 2, MAP_NO_PREALLOC, 0,
	};
	struct worker workers[THREADS] = {0};
	struct pp_bpf_map *map;
	uint64_t value[2] = {0, 0};
	uint32_t free_places, key;

	(void)state;
	assert_int_equal(pp_bpf_map_new("map", &info, NULL, &map), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.map = map, .number = i};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].torn, 0);
		assert_int_equal(workers[i].failed, 0);
	}
	/* The count of places came through: exactly the rest can be filled. */
	free_places = KEYS / 2 - count_keys(map);
	assert_true(free_places <= KEYS / 2);
	for (key = KEYS; key < KEYS + free_places; key++)
		assert_int_equal(pp_bpf_map_update(map, &key, value, MAP_NOEXIST), 0);
	assert_int_equal(pp_bpf_map_update(map, &key, value, MAP_NOEXIST), -E2BIG);
	pp_bpf_map_free(map);
}

/* Every thread makes the only key and deletes it: a map of one place is never full for it. */
static void *fill_and_empty(void *arg)
{
	struct worker *worker = arg;
	uint64_t value[2] = {0, 0};
	uint32_t key = 1;

	for (int i = 0; i < ROUNDS * 5; i++) {
		int err = pp_bpf_map_update(worker->map, &key, value, MAP_ANY);

		worker->failed += err != 0;
		err = pp_bpf_map_delete(worker->map, &key);
		worker->failed += err && err != -ENOENT;
	}
	return NULL;
}

static void *overwrite(void *arg)
{
	struct worker *worker = arg;
	uint64_t value[2] = {0, 0};
	uint32_t key = 1;

	for (int i = 0; i < ROUNDS * 5; i++)
		worker->failed += pp_bpf_map_update(worker->map, &key, value, MAP_ANY) != 0;
	return NULL;
}

/* With nobody else who deletes, what a thread has made is there for it to delete. */
static void *remake(void *arg)
{
	struct worker *worker = arg;
	uint64_t value[2] = {0, 0};
	uint32_t key = 1;

	for (int i = 0; i < ROUNDS * 5; i++) {
		worker->failed += pp_bpf_map_update(worker->map, &key, value, MAP_ANY) != 0;
		worker->failed += pp_bpf_map_delete(worker->map, &key) != 0;
	}
	return NULL;
}

/* Threads on one map of one entry; the first does @first, the others @others. */
static void contend(void *(*first)(void *), void *(*others)(void *))
{
	struct pp_bpf_map *map = create(MAP_TYPE_HASH, 4, 16, 1);
	struct worker workers[THREADS] = {0};
	unsigned int failed = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.map = map, .number = i};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, i ? others : first,
						&workers[i]),
				 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		failed += workers[i].failed;
	}
	pp_bpf_map_free(map);
	assert_int_equal(failed, 0);
}

static void a_map_with_room_is_never_full(void **state)
{
	(void)state;
	contend(fill_and_empty, fill_and_empty);
}

static void a_key_that_is_being_replaced_can_be_deleted(void **state)
{
	(void)state;
	contend(remake, overwrite);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(definitions_are_checked),
		cmocka_unit_test(arrays_have_all_entries_always),
		cmocka_unit_test(array_values_are_aligned_and_in_bounds),
		cmocka_unit_test(only_values_of_one_entry_have_addresses),
		cmocka_unit_test(hash_updates_follow_their_flags),
		cmocka_unit_test(hash_keys_are_all_walked),
		cmocka_unit_test(hash_keys_of_every_size_are_told_apart),
		cmocka_unit_test(replaced_values_stay_readable_in_a_section),
		cmocka_unit_test(places_are_reused_as_the_flag_says),
		cmocka_unit_test(retired_values_are_freed_as_sections_end),
		cmocka_unit_test(threads_may_do_everything_at_once),
		cmocka_unit_test(a_map_with_room_is_never_full),
		cmocka_unit_test(a_key_that_is_being_replaced_can_be_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

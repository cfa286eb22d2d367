/* SPDX-License-Identifier: MIT */
/* test_map_churn.c - hash maps and tries that change under those who look up, all in one chain */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/map_hash.h"

#define ENTRIES 64u
#define CROWD 6u /* keys of one bucket; the first one is always there */
#define ROUNDS 100000

/*
 * struct churn - what threads work on
 * @keys: of one bucket, and one more that is not there, @absent
 * @failed: changes that must work and did not
 */
struct churn {
	struct pp_bpf_map *map;
	uint32_t keys[CROWD], absent;
	unsigned int failed;
	bool stop;
};

/* Keys that share a bucket: hashes without a seed can be searched for them. */
static void find_crowd(struct churn *churn)
{
	const struct map *map = churn->map->core;
	uint32_t bucket = table_hash(map, &(uint32_t){0}) & map->hash->mask, found = 0;

	for (uint32_t key = 0; found <= CROWD; key++) {
		if ((table_hash(map, &key) & map->hash->mask) != bucket)
			continue;
		*(found < CROWD ? &churn->keys[found] : &churn->absent) = key;
		found++;
	}
}

static void begin(struct churn *churn, uint32_t type)
{
	const struct pp_bpf_map_info info = {type, 4, 16, ENTRIES, MAP_ZERO_SEED, 0};

	*churn = (struct churn){.stop = false};
	assert_int_equal(pp_bpf_map_new("churn", &info, NULL, &churn->map), 0);
	find_crowd(churn);
}

/* Values are pairs of the key. */
static int put(const struct churn *churn, uint32_t i)
{
	const uint64_t value[2] = {churn->keys[i], churn->keys[i]};

	return map_update(churn->map->core, &churn->keys[i], value, MAP_ANY);
}

/*
 * All that moves items about, in sections that are long enough for items to be reused in the
 * sections of others: replacing in the middle of the chain, at its ends, deleting and adding.
 */
static void *shuffle(void *arg)
{
	struct churn *churn = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t other = 1 + i % (CROWD - 1);

		(void)put(churn, 0);
		if (i % 3)
			(void)put(churn, other);
		else
			(void)map_erase(churn->map->core, &churn->keys[other]);
	}
	__atomic_store_n(&churn->stop, true, __ATOMIC_RELEASE);
	return NULL;
}

static uint64_t count_misses(const struct churn *churn)
{
	const struct map *map = churn->map->core;
	uint64_t missed = 0;

	while (!__atomic_load_n(&churn->stop, __ATOMIC_ACQUIRE)) {
		pp_bpf_enter();
		for (int i = 0; i < 1000; i++) {
			missed += !map->ops->lookup(map, &churn->keys[0]);
			missed += map->ops->lookup(map, &churn->absent) != NULL;
		}
		pp_bpf_leave();
	}
	return missed;
}

static void never_missed(uint32_t type)
{
	struct churn churn;
	pthread_t thread;
	uint64_t missed;

	begin(&churn, type);
	assert_int_equal(put(&churn, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, shuffle, &churn), 0);
	missed = count_misses(&churn);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(missed, 0);
	pp_bpf_map_free(churn.map);
}

static void a_key_that_is_there_is_never_missed(void **state)
{
	(void)state;
	never_missed(MAP_TYPE_HASH);
}

static void not_by_lru_maps_either(void **state)
{
	(void)state;
	never_missed(MAP_TYPE_LRU_HASH);
}

/* The host copies values: what it gets is what the key had at one moment. */
static void values_are_copied_whole(void **state)
{
	struct churn churn;
	pthread_t thread;
	uint64_t value[2], torn = 0;

	(void)state;
	begin(&churn, MAP_TYPE_HASH);
	assert_int_equal(put(&churn, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, shuffle, &churn), 0);
	for (uint32_t i = 0; !__atomic_load_n(&churn.stop, __ATOMIC_ACQUIRE); i++) {
		uint32_t *key = &churn.keys[i % CROWD];

		if (!pp_bpf_map_lookup(churn.map, key, value))
			torn += value[0] != *key || value[1] != *key;
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(torn, 0);
	pp_bpf_map_free(churn.map);
}

/* ---- tries ---- */

struct prefix {
	uint32_t bits;
	uint8_t data[4];
};

static int put_prefix(struct map *map, uint32_t bits, uint8_t last)
{
	const struct prefix prefix = {bits, {10, 0, 0, last}};
	const uint64_t value = bits;

	return map_update(map, &prefix, &value, MAP_ANY);
}

/* Longer prefixes come and go around 10.0.0.0/24, which stays. */
static void *split_and_join(void *arg)
{
	struct churn *churn = arg;

	for (int i = 0; i < ROUNDS / 10; i++) {
		const struct prefix prefix = {32, {10, 0, 0, (uint8_t)i}};
		const struct prefix half = {25, {10, 0, 0, 0}};
		const uint64_t value = 32;

		churn->failed += pp_bpf_map_update(churn->map, &prefix, &value, MAP_ANY) != 0;
		churn->failed += pp_bpf_map_update(churn->map, &half, &value, MAP_ANY) != 0;
		churn->failed += pp_bpf_map_delete(churn->map, &prefix) != 0;
		churn->failed += pp_bpf_map_delete(churn->map, &half) != 0;
	}
	__atomic_store_n(&churn->stop, true, __ATOMIC_RELEASE);
	return NULL;
}

static void a_prefix_that_is_there_is_never_missed(void **state)
{
	const struct pp_bpf_map_info info = {MAP_TYPE_LPM_TRIE, 8, 8, 64, MAP_NO_PREALLOC, 0};
	const struct prefix address = {32, {10, 0, 0, 77}};
	struct churn churn = {.stop = false};
	uint64_t missed = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pp_bpf_map_new("trie", &info, NULL, &churn.map), 0);
	assert_int_equal(put_prefix(churn.map->core, 24, 0), 0);
	assert_int_equal(put_prefix(churn.map->core, 8, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, split_and_join, &churn), 0);
	while (!__atomic_load_n(&churn.stop, __ATOMIC_ACQUIRE)) {
		const uint64_t *value;

		pp_bpf_enter();
		value = churn.map->core->ops->lookup(churn.map->core, &address);
		missed += !value || *value < 24;
		pp_bpf_leave();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(churn.failed, 0);
	assert_int_equal(missed, 0);
	pp_bpf_map_free(churn.map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_that_is_there_is_never_missed),
		cmocka_unit_test(not_by_lru_maps_either),
		cmocka_unit_test(values_are_copied_whole),
		cmocka_unit_test(a_prefix_that_is_there_is_never_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* map_hash.c - hash and per-CPU hash maps; LRU hash maps but for the choice of what to evict */
#include "bpf/map_hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bpf/map_cpu.h"
#include "bpf/map_words.h"

#define FLAGS ((uint32_t)(MAP_NO_PREALLOC | MAP_NUMA_NODE | MAP_ZERO_SEED | MAP_ACCESS))
#define LRU_FLAGS ((uint32_t)(MAP_NO_COMMON_LRU | MAP_NUMA_NODE | MAP_ZERO_SEED | MAP_ACCESS))
#define CACHE_LINE 64u

/* ---- maps ---- */

static size_t item_size(const struct map *map)
{
	const struct map_hash *hash = map->hash;
	size_t value =
		hash->cpu_stride ? hash->cpu_stride * map->cpus : words_round(map->info.value_size);

	if (hash->of_maps)
		value = sizeof(struct map *);
	return sizeof(struct item) + hash->value_at + value;
}

static uint64_t new_seed(const struct map *map)
{
	uint64_t seed;

	if (map->info.flags & MAP_ZERO_SEED)
		return 0;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		return (uintptr_t)map; /* no entropy yet: addresses are random, too */
	return seed;
}

static uint32_t buckets_for(uint32_t entries)
{
	uint32_t buckets = 1;

	while (buckets < entries)
		buckets *= 2;
	return buckets;
}

/* Buckets are zeroed by the kernel when they are touched; one word says that none was yet. */
static int make_table(struct map *map, struct map_hash *hash)
{
	const struct pp_bpf_map_info *info = &map->info;
	uint32_t buckets = buckets_for(info->max_entries);
	int err;

	hash->mask = buckets - 1;
	hash->seed = new_seed(map);
	hash->value_at = words_round(info->key_size);
	hash->buckets = calloc(buckets, sizeof(*hash->buckets));
	if (!hash->buckets)
		return -ENOMEM;
	map->hash = hash;
	err = pool_new(item_size(map), info->max_entries, !(info->flags & MAP_NO_PREALLOC),
		       &hash->pool);
	if (err)
		free(hash->buckets);
	return err;
}

static int create(struct map *map, const struct map_hash *kind, uint32_t flags)
{
	const struct pp_bpf_map_info *info = &map->info;
	struct map_hash *hash;
	int err;

	if (info->flags & ~flags || !info->key_size || !info->value_size || !info->max_entries)
		return -EINVAL;
	if ((uint64_t)info->key_size + info->value_size >= MAP_MAX_ELEMENT - sizeof(struct item) ||
	    info->max_entries > 1u << 31)
		return -E2BIG;
	hash = malloc(sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	*hash = *kind;
	err = make_table(map, hash);
	if (err)
		free(hash);
	return err;
}

static int hash_create(struct map *map)
{
	return create(map, &(const struct map_hash){.lru = false}, FLAGS);
}

/* What is for NUMA nodes has no sense where each CPU has its own: the kernel says so, too. */
static int create_percpu(struct map *map, bool lru, uint32_t flags)
{
	size_t stride = (words_round(map->info.value_size) + CACHE_LINE - 1) / CACHE_LINE;
	const struct map_hash kind = {.lru = lru, .cpu_stride = stride * CACHE_LINE};

	if (words_round(map->info.value_size) > MAP_MAX_PERCPU)
		return -E2BIG;
	return create(map, &kind, flags & ~(uint32_t)MAP_NUMA_NODE);
}

static int percpu_create(struct map *map)
{
	return create_percpu(map, false, FLAGS);
}

/* Eviction needs to find items by number, so all are in one block. */
static int lru_create(struct map *map)
{
	if (map->info.flags & MAP_NO_PREALLOC)
		return -ENOTSUP;
	return create(map, &(const struct map_hash){.lru = true}, LRU_FLAGS);
}

static int percpu_lru_create(struct map *map)
{
	if (map->info.flags & MAP_NO_PREALLOC)
		return -ENOTSUP;
	return create_percpu(map, true, LRU_FLAGS);
}

/* Of its values, the host sees ids. */
int hash_of_maps_create(struct map *map)
{
	if (map->info.value_size != sizeof(uint32_t))
		return -EINVAL;
	return create(map, &(const struct map_hash){.of_maps = true}, FLAGS);
}

static void hash_destroy(struct map *map)
{
	pool_free(map->hash->pool);
	free(map->hash->buckets);
	free(map->hash);
}

static int replace(struct map *map, const void *key, const struct input *input, uint64_t flags)
{
	struct item *old;
	int err = table_replace(map, key, input, flags, &old);

	if (!err && old)
		pool_give(map->hash->pool, &old->pool);
	return err;
}

static int hash_update(struct map *map, const void *key, const void *value, uint64_t flags)
{
	const struct input input = {value, map->info.value_size, 0};

	return replace(map, key, &input, flags);
}

/* What each CPU has is its own: it is changed where it is. */
static int put_percpu(struct map *map, const void *key, const struct input *input, uint64_t flags)
{
	int err;

	if (flags > MAP_EXIST)
		return -EINVAL;
	do {
		err = flags == MAP_NOEXIST ? -ENOENT : table_overwrite(map, key, input);
		if (err && flags != MAP_EXIST)
			err = replace(map, key, input, MAP_NOEXIST);
	} while (err == -EEXIST && flags == MAP_ANY);
	return err;
}

static int percpu_update(struct map *map, const void *key, const void *value, uint64_t flags)
{
	const struct input input = {value, map->info.value_size, cpu_own(map->cpus)};

	return put_percpu(map, key, &input, flags);
}

static int percpu_write(struct map *map, const void *key, const void *value, uint64_t flags)
{
	const struct input input = {value, map->info.value_size, INPUT_ALL};

	return put_percpu(map, key, &input, flags);
}

static int hash_erase(struct map *map, const void *key)
{
	struct item *item = table_take(map, key);

	if (!item)
		return -ENOENT;
	pool_give(map->hash->pool, &item->pool);
	return 0;
}

/* ---- reading ---- */

static void *hash_lookup(const struct map *map, const void *key)
{
	uint64_t word;
	struct item *item = table_find(map, key, &word);

	return item ? item_value(map, item) : NULL;
}

static void *percpu_lookup_cpu(const struct map *map, const void *key, uint32_t cpu)
{
	uint64_t word;
	struct item *item = table_find(map, key, &word);

	return item && cpu < map->cpus ? item_value_of(map, item, cpu) : NULL;
}

static void *percpu_lookup(const struct map *map, const void *key)
{
	return percpu_lookup_cpu(map, key, cpu_own(map->cpus));
}

static void mark_used(struct item *item)
{
	if (!__atomic_load_n(&item->used, __ATOMIC_RELAXED))
		__atomic_store_n(&item->used, true, __ATOMIC_RELAXED);
}

static void *lru_lookup(const struct map *map, const void *key)
{
	uint64_t word;
	struct item *item = table_find(map, key, &word);

	if (!item)
		return NULL;
	mark_used(item);
	return item_value(map, item);
}

static void *percpu_lru_lookup(const struct map *map, const void *key)
{
	uint64_t word;
	struct item *item = table_find(map, key, &word);

	if (!item)
		return NULL;
	mark_used(item);
	return item_value_of(map, item, cpu_own(map->cpus));
}

void table_copy_value(const struct map *map, struct item *item, void *value)
{
	size_t size = words_round(map->info.value_size);

	if (!map->hash->cpu_stride) {
		words_get(value, item_value(map, item), map->info.value_size);
		return;
	}
	for (uint32_t cpu = 0; cpu < map->cpus; cpu++)
		words_get((uint8_t *)value + cpu * size, item_value_of(map, item, cpu), size);
}

/* The value that the key had at one moment. */
static int hash_read(const struct map *map, const void *key, void *value)
{
	struct item *item;
	uint64_t word;

	do {
		item = table_find(map, key, &word);
		if (!item)
			return -ENOENT;
		table_copy_value(map, item, value);
	} while (item_see(item) != word);
	return 0;
}

static int hash_take(struct map *map, const void *key, void *value)
{
	struct item *item = table_take(map, key);

	if (!item)
		return -ENOENT;
	table_copy_value(map, item, value);
	pool_give(map->hash->pool, &item->pool);
	return 0;
}

/* ---- types ---- */

const struct map_ops map_hash_ops = {
	.create = hash_create,
	.destroy = hash_destroy,
	.lookup = hash_lookup,
	.update = hash_update,
	.erase = hash_erase,
	.next_key = table_next_key,
	.read = hash_read,
	.take = hash_take,
	.each = table_each,
	.batch = table_batch,
	.none = -EINVAL,
};

const struct map_ops map_percpu_hash_ops = {
	.create = percpu_create,
	.destroy = hash_destroy,
	.lookup = percpu_lookup,
	.lookup_cpu = percpu_lookup_cpu,
	.update = percpu_update,
	.erase = hash_erase,
	.next_key = table_next_key,
	.read = hash_read,
	.write = percpu_write,
	.take = hash_take,
	.each = table_each,
	.batch = table_batch,
	.none = -EINVAL,
};

const struct map_ops map_lru_ops = {
	.create = lru_create,
	.destroy = hash_destroy,
	.lookup = lru_lookup,
	.update = hash_update,
	.erase = hash_erase,
	.next_key = table_next_key,
	.read = hash_read,
	.take = hash_take,
	.each = table_each,
	.batch = table_batch,
	.none = -EINVAL,
};

const struct map_ops map_percpu_lru_ops = {
	.create = percpu_lru_create,
	.destroy = hash_destroy,
	.lookup = percpu_lru_lookup,
	.lookup_cpu = percpu_lookup_cpu,
	.update = percpu_update,
	.erase = hash_erase,
	.next_key = table_next_key,
	.read = hash_read,
	.write = percpu_write,
	.take = hash_take,
	.each = table_each,
	.batch = table_batch,
	.none = -EINVAL,
};

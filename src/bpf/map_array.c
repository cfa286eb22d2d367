/* SPDX-License-Identifier: MIT */
/*
 * map_array.c - arrays, and per-CPU arrays: values side by side, keys are 32-bit indices
 *
 *	array		[0][1][2]...
 *	per-CPU array	[0][1][2]... of CPU 0, then those of CPU 1 on a cache line of their own
 *
 * Every entry exists from the start, zero. Concurrent updates of one value may mix, as in the
 * kernel, but never within eight bytes: programs that care use atomics. A thread may be moved
 * to another CPU, or another thread run, while it works on its CPU's value: the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/map.h"
#include "bpf/map_cpu.h"
#include "bpf/map_words.h"

#define FLAGS ((uint32_t)(MAP_NUMA_NODE | MAP_ACCESS | MAP_MMAPABLE | MAP_INNER_MAP))
#define PERCPU_FLAGS ((uint32_t)MAP_ACCESS)
#define MIN_ALIGN 64u
/* What the kernel bounds an array by, too. */
#define MAX_STORAGE ((uint64_t)UINT32_MAX)

static int check(const struct map *map, uint32_t flags)
{
	const struct pp_bpf_map_info *info = &map->info;

	if (info->flags & ~flags)
		return -EINVAL;
	if (info->key_size != sizeof(uint32_t) || !info->value_size || !info->max_entries)
		return -EINVAL;
	return words_round(info->value_size) > MAX_STORAGE / info->max_entries ? -E2BIG : 0;
}

/* calloc() leaves large arrays to be zeroed by the kernel when they are touched. */
static int allocate(struct map *map, uint64_t size)
{
	size_t align = map->align > MIN_ALIGN ? map->align : MIN_ALIGN;
	uint8_t *memory = calloc(1, size + align);

	if (!memory)
		return -ENOMEM;
	map->array.memory = memory;
	map->array.values = memory + (align - (uintptr_t)memory % align);
	map->array.stride = words_round(map->info.value_size);
	return 0;
}

static int array_create(struct map *map)
{
	int err = check(map, FLAGS);

	if (err)
		return err;
	return allocate(map, (uint64_t)words_round(map->info.value_size) * map->info.max_entries);
}

static int percpu_create(struct map *map)
{
	uint64_t size = (uint64_t)words_round(map->info.value_size) * map->info.max_entries;
	int err = check(map, PERCPU_FLAGS);

	if (err)
		return err;
	if (words_round(map->info.value_size) > MAP_MAX_PERCPU)
		return -E2BIG;
	map->array.cpu_stride = (size + MIN_ALIGN - 1) / MIN_ALIGN * MIN_ALIGN;
	return allocate(map, map->array.cpu_stride * map->cpus);
}

static void array_destroy(struct map *map)
{
	free(map->array.memory);
}

static uint32_t index_of(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

static void *array_lookup(const struct map *map, const void *key)
{
	uint32_t index = index_of(key);

	if (index >= map->info.max_entries)
		return NULL;
	return map->array.values + index * map->array.stride;
}

static void *percpu_lookup_cpu(const struct map *map, const void *key, uint32_t cpu)
{
	uint8_t *value = array_lookup(map, key);

	return value && cpu < map->cpus ? value + cpu * map->array.cpu_stride : NULL;
}

static void *percpu_lookup(const struct map *map, const void *key)
{
	return percpu_lookup_cpu(map, key, cpu_own(map->cpus));
}

static int check_update(const void *at, uint64_t flags)
{
	if (flags > MAP_EXIST)
		return -EINVAL;
	if (!at)
		return -E2BIG;
	return flags == MAP_NOEXIST ? -EEXIST : 0;
}

static int array_update(struct map *map, const void *key, const void *value, uint64_t flags)
{
	void *at = map->ops->lookup(map, key);
	int err = check_update(at, flags);

	if (!err)
		words_put(at, value, map->info.value_size);
	return err;
}

static int percpu_read(const struct map *map, const void *key, void *value)
{
	const uint8_t *from = array_lookup(map, key);

	if (!from)
		return -ENOENT;
	for (uint32_t cpu = 0; cpu < map->cpus; cpu++)
		words_get((uint8_t *)value + cpu * map->array.stride,
			  from + cpu * map->array.cpu_stride, map->array.stride);
	return 0;
}

static int percpu_write(struct map *map, const void *key, const void *value, uint64_t flags)
{
	uint8_t *at = array_lookup(map, key);
	int err = check_update(at, flags);

	for (uint32_t cpu = 0; cpu < map->cpus && !err; cpu++)
		words_put(at + cpu * map->array.cpu_stride,
			  (const uint8_t *)value + cpu * map->array.stride, map->info.value_size);
	return err;
}

static int array_next_key(const struct map *map, const void *key, void *next)
{
	uint32_t index = key ? index_of(key) : UINT32_MAX;

	if (index == map->info.max_entries - 1)
		return -ENOENT;
	index = index < map->info.max_entries ? index + 1 : 0;
	memcpy(next, &index, sizeof(index));
	return 0;
}

static int array_each(const struct map *map, map_visit_fn visit, void *ctx)
{
	for (uint32_t i = 0; i < map->info.max_entries; i++) {
		uint32_t key = i; /* the program may write to it */

		if (!visit(ctx, &key, map->ops->lookup(map, &i)))
			break;
	}
	return 0;
}

/* Behind the last element all is well and said: the caller learns it with them. */
static int array_batch(struct map *map, struct pp_bpf_batch *batch, uint32_t *at, bool erase)
{
	size_t size = map_value_bytes(map);
	uint32_t room = batch->count;

	if (erase)
		return -ENOTSUP;
	batch->count = 0;
	for (; *at < map->info.max_entries && batch->count < room; ++*at, batch->count++) {
		memcpy((uint8_t *)batch->keys + batch->count * sizeof(*at), at, sizeof(*at));
		if (map_read(map, at, (uint8_t *)batch->values + batch->count * size))
			return -ENOENT;
	}
	return *at < map->info.max_entries ? 0 : -ENOENT;
}

static int array_erase(struct map *map, const void *key)
{
	(void)map;
	(void)key;
	return -EINVAL;
}

const struct map_ops map_array_ops = {
	.create = array_create,
	.destroy = array_destroy,
	.lookup = array_lookup,
	.update = array_update,
	.erase = array_erase,
	.next_key = array_next_key,
	.each = array_each,
	.batch = array_batch,
	.none = -ENOTSUP,
};

const struct map_ops map_percpu_array_ops = {
	.create = percpu_create,
	.destroy = array_destroy,
	.lookup = percpu_lookup,
	.lookup_cpu = percpu_lookup_cpu,
	.update = array_update,
	.erase = array_erase,
	.next_key = array_next_key,
	.read = percpu_read,
	.write = percpu_write,
	.each = array_each,
	.batch = array_batch,
	.none = -ENOTSUP,
};

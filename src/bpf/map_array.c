/* SPDX-License-Identifier: MIT */
/*
 * map_array.c - BPF_MAP_TYPE_ARRAY: values side by side, keys are 32-bit indices
 *
 * Every entry exists from the start, zero. Concurrent updates of one value may mix, as in
 * the kernel: programs that care use atomics.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/map.h"

#define FLAGS ((uint32_t)(MAP_NUMA_NODE | MAP_RDONLY_PROG | MAP_MMAPABLE))
#define MIN_ALIGN 64u
/* What the kernel bounds an array by, too. */
#define MAX_STORAGE ((uint64_t)UINT32_MAX)

static int array_create(struct pp_bpf_map *map)
{
	struct map_array *array = &map->array;
	const struct pp_bpf_map_info *info = &map->info;
	uint64_t stride = ((uint64_t)info->value_size + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN;
	size_t align = map->align > MIN_ALIGN ? map->align : MIN_ALIGN;

	if (info->flags & ~FLAGS)
		return -EINVAL;
	if (info->key_size != sizeof(uint32_t) || !info->value_size || !info->max_entries)
		return -EINVAL;
	if (stride > MAX_STORAGE / info->max_entries)
		return -E2BIG;
	/* calloc() leaves large arrays to be zeroed by the kernel when they are touched. */
	array->memory = calloc(1, stride * info->max_entries + align);
	if (!array->memory)
		return -ENOMEM;
	array->values = (uint8_t *)array->memory + (align - (uintptr_t)array->memory % align);
	array->stride = stride;
	return 0;
}

static void array_destroy(struct pp_bpf_map *map)
{
	free(map->array.memory);
	map->array = (struct map_array){0};
}

static uint32_t index_of(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

static void *array_lookup(const struct pp_bpf_map *map, const void *key)
{
	uint32_t index = index_of(key);

	if (index >= map->info.max_entries)
		return NULL;
	return map->array.values + index * map->array.stride;
}

static int array_update(struct pp_bpf_map *map, const void *key, const void *value, uint64_t flags)
{
	void *at = array_lookup(map, key);

	if (flags > MAP_EXIST)
		return -EINVAL;
	if (!at)
		return -E2BIG;
	if (flags == MAP_NOEXIST)
		return -EEXIST;
	memcpy(at, value, map->info.value_size);
	return 0;
}

static int array_erase(struct pp_bpf_map *map, const void *key)
{
	(void)map;
	(void)key;
	return -EINVAL;
}

static int array_next_key(const struct pp_bpf_map *map, const void *key, void *next)
{
	uint32_t index = key ? index_of(key) : UINT32_MAX;

	if (index == map->info.max_entries - 1)
		return -ENOENT;
	index = index < map->info.max_entries ? index + 1 : 0;
	memcpy(next, &index, sizeof(index));
	return 0;
}

const struct map_ops map_array_ops = {
	.create = array_create,
	.destroy = array_destroy,
	.lookup = array_lookup,
	.update = array_update,
	.erase = array_erase,
	.next_key = array_next_key,
};

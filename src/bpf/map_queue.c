/* SPDX-License-Identifier: MIT */
/*
 * map_queue.c - queues and stacks: values without keys, in a ring of max_entries places
 *
 *	queue	out at @first, in at @first + @count
 *	stack	out at @first + @count - 1, in above it
 *
 * A push into a full map may replace the oldest value (BPF_EXIST): in both, that is the first.
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/map.h"
#include "bpf/map_lock.h"
#include "bpf/map_words.h"

#define FLAGS ((uint32_t)(MAP_NUMA_NODE | MAP_ACCESS))

/* struct map_queue - @first, @count: of the places that hold values; under @lock */
struct map_queue {
	struct map_lock lock;
	uint32_t first, count;
	size_t stride;
	uint8_t values[] __attribute__((aligned(MAP_ALIGN)));
};

static int queue_create(struct map *map)
{
	const struct pp_bpf_map_info *info = &map->info;
	size_t stride = words_round(info->value_size);
	struct map_queue *queue;

	if (info->key_size || !info->value_size || !info->max_entries || info->flags & ~FLAGS)
		return -EINVAL;
	if (info->value_size > MAP_MAX_ELEMENT)
		return -E2BIG;
	queue = calloc(1, sizeof(*queue) + stride * info->max_entries);
	if (!queue)
		return -ENOMEM;
	queue->stride = stride;
	map->queue = queue;
	return 0;
}

static void queue_destroy(struct map *map)
{
	free(map->queue);
}

/* The place @i behind the first one. */
static uint8_t *place(const struct map *map, uint32_t i)
{
	uint64_t at = ((uint64_t)map->queue->first + i) % map->info.max_entries;

	return map->queue->values + at * map->queue->stride;
}

static int push_locked(const struct map *map, const void *value, uint64_t flags)
{
	struct map_queue *queue = map->queue;

	if (queue->count == map->info.max_entries) {
		if (flags != MAP_EXIST)
			return -E2BIG;
		queue->first = (uint32_t)(((uint64_t)queue->first + 1) % map->info.max_entries);
		queue->count--;
	}
	words_put(place(map, queue->count), value, map->info.value_size);
	queue->count++;
	return 0;
}

static int queue_push(struct map *map, const void *value, uint64_t flags)
{
	int err;

	if (flags != MAP_ANY && flags != MAP_EXIST)
		return -EINVAL;
	map_lock_take(&map->queue->lock);
	err = push_locked(map, value, flags);
	map_lock_give(&map->queue->lock);
	return err;
}

/* Number @i of the values, if there is any. */
static int read_locked(const struct map *map, uint32_t i, void *value)
{
	if (!map->queue->count)
		return -ENOENT;
	words_get(value, place(map, i), map->info.value_size);
	return 0;
}

static int queue_peek(struct map *map, void *value)
{
	int err;

	map_lock_take(&map->queue->lock);
	err = read_locked(map, 0, value);
	map_lock_give(&map->queue->lock);
	return err;
}

static int queue_pop(struct map *map, void *value)
{
	struct map_queue *queue = map->queue;
	int err;

	map_lock_take(&queue->lock);
	err = read_locked(map, 0, value);
	if (!err) {
		queue->first = (uint32_t)(((uint64_t)queue->first + 1) % map->info.max_entries);
		queue->count--;
	}
	map_lock_give(&queue->lock);
	return err;
}

static int stack_peek(struct map *map, void *value)
{
	int err;

	map_lock_take(&map->queue->lock);
	err = read_locked(map, map->queue->count - 1, value);
	map_lock_give(&map->queue->lock);
	return err;
}

static int stack_pop(struct map *map, void *value)
{
	int err;

	map_lock_take(&map->queue->lock);
	err = read_locked(map, map->queue->count - 1, value);
	if (!err)
		map->queue->count--;
	map_lock_give(&map->queue->lock);
	return err;
}

const struct map_ops map_queue_ops = {
	.create = queue_create,
	.destroy = queue_destroy,
	.lookup = map_none,
	.push = queue_push,
	.pop = queue_pop,
	.peek = queue_peek,
	.none = -EINVAL,
};

const struct map_ops map_stack_ops = {
	.create = queue_create,
	.destroy = queue_destroy,
	.lookup = map_none,
	.push = queue_push,
	.pop = stack_pop,
	.peek = stack_peek,
	.none = -EINVAL,
};

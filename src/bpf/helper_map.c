/* SPDX-License-Identifier: MIT */
/* helper_map.c - the helpers that work on maps of any type, and refuse types that have no such
 * thing */
#include "bpf/helper_map.h"

#include <errno.h>
#include <string.h>

#include "bpf/callback.h"
#include "bpf/map.h"

/* Arguments that are pointers in the program, and pointers here: the same address space. */
static void *pointer(uint64_t reg)
{
	return (void *)(uintptr_t)reg;
}

static uint64_t result(int err)
{
	return (uint64_t)(int64_t)err;
}

static bool may_write(const struct map *map)
{
	return !(map->info.flags & MAP_RDONLY_PROG);
}

uint64_t map_lookup_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const struct map *map = pointer(r1);

	(void)r3, (void)r4, (void)r5;
	return (uintptr_t)map->ops->lookup(map, pointer(r2));
}

uint64_t map_update_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct map *map = pointer(r1);

	(void)r5;
	return result(may_write(map) ? map_update(map, pointer(r2), pointer(r3), r4) : -EPERM);
}

uint64_t map_delete_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct map *map = pointer(r1);

	(void)r3, (void)r4, (void)r5;
	return result(may_write(map) ? map_erase(map, pointer(r2)) : -EPERM);
}

uint64_t map_push_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct map *map = pointer(r1);

	(void)r4, (void)r5;
	return result(may_write(map) ? map_push(map, pointer(r2), r3) : -EPERM);
}

/* Queues and stacks: a program that finds them empty finds zeros, the host what it had there. */
static int zero_if_empty(const struct map *map, void *value, int err)
{
	if (err == -ENOENT && map->ops->pop)
		memset(value, 0, map->info.value_size);
	return err;
}

uint64_t map_pop_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct map *map = pointer(r1);

	(void)r3, (void)r4, (void)r5;
	if (!may_write(map))
		return result(-EPERM);
	return result(zero_if_empty(map, pointer(r2), map_pop(map, pointer(r2))));
}

uint64_t map_peek_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct map *map = pointer(r1);

	(void)r3, (void)r4, (void)r5;
	return result(zero_if_empty(map, pointer(r2), map_peek(map, pointer(r2))));
}

uint64_t map_lookup_percpu_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const struct map *map = pointer(r1);

	(void)r4, (void)r5;
	if (!map->ops->lookup_cpu)
		return 0;
	return (uintptr_t)map->ops->lookup_cpu(map, pointer(r2), (uint32_t)r3);
}

/* A walk of bpf_for_each_map_elem(): visited elements are counted, the last one too. */
struct walk {
	uint64_t map, callback, ctx;
	size_t key_size;
	int64_t visited;
};

static bool call_back(void *ctx, const void *key, void *value)
{
	struct walk *walk = ctx;
	const uint64_t args[4] = {walk->map, (uintptr_t)key, (uintptr_t)value, walk->ctx};

	walk->visited++;
	return !callback_run(walk->callback, args, walk->key_size);
}

uint64_t for_each_map_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const struct map *map = pointer(r1);
	struct walk walk = {.map = r1, .callback = r2, .ctx = r3, .key_size = map->info.key_size};
	int err;

	(void)r5;
	if (r4 || !map->ops->each)
		return result(-EINVAL);
	if (!callback_has_room())
		return result(-ELOOP);
	err = map->ops->each(map, call_back, &walk);
	return err ? result(err) : (uint64_t)walk.visited;
}

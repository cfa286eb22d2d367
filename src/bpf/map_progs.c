/* SPDX-License-Identifier: MIT */
/*
 * map_progs.c - arrays of programs, for tail calls
 *
 * A slot does not keep its program's object open: closing that empties the slot. So arrays of
 * programs are on a list, under a lock that the host alone takes. A child of fork() may find it
 * held, and the list as map_pool.c says of its own.
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/map_lock.h"
#include "bpf/map_slots.h"
#include "bpf/object.h"

#define FLAGS ((uint32_t)(MAP_NUMA_NODE | MAP_RDONLY | MAP_WRONLY))

/* Held while slots change, too: what is put in is not being closed. */
static struct map_lock lock;
static struct map *all;

/* ---- slots ---- */

int slots_create(struct map *map)
{
	const struct pp_bpf_map_info *info = &map->info;

	if (info->key_size != sizeof(uint32_t) || info->value_size != sizeof(uint32_t) ||
	    !info->max_entries)
		return -EINVAL;
	map->slots = calloc(1, sizeof(*map->slots) + (size_t)info->max_entries * sizeof(void *));
	return map->slots ? 0 : -ENOMEM;
}

int slots_next_key(const struct map *map, const void *key, void *next)
{
	return map_array_ops.next_key(map, key, next);
}

/* ---- programs ---- */

static int progs_create(struct map *map)
{
	int err = map->info.flags & ~FLAGS ? -EINVAL : slots_create(map);

	if (err)
		return err;
	map_lock_take(&lock);
	map->slots->next = all;
	map->slots->link = &all;
	__atomic_store_n(&all, map, __ATOMIC_RELEASE);
	if (map->slots->next)
		__atomic_store_n(&map->slots->next->slots->link, &map->slots->next,
				 __ATOMIC_RELEASE);
	map_lock_give(&lock);
	return 0;
}

static void progs_destroy(struct map *map)
{
	map_lock_take(&lock);
	if (map->slots->next)
		__atomic_store_n(&map->slots->next->slots->link, map->slots->link,
				 __ATOMIC_RELEASE);
	__atomic_store_n(map->slots->link, map->slots->next, __ATOMIC_RELEASE);
	map_lock_give(&lock);
	free(map->slots);
}

static int set_locked(struct map *map, const void *key, const struct pp_bpf_prog *prog,
		      uint64_t flags)
{
	void **slot;

	if (map->ops != &map_progs_ops || flags != MAP_ANY || !prog->object->loaded)
		return -EINVAL;
	slot = slots_at(map, key);
	if (!slot)
		return -E2BIG;
	__atomic_store_n(slot, (void *)(uintptr_t)prog, __ATOMIC_RELEASE);
	return 0;
}

int map_set_prog(struct map *map, const void *key, const struct pp_bpf_prog *prog, uint64_t flags)
{
	int err;

	map_lock_take(&lock);
	err = set_locked(map, key, prog, flags);
	map_lock_give(&lock);
	return err;
}

int pp_bpf_map_set_prog(struct pp_bpf_map *map, const void *key, const struct pp_bpf_prog *prog,
			uint64_t flags)
{
	int err = map_host_enter(map, MAP_WRITE);

	return err ? err : map_host_leave(map_set_prog(map->core, key, prog, flags));
}

static int get_prog(const struct map *map, const void *key, const struct pp_bpf_prog **prog)
{
	void **slot;
	const void *found;

	if (map->ops != &map_progs_ops)
		return -EINVAL;
	slot = slots_at(map, key);
	found = slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : NULL;
	if (!found)
		return -ENOENT;
	*prog = found;
	return 0;
}

int pp_bpf_map_get_prog(const struct pp_bpf_map *map, const void *key,
			const struct pp_bpf_prog **prog)
{
	int err = map_host_enter(map, MAP_READ);

	return err ? err : map_host_leave(get_prog(map->core, key, prog));
}

static int progs_erase(struct map *map, const void *key)
{
	void **slot = slots_at(map, key);

	if (!slot)
		return -E2BIG;
	return __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL) ? 0 : -ENOENT;
}

static void forget_in(struct map *map, const struct pp_bpf_object *object)
{
	for (uint32_t i = 0; i < map->info.max_entries; i++) {
		const struct pp_bpf_prog *prog = map_prog_at(map, i);

		if (prog && prog->object == object)
			__atomic_store_n(&map->slots->at[i], NULL, __ATOMIC_RELEASE);
	}
}

void map_forget_progs(const struct pp_bpf_object *object)
{
	map_lock_take(&lock);
	for (struct map *map = all; map; map = map->slots->next)
		forget_in(map, object);
	map_lock_give(&lock);
}

const struct map_ops map_progs_ops = {
	.create = progs_create,
	.destroy = progs_destroy,
	.lookup = map_none,
	.erase = progs_erase,
	.next_key = slots_next_key,
	.none = -EINVAL,
};

/* SPDX-License-Identifier: MIT */
/*
 * map_maps.c - arrays of maps, hashes of maps: a program's lookup gives a map, which it looks up in
 *
 * A place holds a reference of the map in it. Who takes a map out drops that after a grace period,
 * so that programs that have found it may go on. Only the host changes what is in them, one change
 * at a time.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "bpf/map_hash.h"
#include "bpf/map_slots.h"

#define ARRAY_FLAGS ((uint32_t)(MAP_NUMA_NODE | MAP_ACCESS))

/* Is @inner what this map of maps was made for? */
static bool is_alike(const struct map *outer, const struct map *inner)
{
	const struct pp_bpf_map_info *want = &outer->inner->info, *have = &inner->info;

	if (want->type != have->type || want->key_size != have->key_size ||
	    want->value_size != have->value_size || want->flags != have->flags ||
	    want->extra != have->extra)
		return false;
	/* Where programs may know the bounds, they count, too. */
	return want->type != MAP_TYPE_ARRAY || want->flags & MAP_INNER_MAP ||
	       want->max_entries == have->max_entries;
}

/* ---- arrays ---- */

static int array_create(struct map *map)
{
	return map->info.flags & ~ARRAY_FLAGS ? -EINVAL : slots_create(map);
}

static void array_destroy(struct map *map)
{
	for (uint32_t i = 0; i < map->info.max_entries; i++)
		map_put_idle((struct map *)map->slots->at[i]);
	free(map->slots);
}

static void *array_lookup(const struct map *map, const void *key)
{
	void **slot = slots_at(map, key);

	return slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : NULL;
}

static int array_set(struct map *outer, const void *key, struct map *inner, uint64_t flags)
{
	void **slot = slots_at(outer, key);

	if (flags != MAP_ANY)
		return -EINVAL;
	if (!slot)
		return -E2BIG;
	if (!is_alike(outer, inner))
		return -EINVAL;
	map_put(__atomic_exchange_n(slot, map_hold(inner), __ATOMIC_ACQ_REL));
	return 0;
}

static int array_erase(struct map *map, const void *key)
{
	void **slot = slots_at(map, key);
	struct map *old;

	if (!slot)
		return -E2BIG;
	old = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
	map_put(old);
	return old ? 0 : -ENOENT;
}

/* ---- hashes ---- */

static void *hash_lookup(const struct map *map, const void *key)
{
	struct item *item;
	uint64_t word;
	void *inner;

	do {
		item = table_find(map, key, &word);
		if (!item)
			return NULL;
		inner = __atomic_load_n((void **)item_value(map, item), __ATOMIC_ACQUIRE);
	} while (item_see(item) != word);
	return inner;
}

/* The reference that an item held which left the table, and its place. */
static void drop_item(struct map *map, struct item *item)
{
	struct map *inner = *(struct map **)item_value(map, item);

	pool_give(map->hash->pool, &item->pool);
	map_put(inner);
}

static int hash_set(struct map *outer, const void *key, struct map *inner, uint64_t flags)
{
	const struct input input = {&inner, sizeof(inner), 0};
	struct item *old;
	int err;

	if (!is_alike(outer, inner))
		return -EINVAL;
	map_hold(inner);
	err = table_replace(outer, key, &input, flags, &old);
	if (err)
		map_put(inner);
	else if (old)
		drop_item(outer, old);
	return err;
}

static int hash_erase(struct map *map, const void *key)
{
	struct item *item = table_take(map, key);

	if (!item)
		return -ENOENT;
	drop_item(map, item);
	return 0;
}

static void hash_destroy(struct map *map)
{
	for (uint64_t i = 0; i <= map->hash->mask; i++) {
		uint64_t link = map->hash->buckets[i].head;

		for (; is_item(link); link = item_of(link)->next)
			map_put_idle(*(struct map **)item_value(map, item_of(link)));
	}
	map_hash_ops.destroy(map);
}

/* ---- both ---- */

/* The host sees ids. */
static int read_id(const struct map *map, const void *key, void *value)
{
	const struct map *inner = map->ops->lookup(map, key);

	if (!inner)
		return -ENOENT;
	memcpy(value, &inner->id, sizeof(inner->id));
	return 0;
}

static bool is_of_maps(const struct map *map)
{
	return map->ops == &map_array_of_maps_ops || map->ops == &map_hash_of_maps_ops;
}

int map_set_map(struct map *outer, const void *key, struct map *inner, uint64_t flags)
{
	if (!is_of_maps(outer))
		return -EINVAL;
	return outer->ops == &map_hash_of_maps_ops ? hash_set(outer, key, inner, flags)
						   : array_set(outer, key, inner, flags);
}

int pp_bpf_map_set_map(struct pp_bpf_map *outer, const void *key, const struct pp_bpf_map *inner,
		       uint64_t flags)
{
	int err;

	if (!inner->core)
		return -EBADF;
	err = map_host_enter(outer, MAP_WRITE);
	return err ? err : map_host_leave(map_set_map(outer->core, key, inner->core, flags));
}

/* In a section: what was found stays until it is held. */
static int get_map(const struct map *outer, const void *key, struct pp_bpf_map **inner)
{
	struct map *found;
	int err;

	if (!is_of_maps(outer))
		return -EINVAL;
	found = outer->ops->lookup(outer, key);
	if (!found || !map_hold_live(found))
		return -ENOENT;
	err = map_new_handle("", found, inner);
	if (err)
		map_put(found);
	return err;
}

int pp_bpf_map_get_map(const struct pp_bpf_map *outer, const void *key, struct pp_bpf_map **inner)
{
	int err = map_host_enter(outer, MAP_READ);

	return err ? err : map_host_leave(get_map(outer->core, key, inner));
}

const struct map_ops map_array_of_maps_ops = {
	.create = array_create,
	.destroy = array_destroy,
	.lookup = array_lookup,
	.erase = array_erase,
	.next_key = slots_next_key,
	.read = read_id,
	.none = -EINVAL,
};

const struct map_ops map_hash_of_maps_ops = {
	.create = hash_of_maps_create,
	.destroy = hash_destroy,
	.lookup = hash_lookup,
	.erase = hash_erase,
	.next_key = table_next_key,
	.read = read_id,
	.none = -EINVAL,
};

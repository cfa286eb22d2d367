/* SPDX-License-Identifier: MIT */
/* map.c - what is common to all types of map, and the host's side of the public functions */
#include "bpf/map.h"

#include <errno.h>
#include <string.h>

#include "bpf/rcu.h"

static const struct map_ops *const types[] = {
	[MAP_TYPE_HASH] = &map_hash_ops,
	[MAP_TYPE_ARRAY] = &map_array_ops,
};

static const struct map_ops *ops_of(uint32_t type)
{
	return type < sizeof(types) / sizeof(types[0]) ? types[type] : NULL;
}

int map_create(struct pp_bpf_map *map, const struct log *log)
{
	const struct pp_bpf_map_info *info = &map->info;
	const struct map_ops *ops = ops_of(info->type);
	int err;

	if (!ops)
		return log_error(log, -ENOTSUP, "map '%s': type %u is not supported", map->name,
				 info->type);
	err = ops->create(map);
	if (err)
		return log_error(log, err == -ENOMEM ? err : -ENOEXEC,
				 "map '%s': cannot create type %u, key %u, value %u, entries %u, "
				 "flags 0x%x: %s",
				 map->name, info->type, info->key_size, info->value_size,
				 info->max_entries, info->flags, strerror(-err));
	map->ops = ops;
	return 0;
}

void map_destroy(struct pp_bpf_map *map)
{
	if (map->ops)
		map->ops->destroy(map);
	map->ops = NULL;
}

void *map_value_address(const struct pp_bpf_map *map, uint64_t offset)
{
	if (map->ops != &map_array_ops || map->info.max_entries != 1)
		return NULL;
	return offset <= map->info.value_size ? map->array.values + offset : NULL;
}

const char *pp_bpf_map_name(const struct pp_bpf_map *map)
{
	return map->name;
}

void pp_bpf_map_info(const struct pp_bpf_map *map, struct pp_bpf_map_info *info)
{
	*info = map->info;
}

int pp_bpf_map_lookup(const struct pp_bpf_map *map, const void *key, void *value)
{
	const void *found;

	if (!map->ops)
		return -EINVAL;
	rcu_enter();
	found = map->ops->lookup(map, key);
	if (found)
		memcpy(value, found, map->info.value_size);
	rcu_leave();
	return found ? 0 : -ENOENT;
}

int pp_bpf_map_update(struct pp_bpf_map *map, const void *key, const void *value, uint64_t flags)
{
	int err;

	if (!map->ops)
		return -EINVAL;
	rcu_enter();
	err = map->ops->update(map, key, value, flags);
	rcu_leave();
	map_reclaim();
	return err;
}

int pp_bpf_map_delete(struct pp_bpf_map *map, const void *key)
{
	int err;

	if (!map->ops)
		return -EINVAL;
	rcu_enter();
	err = map->ops->erase(map, key);
	rcu_leave();
	map_reclaim();
	return err;
}

int pp_bpf_map_next_key(const struct pp_bpf_map *map, const void *key, void *next)
{
	int err;

	if (!map->ops)
		return -EINVAL;
	rcu_enter();
	err = map->ops->next_key(map, key, next);
	rcu_leave();
	return err;
}

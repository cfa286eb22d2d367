/* SPDX-License-Identifier: MIT */
/* map_host.c - the host's side: handles, and the operations of bpf() on them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/map.h"
#include "bpf/map_cpu.h"
#include "bpf/map_words.h"
#include "bpf/rcu.h"

/* ---- handles ---- */

const char *pp_bpf_map_name(const struct pp_bpf_map *map)
{
	return map->name;
}

void pp_bpf_map_info(const struct pp_bpf_map *map, struct pp_bpf_map_info *info)
{
	*info = map->info;
}

/* Its name lies behind it. */
int map_new_handle(const char *name, struct map *core, struct pp_bpf_map **out)
{
	size_t size = strlen(name) + 1;
	struct pp_bpf_map *handle = calloc(1, sizeof(*handle) + size);

	if (!handle)
		return -ENOMEM;
	*handle = (struct pp_bpf_map){
		.core = core,
		.name = memcpy(handle + 1, name, size),
		.info = core->info,
	};
	*out = handle;
	return 0;
}

int pp_bpf_map_new(const char *name, const struct pp_bpf_map_info *info,
		   const struct pp_bpf_map *inner, struct pp_bpf_map **map)
{
	struct map *core;
	int err;

	if (inner && !inner->core)
		return -EBADF;
	err = map_new(info, inner ? inner->core : NULL, 0, &core);
	if (err)
		return err;
	err = map_new_handle(name, core, map);
	if (err)
		map_put_idle(core);
	return err;
}

int pp_bpf_map_share(const struct pp_bpf_map *map, struct pp_bpf_map **handle)
{
	int err;

	if (!map->core)
		return -EINVAL;
	err = map_new_handle(map->name, map->core, handle);
	if (!err)
		map_hold(map->core);
	return err;
}

void pp_bpf_map_free(struct pp_bpf_map *map)
{
	if (!map || map->object)
		return;
	map_put(map->core);
	free(map);
}

void map_handle_fini(struct pp_bpf_map *handle)
{
	if (handle->reused)
		map_put(handle->core); /* others may have had programs find it */
	else
		map_put_idle(handle->core);
	handle->core = NULL;
	handle->reused = false;
}

uint32_t pp_bpf_map_id(const struct pp_bpf_map *map)
{
	return map->core ? map->core->id : 0;
}

size_t pp_bpf_map_value_bytes(const struct pp_bpf_map *map)
{
	return map->core ? map_value_bytes(map->core) : 0;
}

uint32_t pp_bpf_map_cpus(void)
{
	return cpu_count();
}

int pp_bpf_map_freeze(struct pp_bpf_map *map)
{
	if (!map->core)
		return -EINVAL;
	if (map->core->info.flags & MAP_RDONLY)
		return -EPERM;
	return __atomic_exchange_n(&map->core->frozen, true, __ATOMIC_ACQ_REL) ? -EPERM : 0;
}

/* ---- elements ---- */

size_t map_value_bytes(const struct map *map)
{
	if (!map->ops->lookup_cpu)
		return map->info.value_size;
	return words_round(map->info.value_size) * map->cpus;
}

int map_read(const struct map *map, const void *key, void *value)
{
	const void *found;

	if (map->ops->read)
		return map->ops->read(map, key, value);
	found = map->ops->lookup(map, key);
	if (!found)
		return -ENOENT;
	words_get(value, found, map->info.value_size);
	return 0;
}

int map_host_enter(const struct pp_bpf_map *map, unsigned int rights)
{
	if (!map->core)
		return -EINVAL;
	if ((rights & MAP_READ) && (map->core->info.flags & MAP_WRONLY))
		return -EPERM;
	if ((rights & MAP_WRITE) && ((map->core->info.flags & MAP_RDONLY) ||
				     __atomic_load_n(&map->core->frozen, __ATOMIC_ACQUIRE)))
		return -EPERM;
	if (!map_begin())
		return -EBUSY;
	rcu_enter();
	return 0;
}

int map_host_leave(int err)
{
	rcu_leave();
	map_end();
	map_reclaim();
	return err;
}

/* Types with keys want one; those without have their own notion of an element. */
static bool fits_key(const struct pp_bpf_map *map, const void *key)
{
	return map->core && !key == !map->core->info.key_size;
}

static int peek_or_read(struct map *map, const void *key, void *value)
{
	if (key)
		return map_read(map, key, value);
	return map->ops->peek ? map->ops->peek(map, value) : map->ops->none;
}

int pp_bpf_map_lookup(const struct pp_bpf_map *map, const void *key, void *value)
{
	int err;

	if (!fits_key(map, key))
		return -EINVAL;
	err = map_host_enter(map, MAP_READ);
	return err ? err : map_host_leave(peek_or_read(map->core, key, value));
}

static int push_or_write(struct map *map, const void *key, const void *value, uint64_t flags)
{
	const struct map_ops *ops = map->ops;

	if (!key)
		return ops->push ? ops->push(map, value, flags) : ops->none;
	if (ops->write)
		return ops->write(map, key, value, flags);
	return ops->update ? ops->update(map, key, value, flags) : ops->none;
}

int pp_bpf_map_update(struct pp_bpf_map *map, const void *key, const void *value, uint64_t flags)
{
	int err;

	if (!fits_key(map, key))
		return -EINVAL;
	err = map_host_enter(map, MAP_WRITE);
	return err ? err : map_host_leave(push_or_write(map->core, key, value, flags));
}

static int erase(struct map *map, const void *key)
{
	return map->ops->erase ? map->ops->erase(map, key) : map->ops->none;
}

int pp_bpf_map_delete(struct pp_bpf_map *map, const void *key)
{
	int err;

	if (!fits_key(map, key))
		return -EINVAL;
	err = map_host_enter(map, MAP_WRITE);
	return err ? err : map_host_leave(erase(map->core, key));
}

static int pop_or_take(struct map *map, const void *key, void *value)
{
	if (!key)
		return map->ops->pop ? map->ops->pop(map, value) : -ENOTSUP;
	return map->ops->take ? map->ops->take(map, key, value) : -ENOTSUP;
}

int pp_bpf_map_lookup_and_delete(struct pp_bpf_map *map, const void *key, void *value)
{
	int err;

	if (!fits_key(map, key))
		return -EINVAL;
	err = map_host_enter(map, MAP_READ | MAP_WRITE);
	return err ? err : map_host_leave(pop_or_take(map->core, key, value));
}

static int next_key(const struct map *map, const void *key, void *next)
{
	return map->ops->next_key ? map->ops->next_key(map, key, next) : map->ops->none;
}

int pp_bpf_map_next_key(const struct pp_bpf_map *map, const void *key, void *next)
{
	int err = map_host_enter(map, MAP_READ);

	return err ? err : map_host_leave(next_key(map->core, key, next));
}

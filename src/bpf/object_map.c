/* SPDX-License-Identifier: MIT */
/* object_map.c - an object's maps: made, or others' used */
#include <errno.h>
#include <string.h>

#include "bpf/object.h"

/* Like maps without a handle have it: a definition. */
static int make_inner(const struct pp_bpf_map *map, struct map **inner)
{
	*inner = NULL;
	return map->has_inner ? map_new(&map->inner, NULL, 0, inner) : 0;
}

static int make(struct pp_bpf_map *map)
{
	struct map *inner;
	int err = make_inner(map, &inner);

	if (err)
		return err;
	err = map_new(&map->info, inner, map->align, &map->core);
	map_put_idle(inner);
	return err;
}

int object_make_map(struct pp_bpf_object *object, struct pp_bpf_map *map)
{
	const struct pp_bpf_map_info *info = &map->info;
	int err = make(map);

	if (!err)
		return 0;
	if (err == -ENOTSUP && !map_has_type(info->type))
		return log_error(&object->log, err, "map '%s': type %u is not supported", map->name,
				 info->type);
	return log_error(&object->log, err == -ENOMEM ? err : -ENOEXEC,
			 "map '%s': cannot create type %u, key %u, value %u, entries %u, flags "
			 "0x%x: %s",
			 map->name, info->type, info->key_size, info->value_size, info->max_entries,
			 info->flags, strerror(-err));
}

static const char *difference(const struct pp_bpf_map_info *map,
			      const struct pp_bpf_map_info *other)
{
	if (map->type != other->type)
		return "type";
	if (map->key_size != other->key_size)
		return "size of keys";
	if (map->value_size != other->value_size)
		return "size of values";
	if (map->max_entries != other->max_entries)
		return "number of entries";
	if (map->flags != other->flags)
		return "flags";
	return map->extra != other->extra ? "extra" : NULL;
}

/* What is in maps of maps counts, too. */
static const char *difference_of(const struct pp_bpf_map *map, const struct map *other)
{
	const char *what = difference(&map->info, &other->info);

	if (!what && map->has_inner)
		what = difference(&map->inner, &other->inner->info);
	return what;
}

int object_reuse_map(struct pp_bpf_object *object, struct pp_bpf_map *map,
		     const struct pp_bpf_map *other)
{
	const char *what;

	if (map->core)
		return log_error(&object->log, -EBUSY, "map '%s': it is made already", map->name);
	if (!other->core)
		return log_error(&object->log, -EINVAL, "map '%s': the other is not made yet",
				 map->name);
	what = difference_of(map, other->core);
	if (what)
		return log_error(&object->log, -EINVAL, "map '%s': the other has another %s",
				 map->name, what);
	map->core = map_hold(other->core);
	map->reused = true;
	return 0;
}

int pp_bpf_map_reuse(struct pp_bpf_map *map, const struct pp_bpf_map *other)
{
	return map->object ? object_reuse_map(map->object, map, other) : -EINVAL;
}

/* SPDX-License-Identifier: MIT */
/* map_batch.c - many elements in one call of the host */
#include <errno.h>
#include <string.h>

#include "bpf/map.h"

static const uint8_t *key_of(const struct pp_bpf_map *map, const struct pp_bpf_batch *batch,
			     uint32_t i)
{
	return (const uint8_t *)batch->keys + (size_t)i * map->info.key_size;
}

/* One by one, up to the first error: *done is how many were changed. */
static int update_all(struct pp_bpf_map *map, const struct pp_bpf_batch *batch, uint32_t *done)
{
	size_t size = pp_bpf_map_value_bytes(map);
	int err = 0;

	for (*done = 0; *done < batch->count; ++*done) {
		err = pp_bpf_map_update(map, key_of(map, batch, *done),
					(const uint8_t *)batch->values + *done * size,
					batch->flags);
		if (err)
			break;
	}
	return err;
}

static int delete_all(struct pp_bpf_map *map, const struct pp_bpf_batch *batch, uint32_t *done)
{
	int err = 0;

	for (*done = 0; *done < batch->count; ++*done) {
		err = pp_bpf_map_delete(map, key_of(map, batch, *done));
		if (err)
			break;
	}
	return err;
}

static bool has_batches(const struct pp_bpf_map *map)
{
	return map->core && (map->core->ops->batch || map->core->ops == &map_lpm_ops);
}

int pp_bpf_map_update_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch)
{
	uint32_t done;
	int err;

	if (!has_batches(map))
		return map->core ? -ENOTSUP : -EINVAL;
	err = update_all(map, batch, &done);
	batch->count = done;
	return err;
}

int pp_bpf_map_delete_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch)
{
	uint32_t done;
	int err;

	if (!has_batches(map) || map->core->ops->erase == map_array_ops.erase)
		return map->core ? -ENOTSUP : -EINVAL;
	if (batch->flags)
		return -EINVAL;
	err = delete_all(map, batch, &done);
	batch->count = done;
	return err;
}

/* For types whose place in a walk is a key: batch->in and batch->out are one. */
static int read_by_keys(struct pp_bpf_map *map, struct pp_bpf_batch *batch)
{
	size_t key_size = map->info.key_size, value_size = pp_bpf_map_value_bytes(map);
	uint32_t room = batch->count;
	const void *last = batch->in;
	int err = 0;

	for (batch->count = 0; batch->count < room && !err;) {
		uint8_t *key = (uint8_t *)batch->keys + batch->count * key_size;

		err = pp_bpf_map_next_key(map, last, key);
		if (err)
			break;
		err = pp_bpf_map_lookup(map, key,
					(uint8_t *)batch->values + batch->count * value_size);
		batch->count += !err;
		last = key;
		if (err == -ENOENT)
			err = 0; /* deleted meanwhile: the next one is looked for from its key */
	}
	if (last && last != batch->out)
		memmove(batch->out, last, key_size);
	return err;
}

static int read_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch, bool erase)
{
	uint32_t at = 0;
	int err;

	if (batch->in)
		memcpy(&at, batch->in, sizeof(at));
	err = map->core->ops->batch(map->core, batch, &at, erase);
	if (err != -ENOTSUP)
		memcpy(batch->out, &at, sizeof(at));
	return err;
}

int pp_bpf_map_lookup_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch)
{
	int err;

	if (!has_batches(map))
		return map->core ? -ENOTSUP : -EINVAL;
	if (batch->flags)
		return -EINVAL;
	if (!batch->count)
		return 0;
	if (!map->core->ops->batch)
		return read_by_keys(map, batch);
	err = map_host_enter(map, MAP_READ);
	return err ? err : map_host_leave(read_batch(map, batch, false));
}

int pp_bpf_map_lookup_and_delete_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch)
{
	int err;

	if (!has_batches(map) || !map->core->ops->batch)
		return map->core ? -ENOTSUP : -EINVAL;
	if (batch->flags)
		return -EINVAL;
	if (!batch->count)
		return 0;
	err = map_host_enter(map, MAP_READ | MAP_WRITE);
	return err ? err : map_host_leave(read_batch(map, batch, true));
}

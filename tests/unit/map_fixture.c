/* SPDX-License-Identifier: MIT */
#include "map_fixture.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENOTSUPP 524

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long got = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	if (got >= 0)
		return (int)got;
	return errno == ENOTSUPP ? -ENOTSUP : -errno;
}

static uint64_t address(const void *at)
{
	return (uintptr_t)at;
}

static int kernel_new(const struct pp_bpf_map_info *info, int inner)
{
	union bpf_attr attr = {
		.map_type = info->type,
		.key_size = info->key_size,
		.value_size = info->value_size,
		.max_entries = info->max_entries,
		.map_flags = info->flags,
		.inner_map_fd = (uint32_t)inner,
		.map_extra = info->extra,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

int map_kernel_open(void)
{
	const struct pp_bpf_map_info info = {BPF_MAP_TYPE_LRU_HASH, 4, 4, 1, 0, 0};
	int fd = kernel_new(&info, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int side_new(struct map_side *side, bool kernel, const struct pp_bpf_map_info *info,
	     const struct map_side *inner)
{
	*side = (struct map_side){.fd = -1, .kernel = kernel};
	if (!kernel)
		return pp_bpf_map_new("map", info, inner ? inner->ours : NULL, &side->ours);
	/* Types that have no inner map do not look at the fd. */
	side->fd = kernel_new(info, inner ? inner->fd : -1);
	return side->fd < 0 ? side->fd : 0;
}

void side_free(struct map_side *side)
{
	pp_bpf_map_free(side->ours);
	if (side->fd >= 0)
		close(side->fd);
}

static int element(const struct map_side *side, enum bpf_cmd cmd, const void *key,
		   const void *value, uint64_t flags)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)side->fd,
		.key = address(key),
		.value = address(value),
		.flags = flags,
	};

	return bpf(cmd, &attr);
}

int side_lookup(const struct map_side *side, const void *key, void *value, uint64_t flags)
{
	if (side->kernel)
		return element(side, BPF_MAP_LOOKUP_ELEM, key, value, flags);
	return pp_bpf_map_lookup(side->ours, key, value);
}

int side_update(const struct map_side *side, const void *key, const void *value, uint64_t flags)
{
	if (side->kernel)
		return element(side, BPF_MAP_UPDATE_ELEM, key, value, flags);
	return pp_bpf_map_update(side->ours, key, value, flags);
}

int side_delete(const struct map_side *side, const void *key)
{
	if (side->kernel)
		return element(side, BPF_MAP_DELETE_ELEM, key, NULL, 0);
	return pp_bpf_map_delete(side->ours, key);
}

int side_take(const struct map_side *side, const void *key, void *value)
{
	if (side->kernel)
		return element(side, BPF_MAP_LOOKUP_AND_DELETE_ELEM, key, value, 0);
	return pp_bpf_map_lookup_and_delete(side->ours, key, value);
}

int side_next(const struct map_side *side, const void *key, void *next)
{
	if (side->kernel)
		return element(side, BPF_MAP_GET_NEXT_KEY, key, next, 0);
	return pp_bpf_map_next_key(side->ours, key, next);
}

int side_freeze(const struct map_side *side)
{
	if (side->kernel)
		return element(side, BPF_MAP_FREEZE, NULL, NULL, 0);
	return pp_bpf_map_freeze(side->ours);
}

int side_set_map(const struct map_side *side, const void *key, const struct map_side *inner,
		 uint64_t flags)
{
	if (side->kernel)
		return element(side, BPF_MAP_UPDATE_ELEM, key, &inner->fd, flags);
	return pp_bpf_map_set_map(side->ours, key, inner->ours, flags);
}

static int kernel_batch(const struct map_side *side, enum side_batch what,
			struct pp_bpf_batch *batch)
{
	static const enum bpf_cmd commands[] = {
		[SIDE_LOOKUP] = BPF_MAP_LOOKUP_BATCH,
		[SIDE_TAKE] = BPF_MAP_LOOKUP_AND_DELETE_BATCH,
		[SIDE_UPDATE] = BPF_MAP_UPDATE_BATCH,
		[SIDE_DELETE] = BPF_MAP_DELETE_BATCH,
	};
	union bpf_attr attr;
	int err;

	memset(&attr, 0, sizeof(attr)); /* behind the member, too: the kernel looks */
	attr.batch.in_batch = address(batch->in);
	attr.batch.out_batch = address(batch->out);
	attr.batch.keys = address(batch->keys);
	attr.batch.values = address(batch->values);
	attr.batch.count = batch->count;
	attr.batch.map_fd = (uint32_t)side->fd;
	attr.batch.elem_flags = batch->flags;
	err = bpf(commands[what], &attr);
	batch->count = attr.batch.count;
	return err;
}

int side_batch(const struct map_side *side, enum side_batch what, struct pp_bpf_batch *batch)
{
	if (side->kernel)
		return kernel_batch(side, what, batch);
	switch (what) {
	case SIDE_LOOKUP: return pp_bpf_map_lookup_batch(side->ours, batch);
	case SIDE_TAKE: return pp_bpf_map_lookup_and_delete_batch(side->ours, batch);
	case SIDE_UPDATE: return pp_bpf_map_update_batch(side->ours, batch);
	case SIDE_DELETE: return pp_bpf_map_delete_batch(side->ours, batch);
	}
	return -EINVAL;
}

/* SPDX-License-Identifier: MIT */
#include "bpf/regions.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/calls.h"

static bool is_within(const struct guard_span *span, uint64_t addr)
{
	return addr >= span->lo && addr < span->hi;
}

/* struct search - of all maps of an object, and the maps in them */
struct search {
	uint64_t addr;
	bool write;
	const struct map *found;
	struct map_bounds bounds;
};

static bool each_map(const struct pp_bpf_object *object, struct search *search,
		     bool (*visit)(void *ctx, const struct map *map))
{
	for (uint32_t i = 0; i < object->nmaps && !search->found; i++) {
		if (object->maps[i].core)
			map_visit(object->maps[i].core, visit, search);
	}
	return search->found;
}

static bool may_touch(const struct map *map, bool write)
{
	return !(map->info.flags & (uint32_t)(write ? MAP_RDONLY_PROG : MAP_WRONLY_PROG));
}

static bool has_value(void *ctx, const struct map *map)
{
	struct search *search = ctx;

	if (map_value_bounds(map, search->addr, &search->bounds) && may_touch(map, search->write))
		search->found = map;
	return !search->found;
}

static bool is_map(void *ctx, const struct map *map)
{
	struct search *search = ctx;

	if ((uintptr_t)map == search->addr)
		search->found = map;
	return !search->found;
}

static bool find_value(const struct pp_bpf_object *object, struct search *search,
		       struct guard_span *span)
{
	if (!each_map(object, search, has_value))
		return false;
	*span = (struct guard_span){search->bounds.lo, search->bounds.hi, search->bounds.passes};
	return true;
}

static bool region_find(const struct guard *guard, uint64_t addr, bool write,
			struct guard_span *span)
{
	const struct pp_bpf_object *object = guard->owner;

	for (uint32_t i = 0; i < object->nregions; i++) {
		const struct region *region = &object->regions[i];

		if (!is_within(&region->span, addr) || (write && !region->writable))
			continue;
		*span = region->span;
		return true;
	}
	return find_value(object, &(struct search){.addr = addr, .write = write}, span);
}

static const struct map *map_at(const struct pp_bpf_object *object, uint64_t addr)
{
	struct search search = {.addr = addr};

	each_map(object, &search, is_map);
	return search.found;
}

static bool is_record(const struct pp_bpf_object *object, uint64_t addr)
{
	struct search search = {.addr = addr, .write = true};

	return each_map(object, &search, has_value) && search.bounds.passes &&
	       search.bounds.lo == addr;
}

/* Of a helper that works on a map, in r1 where it says sizes. @args: r1 .. r5 */
static bool is_map_refused(const struct guard *guard, unsigned int kind, unsigned int i,
			   const uint64_t *args)
{
	const struct map *map = map_at(guard->owner, args[kind == ARG_MAP ? i : 0]);

	if (!map || kind == ARG_MAP)
		return !map;
	if (kind == ARG_KEY)
		return !guard_readable(guard, args[i], map->info.key_size);
	if (kind == ARG_VALUE || map->info.type == MAP_TYPE_BLOOM_FILTER)
		return !guard_readable(guard, args[i], map->info.value_size);
	return !guard_writable(guard, args[i], map->info.value_size);
}

static bool is_refused(const struct guard *guard, unsigned int kind, unsigned int i,
		       const uint64_t *args)
{
	switch ((enum helper_arg)kind) {
	case ARG_ANY: return false;
	case ARG_IN: return !guard_readable(guard, args[i], args[i + 1]);
	case ARG_OUT: return !guard_writable(guard, args[i], args[i + 1]);
	case ARG_FUNC: return !calls_func(guard->unit, args[i]);
	case ARG_STRING: return !guard_string(guard, args[i]);
	case ARG_INT_OUT: return !guard_writable(guard, args[i], sizeof(uint32_t));
	case ARG_LONG_OUT: return !guard_writable(guard, args[i], sizeof(uint64_t));
	case ARG_RECORD: return !is_record(guard->owner, args[i]);
	case ARG_MAP:
	case ARG_KEY:
	case ARG_VALUE:
	case ARG_VALUE_OUT:
	case ARG_PEEK: break;
	}
	return is_map_refused(guard, kind, i, args);
}

static bool region_refuse(const struct guard *guard, const struct helper *helper, const uint64_t *r,
			  uint64_t *bad)
{
	for (unsigned int i = 0; i < helper->nargs; i++) {
		if (!is_refused(guard, helper->args[i], i, r + 1))
			continue;
		*bad = r[1 + i];
		return true;
	}
	return false;
}

const struct guard_ops region_ops = {
	.find = region_find,
	.refuse = region_refuse,
};

static int add_region(struct pp_bpf_object *object, const struct region *region)
{
	struct region *regions =
		reallocarray(object->regions, object->nregions + (size_t)1, sizeof(*regions));

	if (!regions)
		return -ENOMEM;
	regions[object->nregions++] = *region;
	object->regions = regions;
	return 0;
}

int pp_bpf_allow(struct pp_bpf_object *object, const void *base, size_t size, unsigned int flags)
{
	const struct region region = {
		.span = {(uintptr_t)base, (uintptr_t)base + size, false},
		.writable = flags & PP_BPF_WRITABLE,
	};

	if (flags & ~PP_BPF_WRITABLE)
		return log_error(&object->log, -EINVAL, "memory: unknown flags 0x%x", flags);
	if (!base || !size || region.span.hi < region.span.lo)
		return log_error(&object->log, -EINVAL, "memory: %p and %zu bytes are none", base,
				 size);
	if (object->loaded)
		return log_error(&object->log, -EBUSY, "memory: loaded already");
	return add_region(object, &region);
}

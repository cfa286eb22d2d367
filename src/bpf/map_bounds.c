/* SPDX-License-Identifier: MIT */
/* map_bounds.c - which memory of a map is its values', for guarded programs (regions.c) */
#include "bpf/map_hash.h"
#include "bpf/map_ring.h"
#include "bpf/map_slots.h"

/* All entries, on all CPUs: what lies between them is nobody's. */
static bool array_bounds(const struct map *map, uint64_t addr, struct map_bounds *bounds)
{
	const struct map_array *array = &map->array;
	uint64_t size = (map->info.max_entries - 1) * array->stride + map->info.value_size;

	if (array->cpu_stride)
		size += (map->cpus - 1) * array->cpu_stride;
	bounds->lo = (uintptr_t)array->values;
	bounds->hi = bounds->lo + size;
	return addr - bounds->lo < size;
}

/* One value of an item; beside it are keys, links, and other CPUs' values. */
static bool hash_bounds(const struct map *map, uint64_t addr, struct map_bounds *bounds)
{
	const struct map_hash *hash = map->hash;
	struct item *item = (struct item *)(void *)pool_holds(hash->pool, addr);
	uint64_t lo = (uintptr_t)item + offsetof(struct item, data) + hash->value_at;

	if (!item || addr < lo)
		return false;
	if (hash->cpu_stride)
		lo += (addr - lo) / hash->cpu_stride * hash->cpu_stride;
	bounds->lo = lo;
	bounds->hi = lo + map->info.value_size;
	return addr < bounds->hi;
}

/* Place and state of the record at @pos; false: it was consumed meanwhile, and may be written over.
 */
static bool see_record(struct map_ring *ring, uint64_t pos, uint32_t *word)
{
	*word = __atomic_load_n(&ring_at(ring, pos)->len, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) <= pos;
}

/*
 * The record that is being written there: it is one for as long as nobody submits it, and the
 * consumer does not go past it. Those before it may be consumed as they are looked at: then it goes
 * on where the consumer is. Headers cannot have been changed by who only gets these bounds.
 */
static bool ring_bounds(const struct map *map, uint64_t addr, struct map_bounds *bounds)
{
	struct map_ring *ring = map->ring;
	uint64_t end = __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE);
	uint64_t pos = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE);
	uint32_t len, word;

	bounds->passes = true;
	while (pos < end) {
		if (!see_record(ring, pos, &word)) {
			pos = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE);
			continue;
		}
		len = word & ~(RING_BUSY | RING_DISCARD);
		bounds->lo = (uintptr_t)(ring_at(ring, pos) + 1);
		bounds->hi = bounds->lo + len;
		if (addr - bounds->lo < len)
			return word & RING_BUSY;
		pos += (len + RING_HEADER + 7) / 8 * 8;
	}
	return false;
}

bool map_value_bounds(const struct map *map, uint64_t addr, struct map_bounds *bounds)
{
	bounds->passes = false;
	switch (map->info.type) {
	case MAP_TYPE_ARRAY:
	case MAP_TYPE_PERCPU_ARRAY: return array_bounds(map, addr, bounds);
	case MAP_TYPE_HASH:
	case MAP_TYPE_PERCPU_HASH:
	case MAP_TYPE_LRU_HASH:
	case MAP_TYPE_LRU_PERCPU_HASH: return hash_bounds(map, addr, bounds);
	case MAP_TYPE_LPM_TRIE: return lpm_bounds(map, addr, bounds);
	case MAP_TYPE_RINGBUF: return ring_bounds(map, addr, bounds);
	default: return false;
	}
}

/* ---- maps in maps ---- */

struct inner_visit {
	bool (*visit)(void *ctx, const struct map *map);
	void *ctx;
	bool stopped;
};

static bool visit_inner(void *ctx, const void *key, void *value)
{
	struct inner_visit *visit = ctx;
	const struct map *inner = __atomic_load_n((struct map **)value, __ATOMIC_ACQUIRE);

	(void)key;
	visit->stopped = inner && !visit->visit(visit->ctx, inner);
	return !visit->stopped;
}

static void visit_slots(const struct map *map, struct inner_visit *visit)
{
	for (uint32_t i = 0; i < map->info.max_entries && !visit->stopped; i++)
		visit_inner(visit, NULL, &map->slots->at[i]);
}

bool map_visit(const struct map *map, bool (*visit)(void *ctx, const struct map *map), void *ctx)
{
	struct inner_visit inner = {visit, ctx, false};

	if (!visit(ctx, map))
		return false;
	if (map->info.type == MAP_TYPE_ARRAY_OF_MAPS)
		visit_slots(map, &inner);
	else if (map->info.type == MAP_TYPE_HASH_OF_MAPS)
		table_each(map, visit_inner, &inner);
	return !inner.stopped;
}

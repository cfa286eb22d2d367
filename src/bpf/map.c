/* SPDX-License-Identifier: MIT */
/* map.c - what is common to all types of map: how they come, are counted, changed, and go */
#include "bpf/map.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/map_cpu.h"
#include "bpf/map_pool.h"
#include "bpf/map_words.h"
#include "bpf/rcu.h"

char rcu_sections;

static const struct map_ops *const types[] = {
	[MAP_TYPE_HASH] = &map_hash_ops,
	[MAP_TYPE_ARRAY] = &map_array_ops,
	[MAP_TYPE_PERCPU_HASH] = &map_percpu_hash_ops,
	[MAP_TYPE_PERCPU_ARRAY] = &map_percpu_array_ops,
	[MAP_TYPE_LRU_HASH] = &map_lru_ops,
	[MAP_TYPE_LRU_PERCPU_HASH] = &map_percpu_lru_ops,
	[MAP_TYPE_PROG_ARRAY] = &map_progs_ops,
	[MAP_TYPE_ARRAY_OF_MAPS] = &map_array_of_maps_ops,
	[MAP_TYPE_HASH_OF_MAPS] = &map_hash_of_maps_ops,
	[MAP_TYPE_LPM_TRIE] = &map_lpm_ops,
	[MAP_TYPE_QUEUE] = &map_queue_ops,
	[MAP_TYPE_STACK] = &map_stack_ops,
	[MAP_TYPE_RINGBUF] = &map_ring_ops,
	[MAP_TYPE_BLOOM_FILTER] = &map_bloom_ops,
};

static const struct map_ops *ops_of(uint32_t type)
{
	return type < sizeof(types) / sizeof(types[0]) ? types[type] : NULL;
}

bool map_has_type(uint32_t type)
{
	return ops_of(type);
}

/* ---- lifetime ---- */

/* Contradictions that no type takes; and only bloom filters have an extra. */
static bool is_sound(const struct pp_bpf_map_info *info)
{
	const uint32_t programs = MAP_RDONLY_PROG | MAP_WRONLY_PROG, host = MAP_RDONLY | MAP_WRONLY;

	if ((info->flags & programs) == programs || (info->flags & host) == host)
		return false;
	return !info->extra || info->type == MAP_TYPE_BLOOM_FILTER;
}

static int take_inner(struct map *map, const struct map *inner)
{
	bool of_maps =
		map->info.type == MAP_TYPE_ARRAY_OF_MAPS || map->info.type == MAP_TYPE_HASH_OF_MAPS;

	if (!of_maps)
		return inner ? -EINVAL : 0;
	if (!inner)
		return -EBADF;
	if (inner->info.type == MAP_TYPE_PROG_ARRAY)
		return -ENOTSUP;
	if (inner->inner)
		return -EINVAL; /* one level is all there is */
	map->inner = calloc(1, sizeof(*map->inner));
	if (!map->inner)
		return -ENOMEM;
	*map->inner = (struct map){.ops = inner->ops, .info = inner->info};
	return 0;
}

static int map_init(struct map *map, const struct map *inner)
{
	static uint32_t ids;
	int err;

	if (!map->ops)
		return -ENOTSUP;
	if (!is_sound(&map->info))
		return -EINVAL;
	map_fork_init();
	map->refs = 1;
	map->cpus = cpu_count();
	map->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	err = take_inner(map, inner);
	return err ? err : map->ops->create(map);
}

int map_new(const struct pp_bpf_map_info *info, const struct map *inner, uint32_t align,
	    struct map **out)
{
	struct map *map = calloc(1, sizeof(*map));
	int err;

	if (!map)
		return -ENOMEM;
	*map = (struct map){.ops = ops_of(info->type), .info = *info, .align = align};
	err = map_init(map, inner);
	if (err) {
		free(map->inner);
		free(map);
		return err;
	}
	*out = map;
	return 0;
}

static void free_map(struct map *map)
{
	map->ops->destroy(map);
	free(map->inner);
	free(map);
}

struct map *map_hold(struct map *map)
{
	__atomic_add_fetch(&map->refs, 1, __ATOMIC_RELAXED);
	return map;
}

bool map_hold_live(struct map *map)
{
	uint32_t refs = __atomic_load_n(&map->refs, __ATOMIC_RELAXED);

	while (refs && !__atomic_compare_exchange_n(&map->refs, &refs, refs + 1, true,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return refs;
}

static bool drop(struct map *map)
{
	return !__atomic_sub_fetch(&map->refs, 1, __ATOMIC_ACQ_REL);
}

void map_put_idle(struct map *map)
{
	if (map && drop(map))
		free_map(map);
}

/* Maps that lost their last reference inside a section: a stack that is only taken whole. */
static struct map *dead;

static void bury(struct map *map)
{
	map->next_dead = __atomic_load_n(&dead, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&dead, &map->next_dead, map, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

void map_put(struct map *map)
{
	if (!map || !drop(map))
		return;
	if (urcu_bp_read_ongoing()) {
		bury(map);
		return;
	}
	rcu_wait();
	free_map(map);
}

/* ---- grace periods ---- */

/* One thread at a time; the others have better things to do. */
static bool reclaiming;

static void free_dead(struct map *map)
{
	struct map *next;

	for (; map; map = next) {
		next = map->next_dead;
		free_map(map);
	}
}

static void reclaim(void)
{
	struct map *gone = __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQUIRE);

	pool_before();
	rcu_wait();
	pool_after();
	free_dead(gone);
}

void map_reclaim(void)
{
	if (!pool_wants() && !__atomic_load_n(&dead, __ATOMIC_RELAXED))
		return;
	if (urcu_bp_read_ongoing() || __atomic_exchange_n(&reclaiming, true, __ATOMIC_ACQUIRE))
		return;
	reclaim();
	__atomic_store_n(&reclaiming, false, __ATOMIC_RELEASE);
}

void map_fork_child(void)
{
	reclaiming = false;
}

/* ---- what types share ---- */

uint64_t map_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	const uint8_t *at = bytes;
	uint64_t hash = seed ^ size, word;

	for (; size >= WORD; size -= WORD, at += WORD) {
		memcpy(&word, at, WORD);
		hash = words_mix(hash, word);
	}
	if (size)
		hash = words_mix(hash, words_tail(at, size));
	return words_mix(hash, seed);
}

/* ---- what programs do ---- */

/*
 * Between map_begin() and map_end() this thread may hold locks of maps. A signal handler that runs
 * a program then would wait for itself. Static TLS: these are a few instructions.
 */
static _Thread_local bool busy __attribute__((tls_model("initial-exec")));

bool map_begin(void)
{
	if (busy)
		return false;
	busy = true;
	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	return true;
}

void map_end(void)
{
	__atomic_signal_fence(__ATOMIC_RELEASE);
	busy = false;
}

void *map_none(const struct map *map, const void *key)
{
	(void)map;
	(void)key;
	return NULL;
}

int map_update(struct map *map, const void *key, const void *value, uint64_t flags)
{
	int err;

	if (!map->ops->update)
		return map->ops->none;
	if (!map_begin())
		return -EBUSY;
	err = map->ops->update(map, key, value, flags);
	map_end();
	return err;
}

int map_erase(struct map *map, const void *key)
{
	int err;

	if (!map->ops->erase)
		return map->ops->none;
	if (!map_begin())
		return -EBUSY;
	err = map->ops->erase(map, key);
	map_end();
	return err;
}

int map_push(struct map *map, const void *value, uint64_t flags)
{
	int err;

	if (!map->ops->push)
		return map->ops->none;
	if (!map_begin())
		return -EBUSY;
	err = map->ops->push(map, value, flags);
	map_end();
	return err;
}

int map_pop(struct map *map, void *value)
{
	int err;

	if (!map->ops->pop)
		return map->ops->none;
	if (!map_begin())
		return -EBUSY;
	err = map->ops->pop(map, value);
	map_end();
	return err;
}

int map_peek(struct map *map, void *value)
{
	int err;

	if (!map->ops->peek)
		return map->ops->none;
	if (!map_begin())
		return -EBUSY;
	err = map->ops->peek(map, value);
	map_end();
	return err;
}

void *map_value_address(const struct map *map, uint64_t offset)
{
	if (map->ops != &map_array_ops || map->info.max_entries != 1)
		return NULL;
	return offset <= map->info.value_size ? map->array.values + offset : NULL;
}

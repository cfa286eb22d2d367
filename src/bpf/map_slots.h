/* SPDX-License-Identifier: MIT */
/* map_slots.h - arrays of pointers: of maps, and of programs for tail calls */
#ifndef BPF_MAP_SLOTS_H
#define BPF_MAP_SLOTS_H

#include <string.h>

#include "bpf/map.h"

/* Each is NULL or a pointer, and changes by one store. */
struct map_slots {
	struct map *next, **link; /* of arrays of programs: all of them */
	void *at[];
};

/* slots_create - 0, -EINVAL (keys and values are 32-bit), -ENOMEM */
int slots_create(struct map *map);

/* slots_next_key - as of any array */
int slots_next_key(const struct map *map, const void *key, void *next);

/* slots_at - the slot with that index, or NULL: past the end */
static inline void **slots_at(const struct map *map, const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index < map->info.max_entries ? &map->slots->at[index] : NULL;
}

/* map_set_map - put a map into a map of maps: 0, or as pp_bpf_map_set_map() */
int map_set_map(struct map *outer, const void *key, struct map *inner, uint64_t flags);

/* map_set_prog - put a program into an array of programs: 0, -EINVAL, -E2BIG */
int map_set_prog(struct map *map, const void *key, const struct pp_bpf_prog *prog, uint64_t flags);

/*
 * map_prog_at - the program in a slot, for tail calls: NULL if there is none
 *
 * In a read-side section: the program stays loaded until that ends. Lock-free.
 */
static inline const struct pp_bpf_prog *map_prog_at(const struct map *map, uint32_t index)
{
	if (index >= map->info.max_entries)
		return NULL;
	return (const struct pp_bpf_prog *)__atomic_load_n(&map->slots->at[index],
							   __ATOMIC_ACQUIRE);
}

/*
 * map_forget_progs - empty the slots, of all arrays of programs, that have programs of @object
 * A grace period must come before these are freed.
 */
void map_forget_progs(const struct pp_bpf_object *object);

#endif

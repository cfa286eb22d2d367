/* SPDX-License-Identifier: MIT */
/*
 * map.h - maps: one handle for all types, one table of functions for each
 *
 *	definition (ELF, BTF)  ->  map_create()  ->  lookup .. next_key  ->  map_destroy()
 *
 * A program's map pointer is the address of struct pp_bpf_map, so handles never move once
 * an object is open. Lookups give a pointer to the value itself, which stays readable until
 * the RCU read-side section that the lookup was made in ends.
 */
#ifndef BPF_MAP_H
#define BPF_MAP_H

#include <progpack_bpf.h>

#include "base/log.h"

#define MAP_TYPE_HASH 1u
#define MAP_TYPE_ARRAY 2u

/* Flags of linux/bpf.h that change nothing for us: each type takes those that it knows. */
enum {
	MAP_NO_PREALLOC = 1u << 0,
	MAP_NUMA_NODE = 1u << 2,
	MAP_ZERO_SEED = 1u << 6,
	MAP_RDONLY_PROG = 1u << 7, /* the verifier's affair */
	MAP_MMAPABLE = 1u << 10,
};

/* BPF_ANY, BPF_NOEXIST, BPF_EXIST of linux/bpf.h */
enum { MAP_ANY, MAP_NOEXIST, MAP_EXIST };

/* An element's stride, and where a value follows a key: values are 8-byte aligned. */
#define MAP_ALIGN 8u
/* The most that a data section may ask for: a page. */
#define MAP_MAX_ALIGN 4096u

/*
 * struct map_array - @values: max_entries * @stride bytes, aligned, inside @memory
 * struct map_hash is map_hash.c's own.
 */
struct map_array {
	void *memory;
	uint8_t *values;
	size_t stride;
};

/*
 * struct pp_bpf_map - @ops is NULL until the map is created
 * @section, @offset: the definition's place in the file; what relocations name a map by
 * @align: of an array's first value, a power of two up to MAP_MAX_ALIGN; below 64 it is 64
 */
struct pp_bpf_map {
	const struct map_ops *ops;
	union {
		struct map_array array;
		struct map_hash *hash;
	};
	const char *name; /* owned by the object */
	struct pp_bpf_map_info info;
	uint32_t section;
	uint64_t offset;
	uint32_t align;
};

/*
 * struct map_ops - a type of map; all but create and destroy run in RCU read-side sections
 * @create: check map->info and allocate: 0, -EINVAL, -E2BIG, -ENOMEM
 * @lookup: address of the value, or NULL
 *
 * The others return as the public functions of their names do.
 */
struct map_ops {
	int (*create)(struct pp_bpf_map *map);
	void (*destroy)(struct pp_bpf_map *map);
	void *(*lookup)(const struct pp_bpf_map *map, const void *key);
	int (*update)(struct pp_bpf_map *map, const void *key, const void *value, uint64_t flags);
	int (*erase)(struct pp_bpf_map *map, const void *key);
	int (*next_key)(const struct pp_bpf_map *map, const void *key, void *next);
};

extern const struct map_ops map_array_ops, map_hash_ops;

/* map_create - 0, -ENOTSUP (type), -ENOEXEC (what defines it), -ENOMEM; log: which map, why */
int map_create(struct pp_bpf_map *map, const struct log *log);

/* map_destroy - nobody may be using it; a map that was not created is fine */
void map_destroy(struct pp_bpf_map *map);

/*
 * map_value_address - where byte @offset of the only value of an array lies, or NULL
 *
 * NULL for other types and for offsets past the end; one past the last byte is an address.
 */
void *map_value_address(const struct pp_bpf_map *map, uint64_t offset);

/*
 * map_reclaim - free what hash maps have dropped, if it is much; waits for a grace period
 *
 * For host context: does nothing inside a read-side section.
 */
void map_reclaim(void);

/* map_reclaim_all - the same, however little; also where the caller wants a grace period */
void map_reclaim_all(void);

#endif

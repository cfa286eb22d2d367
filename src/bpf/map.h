/* SPDX-License-Identifier: MIT */
/*
 * map.h - maps: one structure for all types, one table of functions for each
 *
 *	handle (struct pp_bpf_map: definition, name)  --core-->  struct map, counted
 *
 * Several handles, of objects and of the host, may have one map; maps of maps have theirs without
 * a handle. What a program has in a register is the address of the struct map. Lookups give a
 * pointer to the value itself: an element of this map for good, and that key's value until the RCU
 * read-side section of the lookup ends, with the exception that map_pool.h makes.
 */
#ifndef BPF_MAP_H
#define BPF_MAP_H

#include <progpack_bpf.h>
#include <stdbool.h>

#include "base/log.h"

/* enum bpf_map_type of linux/bpf.h: those that we have */
enum {
	MAP_TYPE_HASH = 1,
	MAP_TYPE_ARRAY = 2,
	MAP_TYPE_PROG_ARRAY = 3,
	MAP_TYPE_PERCPU_HASH = 5,
	MAP_TYPE_PERCPU_ARRAY = 6,
	MAP_TYPE_LRU_HASH = 9,
	MAP_TYPE_LRU_PERCPU_HASH = 10,
	MAP_TYPE_LPM_TRIE = 11,
	MAP_TYPE_ARRAY_OF_MAPS = 12,
	MAP_TYPE_HASH_OF_MAPS = 13,
	MAP_TYPE_QUEUE = 22,
	MAP_TYPE_STACK = 23,
	MAP_TYPE_RINGBUF = 27,
	MAP_TYPE_BLOOM_FILTER = 30,
};

/* BPF_F_* of linux/bpf.h: each type takes those that it knows. */
enum {
	MAP_NO_PREALLOC = 1u << 0,
	MAP_NO_COMMON_LRU = 1u << 1, /* changes nothing for us */
	MAP_NUMA_NODE = 1u << 2,     /* the same */
	MAP_RDONLY = 1u << 3,        /* for the host */
	MAP_WRONLY = 1u << 4,
	MAP_ZERO_SEED = 1u << 6,
	MAP_RDONLY_PROG = 1u << 7, /* for programs */
	MAP_WRONLY_PROG = 1u << 8,
	MAP_MMAPABLE = 1u << 10, /* the same as NUMA_NODE */
	MAP_INNER_MAP = 1u << 12,
	MAP_ACCESS = MAP_RDONLY | MAP_WRONLY | MAP_RDONLY_PROG | MAP_WRONLY_PROG,
};

/* Flags of updates: BPF_ANY, BPF_NOEXIST, BPF_EXIST */
enum { MAP_ANY, MAP_NOEXIST, MAP_EXIST };

/* Values are 8-byte aligned, and so are their places. */
#define MAP_ALIGN 8u
/* The most that a data section may ask for: a page. */
#define MAP_MAX_ALIGN 4096u
/* The kernel's bound on an element (KMALLOC_MAX_SIZE), and on a value that each CPU has. */
#define MAP_MAX_ELEMENT ((uint64_t)4 << 20)
#define MAP_MAX_PERCPU ((uint64_t)32 << 10)

/*
 * struct map_array - @values: max_entries * @stride bytes, aligned, inside @memory
 * @cpu_stride: from one CPU's values to the next one's; 0 if they are everybody's
 */
struct map_array {
	void *memory;
	uint8_t *values;
	size_t stride, cpu_stride;
};

/*
 * struct map
 * @align: of an array's first value, a power of two up to MAP_MAX_ALIGN; below 64 it is 64
 * @inner: of a map of maps: what those in it are like. Of that, only ops, info and inner are set.
 */
struct map {
	const struct map_ops *ops;
	union {
		struct map_array array;
		struct map_hash *hash;
		struct map_slots *slots;
		struct map_queue *queue;
		struct map_bloom *bloom;
		struct map_lpm *lpm;
		struct map_ring *ring;
	};
	struct pp_bpf_map_info info;
	uint32_t refs, id, align, cpus;
	bool frozen;
	struct map *inner, *next_dead;
};

/*
 * struct pp_bpf_map - a handle
 * @core: NULL until the map is made; @reused: by pp_bpf_map_reuse(), before loading
 * @object: whose it is; NULL: the host's own
 * @section, @offset: the definition's place in the file; what relocations name a map by
 * @inner: of a map of maps: the definition of those in it
 * @values_at: where initial values begin, behind @offset, in section .maps; 0: none can
 */
struct pp_bpf_map {
	struct map *core;
	const char *name; /* owned by the object, or by the handle */
	struct pp_bpf_map_info info;
	struct pp_bpf_map_info inner;
	uint32_t section, align, values_at;
	uint64_t offset;
	bool reused, has_inner;
	struct pp_bpf_object *object;
};

/* What map_each() calls for each element: true to go on. */
typedef bool (*map_visit_fn)(void *ctx, const void *key, void *value);

/*
 * struct map_ops - a type of map; functions that a type does not have are NULL
 * @create: check map->info and allocate: 0, or the kernel's error
 * @lookup: for programs: address of the value, or NULL; never NULL itself
 * @none: what functions that are NULL give
 *
 * All but create and destroy run in RCU read-side sections, and those that return as the public
 * functions of their names do, but: update and push are programs', of one CPU's value; write, read
 * and take the host's, with the values of all CPUs, and if NULL they are update and lookup.
 *
 * @each: every element that is there all the time, once: 0, -EBUSY
 * @batch: read from *at on, at most batch->count elements, erasing them if @erase; sets *at and
 *	the count: 0, -ENOENT (the last was among them), -ENOSPC
 */
struct map_ops {
	int (*create)(struct map *map);
	void (*destroy)(struct map *map);
	void *(*lookup)(const struct map *map, const void *key);
	void *(*lookup_cpu)(const struct map *map, const void *key, uint32_t cpu);
	int (*update)(struct map *map, const void *key, const void *value, uint64_t flags);
	int (*erase)(struct map *map, const void *key);
	int (*push)(struct map *map, const void *value, uint64_t flags);
	int (*pop)(struct map *map, void *value);
	int (*peek)(struct map *map, void *value);
	int (*next_key)(const struct map *map, const void *key, void *next);
	int (*read)(const struct map *map, const void *key, void *value);
	int (*write)(struct map *map, const void *key, const void *value, uint64_t flags);
	int (*take)(struct map *map, const void *key, void *value);
	int (*each)(const struct map *map, map_visit_fn visit, void *ctx);
	int (*batch)(struct map *map, struct pp_bpf_batch *batch, uint32_t *at, bool erase);
	int none;
};

/* map_hash_bytes - seeded: of any number of bytes */
uint64_t map_hash_bytes(const void *bytes, size_t size, uint64_t seed);

/* map_none - the lookup of types that have none */
void *map_none(const struct map *map, const void *key);

extern const struct map_ops map_array_ops, map_percpu_array_ops, map_hash_ops, map_percpu_hash_ops,
	map_lru_ops, map_percpu_lru_ops, map_lpm_ops, map_progs_ops, map_array_of_maps_ops,
	map_hash_of_maps_ops, map_queue_ops, map_stack_ops, map_ring_ops, map_bloom_ops;

/*
 * map_new - make a map, with one reference
 * @inner: of a map of maps: one of its own like
 * Return: 0, -ENOTSUP (type), or the kernel's: -EINVAL, -E2BIG, -EBADF (no inner), -ENOMEM
 */
int map_new(const struct pp_bpf_map_info *info, const struct map *inner, uint32_t align,
	    struct map **map);

/*
 * map_hold, map_put - count references; NULL is fine for map_put
 *
 * A map without one is freed after a grace period: at once outside of read-side sections, else by
 * the next map_reclaim().
 */
struct map *map_hold(struct map *map);

/* map_hold_live - the same of one that may just be losing its last reference: false then */
bool map_hold_live(struct map *map);
void map_put(struct map *map);

/* map_new_handle - one of the host's own, which takes over a reference: 0 or -ENOMEM */
int map_new_handle(const char *name, struct map *core, struct pp_bpf_map **handle);

/* map_put_idle - the same where nobody can have the map from a program any more */
void map_put_idle(struct map *map);

/* map_has_type - is there this type? */
bool map_has_type(uint32_t type);

/* handle_fini - drop what a handle has; its name is the caller's */
void map_handle_fini(struct pp_bpf_map *handle);

/*
 * map_value_address - where byte @offset of the only value of an array lies, or NULL
 *
 * NULL for other types and for offsets past the end; one past the last byte is an address.
 */
void *map_value_address(const struct map *map, uint64_t offset);

/*
 * struct map_bounds - memory of values: @lo .. @hi-1
 * @passes: it may become other memory in the middle of a read-side section
 */
struct map_bounds {
	uint64_t lo, hi;
	bool passes;
};

/* map_value_bounds - those around @addr that whoever may touch one may touch; false: none */
bool map_value_bounds(const struct map *map, uint64_t addr, struct map_bounds *bounds);

/* map_visit - a map, then the maps in it, until @visit says false; then false */
bool map_visit(const struct map *map, bool (*visit)(void *ctx, const struct map *map), void *ctx);

/* lpm_bounds - a trie's map_value_bounds() */
bool lpm_bounds(const struct map *map, uint64_t addr, struct map_bounds *bounds);

/*
 * map_update, map_erase, map_push, map_pop, map_peek - what programs do to a map
 *
 * -EBUSY: in a signal handler that interrupted this thread in such a function.
 */
int map_update(struct map *map, const void *key, const void *value, uint64_t flags);
int map_erase(struct map *map, const void *key);
int map_push(struct map *map, const void *value, uint64_t flags);
int map_pop(struct map *map, void *value);
int map_peek(struct map *map, void *value);

/* map_value_bytes - what a value takes on the host's side: all CPUs', each padded to 8 bytes */
size_t map_value_bytes(const struct map *map);

/* map_read - copy a value for the host: 0, -ENOENT, or what the type's read gives */
int map_read(const struct map *map, const void *key, void *value);

/*
 * map_host_enter - begin an operation of the host: 0, -EINVAL (not made), -EPERM (by the map's
 *	flags, or frozen), -EBUSY; map_host_leave - end it; returns @err
 */
enum { MAP_READ = 1, MAP_WRITE = 2 };
int map_host_enter(const struct pp_bpf_map *map, unsigned int rights);
int map_host_leave(int err);

/* map_begin - before taking a lock: false if this thread has one; map_end - when it has none */
bool map_begin(void);
void map_end(void);

/*
 * map_reclaim - a grace period for what left maps, if it is much
 *
 * For host context: does nothing inside a read-side section.
 */
void map_reclaim(void);

/* map_fork_init - have children of fork() find maps and liburcu as they must; once is enough */
void map_fork_init(void);

/* map_fork_child - in the child: whoever was reclaiming is not here */
void map_fork_child(void);

#endif

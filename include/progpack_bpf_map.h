/* SPDX-License-Identifier: MIT */
/*
 * progpack_bpf_map.h - maps of eBPF programs, from the host; part of progpack_bpf.h
 *
 * Types, flags, operations and errors are those of Linux's bpf() system call; what differs is said
 * here, docs/maps.md has a table. Where the kernel gives ENOTSUPP (524), here it is -ENOTSUP, and
 * where it takes or gives a file descriptor or an id, here it is a handle.
 *
 * Any thread may use a map at any time, but not in a helper that a program called while it holds
 * what another call returned. Functions return 0 or -errno.
 */
#ifndef PROGPACK_BPF_MAP_H
#define PROGPACK_BPF_MAP_H

#include <progpack.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pp_bpf_object;
struct pp_bpf_prog;
struct pp_bpf_map;

/*
 * struct pp_bpf_map_info - @type is Linux's enum bpf_map_type; sizes in bytes
 * @flags: BPF_F_* of map creation; @extra: map_extra, bloom filters' number of hash functions
 */
struct pp_bpf_map_info {
	uint32_t type, key_size, value_size, max_entries, flags;
	uint64_t extra;
};

/* Maps of an object, in the order of the file; .data, .rodata and .bss are among them. */
struct pp_bpf_map *pp_bpf_map_by_name(struct pp_bpf_object *object, const char *name);
struct pp_bpf_map *pp_bpf_map_next(struct pp_bpf_object *object, const struct pp_bpf_map *prev);
const char *pp_bpf_map_name(const struct pp_bpf_map *map);
void pp_bpf_map_info(const struct pp_bpf_map *map, struct pp_bpf_map_info *info);

/*
 * pp_bpf_map_new - make a map without an object
 * @name: copied; @inner: for maps of maps: one like those that will be in it; else NULL
 *
 * Return: 0, -EINVAL, -E2BIG, -EBADF (no inner map), -ENOTSUP (type; LRU without preallocation;
 * an inner map that cannot be one), -ENOMEM.
 */
PP_MUST_USE int pp_bpf_map_new(const char *name, const struct pp_bpf_map_info *info,
			       const struct pp_bpf_map *inner, struct pp_bpf_map **map);

/*
 * pp_bpf_map_share - another handle of the same map, the caller's own; -EINVAL: not made yet
 * pp_bpf_map_free - end a handle from pp_bpf_map_new() or _share(); objects end their own. NULL is
 *	fine. The map goes with its last handle, object and map of maps, after a grace period.
 */
PP_MUST_USE int pp_bpf_map_share(const struct pp_bpf_map *map, struct pp_bpf_map **handle);
void pp_bpf_map_free(struct pp_bpf_map *map);

/*
 * pp_bpf_map_reuse - have an object that is not loaded use @other instead of making @map
 *
 * Type, sizes, flags and entries must be the same. See also opts->maps. Values of data sections are
 * left as they are. Return: 0, -EBUSY (made already), -EINVAL (differs; the log says where).
 */
PP_MUST_USE int pp_bpf_map_reuse(struct pp_bpf_map *map, const struct pp_bpf_map *other);

/* A number that no other map of this process has or had; 0 before the map is made. */
uint32_t pp_bpf_map_id(const struct pp_bpf_map *map);

/*
 * Elements. Keys have the map's key_size; queues, stacks and bloom filters have none: NULL. Values
 * have pp_bpf_map_value_bytes(): value_size, or for per-CPU maps that of each of
 * pp_bpf_map_cpus() CPUs, padded to 8 bytes, one behind the other. Maps of maps give the id, and
 * take a handle (below). @flags: 0 BPF_ANY, 1 BPF_NOEXIST, 2 BPF_EXIST.
 *
 * Return: 0, -ENOENT (no such key, no next key, empty), -EEXIST, -E2BIG (map full, or index past
 * the end), -ENOSPC (trie full), -EINVAL or -ENOTSUP (not an operation of this type; bad flags; not
 * loaded), -EPERM (frozen, BPF_F_RDONLY, BPF_F_WRONLY), -EBUSY (in a signal handler that
 * interrupted one of these functions), -ENOMEM.
 */
PP_MUST_USE int pp_bpf_map_lookup(const struct pp_bpf_map *map, const void *key, void *value);
PP_MUST_USE int pp_bpf_map_update(struct pp_bpf_map *map, const void *key, const void *value,
				  uint64_t flags);
PP_MUST_USE int pp_bpf_map_delete(struct pp_bpf_map *map, const void *key);
PP_MUST_USE int pp_bpf_map_lookup_and_delete(struct pp_bpf_map *map, const void *key, void *value);
/* @key NULL, or one that is not there, gives the first key. */
PP_MUST_USE int pp_bpf_map_next_key(const struct pp_bpf_map *map, const void *key, void *next);

/*
 * Maps of maps: set_map puts a map in a place, which keeps it; get_map gives a handle of the map
 * there, the caller's own. Arrays of programs: a place does not keep its program: when the
 * program's object goes (progpack_bpf_link.h), it is empty. delete empties places.
 *
 * Return: 0, -EINVAL (type; @inner is not like those that the map is for; not loaded; flags),
 * -EBADF (@inner is not made yet), -E2BIG, -EEXIST, -ENOENT, -EPERM, -ENOMEM.
 */
PP_MUST_USE int pp_bpf_map_set_map(struct pp_bpf_map *outer, const void *key,
				   const struct pp_bpf_map *inner, uint64_t flags);
PP_MUST_USE int pp_bpf_map_get_map(const struct pp_bpf_map *outer, const void *key,
				   struct pp_bpf_map **inner);
PP_MUST_USE int pp_bpf_map_set_prog(struct pp_bpf_map *map, const void *key,
				    const struct pp_bpf_prog *prog, uint64_t flags);
PP_MUST_USE int pp_bpf_map_get_prog(const struct pp_bpf_map *map, const void *key,
				    const struct pp_bpf_prog **prog);

size_t pp_bpf_map_value_bytes(const struct pp_bpf_map *map);
uint32_t pp_bpf_map_cpus(void);

/* No host may write to it from now on; programs may. -EPERM: frozen already. */
PP_MUST_USE int pp_bpf_map_freeze(struct pp_bpf_map *map);

/*
 * struct pp_bpf_batch - many elements at once
 * @in, @out: where reading begins (NULL: at the start), and where it goes on: of the larger of
 *	key_size and 4 bytes. They may be one. Only for the functions that look up.
 * @keys, @values: room for @count elements, or that many
 * @count: in: elements; out: how many were done, on error, too
 * @flags: of each update; else 0
 */
struct pp_bpf_batch {
	const void *in;
	void *out, *keys, *values;
	uint32_t count;
	uint64_t flags;
};

/*
 * Return: 0, -ENOENT (looking up: these were the last), -ENOSPC (looking up in a hash map: give
 * more room, elements of a bucket come together), -ENOTSUP (type), or what the element gave.
 */
PP_MUST_USE int pp_bpf_map_lookup_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch);
PP_MUST_USE int pp_bpf_map_lookup_and_delete_batch(struct pp_bpf_map *map,
						   struct pp_bpf_batch *batch);
PP_MUST_USE int pp_bpf_map_update_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch);
PP_MUST_USE int pp_bpf_map_delete_batch(struct pp_bpf_map *map, struct pp_bpf_batch *batch);

/*
 * Ring buffers. One consumer a map, in one thread at a time; it takes no lock. Records are handed
 * to @fn in the order in which programs reserved them; what @fn gets is good until it returns, and
 * a negative result of it ends the call, with that record read.
 *
 * pp_bpf_ring_new - attach a consumer; it keeps the map. 0, -EINVAL (no ring buffer), -EBUSY (it
 *	has a consumer), -ENOMEM, -EMFILE
 * pp_bpf_ring_consume - hand on what is there: the number of records, or @fn's error
 * pp_bpf_ring_poll - the same, but wait for the first one: up to @timeout_ms, -1 for ever; 0: none
 *	came; -EINTR
 * pp_bpf_ring_fd - an eventfd that becomes readable when there is something to read: for the host's
 *	own poll(); read it, then consume
 *
 * Memory of ring buffers is shared with children of fork(): they may produce, one may consume.
 */
struct pp_bpf_ring;
typedef int (*pp_bpf_ring_fn)(void *ctx, void *data, size_t size);
PP_MUST_USE int pp_bpf_ring_new(const struct pp_bpf_map *map, pp_bpf_ring_fn fn, void *ctx,
				struct pp_bpf_ring **ring);
void pp_bpf_ring_free(struct pp_bpf_ring *ring);
PP_MUST_USE int pp_bpf_ring_consume(struct pp_bpf_ring *ring);
PP_MUST_USE int pp_bpf_ring_poll(struct pp_bpf_ring *ring, int timeout_ms);
int pp_bpf_ring_fd(const struct pp_bpf_ring *ring);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * heap.h - a heap: one reservation, its memory and its shards
 *
 * Locks, `grow` or `patch` before those of shards:
 *	shard's	its view of the index, patched, open, names and counts (shard.h); held for a few
 *		loads and stores, never over a system call, a copy or the caller's log function
 *	grow	held by the one thread that maps, unmaps or collapses packs, passes them to another
 *		shard, or adds a shard; so what is mapped changes with both locks held, and may be
 *		read with either
 *	patch	held by the one thread that patches live code
 * `stats` and `charged` are changed atomically: failures and limits concern all shards.
 * The caller's log function is called with none of them held: what is to be said under the two
 * mutexes is said after (log_hold() in base/log.h).
 * Chunks that are taken out of the index belong to the thread that took them, so that writing
 * to them needs no lock.
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

#include "heap/fork.h"
#include "heap/index.h"
#include "heap/names.h"
#include "heap/shard.h"
#include "heap/writer.h"
#include "os/os.h"

#include <progpack.h>
#include <pthread.h>

struct pp_heap {
	pthread_mutex_t grow;
	pthread_mutex_t patch;
	struct index index; /* what all shards have in common; to find free chunks, ask theirs */
	struct names names;
	struct memory mem;
	struct fork_state fork;
	struct shard *shard[SHARDS_MAX];
	unsigned int shards, shards_max;
	struct pp_stats stats; /* but for what pp_stats() works out, and what shards count */
	_Alignas(64) uint64_t
		charged; /* bytes of blocks, where there is a limit that could be reached */
	struct shard first;
};

/*
 * heap_open - a new open block: chunks, from packs there are or after growth, and its buffer
 * @align: in chunks; @name: NULL, or the block's from now on
 *
 * Return: 0, -EDQUOT, -ENOSPC, -ENOMEM, or why memory cannot be mapped; @name is the caller's then.
 */
int heap_open(struct pp_heap *heap, size_t chunks, size_t align, struct name *name,
	      struct staging **staging);

/* heap_start - grow the first pack as the heap's flags want it, before anybody knows the heap */
int heap_start(struct pp_heap *heap);

/* heap_has_surplus - with its lock held: has it a pack to return? heap_trim - return them */
bool heap_has_surplus(const struct pp_heap *heap, const struct shard *shard);
void heap_trim(struct pp_heap *heap);

static inline uint8_t *heap_rx(const struct pp_heap *heap, size_t chunk)
{
	return heap->mem.base + chunk * PP_CHUNK;
}

/* heap_chunk - the chunk that an address is in, or INDEX_NONE */
static inline size_t heap_chunk(const struct pp_heap *heap, const void *address)
{
	uintptr_t offset = (uintptr_t)address - (uintptr_t)heap->mem.base;

	return offset < heap->mem.size ? offset / PP_CHUNK : INDEX_NONE;
}

static inline bool heap_is_in_child(const struct pp_heap *heap)
{
	if (!heap->fork.alive)
		return __atomic_load_n(&heap->fork.pid, __ATOMIC_ACQUIRE) != os_process();
	return __atomic_load_n(heap->fork.alive, __ATOMIC_ACQUIRE) != FORK_ALIVE;
}

/*
 * heap_enter - each public call's start: see fork.h. heap_enter_writing - of those that change
 * executable memory: 0, or -EPERM and the reason in the log
 */
int heap_enter(const struct pp_heap *heap);
int heap_enter_writing(struct pp_heap *heap);

/* heap_failed - count one more failure; @counter is one of a heap's stats' */
static inline void heap_failed(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* heap_is_limited - can there be more blocks than opts.limit allows? */
static inline bool heap_is_limited(const struct pp_heap *heap)
{
	return heap->stats.limit && heap->stats.limit < heap->stats.reserved;
}

/* heap_recount - work out again what the figures say of the index, which somebody was changing */
void heap_recount(struct pp_heap *heap);

#endif

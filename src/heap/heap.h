/* SPDX-License-Identifier: MIT */
/*
 * heap.h - a heap: one reservation, its index, its open blocks and its figures
 *
 * Three locks, `grow` or `patch` before `lock`:
 *	lock	index, patched, open, names, limit and stats; held for a few loads and stores, never
 *		over a system call, a copy or the caller's log function
 *	grow	held by the one thread that maps, unmaps or collapses packs
 *	patch	held by the one thread that patches live code
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
#include "heap/staging.h"
#include "heap/writer.h"
#include "os/lock.h"
#include "os/os.h"

#include <progpack.h>
#include <pthread.h>

struct pp_heap {
	pthread_mutex_t grow;
	pthread_mutex_t patch;
	struct lock lock;
	struct index index;
	size_t patched; /* the block that pp_patch() is changing: its first chunk, or INDEX_NONE */
	struct staging_table open;
	struct names names;
	struct pp_stats stats; /* but for what pp_stats() works out */
	struct memory mem;
	struct fork_state fork;
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

/* heap_has_surplus - with the lock held: is there a pack to return? heap_trim - return them */
bool heap_has_surplus(const struct pp_heap *heap);
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

/* heap_failed - count one more failure; @counter is one of heap->stats */
void heap_failed(struct pp_heap *heap, uint64_t *counter);

/* heap_recount - work out again what the figures say of the index, which somebody was changing */
void heap_recount(struct pp_heap *heap);

#endif

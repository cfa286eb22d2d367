/* SPDX-License-Identifier: MIT */
/*
 * shard.h - parts of a heap, so that its threads do not wait for each other
 *
 *	pack	 0   1   2   3   4   5   6   7
 *	owner	 0   0   1   0   1   -   -   -		each pack is one shard's while it is mapped
 *		 |   |   |
 *		 |   |   shard 1: lock, view of the index, open blocks, names, counts
 *		 shard 0: the same
 *
 * A thread allocates from the shard it allocated from last, and moves to another only where it
 * often has to wait. A heap has one shard, so that its code is dense, until a thread that moves
 *finds none that is free; then there is one more, up to as many as there are CPUs. Everything else
 *that is done to a block concerns the shard that owns its pack, whoever does it.
 *
 * Locks: several shards' are taken in the order of their numbers, after the heap's two mutexes.
 * Who has found a shard by an address asks again whether it owns the pack once its lock is held: if
 * it does not, the pack was unmapped in between, and there was no block.
 */
#ifndef HEAP_SHARD_H
#define HEAP_SHARD_H

#include "heap/index.h"
#include "heap/names.h"
#include "heap/staging.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARDS_MAX 16u
#define SHARD_ALIGN 128u /* lines are fetched in pairs */

struct pp_heap;

/* struct counts - what a shard adds to a heap's pp_stats */
struct counts {
	uint64_t used, blocks, open;
	uint64_t allocs, finalizes, aborts, frees, patches;
	uint64_t copies, fills, syncs;
};

struct shard {
	_Alignas(SHARD_ALIGN) struct lock lock;
	struct index index;
	size_t patched; /* the block that pp_patch() is changing: its first chunk, or INDEX_NONE */
	size_t spares;  /* empty packs that stay mapped */
	bool has_returned; /* one more than these, and mapped none since */
	struct counts counts;
	struct names names;
	struct staging_table open;
};

/* Bit i stands for shard i. */
typedef uint32_t shard_set;

/* shard_init_first - a heap's first shard, when it has an index and names; shard_fini_all - all */
void shard_init_first(struct pp_heap *heap);
void shard_fini_all(struct pp_heap *heap);

/* shard_enter - the shard that this thread is to allocate from; its lock is taken */
struct shard *shard_enter(struct pp_heap *heap);

/* shard_count - how many there are; never fewer than before */
unsigned int shard_count(const struct pp_heap *heap);

/* shard_of - whose a chunk is, or was last */
struct shard *shard_of(const struct pp_heap *heap, size_t chunk);

static inline shard_set shard_bit(const struct shard *shard)
{
	return (shard_set)1 << shard->index.id;
}

/* With its lock held: is the chunk in one of its packs? */
static inline bool shard_owns(const struct shard *shard, size_t chunk)
{
	return index_owner(&shard->index, chunk / PACK_CHUNKS) == shard->index.id;
}

/* shard_all - those there are now; shard_add - and the one that owns an address, if one may */
shard_set shard_all(const struct pp_heap *heap);
shard_set shard_add(const struct pp_heap *heap, shard_set set, const void *rx);

void shard_lock(const struct pp_heap *heap, shard_set set);
void shard_unlock(const struct pp_heap *heap, shard_set set);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * index.h - which chunks are free: four bits a chunk, kept beside the packs, never inside them
 *
 *	used[i]		chunk i belongs to a block
 *	first[i]	it starts one; means nothing where used[i] is clear
 *	open[i]		the block that starts at i is not finalized yet
 *	dying[i]	the block that starts at i is being freed
 *
 * So a block ends before the next chunk that is unused or a first, its size follows from its
 * address, and a free of anything that is not a live block is refused without touching state.
 *
 * Views: each shard of a heap has one, of the packs that it owns. What concerns a block, a run or
 * a pack is asked of its owner's view; blocks lie within packs of one owner.
 *
 * Lock: callers hold the lock of the view's shard, but for index_block() and index_size(), which
 * need none. That works since take() sets `first` before `used`, and give() clears `used` only: a
 * reader that loads `used` before `first` never runs from one block into the next, whenever it
 * comes, and whoever owns the next.
 *
 * Packs grow: their first chunks have memory, the others are neither used nor free. A block of up
 * to a pack lies within one: it never takes a second TLB entry. A larger one starts with a pack.
 *
 * Which run: the shortest that is long enough, the lowest of its length; one in the highest pack
 * only if there is no other, so that it empties. After churn that leaves 95 % of the memory in
 * use where lowest-first leaves 87 % (docs/heap.md).
 */
#ifndef HEAP_INDEX_H
#define HEAP_INDEX_H

#include "base/bitmap.h"
#include "heap/runs.h"

#include <progpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_SIZE ((size_t)2 << 20)
#define PACK_CHUNKS (PACK_SIZE / PP_CHUNK)

#define INDEX_NONE BITMAP_NONE

/*
 * struct index_pack - what is known of one pack; a cache line, so that those of two views share
 * none
 * @grown: chunks that have memory; 0 if it is not mapped
 * @free: how many of them are free
 * @owner: the view that it belongs to; see index_owner()
 * @huge: it was made one huge page; @sealed: nothing can unmap it any more
 */
struct index_pack {
	_Alignas(64) uint32_t grown;
	uint32_t free;
	uint8_t owner;
	bool huge;
	bool sealed;
};

struct index {
	size_t packs;   /* in the reservation, mapped or not */
	size_t highest; /* mapped pack of this view */
	size_t empty;   /* its mapped packs without a used chunk, but for sealed ones */
	size_t idle;    /* gives since a pack became empty the last time */
	uint64_t *used, *first, *open, *dying;
	struct index_pack *pack;
	struct runs runs; /* of the free chunks that have memory */
	void *memory;     /* all of the above: zero pages until they are needed */
	size_t size;
	uint8_t id; /* of the view */
};

int index_init(struct index *ix, size_t packs);
void index_fini(struct index *ix);

/*
 * index_share - a view: of the packs that it owns, with bitmaps and packs shared, but a tree of
 * its own; index_fini() ends it before what it shares. 0, or -ENOMEM.
 */
int index_share(struct index *view, const struct index *ix, uint8_t id);

/*
 * index_owner - the view of a pack, which is the last one that had it where it is not mapped
 * index_pass - a pack that is not mapped becomes the view @id's
 *
 * That a view owns a pack changes with the view's lock held only, to either side.
 */
static inline uint8_t index_owner(const struct index *ix, size_t p)
{
	return __atomic_load_n(&ix->pack[p].owner, __ATOMIC_ACQUIRE);
}

static inline void index_pass(struct index *ix, size_t p, uint8_t id)
{
	__atomic_store_n(&ix->pack[p].owner, id, __ATOMIC_RELEASE);
}

/* index_find - the best @chunks free ones in a row in grown memory, or INDEX_NONE */
size_t index_find(const struct index *ix, size_t chunks);

/*
 * index_find_aligned - the same at a multiple of @align: in the first run that has it
 * @looks: most runs to look at, shortest first, so that holes of just this size come before others
 */
size_t index_find_aligned(const struct index *ix, size_t chunks, size_t align, size_t looks);

/*
 * index_find_room - for more than a pack, in packs whose chunks are free or without memory
 * Nobody maps or unmaps packs meanwhile: those without memory may be of any view.
 */
size_t index_find_room(const struct index *ix, size_t chunks);

/* index_grow - the first @chunks of a pack have memory now, and the new ones are free */
void index_grow(struct index *ix, size_t p, size_t chunks);

/* index_leave - an empty pack is to be unmapped: its chunks are not found any more */
void index_leave(struct index *ix, size_t p);

/* index_seal - a pack can be unmapped no more: it is never counted empty again */
void index_seal(struct index *ix, size_t p);

/* index_is_empty - could the pack be unmapped? */
static inline bool index_is_empty(const struct index *ix, size_t p)
{
	const struct index_pack *pack = &ix->pack[p];

	return pack->grown && pack->free == pack->grown && !pack->sealed;
}

/* index_tail - free chunks at the end of a pack's grown part */
size_t index_tail(const struct index *ix, size_t p);

/* index_take - make a block of free chunks; index_give - free a block's last chunks, or all */
void index_take(struct index *ix, size_t at, size_t chunks);
void index_give(struct index *ix, size_t at, size_t chunks);

/* index_expect - what is known of this chunk is needed soon: fetch it, before the lock is taken */
void index_expect(const struct index *ix, size_t at);

static inline size_t index_chunks(const struct index *ix)
{
	return ix->packs * PACK_CHUNKS;
}

/* index_rebuild - work out again what follows from `used`, which somebody was changing */
void index_rebuild(struct index *ix);

/* index_size - chunks of the block that starts at @at; lock-free */
size_t index_size(const struct index *ix, size_t at);

/* index_block - the first chunk of the block that @at is in, or INDEX_NONE; lock-free */
size_t index_block(const struct index *ix, size_t at);

/* index_largest - chunks of the largest block that index_find() would find */
size_t index_largest(const struct index *ix);

#endif

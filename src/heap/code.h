/* SPDX-License-Identifier: MIT */
/*
 * code.h - the life of a block: what its steps, one file each, share
 *
 *	free --pp_alloc--> open --pp_finalize--> live --pp_free--> dying --> free
 *	                    \----pp_abort, or a failed finalize----------->
 *
 * Invariant: the chunks of a free or open block hold traps, but for an open block while it is
 * copied. Every transition is decided under the lock of the block's shard, those of a batch under
 * all of theirs; bytes move between two decisions.
 */
#ifndef HEAP_CODE_H
#define HEAP_CODE_H

#include "heap/heap.h"

static inline size_t to_chunks(size_t size)
{
	return size / PP_CHUNK + (size % PP_CHUNK != 0);
}

/* code_refuse - count a failed call by its cause, say why, and give @err */
int code_refuse(struct pp_heap *heap, int err, const char *call, const char *why);

/*
 * code_claim - an open block's buffer; whoever has it ends the block. NULL if it is none.
 * @held: shards whose locks are held; a block of another one was not there when they were chosen
 */
struct staging *code_claim(struct pp_heap *heap, shard_set held, const struct pp_code *code);

/* code_give - with the lock held: chunks full of traps become free */
void code_give(struct pp_heap *heap, struct shard *shard, size_t at, size_t chunks);

/*
 * code_give_open - with the lock held: an open block whose chunks hold traps becomes free
 * Its name goes back to its buffer.
 */
void code_give_open(struct pp_heap *heap, struct shard *shard, struct staging *staging);

/* code_unlock - unlock shards after gives, which may have emptied packs */
void code_unlock(struct pp_heap *heap, shard_set set);

/* code_end - with the lock held: keep the buffer, or put it on the list of those to free */
void code_end(struct shard *shard, struct staging *staging, struct staging **list);
void code_free_list(struct staging *list);

#endif

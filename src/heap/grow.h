/* SPDX-License-Identifier: MIT */
/*
 * grow.h - where chunks come from: packs that grow, are made huge, and are returned
 *
 *	not mapped --64 KiB--> growing --doubles--> whole --collapse--> huge
 *	    ^----------------- empty, and another one is too <-----------'
 *
 * At most one pack of a shard is growing, so that an alias heap keeps one descriptor for each: a
 * block that does not fit into it gets a whole pack. The thread whose growth makes a pack whole
 * also makes it huge, as then 1 MiB of it is in use: after its chunks were published, with `grow`
 * held and the shard's lock free.
 *
 * One empty pack of a shard stays mapped, so that a load and unload that crosses a pack's boundary
 * maps nothing, and up to SPARES_MAX where such packs were mapped again soon; but if nobody needed
 * them for SPARE_GIVES frees, only a heap's last pack stays.
 */
#ifndef HEAP_GROW_H
#define HEAP_GROW_H

#include "heap/heap.h"

#define SPARE_GIVES 1024u
#define SPARES_MAX 4u

/* Packs from .. to - 1 are to have @chunks each; none if both are the same. */
struct growth {
	size_t from, to, chunks;
};

/* grow_lock, grow_unlock - `grow`: what the caller's log function is told under it is told after */
void grow_lock(struct pp_heap *heap, struct log_held *held);
void grow_unlock(struct pp_heap *heap, const struct log_held *held);

/* The others with `grow` held. */

/* grow_plan - and the shard's lock: the growth that gives a block room; false if there is none */
bool grow_plan(const struct pp_heap *heap, const struct shard *shard, size_t chunks, size_t align,
	       struct growth *plan);

/* grow_carry_out - the packs are the shard's then */
int grow_carry_out(struct pp_heap *heap, struct shard *shard, const struct growth *plan);

/*
 * grow_finish - what is done once to a whole pack, as far as it is not done yet
 * @is_huge: sure that it is; the heap may only believe so, as nobody tells the parent of a raw fork
 *	that writes split its pages
 */
int grow_finish(struct pp_heap *heap, size_t p, bool is_huge);

/* grow_count_packs - mapped ones, and their bytes: more or, where negative, fewer */
void grow_count_packs(struct pp_heap *heap, int64_t packs, int64_t bytes);

/* tidy_return_all - return the empty packs of all shards but one: who needs room has none left */
void tidy_return_all(struct pp_heap *heap, const struct shard *but);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * open.c - heap_open(): a block of free chunks, and its buffer
 *
 *	the thread's shard: grown room  ->  growth  ->  grown room of the other shards, their
 *	growth  ->  the same after the return of all empty packs  ->  -ENOSPC
 *
 * So that all shards of a full heap are full.
 */
#include "heap/grow.h"

#include <errno.h>

static bool is_allowed(const struct pp_heap *heap, uint64_t used, uint64_t size)
{
	return used <= heap->stats.limit && size <= heap->stats.limit - used;
}

static bool has_allowance(const struct pp_heap *heap, uint64_t size)
{
	return !heap_is_limited(heap) ||
	       is_allowed(heap, __atomic_load_n(&heap->charged, __ATOMIC_RELAXED), size);
}

/* With a shard's lock held: count a block, unless it would be over the limit. */
static bool charge(struct pp_heap *heap, uint64_t size)
{
	uint64_t used;

	if (!heap_is_limited(heap))
		return true;
	used = __atomic_load_n(&heap->charged, __ATOMIC_RELAXED);
	do {
		if (!is_allowed(heap, used, size))
			return false;
	} while (!__atomic_compare_exchange_n(&heap->charged, &used, used + size, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static size_t round_up(size_t at, size_t align)
{
	return (at + align - 1) / align * align;
}

/*
 * Runs to look at for the shortest that an aligned block happens to fit into: at each allocation,
 * before growth, which costs more by far, and where there is nothing to grow.
 */
#define LOOKS_FIRST 64u
#define LOOKS_BEFORE_GROWTH 4096u
#define LOOKS_AT_LAST SIZE_MAX

/*
 * Where too many runs hold the block but for its alignment, one that holds it at any. Packs are
 * aligned: larger blocks start at one.
 */
static size_t find(const struct index *ix, size_t chunks, size_t align, size_t looks)
{
	size_t padded = chunks + align - 1, at;

	if (align == 1 || chunks > PACK_CHUNKS)
		return index_find(ix, chunks);
	at = index_find_aligned(ix, chunks, align, looks);
	if (at != INDEX_NONE || padded > PACK_CHUNKS)
		return at;
	at = index_find(ix, padded);
	return at == INDEX_NONE ? at : round_up(at, align);
}

/* What a block is to be: as large as its buffer. */
struct wish {
	size_t align; /* in chunks */
	struct name *name;
	struct staging *staging;
	struct shard *shard; /* where it is wanted */
};

/* With the shard's lock held: the block is open from here on, and anybody may find it. */
static void open_block(struct shard *shard, const struct wish *wish, size_t at)
{
	struct staging *staging = wish->staging;

	index_take(&shard->index, at, staging->size / PP_CHUNK);
	staging->chunk = at;
	staging->name = NULL;
	staging_put(&shard->open, staging);
	if (wish->name)
		names_put(&shard->names, at, wish->name);
	shard->counts.used += staging->size;
	shard->counts.blocks++;
	shard->counts.open++;
	shard->counts.allocs++;
}

/*
 * With the shard's lock held: -ENOSPC if there is no room in grown memory. Charged last, so that
 * the limit refuses nobody because of a block that is not made.
 */
static int take_grown(struct pp_heap *heap, struct shard *shard, const struct wish *wish,
		      size_t looks)
{
	size_t size = wish->staging->size;
	size_t at = find(&shard->index, size / PP_CHUNK, wish->align, looks);

	if (at == INDEX_NONE)
		return has_allowance(heap, size) ? -ENOSPC : -EDQUOT;
	if (!charge(heap, size))
		return -EDQUOT;
	open_block(shard, wish, at);
	return 0;
}

static int take_locking(struct pp_heap *heap, struct shard *shard, const struct wish *wish,
			size_t looks)
{
	int err;

	lock_take(&shard->lock);
	err = take_grown(heap, shard, wish, looks);
	lock_give(&shard->lock);
	return err;
}

/* A block, or the growth that will give it. */
static int take_or_plan(struct pp_heap *heap, struct shard *shard, const struct wish *wish,
			size_t looks, struct growth *plan)
{
	int err;

	*plan = (struct growth){0};
	lock_take(&shard->lock);
	err = take_grown(heap, shard, wish, looks);
	if (err == -ENOSPC &&
	    grow_plan(heap, shard, wish->staging->size / PP_CHUNK, wish->align, plan))
		err = 0;
	if (err == -ENOSPC && looks != LOOKS_AT_LAST)
		err = take_grown(heap, shard, wish, LOOKS_AT_LAST);
	lock_give(&shard->lock);
	return err;
}

/*
 * With `grow` held. Others may take what is grown here before we do, so try again: each round
 * grows a pack, hence there is a last one.
 */
static int take_growing(struct pp_heap *heap, struct shard *shard, const struct wish *wish)
{
	struct growth plan;
	int err = take_or_plan(heap, shard, wish, LOOKS_BEFORE_GROWTH, &plan);

	while (!err && plan.to > plan.from) {
		err = grow_carry_out(heap, shard, &plan);
		if (!err) /* it grew just enough */
			err = take_or_plan(heap, shard, wish, LOOKS_AT_LAST, &plan);
	}
	return err;
}

/* With `grow` held: where the shard's growth gave @err, by the others, which may have room. */
static int take_elsewhere(struct pp_heap *heap, const struct wish *wish, int err)
{
	unsigned int count = shard_count(heap);

	for (unsigned int i = 1; i < count && err && err != -EDQUOT; i++) {
		struct shard *other = heap->shard[(wish->shard->index.id + i) % count];
		int other_err = err == -ENOSPC ? take_growing(heap, other, wish)
					       : take_locking(heap, other, wish, LOOKS_AT_LAST);

		if (other_err != -ENOSPC)
			err = other_err;
	}
	return err;
}

/* With `grow` held. */
static int take_anywhere(struct pp_heap *heap, const struct wish *wish)
{
	int err = take_growing(heap, wish->shard, wish);

	if (err && err != -EDQUOT && shard_count(heap) > 1)
		err = take_elsewhere(heap, wish, err);
	if (err != -ENOSPC || shard_count(heap) == 1)
		return err;
	tidy_return_all(heap, wish->shard);
	return take_growing(heap, wish->shard, wish);
}

/* The way of nearly all: a kept buffer and grown memory, in one section. */
static int take_quickly(struct pp_heap *heap, size_t size, struct wish *wish)
{
	struct shard *shard = shard_enter(heap);
	int err = -ENOMEM;

	wish->shard = shard;
	wish->staging = staging_reuse(&shard->open, size);
	if (wish->staging)
		err = take_grown(heap, shard, wish, LOOKS_FIRST);
	lock_give(&shard->lock);
	return err;
}

static int take_slowly(struct pp_heap *heap, size_t size, struct wish *wish)
{
	struct log_held held;
	int err;

	if (!wish->staging)
		wish->staging = staging_new(size);
	if (!wish->staging)
		return -ENOMEM;
	err = take_locking(heap, wish->shard, wish, LOOKS_FIRST);
	if (err != -ENOSPC)
		return err;
	grow_lock(heap, &held);
	err = take_anywhere(heap, wish);
	grow_unlock(heap, &held);
	return err;
}

int heap_open(struct pp_heap *heap, size_t chunks, size_t align, struct name *name,
	      struct staging **staging)
{
	struct wish wish = {.align = align, .name = name};
	int err = take_quickly(heap, chunks * PP_CHUNK, &wish);

	if (err)
		err = take_slowly(heap, chunks * PP_CHUNK, &wish);
	if (err)
		staging_free(wish.staging);
	else
		*staging = wish.staging;
	return err;
}

/* SPDX-License-Identifier: MIT */
/* walk.c - pp_walk(): a heap's memory, run by run */
#include "heap/heap.h"

/* The run at @at, in what has grown of pack @p: where it ends. Large blocks end in a later pack. */
static size_t grown_run(const struct index *ix, size_t p, size_t at, enum pp_run_state *state)
{
	if (!bitmap_get(ix->used, at)) {
		*state = PP_RUN_FREE;
		return bitmap_next_one(ix->used, at, p * PACK_CHUNKS + ix->pack[p].grown);
	}
	*state = bitmap_get(ix->open, at) ? PP_RUN_OPEN : PP_RUN_LIVE;
	return at + index_size(ix, at);
}

/* The run at chunk @at, which a mapped pack has; where the next one starts. */
static size_t run_at(const struct pp_heap *heap, size_t at, struct pp_run *run)
{
	const struct index *ix = &heap->index;
	size_t p = at / PACK_CHUNKS, end = (p + 1) * PACK_CHUNKS;

	*run = (struct pp_run){
		.rx = heap_rx(heap, at),
		.state = PP_RUN_UNGROWN,
		.huge = ix->pack[p].huge,
	};
	if (at % PACK_CHUNKS < ix->pack[p].grown)
		end = grown_run(ix, p, at, &run->state);
	if (run->state == PP_RUN_OPEN || run->state == PP_RUN_LIVE)
		run->name = names_get(&shard_of(heap, at)->names, at);
	run->size = (end - at) * PP_CHUNK;
	return end;
}

/* Packs of shards that are younger than the walk are not looked at. */
static bool is_mapped(const struct pp_heap *heap, shard_set held, size_t p)
{
	return held & shard_bit(shard_of(heap, p * PACK_CHUNKS)) && heap->index.pack[p].grown;
}

static int walk(const struct pp_heap *heap, shard_set held,
		int (*fn)(void *ctx, const struct pp_run *run), void *ctx)
{
	size_t at = 0, all = index_chunks(&heap->index);
	int stop = 0;

	while (at < all && !stop) {
		struct pp_run run;

		if (!is_mapped(heap, held, at / PACK_CHUNKS)) {
			at = (at / PACK_CHUNKS + 1) * PACK_CHUNKS;
			continue;
		}
		at = run_at(heap, at, &run);
		stop = fn(ctx, &run);
	}
	return stop;
}

int pp_walk(const struct pp_heap *heap, int (*fn)(void *ctx, const struct pp_run *run), void *ctx)
{
	int stop = heap_enter(heap);
	shard_set all;

	if (stop)
		return stop;
	all = shard_all(heap);
	shard_lock(heap, all);
	stop = walk(heap, all, fn, ctx);
	shard_unlock(heap, all);
	return stop;
}

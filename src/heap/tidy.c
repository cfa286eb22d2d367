/* SPDX-License-Identifier: MIT */
/* tidy.c - packs that nobody needs are returned, and those that filled up made huge */
#include "heap/grow.h"
#include "heap/pack.h"

#include <errno.h>
#include <string.h>

static bool is_idle(const struct shard *shard)
{
	return shard->index.idle >= SPARE_GIVES;
}

bool heap_has_surplus(const struct pp_heap *heap, const struct shard *shard)
{
	size_t empty = shard->index.empty;

	if (!empty || !is_idle(shard))
		return empty > shard->spares;
	return __atomic_load_n(&heap->stats.packs, __ATOMIC_RELAXED) > 1;
}

/* With the lock held: the shard's highest empty pack, which there is. */
static size_t highest_empty(const struct shard *shard)
{
	size_t p = shard->index.highest;

	while (!shard_owns(shard, p * PACK_CHUNKS) || !index_is_empty(&shard->index, p))
		p--;
	return p;
}

/*
 * With both locks held. Nobody finds the pack's chunks while it is unmapped; where that fails (a
 * process with too many mappings), they are found again.
 */
static int return_pack(struct pp_heap *heap, struct shard *shard, size_t p)
{
	const struct index_pack was = shard->index.pack[p];
	int err;

	index_leave(&shard->index, p);
	lock_give(&shard->lock);
	err = heap->mem.writer->unmap(&heap->mem, p);
	lock_take(&shard->lock);
	if (!err) {
		grow_count_packs(heap, -1, -(int64_t)(was.grown * PP_CHUNK));
		return 0;
	}
	index_grow(&shard->index, p, was.grown);
	shard->index.pack[p].huge = was.huge;
	return err;
}

/* With `grow` held: of the shard's empty packs @keep stay at most. */
static int trim(struct pp_heap *heap, struct shard *shard, size_t keep)
{
	int err = 0;

	lock_take(&shard->lock);
	while (!err && shard->index.empty > keep)
		err = return_pack(heap, shard, highest_empty(shard));
	lock_give(&shard->lock);
	return err;
}

static bool has_spare(struct shard *shard)
{
	bool has;

	lock_take(&shard->lock);
	has = shard->index.empty != 0;
	lock_give(&shard->lock);
	return has;
}

/* With `grow` held: one spare pack is enough for all shards of a heap that has time to tidy up. */
static int trim_all(struct pp_heap *heap)
{
	unsigned int count = shard_count(heap);
	size_t keep = 1;
	int err = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct shard *shard = heap->shard[i];
		int failed = trim(heap, shard, keep);

		if (!err)
			err = failed;
		if (has_spare(shard))
			keep = 0;
	}
	return err;
}

void tidy_return_all(struct pp_heap *heap, const struct shard *but)
{
	unsigned int count = shard_count(heap);

	for (unsigned int i = 0; i < count; i++) {
		if (heap->shard[i] != but)
			(void)trim(heap, heap->shard[i], 0);
	}
}

/* With `grow` held: what it has not needed for long, and what is more than it often needs. */
static void trim_surplus(struct pp_heap *heap, struct shard *shard)
{
	lock_take(&shard->lock);
	if (is_idle(shard))
		shard->spares = 1;
	while (heap_has_surplus(heap, shard) && !return_pack(heap, shard, highest_empty(shard)))
		shard->has_returned = !is_idle(shard);
	lock_give(&shard->lock);
}

void heap_trim(struct pp_heap *heap)
{
	struct log_held held;

	grow_lock(heap, &held);
	for (unsigned int i = 0; i < shard_count(heap); i++)
		trim_surplus(heap, heap->shard[i]);
	grow_unlock(heap, &held);
}

/* With `grow` held. */
static int finish_all(struct pp_heap *heap)
{
	int err = 0;

	for (size_t p = 0; p < heap->index.packs; p++) {
		int failed = 0;

		if (heap->index.pack[p].grown == PACK_CHUNKS)
			failed = grow_finish(heap, p, false);
		if (!err)
			err = failed;
	}
	return err;
}

int pp_heap_tidy(struct pp_heap *heap)
{
	int err = heap_enter_writing(heap), finish_err;
	struct log_held held;

	if (err)
		return err;
	grow_lock(heap, &held);
	err = trim_all(heap);
	finish_err = finish_all(heap);
	grow_unlock(heap, &held);
	if (!err)
		err = finish_err;
	if (err)
		log_line(&heap->mem.log, "pp_heap_tidy: %s", strerror(-err));
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * free.c - live blocks become free: all of a batch or none
 *
 *	condemn all  ->  fill each with traps  ->  one sync  ->  bury all
 *	                     \-> reprieve all
 */
#include "heap/code.h"
#include "os/cpu.h"

#include <errno.h>

/* With these shards' locks held: may the block at @rx be freed? */
static int check_live(const struct pp_heap *heap, shard_set held, const void *rx)
{
	const struct index *ix = &heap->index;
	size_t at = heap_chunk(heap, rx);
	const struct shard *shard;

	if (at == INDEX_NONE || rx != heap_rx(heap, at))
		return -EINVAL;
	shard = shard_of(heap, at);
	if (!(held & shard_bit(shard)))
		return -ESTALE; /* the pack came to another shard since the locks were chosen */
	if (!bitmap_get(ix->used, at))
		return -ESTALE;
	if (!bitmap_get(ix->first, at))
		return -EINVAL;
	if (bitmap_get(ix->open, at) || at == shard->patched)
		return -EBUSY;
	return bitmap_get(ix->dying, at) ? -ESTALE : 0;
}

/* With the locks held. */
static void reprieve(struct pp_heap *heap, const void *const *rx, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bitmap_clear(heap->index.dying, heap_chunk(heap, rx[i]), 1);
}

static shard_set shards_of(const struct pp_heap *heap, const void *const *rx, size_t n)
{
	shard_set set = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = heap_chunk(heap, rx[i]);

		if (at != INDEX_NONE)
			index_expect(&shard_of(heap, at)->index, at);
		set = shard_add(heap, set, rx[i]);
	}
	return set;
}

/* Live blocks become dying: each has one free, this one. A block given twice is dying already. */
static int condemn_all(struct pp_heap *heap, shard_set shards, const void *const *rx, size_t n)
{
	size_t i;
	int err = 0;

	shard_lock(heap, shards);
	for (i = 0; i < n; i++) {
		err = check_live(heap, shards, rx[i]);
		if (err)
			break;
		bitmap_set(heap->index.dying, heap_chunk(heap, rx[i]), 1);
	}
	if (err)
		reprieve(heap, rx, i);
	shard_unlock(heap, shards);
	return err;
}

/* The chunks are ours: their size is read without the lock. */
static int fill_all(struct pp_heap *heap, const void *const *rx, size_t n)
{
	struct memory *mem = &heap->mem;

	for (size_t i = 0; i < n; i++) {
		size_t at = heap_chunk(heap, rx[i]), size = index_size(&heap->index, at) * PP_CHUNK;
		int err = mem->writer->fill(mem, heap_rx(heap, at), size);

		if (err)
			return err;
		cpu_flush(rx[i], size);
	}
	cpu_sync_cores();
	return 0;
}

/* With the lock held; its name is to be freed. */
static struct name *bury(struct pp_heap *heap, const void *rx)
{
	size_t at = heap_chunk(heap, rx);
	struct shard *shard = shard_of(heap, at);

	code_give(heap, shard, at, index_size(&shard->index, at));
	shard->counts.blocks--;
	shard->counts.frees++;
	shard->counts.fills++;
	return names_take(&shard->names, at);
}

static void bury_all(struct pp_heap *heap, shard_set shards, const void *const *rx, size_t n)
{
	struct name *names = NULL;

	shard_lock(heap, shards);
	shard_of(heap, heap_chunk(heap, rx[0]))->counts.syncs++;
	for (size_t i = 0; i < n; i++) {
		struct name *name = bury(heap, rx[i]);

		if (!name)
			continue;
		name->next = names;
		names = name;
	}
	code_unlock(heap, shards);
	while (names) {
		struct name *next = names->next;

		name_free(names);
		names = next;
	}
}

static int refuse(struct pp_heap *heap, int err)
{
	switch (err) {
	case -ESTALE: return code_refuse(heap, err, "pp_free", "already free");
	case -EBUSY:
		return code_refuse(heap, err, "pp_free",
				   "open (finalize or abort it), or being patched");
	default: return code_refuse(heap, err, "pp_free", "not the start of a block of this heap");
	}
}

int pp_free_batch(struct pp_heap *heap, const void *const *rx, size_t n)
{
	int err = heap_enter_writing(heap);
	shard_set shards;

	if (err || !n)
		return err;
	shards = shards_of(heap, rx, n);
	err = condemn_all(heap, shards, rx, n);
	if (err)
		return refuse(heap, err);
	err = fill_all(heap, rx, n);
	if (!err) {
		bury_all(heap, shards, rx, n);
		return 0;
	}
	heap_failed(&heap->stats.fail_write);
	shard_lock(heap, shards);
	reprieve(heap, rx, n);
	shard_unlock(heap, shards);
	return err;
}

int pp_free(struct pp_heap *heap, const void *rx)
{
	return pp_free_batch(heap, &rx, 1);
}

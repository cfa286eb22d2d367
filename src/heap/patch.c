/* SPDX-License-Identifier: MIT */
/*
 * patch.c - change bytes of a live block while threads run it
 *
 * Patches are made one at a time, so that two of one word do not lose each other. Meanwhile the
 * block's shard remembers it: its memory cannot be freed, and given to another block, before the
 * bytes have arrived. pp_free() says -EBUSY then. In a child of fork() nobody is patching.
 */
#include "heap/code.h"
#include "os/cpu.h"

#include <errno.h>
#include <string.h>

#define WORD 8u

/* With the shard's lock held: the first chunk of the live block that holds the bytes, or
 * INDEX_NONE. */
static size_t find_live(const struct shard *shard, size_t chunk, size_t last)
{
	const struct index *ix = &shard->index;
	size_t first = shard_owns(shard, chunk) ? index_block(ix, chunk) : INDEX_NONE;

	if (first == INDEX_NONE || bitmap_get(ix->open, first) || bitmap_get(ix->dying, first))
		return INDEX_NONE;
	return last < first + index_size(ix, first) ? first : INDEX_NONE;
}

/* The shard of the live block that holds the bytes, which remembers it; NULL if there is none. */
static struct shard *mark(struct pp_heap *heap, const uint8_t *at, size_t size)
{
	size_t chunk = heap_chunk(heap, at), last = heap_chunk(heap, at + size - 1), block;
	struct shard *shard;

	if (chunk == INDEX_NONE)
		return NULL;
	shard = shard_of(heap, chunk);
	lock_take(&shard->lock);
	block = find_live(shard, chunk, last);
	shard->patched = block;
	lock_give(&shard->lock);
	return block == INDEX_NONE ? NULL : shard;
}

static void unmark(struct shard *shard, int err)
{
	lock_take(&shard->lock);
	shard->patched = INDEX_NONE;
	if (!err) {
		shard->counts.patches++;
		shard->counts.syncs++;
	}
	lock_give(&shard->lock);
}

/* With `patch` held. */
static int patch(struct pp_heap *heap, uint8_t *at, const uint8_t *bytes, size_t size)
{
	struct shard *shard = mark(heap, at, size);
	int err;

	if (!shard)
		return code_refuse(heap, -ENOENT, "pp_patch", "not in a live block");
	err = heap->mem.writer->patch(&heap->mem, at, bytes, size);
	if (!err) {
		cpu_flush(at, size);
		cpu_sync_live();
	}
	unmark(shard, err);
	if (err)
		heap_failed(err == -ENOTSUP ? &heap->stats.fail_args : &heap->stats.fail_write);
	return err;
}

int pp_patch(struct pp_heap *heap, void *at, const void *bytes, size_t size)
{
	int err = heap_enter_writing(heap);
	struct log_held held;

	if (err)
		return err;
	if (!size || size > WORD || (uintptr_t)at % WORD + size > WORD)
		return code_refuse(heap, -EINVAL, "pp_patch",
				   "not 1 .. 8 bytes of an aligned word");
	err = cpu_can_sync_live();
	if (err) {
		heap_failed(&heap->stats.fail_write);
		return log_error(&heap->mem.log, err,
				 "pp_patch: no membarrier to synchronise cores");
	}
	log_hold(&held);
	pthread_mutex_lock(&heap->patch);
	err = patch(heap, at, bytes, size);
	pthread_mutex_unlock(&heap->patch);
	log_let_go(&heap->mem.log, &held);
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * patch.c - change bytes of a live block while threads run it
 *
 * Patches are made one at a time, so that two of one word do not lose each other. Meanwhile the
 * heap remembers the block: its memory cannot be freed, and given to another block, before the
 * bytes have arrived. pp_free() says -EBUSY then. In a child of fork() nobody is patching.
 */
#include "heap/code.h"
#include "os/cpu.h"

#include <errno.h>
#include <string.h>

#define WORD 8u

/* With the lock held: the first chunk of the live block that holds the bytes, or INDEX_NONE. */
static size_t find_live(const struct pp_heap *heap, const void *at, size_t size)
{
	const struct index *ix = &heap->index;
	size_t chunk = heap_chunk(heap, at),
	       last = heap_chunk(heap, (const uint8_t *)at + size - 1);
	size_t first = chunk == INDEX_NONE ? INDEX_NONE : index_block(ix, chunk);

	if (first == INDEX_NONE || bitmap_get(ix->open, first) || bitmap_get(ix->dying, first))
		return INDEX_NONE;
	return last < first + index_size(ix, first) ? first : INDEX_NONE;
}

static bool mark(struct pp_heap *heap, const void *at, size_t size)
{
	size_t block;

	lock_take(&heap->lock);
	block = find_live(heap, at, size);
	heap->patched = block;
	lock_give(&heap->lock);
	return block != INDEX_NONE;
}

static void unmark(struct pp_heap *heap, int err)
{
	struct pp_stats *stats = &heap->stats;

	lock_take(&heap->lock);
	heap->patched = INDEX_NONE;
	if (!err) {
		stats->patches++;
		stats->syncs++;
	} else if (err == -ENOTSUP) {
		stats->fail_args++;
	} else {
		stats->fail_write++;
	}
	lock_give(&heap->lock);
}

/* With `patch` held. */
static int patch(struct pp_heap *heap, uint8_t *at, const uint8_t *bytes, size_t size)
{
	int err;

	if (!mark(heap, at, size))
		return code_refuse(heap, -ENOENT, "pp_patch", "not in a live block");
	err = heap->mem.writer->patch(&heap->mem, at, bytes, size);
	if (!err) {
		cpu_flush(at, size);
		cpu_sync_live();
	}
	unmark(heap, err);
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
		heap_failed(heap, &heap->stats.fail_write);
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

/* SPDX-License-Identifier: MIT */
/*
 * finalize.c - open blocks become live: all of a batch or none
 *
 *	claim all  ->  check all  ->  copy each  ->  one sync  ->  settle all
 *	                   \-> give all back   \-> fill with traps, give all back
 *
 * Claimed buffers are in a list in the order of the batch; nobody else can find them.
 */
#include "heap/code.h"
#include "os/cpu.h"

#include <errno.h>

/* Blocks of a batch, which may lie in several shards. */
struct batch {
	struct staging *list;
	shard_set shards; /* of all of them */
};

/* With the locks held: all of them, or none and NULL. */
static struct staging *claim_all(struct pp_heap *heap, shard_set held, const struct pp_code *codes,
				 size_t n)
{
	struct staging *list = NULL, **end = &list;

	for (size_t i = 0; i < n; i++) {
		struct staging *staging = code_claim(heap, held, &codes[i]);

		*end = staging;
		if (!staging)
			break;
		staging->next = NULL;
		end = &staging->next;
		if (i == n - 1)
			return list;
	}
	while (list) {
		struct staging *next = list->next;

		staging_put(&shard_of(heap, list->chunk)->open, list);
		list = next;
	}
	return NULL;
}

static int check_all(const struct staging *list, const size_t *used)
{
	for (; list; list = list->next, used++) {
		if (!*used || *used > list->size)
			return -EINVAL;
		if (!staging_is_intact(list))
			return -EOVERFLOW;
	}
	return 0;
}

static void give_all(struct pp_heap *heap, const struct batch *batch, uint64_t *counter)
{
	struct staging *list = batch->list, *ended = NULL;

	heap_failed(counter);
	shard_lock(heap, batch->shards);
	while (list) {
		struct shard *shard = shard_of(heap, list->chunk);
		struct staging *next = list->next;

		code_give_open(heap, shard, list);
		code_end(shard, list, &ended);
		list = next;
	}
	code_unlock(heap, batch->shards);
	code_free_list(ended);
}

static int refuse_emitted(struct pp_heap *heap, const struct batch *batch, int err)
{
	give_all(heap, batch, &heap->stats.fail_args);
	return log_error(&heap->mem.log, err, "pp_finalize: %s",
			 err == -EINVAL ? "used is not 1 .. the block's size"
					: "bytes were emitted past the end of the buffer");
}

static int copy_all(struct pp_heap *heap, const struct staging *list, const size_t *used)
{
	struct memory *mem = &heap->mem;

	for (; list; list = list->next, used++) {
		uint8_t *rx = heap_rx(heap, list->chunk);
		int err = mem->writer->copy(mem, rx, list->rw, *used);

		if (err)
			return err;
		cpu_flush(rx, *used);
	}
	cpu_sync_cores();
	return 0;
}

/* Chunks that may hold half of a block, and cannot be filled, are dying for good. */
static void condemn_for_good(struct pp_heap *heap, struct staging *staging)
{
	struct shard *shard = shard_of(heap, staging->chunk);

	lock_take(&shard->lock);
	bitmap_set(shard->index.dying, staging->chunk, 1);
	bitmap_clear(shard->index.open, staging->chunk, 1);
	staging->name = names_take(&shard->names, staging->chunk);
	shard->counts.open--;
	lock_give(&shard->lock);
	staging->next = NULL;
	code_free_list(staging);
}

/* Part of the code may have arrived: traps again. Those that can be given back are in the list. */
static struct staging *fill_all(struct pp_heap *heap, struct staging *list)
{
	struct memory *mem = &heap->mem;
	struct staging *filled = NULL;

	while (list) {
		struct staging *next = list->next;
		uint8_t *rx = heap_rx(heap, list->chunk);

		if (mem->writer->fill(mem, rx, list->size)) {
			condemn_for_good(heap, list);
		} else {
			cpu_flush(rx, list->size);
			list->next = filled;
			filled = list;
		}
		list = next;
	}
	cpu_sync_cores();
	return filled;
}

/* The chunks behind the code become free: they hold the traps that they always held. */
static void settle(struct pp_heap *heap, struct shard *shard, const struct staging *staging,
		   size_t keep)
{
	size_t all = staging->size / PP_CHUNK;

	bitmap_clear(shard->index.open, staging->chunk, 1);
	if (all > keep)
		code_give(heap, shard, staging->chunk + keep, all - keep);
	shard->counts.open--;
	shard->counts.finalizes++;
	shard->counts.copies++;
}

static void settle_all(struct pp_heap *heap, const struct batch *batch, struct pp_code *codes,
		       const size_t *used)
{
	struct staging *list = batch->list, *ended = NULL;

	shard_lock(heap, batch->shards);
	shard_of(heap, list->chunk)->counts.syncs++;
	while (list) {
		struct shard *shard = shard_of(heap, list->chunk);
		struct staging *next = list->next;
		size_t keep = to_chunks(*used++);

		settle(heap, shard, list, keep);
		code_end(shard, list, &ended);
		codes++->size = keep * PP_CHUNK;
		list = next;
	}
	code_unlock(heap, batch->shards);
	code_free_list(ended);
}

static int finalize_claimed(struct pp_heap *heap, struct batch *batch, struct pp_code *codes,
			    const size_t *used)
{
	int err = check_all(batch->list, used);

	if (err)
		return refuse_emitted(heap, batch, err);
	err = copy_all(heap, batch->list, used);
	if (!err) {
		settle_all(heap, batch, codes, used);
		return 0;
	}
	batch->list = fill_all(heap, batch->list);
	give_all(heap, batch, &heap->stats.fail_write);
	return err;
}

int pp_finalize_batch(struct pp_heap *heap, struct pp_code *codes, const size_t *used, size_t n)
{
	struct batch batch = {0};
	int err = heap_enter_writing(heap);

	if (err || !n)
		return err;
	for (size_t i = 0; i < n; i++)
		batch.shards = shard_add(heap, batch.shards, codes[i].rx);
	shard_lock(heap, batch.shards);
	batch.list = claim_all(heap, batch.shards, codes, n);
	shard_unlock(heap, batch.shards);
	if (!batch.list)
		return code_refuse(heap, -ESTALE, "pp_finalize", "not an open block");
	for (size_t i = 0; i < n; i++)
		codes[i].rw = NULL;
	return finalize_claimed(heap, &batch, codes, used);
}

int pp_finalize(struct pp_heap *heap, struct pp_code *code, size_t used)
{
	return pp_finalize_batch(heap, code, &used, 1);
}

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

/* With the lock held: all of them, or none and NULL. */
static struct staging *claim_all(struct pp_heap *heap, const struct pp_code *codes, size_t n)
{
	struct staging *list = NULL, **end = &list;

	for (size_t i = 0; i < n; i++) {
		struct staging *staging = code_claim(heap, &codes[i]);

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

		staging_put(&heap->open, list);
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

static void give_all(struct pp_heap *heap, struct staging *list, uint64_t *counter)
{
	struct staging *ended = NULL;

	lock_take(&heap->lock);
	while (list) {
		struct staging *next = list->next;

		code_give_open(heap, list);
		code_end(heap, list, &ended);
		list = next;
	}
	++*counter;
	code_unlock(heap);
	code_free_list(ended);
}

static int refuse_emitted(struct pp_heap *heap, struct staging *list, int err)
{
	give_all(heap, list, &heap->stats.fail_args);
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
	lock_take(&heap->lock);
	bitmap_set(heap->index.dying, staging->chunk, 1);
	bitmap_clear(heap->index.open, staging->chunk, 1);
	staging->name = names_take(&heap->names, staging->chunk);
	heap->stats.open--;
	lock_give(&heap->lock);
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
static void settle(struct pp_heap *heap, const struct staging *staging, struct pp_code *code,
		   size_t used)
{
	size_t all = staging->size / PP_CHUNK, keep = to_chunks(used);

	bitmap_clear(heap->index.open, staging->chunk, 1);
	if (all > keep)
		code_give(heap, staging->chunk + keep, all - keep);
	heap->stats.open--;
	heap->stats.finalizes++;
	heap->stats.copies++;
	code->size = keep * PP_CHUNK;
}

static void settle_all(struct pp_heap *heap, struct staging *list, struct pp_code *codes,
		       const size_t *used)
{
	struct staging *ended = NULL;

	lock_take(&heap->lock);
	while (list) {
		struct staging *next = list->next;

		settle(heap, list, codes++, *used++);
		code_end(heap, list, &ended);
		list = next;
	}
	heap->stats.syncs++;
	code_unlock(heap);
	code_free_list(ended);
}

static int finalize_claimed(struct pp_heap *heap, struct staging *list, struct pp_code *codes,
			    const size_t *used)
{
	int err = check_all(list, used);

	if (err)
		return refuse_emitted(heap, list, err);
	err = copy_all(heap, list, used);
	if (err)
		give_all(heap, fill_all(heap, list), &heap->stats.fail_write);
	else
		settle_all(heap, list, codes, used);
	return err;
}

int pp_finalize_batch(struct pp_heap *heap, struct pp_code *codes, const size_t *used, size_t n)
{
	struct staging *list;
	int err = heap_enter_writing(heap);

	if (err || !n)
		return err;
	lock_take(&heap->lock);
	list = claim_all(heap, codes, n);
	lock_give(&heap->lock);
	if (!list)
		return code_refuse(heap, -ESTALE, "pp_finalize", "not an open block");
	for (size_t i = 0; i < n; i++)
		codes[i].rw = NULL;
	return finalize_claimed(heap, list, codes, used);
}

int pp_finalize(struct pp_heap *heap, struct pp_code *code, size_t used)
{
	return pp_finalize_batch(heap, code, &used, 1);
}

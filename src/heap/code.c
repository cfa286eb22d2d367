/* SPDX-License-Identifier: MIT */
/*
 * code.c - the life of a block
 *
 *	free --alloc--> open --finalize--> live --free--> dying --> free
 *	                 \----abort, or a failed finalize--------->
 *
 * Invariant: the chunks of a free or open block hold traps, but for an open block while it is
 * copied. Every transition is decided under the lock; bytes move between two decisions.
 */
#include "base/opts.h"
#include "heap/heap.h"
#include "os/cpu.h"

#include <errno.h>
#include <string.h>

#define ALIGN_MAX 4096u

static size_t to_chunks(size_t size)
{
	return size / PP_CHUNK + (size % PP_CHUNK != 0);
}

/* Count a failed call by its cause, and say why. */
static int refuse(struct pp_heap *heap, int err, const char *call, const char *why)
{
	struct pp_stats *stats = &heap->stats;
	uint64_t *counter = &stats->fail_memory;

	switch (err) {
	case -EINVAL:
	case -E2BIG:
	case -EBUSY:
	case -EOVERFLOW: counter = &stats->fail_args; break;
	case -ESTALE: counter = &stats->fail_stale; break;
	case -EDQUOT: counter = &stats->fail_limit; break;
	case -ENOSPC: counter = &stats->fail_space; break;
	default: break;
	}
	heap_failed(heap, counter);
	return log_error(&heap->mem.log, err, "%s: %s", call, why);
}

static int refuse_alloc(struct pp_heap *heap, int err)
{
	switch (err) {
	case -EDQUOT: return refuse(heap, err, "pp_alloc", "over the heap's limit");
	case -ENOSPC: return refuse(heap, err, "pp_alloc", "the reservation is full");
	default: return refuse(heap, err, "pp_alloc", strerror(-err));
	}
}

/* The block is the caller's from here on, and anybody may find it. */
static void open_block(struct pp_heap *heap, struct staging *staging, struct name *name)
{
	pthread_mutex_lock(&heap->lock);
	staging_put(&heap->open, staging);
	if (name)
		names_put(&heap->names, staging->chunk, name);
	heap->stats.allocs++;
	pthread_mutex_unlock(&heap->lock);
}

/* What a block needs beside its chunks; all or nothing. */
static int prepare(size_t size, const char *text, struct staging **staging, struct name **name)
{
	*name = text ? name_new(text) : NULL;
	*staging = staging_new(size);
	if (*staging && (*name || !text))
		return 0;
	name_free(*name);
	staging_free(*staging);
	return -ENOMEM;
}

/* @align is in chunks. */
static int alloc(struct pp_heap *heap, size_t size, size_t align, const char *text,
		 struct pp_code *code)
{
	size_t chunks = to_chunks(size), at;
	struct staging *staging;
	struct name *name;
	int err;

	if (!size)
		return refuse(heap, -EINVAL, "pp_alloc", "a block of no bytes");
	if (chunks > index_chunks(&heap->index))
		return refuse(heap, -E2BIG, "pp_alloc", "larger than the heap");
	err = prepare(chunks * PP_CHUNK, text, &staging, &name);
	if (err)
		return refuse_alloc(heap, err);
	err = heap_take(heap, chunks, align, &at);
	if (err) {
		name_free(name);
		staging_free(staging);
		return refuse_alloc(heap, err);
	}
	staging->chunk = at;
	staging_fill(staging);
	open_block(heap, staging, name);
	code->rx = heap_rx(heap, at);
	code->rw = staging->rw;
	code->size = staging->size;
	return 0;
}

int pp_alloc(struct pp_heap *heap, size_t size, struct pp_code *code)
{
	return alloc(heap, size, 1, NULL, code);
}

int pp_alloc_with(struct pp_heap *heap, size_t size, const struct pp_block_opts *opts,
		  struct pp_code *code)
{
	struct pp_block_opts own;
	int err = opts_copy(&own, sizeof(own), opts, sizeof(own));

	if (err)
		return refuse(heap, err, "pp_alloc_with", "options of another version");
	if (own.align > ALIGN_MAX || own.align & (own.align - 1))
		return refuse(heap, -EINVAL, "pp_alloc_with",
			      "align is no power of two up to 4096");
	return alloc(heap, size, own.align > PP_CHUNK ? own.align / PP_CHUNK : 1, own.name, code);
}

/* Take an open block's buffer; whoever has it ends the block. NULL if there is no such block. */
static struct staging *claim(struct pp_heap *heap, const struct pp_code *code)
{
	struct staging *staging;
	size_t chunk = heap_chunk(heap, code->rx);

	if (chunk == INDEX_NONE || code->rx != heap_rx(heap, chunk))
		return NULL;
	pthread_mutex_lock(&heap->lock);
	staging = staging_claim(&heap->open, chunk, code->rw);
	pthread_mutex_unlock(&heap->lock);
	return staging;
}

/* With the lock held, and the chunks full of traps. */
static void give(struct pp_heap *heap, size_t at, size_t chunks)
{
	index_give(&heap->index, at, chunks);
	heap->stats.used -= chunks * PP_CHUNK;
}

/* Unlock after a give, which may have emptied a pack. */
static void unlock_and_trim(struct pp_heap *heap)
{
	bool surplus = heap_has_surplus(heap);

	pthread_mutex_unlock(&heap->lock);
	if (surplus)
		heap_trim(heap);
}

/* An open block whose chunks hold traps becomes free. */
static void give_open(struct pp_heap *heap, const struct staging *staging, uint64_t *counter)
{
	struct name *name;

	pthread_mutex_lock(&heap->lock);
	give(heap, staging->chunk, staging->size / PP_CHUNK);
	name = names_take(&heap->names, staging->chunk);
	heap->stats.blocks--;
	heap->stats.open--;
	++*counter;
	unlock_and_trim(heap);
	name_free(name);
}

/*
 * An open block becomes live, and the chunks behind its code free: they hold the traps that
 * they always held.
 */
static void settle(struct pp_heap *heap, const struct staging *staging, size_t used)
{
	size_t all = staging->size / PP_CHUNK, keep = to_chunks(used);

	pthread_mutex_lock(&heap->lock);
	bitmap_clear(heap->index.open, staging->chunk, 1);
	give(heap, staging->chunk + keep, all - keep);
	heap->stats.open--;
	heap->stats.finalizes++;
	heap->stats.copies++;
	heap->stats.syncs++;
	unlock_and_trim(heap);
}

/*
 * Part of the code may have arrived. Where not even traps can be written any more, the chunks
 * are not handed out again: `dying` for good.
 */
static void undo_copy(struct pp_heap *heap, const struct staging *staging)
{
	struct memory *mem = &heap->mem;
	uint8_t *rx = heap_rx(heap, staging->chunk);

	if (!mem->writer->fill(mem, rx, staging->size)) {
		cpu_sync(rx, staging->size);
		give_open(heap, staging, &heap->stats.fail_write);
		return;
	}
	pthread_mutex_lock(&heap->lock);
	bitmap_set(heap->index.dying, staging->chunk, 1);
	bitmap_clear(heap->index.open, staging->chunk, 1);
	heap->stats.open--;
	heap->stats.fail_write++;
	pthread_mutex_unlock(&heap->lock);
}

static int check_emitted(const struct staging *staging, size_t used)
{
	if (!used || used > staging->size)
		return -EINVAL;
	return staging_is_intact(staging) ? 0 : -EOVERFLOW;
}

static int refuse_emitted(struct pp_heap *heap, const struct staging *staging, int err)
{
	give_open(heap, staging, &heap->stats.fail_args);
	return log_error(&heap->mem.log, err, "pp_finalize: %s",
			 err == -EINVAL ? "used is not 1 .. the block's size"
					: "bytes were emitted past the end of the buffer");
}

static int copy_and_settle(struct pp_heap *heap, const struct staging *staging, size_t used)
{
	struct memory *mem = &heap->mem;
	uint8_t *rx = heap_rx(heap, staging->chunk);
	int err = mem->writer->copy(mem, rx, staging->rw, used);

	if (err) {
		undo_copy(heap, staging);
		return err;
	}
	cpu_sync(rx, used);
	settle(heap, staging, used);
	return 0;
}

int pp_finalize(struct pp_heap *heap, struct pp_code *code, size_t used)
{
	struct staging *staging = claim(heap, code);
	int err;

	if (!staging)
		return refuse(heap, -ESTALE, "pp_finalize", "not an open block");
	code->rw = NULL;
	err = check_emitted(staging, used);
	if (err)
		err = refuse_emitted(heap, staging, err);
	else
		err = copy_and_settle(heap, staging, used);
	if (!err)
		code->size = to_chunks(used) * PP_CHUNK;
	staging_free(staging);
	return err;
}

int pp_abort(struct pp_heap *heap, struct pp_code *code)
{
	struct staging *staging = claim(heap, code);

	if (!staging)
		return refuse(heap, -ESTALE, "pp_abort", "not an open block");
	code->rw = NULL;
	give_open(heap, staging, &heap->stats.aborts);
	staging_free(staging);
	return 0;
}

/* With the lock held: may the block at @at be freed? */
static int check_live(const struct index *ix, size_t at)
{
	if (at % PACK_CHUNKS >= ix->pack[at / PACK_CHUNKS].grown)
		return -EINVAL;
	if (!bitmap_get(ix->used, at))
		return -ESTALE;
	if (!bitmap_get(ix->first, at))
		return -EINVAL;
	if (bitmap_get(ix->open, at))
		return -EBUSY;
	return bitmap_get(ix->dying, at) ? -ESTALE : 0;
}

/* A live block becomes dying: it has one free, this one. */
static int condemn(struct pp_heap *heap, size_t at, size_t *chunks)
{
	int err;

	pthread_mutex_lock(&heap->lock);
	err = check_live(&heap->index, at);
	if (!err) {
		bitmap_set(heap->index.dying, at, 1);
		*chunks = index_size(&heap->index, at);
	}
	pthread_mutex_unlock(&heap->lock);
	return err;
}

static void bury(struct pp_heap *heap, size_t at, size_t chunks)
{
	struct name *name;

	pthread_mutex_lock(&heap->lock);
	give(heap, at, chunks);
	name = names_take(&heap->names, at);
	heap->stats.blocks--;
	heap->stats.frees++;
	heap->stats.fills++;
	heap->stats.syncs++;
	unlock_and_trim(heap);
	name_free(name);
}

static void reprieve(struct pp_heap *heap, size_t at)
{
	pthread_mutex_lock(&heap->lock);
	bitmap_clear(heap->index.dying, at, 1);
	heap->stats.fail_write++;
	pthread_mutex_unlock(&heap->lock);
}

static int refuse_free(struct pp_heap *heap, int err)
{
	switch (err) {
	case -ESTALE: return refuse(heap, err, "pp_free", "already free");
	case -EBUSY: return refuse(heap, err, "pp_free", "an open block: finalize or abort it");
	default: return refuse(heap, err, "pp_free", "not the start of a block of this heap");
	}
}

int pp_free(struct pp_heap *heap, const void *rx)
{
	struct memory *mem = &heap->mem;
	size_t at = heap_chunk(heap, rx), chunks;
	uint8_t *start;
	int err;

	if (at == INDEX_NONE || rx != heap_rx(heap, at))
		return refuse_free(heap, -EINVAL);
	err = condemn(heap, at, &chunks);
	if (err)
		return refuse_free(heap, err);
	start = heap_rx(heap, at);
	err = mem->writer->fill(mem, start, chunks * PP_CHUNK);
	if (err) {
		reprieve(heap, at);
		return err;
	}
	cpu_sync(start, chunks * PP_CHUNK);
	bury(heap, at, chunks);
	return 0;
}

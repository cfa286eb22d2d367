/* SPDX-License-Identifier: MIT */
/* code.c - a block's start, its end without code, and what all of its steps share */
#include "heap/code.h"

#include "base/opts.h"

#include <errno.h>
#include <string.h>

#define ALIGN_MAX 4096u

int code_refuse(struct pp_heap *heap, int err, const char *call, const char *why)
{
	struct pp_stats *stats = &heap->stats;
	uint64_t *counter = &stats->fail_memory;

	switch (err) {
	case -EINVAL:
	case -ENOENT:
	case -E2BIG:
	case -EBUSY:
	case -EOVERFLOW: counter = &stats->fail_args; break;
	case -ESTALE: counter = &stats->fail_stale; break;
	case -EDQUOT: counter = &stats->fail_limit; break;
	case -ENOSPC: counter = &stats->fail_space; break;
	default: break;
	}
	heap_failed(counter);
	return log_error(&heap->mem.log, err, "%s: %s", call, why);
}

static int refuse_alloc(struct pp_heap *heap, int err)
{
	switch (err) {
	case -EDQUOT: return code_refuse(heap, err, "pp_alloc", "over the heap's limit");
	case -ENOSPC: return code_refuse(heap, err, "pp_alloc", "the reservation is full");
	default: break;
	}
	heap_failed(&heap->stats.fail_memory); /* whatever the kernel calls it */
	return log_error(&heap->mem.log, err, "pp_alloc: %s", strerror(-err));
}

/* @align is in chunks. */
static int alloc(struct pp_heap *heap, size_t size, size_t align, struct name *name,
		 struct pp_code *code)
{
	size_t chunks = to_chunks(size);
	struct staging *staging;
	int err;

	if (!size)
		return code_refuse(heap, -EINVAL, "pp_alloc", "a block of no bytes");
	if (chunks > index_chunks(&heap->index))
		return code_refuse(heap, -E2BIG, "pp_alloc", "larger than the heap");
	err = heap_open(heap, chunks, align, name, &staging);
	if (err)
		return refuse_alloc(heap, err);
	code->rx = heap_rx(heap, staging->chunk);
	if (heap->mem.writer->expect)
		heap->mem.writer->expect(&heap->mem, code->rx, staging->size);
	staging_fill(staging);
	code->rw = staging->rw;
	code->size = staging->size;
	return 0;
}

int pp_alloc(struct pp_heap *heap, size_t size, struct pp_code *code)
{
	int err = heap_enter_writing(heap);

	return err ? err : alloc(heap, size, 1, NULL, code);
}

static int alloc_named(struct pp_heap *heap, size_t size, const struct pp_block_opts *opts,
		       struct pp_code *code)
{
	size_t align = opts->align > PP_CHUNK ? opts->align / PP_CHUNK : 1;
	struct name *name = NULL;
	int err = heap_enter_writing(heap);

	if (err)
		return err;
	if (opts->name)
		name = name_new(opts->name);
	if (opts->name && !name)
		return refuse_alloc(heap, -ENOMEM);
	err = alloc(heap, size, align, name, code);
	if (err)
		name_free(name);
	return err;
}

int pp_alloc_with(struct pp_heap *heap, size_t size, const struct pp_block_opts *opts,
		  struct pp_code *code)
{
	struct pp_block_opts own;
	int err = opts_copy(&own, sizeof(own), opts, sizeof(own));

	if (err)
		return code_refuse(heap, err, "pp_alloc_with", "options of another version");
	if (own.align > ALIGN_MAX || own.align & (own.align - 1))
		return code_refuse(heap, -EINVAL, "pp_alloc_with",
				   "align is no power of two up to 4096");
	return alloc_named(heap, size, &own, code);
}

struct staging *code_claim(struct pp_heap *heap, shard_set held, const struct pp_code *code)
{
	size_t chunk = heap_chunk(heap, code->rx);
	struct shard *shard;

	if (chunk == INDEX_NONE || code->rx != heap_rx(heap, chunk))
		return NULL;
	shard = shard_of(heap, chunk);
	return held & shard_bit(shard) ? staging_claim(&shard->open, chunk, code->rw) : NULL;
}

void code_give(struct pp_heap *heap, struct shard *shard, size_t at, size_t chunks)
{
	index_give(&shard->index, at, chunks);
	shard->counts.used -= chunks * PP_CHUNK;
	if (heap_is_limited(heap))
		__atomic_fetch_sub(&heap->charged, chunks * PP_CHUNK, __ATOMIC_RELAXED);
}

void code_unlock(struct pp_heap *heap, shard_set set)
{
	bool surplus = false;

	for (shard_set left = set; left; left &= left - 1)
		surplus |= heap_has_surplus(heap, heap->shard[__builtin_ctz(left)]);
	shard_unlock(heap, set);
	if (surplus)
		heap_trim(heap);
}

void code_give_open(struct pp_heap *heap, struct shard *shard, struct staging *staging)
{
	code_give(heap, shard, staging->chunk, staging->size / PP_CHUNK);
	staging->name = names_take(&shard->names, staging->chunk);
	shard->counts.blocks--;
	shard->counts.open--;
}

/* Names come and go, so a buffer that has one is not kept. */
void code_end(struct shard *shard, struct staging *staging, struct staging **list)
{
	if (!staging->name && staging_keep(&shard->open, staging))
		return;
	staging->next = *list;
	*list = staging;
}

void code_free_list(struct staging *list)
{
	while (list) {
		struct staging *next = list->next;

		name_free(list->name);
		staging_free(list);
		list = next;
	}
}

int pp_abort(struct pp_heap *heap, struct pp_code *code)
{
	struct staging *staging, *list = NULL;
	struct shard *shard;
	shard_set held;
	int err = heap_enter(heap);

	if (err)
		return err;
	held = shard_add(heap, 0, code->rx);
	shard_lock(heap, held);
	staging = code_claim(heap, held, code);
	if (!staging) {
		shard_unlock(heap, held);
		return code_refuse(heap, -ESTALE, "pp_abort", "not an open block");
	}
	shard = shard_of(heap, staging->chunk);
	code_give_open(heap, shard, staging);
	code_end(shard, staging, &list);
	shard->counts.aborts++;
	code_unlock(heap, held);
	code->rw = NULL;
	code_free_list(list);
	return 0;
}

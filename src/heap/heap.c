/* SPDX-License-Identifier: MIT */
/* heap.c - lifetime of a heap, its options, its growth, and questions about addresses */
#include "heap/heap.h"

#include "base/opts.h"
#include "heap/pack.h"
#include "os/cpu.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PACK_SIZE == OS_HUGE, "a pack is one huge page");

static struct log log_of(const struct pp_opts *opts)
{
	return (struct log){.fn = opts->log, .ctx = opts->log_ctx};
}

static int check_opts(struct pp_opts *opts)
{
	const struct log log = log_of(opts);

	if (opts->flags & ~PP_SMALL_PAGES)
		return log_error(&log, -EINVAL, "unknown flags %#x", opts->flags);
	if (!pp_writer_name(opts->writer))
		return log_error(&log, -EINVAL, "no writer %d", (int)opts->writer);
	if (opts->reserve > SIZE_MAX / 2)
		return log_error(&log, -EINVAL, "a reservation of %zu bytes", opts->reserve);
	if (!opts->reserve)
		opts->reserve = cpu_default_reserve();
	opts->reserve = (opts->reserve + PACK_SIZE - 1) / PACK_SIZE * PACK_SIZE;
	return 0;
}

/*
 * One page more than the packs, never mapped: what runs off the last pack faults, and the kernel
 * cannot merge it with another heap's first into one line of smaps.
 */
static size_t guarded(size_t size)
{
	return size + os_page_size();
}

/* Addresses and what keeps account of them. */
static int reserve(struct pp_heap *heap, size_t packs, const void *anchor)
{
	void *base;
	int err = os_reserve(guarded(packs * PACK_SIZE), anchor, &base);

	if (err)
		return err;
	err = index_init(&heap->index, packs);
	if (err)
		goto unreserve;
	heap->mem.pack = calloc(packs, sizeof(*heap->mem.pack));
	if (!heap->mem.pack) {
		err = -ENOMEM;
		goto fini_index;
	}
	heap->mem.base = base;
	heap->mem.size = packs * PACK_SIZE;
	return 0;
fini_index:
	index_fini(&heap->index);
unreserve:
	os_unmap(base, guarded(packs * PACK_SIZE));
	return err;
}

static void unreserve(struct pp_heap *heap)
{
	free(heap->mem.pack);
	index_fini(&heap->index);
	os_unmap(heap->mem.base, guarded(heap->mem.size));
}

static int reserve_and_choose(struct pp_heap *heap, const struct pp_opts *opts, size_t packs)
{
	int err = reserve(heap, packs, opts->anchor);

	if (err)
		return log_error(&heap->mem.log, err, "no %zu bytes of addresses: %s",
				 packs * PACK_SIZE, strerror(-err));
	err = writer_choose(&heap->mem, opts->writer);
	if (err)
		unreserve(heap);
	return err;
}

/* Writers need addresses of their own, so that a reservation may be too large for them too. */
static int reserve_most(struct pp_heap *heap, const struct pp_opts *opts)
{
	size_t packs = opts->reserve / PACK_SIZE;
	int err = reserve_and_choose(heap, opts, packs);

	while (err == -ENOMEM && packs > 1) {
		packs /= 2;
		log_line(&heap->mem.log, "trying a reservation of %zu bytes", packs * PACK_SIZE);
		err = reserve_and_choose(heap, opts, packs);
	}
	return err;
}

static int heap_init(struct pp_heap *heap, const struct pp_opts *opts)
{
	int err;

	heap->mem.log = log_of(opts);
	heap->mem.flags = opts->flags;
	heap->mem.fd = -1;
	err = reserve_most(heap, opts);
	if (err)
		return err;
	index_add_pack(&heap->index, 0);
	heap->stats.writer = heap->mem.writer->id;
	heap->stats.reserved = heap->mem.size;
	heap->stats.limit = opts->limit;
	heap->stats.packs = 1;
	pthread_mutex_init(&heap->grow, NULL);
	pthread_mutex_init(&heap->lock, NULL);
	return 0;
}

/* Options of a later version have all fields of this one; where @size is wrong, nobody knows. */
static int copy_opts(struct pp_opts *own, const struct pp_opts *opts)
{
	int err = opts_copy(own, sizeof(*own), opts, sizeof(*own));
	struct log log;

	if (!err)
		return check_opts(own);
	if (err != -E2BIG)
		return err;
	log = log_of(opts);
	return log_error(&log, err, "options that this version does not know");
}

int pp_heap_new(const struct pp_opts *opts, struct pp_heap **out)
{
	struct pp_opts own;
	struct pp_heap *heap;
	struct log log;
	int err = copy_opts(&own, opts);

	if (err)
		return err;
	log = log_of(&own);
	heap = calloc(1, sizeof(*heap));
	if (!heap)
		return log_error(&log, -ENOMEM, "no memory for a heap");
	err = heap_init(heap, &own);
	if (err) {
		free(heap);
		return err;
	}
	*out = heap;
	return 0;
}

void pp_heap_free(struct pp_heap *heap)
{
	if (!heap)
		return;
	staging_free_all(&heap->open);
	pack_unmap_all(&heap->mem, &heap->index);
	heap->mem.writer->close(&heap->mem);
	unreserve(heap);
	pthread_mutex_destroy(&heap->lock);
	pthread_mutex_destroy(&heap->grow);
	free(heap);
}

void heap_failed(struct pp_heap *heap, uint64_t *counter)
{
	pthread_mutex_lock(&heap->lock);
	++*counter;
	pthread_mutex_unlock(&heap->lock);
}

static bool is_over_limit(const struct pp_heap *heap, size_t chunks)
{
	uint64_t limit = heap->stats.limit, used = heap->stats.used;

	return limit && (used > limit || chunks * PP_CHUNK > limit - used);
}

/* With the lock held: -ENOSPC if no mapped pack has room. */
static int take_mapped(struct pp_heap *heap, size_t chunks, size_t *at)
{
	size_t found;

	if (is_over_limit(heap, chunks))
		return -EDQUOT;
	found = index_find(&heap->index, chunks);
	if (found == INDEX_NONE)
		return -ENOSPC;
	index_take(&heap->index, found, chunks);
	heap->stats.used += chunks * PP_CHUNK;
	heap->stats.blocks++;
	heap->stats.open++;
	*at = found;
	return 0;
}

/* With the lock held: 0, and the packs that are to be mapped, or why chunks cannot be had. */
static int take_or_plan(struct pp_heap *heap, size_t chunks, size_t *at, size_t *room)
{
	int err = take_mapped(heap, chunks, at);

	*room = INDEX_NONE;
	if (err != -ENOSPC)
		return err;
	*room = index_find_room(&heap->index, chunks);
	return *room == INDEX_NONE ? -ENOSPC : 0;
}

static void publish_packs(struct pp_heap *heap, size_t from, size_t to)
{
	for (size_t p = from; p < to; p++) {
		if (heap->index.pack[p].mapped)
			continue;
		index_add_pack(&heap->index, p);
		heap->stats.packs++;
	}
}

/*
 * With `grow` held. Others may take what is mapped here before we do, so try again: a round
 * either ends or has mapped a pack, hence at most one round for each pack there is.
 */
static int take_growing(struct pp_heap *heap, size_t chunks, size_t *at)
{
	size_t room, from, to;
	int err;

	pthread_mutex_lock(&heap->lock);
	err = take_or_plan(heap, chunks, at, &room);
	while (!err && room != INDEX_NONE) {
		from = room / PACK_CHUNKS;
		to = (room + chunks + PACK_CHUNKS - 1) / PACK_CHUNKS;
		pthread_mutex_unlock(&heap->lock);
		err = pack_map_run(&heap->mem, &heap->index, from, to);
		pthread_mutex_lock(&heap->lock);
		if (err)
			break;
		publish_packs(heap, from, to);
		err = take_or_plan(heap, chunks, at, &room);
	}
	pthread_mutex_unlock(&heap->lock);
	return err;
}

int heap_take(struct pp_heap *heap, size_t chunks, size_t *at)
{
	int err;

	pthread_mutex_lock(&heap->lock);
	err = take_mapped(heap, chunks, at);
	pthread_mutex_unlock(&heap->lock);
	if (err != -ENOSPC)
		return err;
	pthread_mutex_lock(&heap->grow);
	err = take_growing(heap, chunks, at);
	pthread_mutex_unlock(&heap->grow);
	return err;
}

int pp_lookup(const struct pp_heap *heap, const void *pc, struct pp_block *block)
{
	size_t chunk = heap_chunk(heap, pc), first, chunks;

	if (chunk == INDEX_NONE)
		return -ENOENT;
	first = index_block(&heap->index, chunk);
	if (first == INDEX_NONE)
		return -ENOENT;
	chunks = index_size(&heap->index, first);
	if (chunk >= first + chunks)
		return -ENOENT; /* the block that @pc was in went away meanwhile */
	block->rx = heap_rx(heap, first);
	block->size = chunks * PP_CHUNK;
	return 0;
}

void pp_heap_range(const struct pp_heap *heap, uintptr_t *lo, uintptr_t *hi)
{
	*lo = (uintptr_t)heap->mem.base;
	*hi = *lo + heap->mem.size;
}

/* SPDX-License-Identifier: MIT */
/* stats.c - a heap's figures */
#include "heap/heap.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

static void count_pack(const struct index *ix, size_t p, struct pp_stats *stats)
{
	const struct index_pack *pack = &ix->pack[p];
	size_t word = p * PACK_CHUNKS / BITMAP_WORD, end = word + pack->grown / BITMAP_WORD;

	stats->packs += pack->grown != 0;
	stats->committed += pack->grown * (uint64_t)PP_CHUNK;
	stats->used += (pack->grown - pack->free) * (uint64_t)PP_CHUNK;
	for (; word < end; word++) {
		uint64_t starts = bitmap_word(ix->used, word) & bitmap_word(ix->first, word);
		uint64_t open = starts & bitmap_word(ix->open, word);

		stats->blocks += (uint64_t)__builtin_popcountll(starts);
		stats->open += (uint64_t)__builtin_popcountll(open);
	}
}

void heap_recount(struct pp_heap *heap)
{
	struct pp_stats *stats = &heap->stats;

	stats->packs = stats->committed = stats->used = stats->blocks = stats->open = 0;
	for (size_t p = 0; p <= heap->index.highest; p++)
		count_pack(&heap->index, p, stats);
}

/* const promises that the heap's blocks stay as they are; its lock is ours to take. */
static void snapshot(const struct pp_heap *const_heap, struct pp_stats *stats)
{
	struct pp_heap *heap = (struct pp_heap *)(uintptr_t)const_heap;

	lock_take(&heap->lock);
	*stats = heap->stats;
	stats->largest_free = index_largest(&heap->index) * PP_CHUNK;
	lock_give(&heap->lock);
}

/* Without /proc nobody knows of huge pages: zero. */
static int count_huge(const struct pp_heap *heap, struct pp_stats *stats)
{
	uintptr_t lo, hi;
	int err;

	pp_heap_range(heap, &lo, &hi);
	err = os_huge_bytes(lo, hi, &stats->huge);
	if (!err || err == -ENOENT)
		return 0;
	return log_error(&heap->mem.log, err, "pp_stats: /proc/self/smaps: %s", strerror(-err));
}

int pp_stats(const struct pp_heap *heap, struct pp_stats *out)
{
	size_t size = out->size;
	struct pp_stats stats;
	int err;

	if (size < sizeof(stats))
		return log_error(&heap->mem.log, -EINVAL, "pp_stats: no size %zu", size);
	err = heap_enter(heap);
	if (err)
		return err;
	snapshot(heap, &stats);
	err = count_huge(heap, &stats);
	if (err)
		return err;
	stats.size = size;
	memset(out, 0, size);
	memcpy(out, &stats, sizeof(stats));
	return 0;
}

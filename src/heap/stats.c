/* SPDX-License-Identifier: MIT */
/* stats.c - a heap's figures */
#include "heap/heap.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

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

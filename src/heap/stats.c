/* SPDX-License-Identifier: MIT */
/* stats.c - a heap's figures */
#include "heap/heap.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

static void count_pack(const struct index *ix, size_t p, struct counts *counts)
{
	const struct index_pack *pack = &ix->pack[p];
	size_t word = p * PACK_CHUNKS / BITMAP_WORD, end = word + pack->grown / BITMAP_WORD;

	counts->used += (pack->grown - pack->free) * (uint64_t)PP_CHUNK;
	for (; word < end; word++) {
		uint64_t starts = bitmap_word(ix->used, word) & bitmap_word(ix->first, word);
		uint64_t open = starts & bitmap_word(ix->open, word);

		counts->blocks += (uint64_t)__builtin_popcountll(starts);
		counts->open += (uint64_t)__builtin_popcountll(open);
	}
}

void heap_recount(struct pp_heap *heap)
{
	struct pp_stats *stats = &heap->stats;

	stats->packs = stats->committed = heap->charged = 0;
	for (unsigned int i = 0; i < heap->shards; i++) {
		struct counts *counts = &heap->shard[i]->counts;

		counts->used = counts->blocks = counts->open = 0;
	}
	for (size_t p = 0; p < heap->index.packs; p++) {
		const struct index_pack *pack = &heap->index.pack[p];

		if (!pack->grown)
			continue;
		stats->packs++;
		stats->committed += pack->grown * (uint64_t)PP_CHUNK;
		heap->charged += (pack->grown - pack->free) * (uint64_t)PP_CHUNK;
		count_pack(&heap->index, p, &shard_of(heap, p * PACK_CHUNKS)->counts);
	}
}

static void add_counts(struct pp_stats *stats, const struct counts *counts)
{
	stats->used += counts->used;
	stats->blocks += counts->blocks;
	stats->open += counts->open;
	stats->allocs += counts->allocs;
	stats->finalizes += counts->finalizes;
	stats->aborts += counts->aborts;
	stats->frees += counts->frees;
	stats->patches += counts->patches;
	stats->copies += counts->copies;
	stats->fills += counts->fills;
	stats->syncs += counts->syncs;
}

/* What is changed atomically: each figure on its own. */
static void read_shared(const struct pp_heap *heap, struct pp_stats *stats)
{
	const struct pp_stats *shared = &heap->stats;

	*stats = (struct pp_stats){
		.writer = shared->writer,
		.reserved = shared->reserved,
		.limit = shared->limit,
		.packs = __atomic_load_n(&shared->packs, __ATOMIC_RELAXED),
		.committed = __atomic_load_n(&shared->committed, __ATOMIC_RELAXED),
		.fail_args = __atomic_load_n(&shared->fail_args, __ATOMIC_RELAXED),
		.fail_stale = __atomic_load_n(&shared->fail_stale, __ATOMIC_RELAXED),
		.fail_limit = __atomic_load_n(&shared->fail_limit, __ATOMIC_RELAXED),
		.fail_space = __atomic_load_n(&shared->fail_space, __ATOMIC_RELAXED),
		.fail_memory = __atomic_load_n(&shared->fail_memory, __ATOMIC_RELAXED),
		.fail_write = __atomic_load_n(&shared->fail_write, __ATOMIC_RELAXED),
	};
}

/* All shards at one moment: a batch is seen whole or not at all. */
static void snapshot(const struct pp_heap *heap, struct pp_stats *stats)
{
	shard_set all = shard_all(heap);
	size_t largest = 0;

	shard_lock(heap, all);
	read_shared(heap, stats);
	for (shard_set left = all; left; left &= left - 1) {
		const struct shard *shard = heap->shard[__builtin_ctz(left)];
		size_t chunks = index_largest(&shard->index);

		add_counts(stats, &shard->counts);
		largest = chunks > largest ? chunks : largest;
	}
	shard_unlock(heap, all);
	stats->largest_free = largest * PP_CHUNK;
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

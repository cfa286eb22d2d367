/* SPDX-License-Identifier: MIT */
/*
 * map_lru.c - what a full LRU map gives up: second chance over the pool's items, in a circle
 *
 *	hand  -->  looked up by a program since the hand came past: spared, once
 *		   else: evicted
 *
 * As in the kernel, this is near the least recently used, and lookups of the host do not count. The
 * hand is an atomic number: threads that evict do not wait for each other.
 */
#include "bpf/map_hash.h"

/* False: it is another's, or gone, by now. */
static bool evict(struct map_hash *hash, struct item *item)
{
	uint64_t word = item_see(item);
	struct bucket *bucket = table_bucket(hash, (uint32_t)word);
	bool same;

	map_lock_take(&bucket->lock);
	same = item->live && item_see(item) == word;
	if (same)
		table_unlink(hash, bucket, item);
	map_lock_give(&bucket->lock);
	if (same)
		pool_give(hash->pool, &item->pool);
	return same;
}

bool lru_evict(struct map_hash *hash)
{
	uint64_t items = pool_items(hash->pool);

	/* The first time round takes chances away, the second one finds whom to evict. */
	for (uint64_t i = 0; i < 2 * items; i++) {
		uint64_t at = __atomic_fetch_add(&hash->hand, 1, __ATOMIC_RELAXED) % items;
		struct item *item = (struct item *)(void *)pool_at(hash->pool, at);

		if (!item || !__atomic_load_n(&item->live, __ATOMIC_RELAXED))
			continue;
		if (__atomic_load_n(&item->used, __ATOMIC_RELAXED))
			__atomic_store_n(&item->used, false, __ATOMIC_RELAXED);
		else if (evict(hash, item))
			return true;
	}
	return false;
}

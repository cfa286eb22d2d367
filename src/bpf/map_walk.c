/* SPDX-License-Identifier: MIT */
/*
 * map_walk.c - going through a table bucket by bucket, while it changes
 *
 * A key never leaves its bucket, so an element that is there all the time is met once, whatever
 * comes and goes meanwhile.
 */
#include <errno.h>
#include <string.h>

#include "bpf/map_cpu.h"
#include "bpf/map_hash.h"
#include "bpf/map_words.h"

/* As many items of a bucket as are met under one taking of its lock; chains are shorter. */
#define CHAIN 32u

static bool is_empty(const struct bucket *bucket)
{
	return !is_item(__atomic_load_n(&bucket->head, __ATOMIC_RELAXED));
}

/* The key of the first item that *link and those behind it lead to. */
static int key_at(const struct map *map, const uint64_t *link, void *key)
{
	if (!is_item(*link))
		return -ENOENT;
	words_get(key, item_of(*link)->data, map->info.key_size);
	return 0;
}

/* The first key in bucket @i or behind it. */
static int first_key(const struct map *map, uint32_t i, void *key)
{
	struct map_hash *hash = map->hash;
	int err = -ENOENT;

	for (uint64_t at = i; at <= hash->mask && err; at++) {
		struct bucket *bucket = &hash->buckets[at];

		if (is_empty(bucket))
			continue;
		map_lock_take(&bucket->lock);
		err = key_at(map, &bucket->head, key);
		map_lock_give(&bucket->lock);
	}
	return err;
}

int table_next_key(const struct map *map, const void *key, void *next)
{
	uint32_t key_hash = key ? table_hash(map, key) : 0;
	struct bucket *bucket = table_bucket(map->hash, key_hash);
	uint64_t *link;
	int err = -ENOENT;

	if (!key)
		return first_key(map, 0, next);
	map_lock_take(&bucket->lock);
	link = table_find_locked(map, bucket, key, key_hash);
	if (link)
		err = key_at(map, &item_of(*link)->next, next);
	map_lock_give(&bucket->lock);
	if (!link)
		return first_key(map, 0, next); /* a key that is not there: from the start */
	if (!err)
		return 0;
	key_hash &= map->hash->mask;
	return key_hash == map->hash->mask ? -ENOENT : first_key(map, key_hash + 1, next);
}

/* Items that were linked at one moment, and their words then. */
struct chain {
	struct item *items[CHAIN];
	uint64_t words[CHAIN];
	uint32_t count;
};

static bool is_same(struct item *item, uint64_t word)
{
	return __atomic_load_n(&item->live, __ATOMIC_RELAXED) && item_see(item) == word;
}

/* From the head; or from behind the last of what *chain holds, if that is still there. */
static bool take_chain(struct bucket *bucket, struct chain *chain)
{
	uint32_t last = chain->count - 1;
	uint64_t link;

	if (!map_begin())
		return false;
	map_lock_take(&bucket->lock);
	if (chain->count)
		link = is_same(chain->items[last], chain->words[last]) ? chain->items[last]->next
								       : 0;
	else
		link = bucket->head;
	for (chain->count = 0; is_item(link) && chain->count < CHAIN; chain->count++) {
		chain->items[chain->count] = item_of(link);
		chain->words[chain->count] = item_of(link)->word;
		link = item_of(link)->next;
	}
	map_lock_give(&bucket->lock);
	map_end();
	return true;
}

/* Programs run here, without locks, and change the map. */
static bool visit_chain(const struct map *map, const struct chain *chain, map_visit_fn visit,
			void *ctx)
{
	for (uint32_t i = 0; i < chain->count; i++) {
		struct item *item = chain->items[i];
		void *value = item_value_of(map, item, cpu_own(map->cpus));

		if (is_same(item, chain->words[i]) && !visit(ctx, item->data, value))
			return false;
	}
	return true;
}

int table_each(const struct map *map, map_visit_fn visit, void *ctx)
{
	for (uint64_t i = 0; i <= map->hash->mask; i++) {
		struct chain chain = {.count = 0};

		if (is_empty(&map->hash->buckets[i]))
			continue;
		do {
			if (!take_chain(&map->hash->buckets[i], &chain))
				return -EBUSY;
			if (!visit_chain(map, &chain, visit, ctx))
				return 0;
		} while (chain.count == CHAIN);
	}
	return 0;
}

/* With the lock held. */
static uint32_t chain_length(const struct bucket *bucket)
{
	uint32_t length = 0;

	for (uint64_t link = bucket->head; is_item(link); link = item_of(link)->next)
		length++;
	return length;
}

/* With the lock held; there is room. */
static void read_bucket(const struct map *map, struct bucket *bucket, struct pp_bpf_batch *batch)
{
	size_t value_size = map_value_bytes(map), key_size = map->info.key_size;

	for (uint64_t link = bucket->head; is_item(link); link = item_of(link)->next) {
		size_t i = batch->count++;

		words_get((uint8_t *)batch->keys + i * key_size, item_of(link)->data, key_size);
		table_copy_value(map, item_of(link), (uint8_t *)batch->values + i * value_size);
	}
}

static void empty_bucket(const struct map *map, struct bucket *bucket)
{
	while (is_item(bucket->head))
		pool_give(map->hash->pool, &table_cut(map->hash, &bucket->head)->pool);
}

/* What a batch may still take. */
struct room {
	uint32_t left;
	bool erase;
};

/* Whole buckets only: -ENOSPC if this one does not fit. */
static int batch_bucket(const struct map *map, uint32_t i, struct pp_bpf_batch *batch,
			struct room room)
{
	struct bucket *bucket = &map->hash->buckets[i];
	int err = -ENOSPC;

	if (is_empty(bucket))
		return 0;
	map_lock_take(&bucket->lock);
	if (chain_length(bucket) <= room.left) {
		read_bucket(map, bucket, batch);
		if (room.erase)
			empty_bucket(map, bucket);
		err = 0;
	}
	map_lock_give(&bucket->lock);
	return err;
}

int table_batch(struct map *map, struct pp_bpf_batch *batch, uint32_t *at, bool erase)
{
	uint32_t count = batch->count;
	int err = 0;

	batch->count = 0;
	while (*at <= map->hash->mask && !err) {
		err = batch_bucket(map, *at, batch, (struct room){count - batch->count, erase});
		if (!err)
			++*at;
	}
	if (err)
		return batch->count ? 0 : err; /* of the next one there is no more room */
	return -ENOENT;
}

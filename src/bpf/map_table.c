/* SPDX-License-Identifier: MIT */
/* map_table.c - the table of map_hash.h: finding, putting, taking out */
#include "bpf/map_hash.h"

#include <errno.h>
#include <string.h>

#include "bpf/map_words.h"

/* One more in a word's turn; as a bit: it is odd. */
#define TURN ((uint64_t)1 << 32)

/* ---- links ---- */

static uint64_t follow(const uint64_t *link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

static void set_link(uint64_t *link, uint64_t to)
{
	__atomic_store_n(link, to, __ATOMIC_RELEASE);
}

/* ---- keys ---- */

/* Most keys are one word: they are hashed and compared without a loop. */
static bool is_word(const struct map *map)
{
	return map->info.key_size <= WORD;
}

uint32_t table_hash(const struct map *map, const void *key)
{
	uint64_t seed = map->hash->seed, word;

	if (!is_word(map))
		return (uint32_t)map_hash_bytes(key, map->info.key_size, seed);
	word = words_key(key, map->info.key_size);
	return (uint32_t)words_mix(words_mix(seed, word), seed);
}

/* @word: words_key() of it if it is one */
static bool has_key(const struct map *map, const struct item *item, const void *key, uint64_t word)
{
	if (is_word(map))
		return __atomic_load_n((const uint64_t *)(const void *)item->data,
				       __ATOMIC_ACQUIRE) == word;
	return words_equal(item->data, key, map->info.key_size);
}

struct item *table_find(const struct map *map, const void *key, uint64_t *word)
{
	uint32_t key_hash = table_hash(map, key);
	const struct bucket *bucket = table_bucket(map->hash, key_hash);
	uint64_t link, end = link_end(key_hash & map->hash->mask);
	uint64_t key_word = is_word(map) ? words_key(key, map->info.key_size) : 0;
	struct item *item;
	bool same;

again:
	for (link = follow(&bucket->head); is_item(link);) {
		item = item_of(link);
		*word = item_see(item);
		if ((link & ~LINK_ADDRESS) != link_turn(*word))
			goto again; /* it is an element that was never behind the last one */
		same = (uint32_t)*word == key_hash && has_key(map, item, key, key_word);
		link = follow(&item->next);
		if (item_see(item) != *word)
			goto again;
		if (same)
			return item;
	}
	if (link && link != end)
		goto again; /* an item came back to its turn's 16 bits, elsewhere */
	return NULL;
}

uint64_t *table_find_locked(const struct map *map, struct bucket *bucket, const void *key,
			    uint32_t key_hash)
{
	uint64_t *link = &bucket->head;

	while (is_item(*link)) {
		struct item *item = item_of(*link);

		if ((uint32_t)item->word == key_hash &&
		    words_equal(item->data, key, map->info.key_size))
			return link;
		link = &item->next;
	}
	return NULL;
}

/* ---- elements come and go ---- */

static void write_cpus(const struct map *map, struct item *item, const struct input *input)
{
	const uint8_t *from = input->value;

	for (uint32_t cpu = 0; cpu < map->cpus; cpu++)
		words_put(item_value_of(map, item, cpu), from + cpu * words_round(input->size),
			  input->size);
}

static void write_value(const struct map *map, struct item *item, const struct input *input)
{
	if (map->hash->cpu_stride && input->cpu == INPUT_ALL)
		write_cpus(map, item, input);
	else if (map->hash->cpu_stride)
		words_put(item_value_of(map, item, input->cpu), input->value, input->size);
	else
		words_put(item_value(map, item), input->value, input->size);
}

static struct item *new_item(const struct map *map, const void *key, uint32_t key_hash,
			     const struct input *input)
{
	struct map_hash *hash = map->hash;
	struct item *item = (struct item *)(void *)pool_take(hash->pool);
	uint64_t turn;

	if (!item)
		return NULL;
	turn = item->word & ~(TURN - 1);
	__atomic_store_n(&item->word, (uint32_t)item->word | (turn + TURN), __ATOMIC_RELAXED);
	words_put(item->data, key, map->info.key_size);
	if (hash->cpu_stride && input->cpu != INPUT_ALL)
		words_zero(item_value(map, item), hash->cpu_stride * map->cpus);
	write_value(map, item, input);
	__atomic_store_n(&item->used, false, __ATOMIC_RELAXED);
	__atomic_store_n(&item->word, key_hash | (turn + 2 * TURN), __ATOMIC_RELEASE);
	return item;
}

/* One more: false if the map is full. Never above max_entries, so that nobody else is told so. */
static bool count_one(const struct map *map)
{
	uint32_t *count = &map->hash->count, seen = __atomic_load_n(count, __ATOMIC_RELAXED);

	do {
		if (seen == map->info.max_entries)
			return false;
	} while (!__atomic_compare_exchange_n(count, &seen, seen + 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

/* With the bucket's lock held. */
static void link_in(struct map_hash *hash, struct bucket *bucket, struct item *item)
{
	uint64_t head = bucket->head;

	__atomic_store_n(&item->live, true, __ATOMIC_RELAXED);
	set_link(&item->next, head ? head : link_end((uint32_t)(bucket - hash->buckets)));
	set_link(&bucket->head, link_to(item, item->word));
}

/* With the bucket's lock held: put @item where the item is that *link leads to. */
static void put_instead(uint64_t *link, struct item *item)
{
	struct item *old = item_of(*link);

	__atomic_store_n(&item->live, true, __ATOMIC_RELAXED);
	set_link(&item->next, old->next);
	set_link(link, link_to(item, item->word));
	__atomic_store_n(&old->live, false, __ATOMIC_RELAXED);
}

struct item *table_cut(struct map_hash *hash, uint64_t *link)
{
	struct item *item = item_of(*link);

	set_link(link, item->next);
	__atomic_store_n(&item->live, false, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&hash->count, 1, __ATOMIC_RELAXED);
	return item;
}

void table_unlink(struct map_hash *hash, struct bucket *bucket, struct item *item)
{
	uint64_t *link = &bucket->head;

	while (item_of(*link) != item)
		link = &item_of(*link)->next;
	table_cut(hash, link);
}

/* With the bucket's lock held. *old: what it replaced, or NULL */
static int put_locked(const struct map *map, struct bucket *bucket, struct item *item,
		      uint64_t flags, struct item **old)
{
	uint64_t *link = table_find_locked(map, bucket, item->data, (uint32_t)item->word);

	*old = link ? item_of(*link) : NULL;
	if (link && flags == MAP_NOEXIST)
		return -EEXIST;
	if (!link && flags == MAP_EXIST)
		return -ENOENT;
	if (!link && !count_one(map))
		return -E2BIG;
	if (link)
		put_instead(link, item);
	else
		link_in(map->hash, bucket, item);
	return 0;
}

static int put(const struct map *map, struct item *item, uint64_t flags, struct item **old)
{
	struct bucket *bucket = table_bucket(map->hash, (uint32_t)item->word);
	int err;

	do {
		map_lock_take(&bucket->lock);
		err = put_locked(map, bucket, item, flags, old);
		map_lock_give(&bucket->lock);
	} while (err == -E2BIG && map->hash->lru && lru_evict(map->hash));
	return err == -E2BIG && map->hash->lru ? -ENOMEM : err;
}

int table_replace(const struct map *map, const void *key, const struct input *input, uint64_t flags,
		  struct item **old)
{
	uint32_t key_hash = table_hash(map, key);
	struct item *item;
	int err;

	if (flags > MAP_EXIST)
		return -EINVAL;
	/* It comes while the item is written: often it is in another CPU's cache. */
	__builtin_prefetch(table_bucket(map->hash, key_hash), 1);
	item = new_item(map, key, key_hash, input);
	if (!item)
		return -ENOMEM;
	err = put(map, item, flags, old);
	if (err)
		pool_return(map->hash->pool, &item->pool);
	return err;
}

int table_overwrite(const struct map *map, const void *key, const struct input *input)
{
	uint32_t key_hash = table_hash(map, key);
	struct bucket *bucket = table_bucket(map->hash, key_hash);
	uint64_t *link;

	map_lock_take(&bucket->lock);
	link = table_find_locked(map, bucket, key, key_hash);
	if (link)
		write_value(map, item_of(*link), input);
	map_lock_give(&bucket->lock);
	return link ? 0 : -ENOENT;
}

struct item *table_take(struct map *map, const void *key)
{
	uint32_t key_hash = table_hash(map, key);
	struct bucket *bucket = table_bucket(map->hash, key_hash);
	struct item *item = NULL;
	uint64_t *link;

	map_lock_take(&bucket->lock);
	link = table_find_locked(map, bucket, key, key_hash);
	if (link)
		item = table_cut(map->hash, link);
	map_lock_give(&bucket->lock);
	return item;
}

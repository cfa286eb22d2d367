/* SPDX-License-Identifier: MIT */
/*
 * map_hash.h - the table under hash, per-CPU hash and LRU hash maps, and hashes of maps
 *
 *	bucket { head, lock }  -->  item -->  item -->  end, with the bucket's number
 *
 * Lookups take no lock and write nothing. Items come from a pool, stay items of this map, and are
 * reused while lookups may still stand on them. So each has a turn, odd while it is written and
 * higher each time; a link carries 16 bits of the turn that its item had when it was linked. A
 * lookup that finds another turn, or a turn changed, or arrives at another bucket's end, begins
 * anew: it goes over items as they were linked, as if none was ever reused. An item's turn and hash
 * are one word: one load compares the hash and remembers the turn.
 *
 * Changes take the bucket's lock; each is one store to a link, so that a chain is whole at any time
 * (a child of fork() may find it held). A new element becomes the first; one that replaces another
 * takes its place in the chain: a key that is there is never missed.
 */
#ifndef BPF_MAP_HASH_H
#define BPF_MAP_HASH_H

#include "bpf/map.h"
#include "bpf/map_lock.h"
#include "bpf/map_pool.h"

/*
 * struct item - an element
 * @next: link_to() the next one, or link_end() of the bucket
 * @word: hash, and turn << 32
 * @live: linked; under the bucket's lock. @used: looked up since the LRU hand came past
 * @data: key, padded; then the value, or that of each CPU, each on cache lines of its own
 */
struct item {
	struct pool_item pool;
	uint64_t next, word;
	bool live, used;
	uint8_t data[] __attribute__((aligned(MAP_ALIGN)));
};

/* @head: as an item's next; 0: nothing was ever in it */
struct bucket {
	uint64_t head;
	struct map_lock lock;
};

/*
 * struct map_hash
 * @value_at: in an item's data; @value_size: of one value, padded; @cpu_stride: 0 or as in arrays
 * @count: elements in the table; never above max_entries
 * @hand: where eviction goes on, see map_lru.c
 */
struct map_hash {
	struct bucket *buckets;
	struct pool *pool;
	uint64_t seed;
	size_t value_at, cpu_stride;
	uint32_t mask, count;
	bool lru, of_maps;
	uint64_t hand;
};

/*
 * struct input - what an update brings
 * @size: of one value; @cpu: whose it is, or INPUT_ALL: there is one for each, padded to 8 bytes
 */
struct input {
	const void *value;
	size_t size;
	uint32_t cpu;
};
#define INPUT_ALL UINT32_MAX

/* An end, of the bucket with that number. */
static inline uint64_t link_end(uint32_t bucket)
{
	return (uint64_t)bucket << 1 | 1;
}

/* is_item - an item, that is; no end */
static inline bool is_item(uint64_t link)
{
	return link && !(link & 1);
}

/*
 * Addresses have 48 bits: the kernel gives others to those only who ask for them (mmap's hint). On
 * arm64 with tagged memory the topmost byte is the allocator's: glibc uses it on request only.
 */
#define LINK_ADDRESS (((uint64_t)1 << 48) - 1)

static inline struct item *item_of(uint64_t link)
{
	return (struct item *)(uintptr_t)(link & LINK_ADDRESS);
}

/* What a word's turn looks like in a link. */
static inline uint64_t link_turn(uint64_t word)
{
	return word >> 32 << 48;
}

/* link_to - with the word of the turn in which it is linked */
static inline uint64_t link_to(const struct item *item, uint64_t word)
{
	return (uint64_t)(uintptr_t)item | link_turn(word);
}

static inline uint64_t item_see(const struct item *item)
{
	return __atomic_load_n(&item->word, __ATOMIC_ACQUIRE);
}

/* item_value, item_value_of - where the value is; a CPU's */
static inline void *item_value(const struct map *map, struct item *item)
{
	return item->data + map->hash->value_at;
}

static inline void *item_value_of(const struct map *map, struct item *item, uint32_t cpu)
{
	return item->data + map->hash->value_at + cpu * map->hash->cpu_stride;
}

/* table_hash - seeded, so that whoever chooses keys cannot choose them to share a bucket */
uint32_t table_hash(const struct map *map, const void *key);

static inline struct bucket *table_bucket(const struct map_hash *hash, uint32_t key_hash)
{
	return &hash->buckets[key_hash & hash->mask];
}

/* table_find - the key's item or NULL; *word: its word. It is the key's until that changes. */
struct item *table_find(const struct map *map, const void *key, uint64_t *word);

/* With the bucket's lock held: the link that leads to the key's item, or NULL. */
uint64_t *table_find_locked(const struct map *map, struct bucket *bucket, const void *key,
			    uint32_t key_hash);

/* With the lock held: take out the item that *link leads to, or that one; the caller gives it back
 */
struct item *table_cut(struct map_hash *hash, uint64_t *link);
void table_unlink(struct map_hash *hash, struct bucket *bucket, struct item *item);

/*
 * table_replace - put a new item in, in the place of an old one if there is one, so that nobody's
 * value changes under him. Return: as updates; -ENOMEM. *old: what left, not given back, or NULL
 */
int table_replace(const struct map *map, const void *key, const struct input *input, uint64_t flags,
		  struct item **old);

/* table_overwrite - change a value where it is: 0, -ENOENT */
int table_overwrite(const struct map *map, const void *key, const struct input *input);

/* table_take - the item that left the table, not given back, or NULL */
struct item *table_take(struct map *map, const void *key);

/* table_copy_value - for the host: of all CPUs */
void table_copy_value(const struct map *map, struct item *item, void *value);

/* As struct map_ops has them. */
int table_next_key(const struct map *map, const void *key, void *next);
int table_each(const struct map *map, map_visit_fn visit, void *ctx);
int table_batch(struct map *map, struct pp_bpf_batch *batch, uint32_t *at, bool erase);

/* hash_of_maps_create - as struct map_ops has it, for map_maps.c */
int hash_of_maps_create(struct map *map);

/* lru_evict - make room: false if every element is in use at this moment */
bool lru_evict(struct map_hash *hash);

#endif

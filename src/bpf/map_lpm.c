/* SPDX-License-Identifier: MIT */
/*
 * map_lpm.c - longest-prefix-match tries: keys are a 32-bit length in bits, then the bits
 *
 *	      /0			nodes with an element (*) and without (a fork of two)
 *	    0/  \1		child[b]: longer prefixes that go on with bit b
 *	10.*    192.168.*
 *		    \1
 *		    192.168.128.*
 *
 * Lookups take no lock. Changes take the trie's, build what is new first and then change one link,
 * so that a lookup sees the trie before or after. What leaves it is reused after a grace period
 * only: a lookup that stood on it would go astray. Where a run replaces so much that the pool has
 * nothing to give before it ends, values of keys that are there are changed in place, and new keys
 * are refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/map.h"
#include "bpf/map_lock.h"
#include "bpf/map_pool.h"
#include "bpf/map_words.h"

#define FLAGS ((uint32_t)(MAP_NO_PREALLOC | MAP_NUMA_NODE | MAP_ACCESS))
#define DATA_MIN 1u
#define DATA_MAX 256u
#define PREFIX_BYTES sizeof(uint32_t)
#define BITS_MAX (DATA_MAX * 8)

/*
 * struct node
 * @child: longer prefixes; NULL or nodes. @bits: how many of data count
 * @fork: has no element; both children are there then. Set, too, when the element is deleted.
 * @data: the prefix, padded; then the value
 */
struct node {
	struct pool_item pool;
	struct node *child[2];
	uint32_t bits;
	bool fork;
	uint8_t data[] __attribute__((aligned(MAP_ALIGN)));
};

struct map_lpm {
	struct node *root;
	struct pool *pool;
	size_t data_size, value_at;
	struct map_lock lock;
	uint32_t count;
};

/* A program's key. */
struct key {
	uint32_t bits;
	const uint8_t *data;
};

static int lpm_create(struct map *map)
{
	const struct pp_bpf_map_info *info = &map->info;
	struct map_lpm *lpm;
	size_t size;
	int err;

	if (!info->max_entries || !info->value_size || info->flags & ~FLAGS ||
	    !(info->flags & MAP_NO_PREALLOC) || info->key_size < PREFIX_BYTES + DATA_MIN ||
	    info->key_size > PREFIX_BYTES + DATA_MAX)
		return -EINVAL;
	if (info->value_size > MAP_MAX_ELEMENT - DATA_MAX - sizeof(struct node))
		return -EINVAL;
	lpm = calloc(1, sizeof(*lpm));
	if (!lpm)
		return -ENOMEM;
	lpm->data_size = info->key_size - PREFIX_BYTES;
	lpm->value_at = words_round(lpm->data_size);
	size = sizeof(struct node) + lpm->value_at + words_round(info->value_size);
	/* Each element may come with a fork. */
	err = pool_new(size, (uint64_t)info->max_entries * 2, false, &lpm->pool);
	if (err)
		free(lpm);
	else
		map->lpm = lpm;
	return err;
}

static void lpm_destroy(struct map *map)
{
	pool_free(map->lpm->pool);
	free(map->lpm);
}

/* ---- bits ---- */

static struct key key_of(const void *key)
{
	struct key own = {.data = (const uint8_t *)key + PREFIX_BYTES};

	memcpy(&own.bits, key, PREFIX_BYTES);
	return own;
}

static bool is_longer(const struct map *map, const struct key *key)
{
	return key->bits > map->lpm->data_size * 8;
}

static unsigned int bit_at(const uint8_t *data, uint32_t i)
{
	return data[i / 8] >> (7 - i % 8) & 1;
}

/* The first of a word's bits that differ, in the order of prefixes; 64: none. */
static uint32_t first_difference(const uint8_t *a, const uint8_t *b)
{
	uint64_t left, right;

	memcpy(&left, a, WORD);
	memcpy(&right, b, WORD);
	return left == right ? 64 : (uint32_t)__builtin_clzll(__builtin_bswap64(left ^ right));
}

/* How many bits of a prefix and of a key are the same, at most as many as either has. */
static uint32_t common(const struct map *map, const struct node *node, const struct key *key)
{
	uint32_t limit = node->bits < key->bits ? node->bits : key->bits, same = 0;
	size_t i = 0;

	for (; i + WORD <= map->lpm->data_size && same == i * 8 && same < limit; i += WORD)
		same += first_difference(node->data + i, key->data + i);
	while (same < limit && same >= i * 8 && bit_at(node->data, same) == bit_at(key->data, same))
		same++;
	return same < limit ? same : limit;
}

/* ---- lookup ---- */

static struct node *follow(struct node *const *link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

static void set(struct node **link, struct node *to)
{
	__atomic_store_n(link, to, __ATOMIC_RELEASE);
}

static bool is_fork(const struct node *node)
{
	return __atomic_load_n(&node->fork, __ATOMIC_RELAXED);
}

static void *value_of(const struct map *map, struct node *node)
{
	return node->data + map->lpm->value_at;
}

static void *lpm_lookup(const struct map *map, const void *at)
{
	const struct key key = key_of(at);
	struct node *node, *found = NULL;

	if (is_longer(map, &key))
		return NULL;
	for (node = follow(&map->lpm->root); node;) {
		if (common(map, node, &key) < node->bits)
			break;
		if (!is_fork(node))
			found = node;
		if (node->bits == key.bits)
			break;
		node = follow(&node->child[bit_at(key.data, node->bits)]);
	}
	return found ? value_of(map, found) : NULL;
}

/* ---- changes, with the lock held ---- */

/* Where a key's way ends: *link is its node, or where one would have to go. */
struct place {
	struct node **link, **above; /* above: the link to the node that holds link, or NULL */
	uint32_t same;               /* of *link's bits */
};

static struct place find(const struct map *map, const struct key *key)
{
	struct place place = {.link = &map->lpm->root};

	while (*place.link) {
		struct node *node = *place.link;

		place.same = common(map, node, key);
		if (place.same < node->bits || node->bits == key->bits)
			break;
		place.above = place.link;
		place.link = &node->child[bit_at(key->data, node->bits)];
	}
	return place;
}

static bool is_exact(const struct place *place, const struct key *key)
{
	return *place->link && (*place->link)->bits == key->bits && place->same == key->bits;
}

static bool is_there(const struct place *place, const struct key *key)
{
	return is_exact(place, key) && !is_fork(*place->link);
}

/* Bits past the prefix are kept, as the kernel does. */
static struct node *new_node(const struct map *map, const struct key *key)
{
	struct node *node = (struct node *)(void *)pool_take_ripe(map->lpm->pool);

	if (!node)
		return NULL;
	node->child[0] = node->child[1] = NULL;
	node->bits = key->bits;
	node->fork = false;
	memcpy(node->data, key->data, map->lpm->data_size);
	return node;
}

/* Beside what is there: below a fork at the first bit that differs. */
static int add_fork(const struct map *map, const struct place *place, struct node *node)
{
	struct node *there = *place->link, *fork;
	const struct key prefix = {place->same, node->data};

	fork = new_node(map, &prefix);
	if (!fork)
		return -ENOMEM;
	fork->fork = true;
	fork->child[bit_at(node->data, place->same)] = node;
	fork->child[bit_at(there->data, place->same)] = there;
	set(place->link, fork);
	return 0;
}

static int link_in(const struct map *map, const struct place *place, struct node *node)
{
	struct node *there = *place->link;

	if (!there) {
		set(place->link, node);
		return 0;
	}
	if (there->bits == node->bits && place->same == node->bits) {
		node->child[0] = there->child[0];
		node->child[1] = there->child[1];
		set(place->link, node);
		pool_give(map->lpm->pool, &there->pool);
		return 0;
	}
	if (place->same < node->bits)
		return add_fork(map, place, node);
	node->child[bit_at(there->data, node->bits)] = there;
	set(place->link, node);
	return 0;
}

static int check(const struct map *map, bool there, uint64_t flags)
{
	if (there && flags == MAP_NOEXIST)
		return -EEXIST;
	if (!there && flags == MAP_EXIST)
		return -ENOENT;
	return !there && map->lpm->count == map->info.max_entries ? -ENOSPC : 0;
}

static int put_locked(struct map *map, const struct key *key, const void *value, uint64_t flags)
{
	struct place place = find(map, key);
	bool there = is_there(&place, key);
	int err = check(map, there, flags);
	struct node *node;

	if (err)
		return err;
	node = new_node(map, key);
	if (!node && !there)
		return -ENOMEM;
	words_put(value_of(map, node ? node : *place.link), value, map->info.value_size);
	if (!node)
		return 0;
	err = link_in(map, &place, node);
	if (err)
		pool_return(map->lpm->pool, &node->pool);
	else
		map->lpm->count += !there;
	return err;
}

static int lpm_update(struct map *map, const void *at, const void *value, uint64_t flags)
{
	const struct key key = key_of(at);
	int err;

	if (flags > MAP_EXIST || is_longer(map, &key))
		return -EINVAL;
	map_lock_take(&map->lpm->lock);
	err = put_locked(map, &key, value, flags);
	map_lock_give(&map->lpm->lock);
	return err;
}

/* Put @instead in the place of a node that is not needed any more. */
static void unlink_node(const struct map *map, struct node **link, struct node *instead)
{
	struct node *node = *link;

	set(link, instead);
	pool_give(map->lpm->pool, &node->pool);
}

/* With both children it stays, as a fork. A fork that loses one of its two goes, too. */
static int erase_locked(struct map *map, const struct key *key)
{
	struct place place = find(map, key);
	struct node *node, *above;

	if (!is_there(&place, key))
		return -ENOENT;
	map->lpm->count--;
	node = *place.link;
	if (node->child[0] && node->child[1]) {
		__atomic_store_n(&node->fork, true, __ATOMIC_RELAXED);
		return 0;
	}
	if (node->child[0] || node->child[1] || !place.above || !is_fork(*place.above)) {
		unlink_node(map, place.link, node->child[0] ? node->child[0] : node->child[1]);
		return 0;
	}
	above = *place.above;
	unlink_node(map, place.above, above->child[above->child[0] == node]);
	pool_give(map->lpm->pool, &node->pool);
	return 0;
}

static int lpm_erase(struct map *map, const void *at)
{
	const struct key key = key_of(at);
	int err;

	if (is_longer(map, &key))
		return -EINVAL;
	map_lock_take(&map->lpm->lock);
	err = erase_locked(map, &key);
	map_lock_give(&map->lpm->lock);
	return err;
}

/* ---- order: longer prefixes before those they begin with, bit 0 before bit 1 ---- */

/* Nodes from the root to a key. */
struct path {
	struct node *nodes[BITS_MAX + 1];
	uint32_t count;
};

static void descend(struct path *path, struct node *node)
{
	while (node) {
		path->nodes[path->count++] = node;
		node = node->child[0] ? node->child[0] : node->child[1];
	}
}

static bool path_to(const struct map *map, const struct key *key, struct path *path)
{
	struct node *node = map->lpm->root;

	while (node && common(map, node, key) == node->bits) {
		path->nodes[path->count++] = node;
		if (node->bits == key->bits)
			return !is_fork(node);
		node = node->child[bit_at(key->data, node->bits)];
	}
	return false;
}

static void step(struct path *path)
{
	struct node *node = path->nodes[--path->count];
	struct node *above = path->count ? path->nodes[path->count - 1] : NULL;

	if (above && above->child[0] == node)
		descend(path, above->child[1]);
}

static int next_locked(const struct map *map, const struct key *key, void *next)
{
	struct path path;
	const struct node *node;

	path.count = 0;
	if (key && !is_longer(map, key) && path_to(map, key, &path)) {
		step(&path);
	} else {
		path.count = 0;
		descend(&path, map->lpm->root);
	}
	while (path.count && is_fork(path.nodes[path.count - 1]))
		step(&path);
	if (!path.count)
		return -ENOENT;
	node = path.nodes[path.count - 1];
	memcpy(next, &node->bits, PREFIX_BYTES);
	memcpy((uint8_t *)next + PREFIX_BYTES, node->data, map->lpm->data_size);
	return 0;
}

static int lpm_next_key(const struct map *map, const void *at, void *next)
{
	struct key key = {0};
	int err;

	if (at)
		key = key_of(at);
	map_lock_take(&map->lpm->lock);
	err = next_locked(map, at ? &key : NULL, next);
	map_lock_give(&map->lpm->lock);
	return err;
}

bool lpm_bounds(const struct map *map, uint64_t addr, struct map_bounds *bounds)
{
	struct node *node = (struct node *)(void *)pool_holds(map->lpm->pool, addr);

	if (!node)
		return false;
	bounds->lo = (uintptr_t)value_of(map, node);
	bounds->hi = bounds->lo + map->info.value_size;
	return addr - bounds->lo < map->info.value_size;
}

const struct map_ops map_lpm_ops = {
	.create = lpm_create,
	.destroy = lpm_destroy,
	.lookup = lpm_lookup,
	.update = lpm_update,
	.erase = lpm_erase,
	.next_key = lpm_next_key,
	.none = -ENOTSUP,
};

/* SPDX-License-Identifier: MIT */
/*
 * map_hash.c - BPF_MAP_TYPE_HASH on liburcu's lock-free table (flavour urcu-bp)
 *
 * Lookups, and updates of keys that are there, take no lock. A new key and a delete take the
 * map's, for its table and its count change together: a map is full when it says so.
 *
 * An update never writes to a value that others may be reading: it puts a new element in
 * the place of the old one. Elements that left a table are retired, not freed: programs in
 * read-side sections may hold their values, and a program's own helper call cannot wait.
 *
 *	program: update, delete --> retired (one lock-free stack for the process)
 *	host: pp_bpf_leave, run, map calls --> more than RETIRED_MAX bytes? take the stack,
 *		wait for a grace period, free;  pp_bpf_close --> the same, always
 *
 * So no thread is started behind the host's back, as call_rcu would. A single run can still
 * pile up what it retires until it ends. The table has its size from the start: resizing
 * would be a thread's work, too. Beyond MAX_BUCKETS entries chains grow longer.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <urcu-bp.h>
#include <urcu/rculfhash.h>

#include "bpf/map.h"
#include "bpf/rcu.h"

#define FLAGS ((uint32_t)(MAP_NO_PREALLOC | MAP_NUMA_NODE | MAP_ZERO_SEED | MAP_RDONLY_PROG))
#define RETIRED_MAX ((size_t)1 << 20)
#define MAX_BUCKETS ((uint32_t)1 << 20)
/* The kernel's bound on an element (KMALLOC_MAX_SIZE). */
#define MAX_ELEMENT ((uint64_t)4 << 20)

/* @retired: the next of the stack; node still serves readers then. @data: key, then value. */
struct element {
	struct cds_lfht_node node;
	struct element *retired;
	uint8_t data[] __attribute__((aligned(MAP_ALIGN)));
};

/* @lock: held while keys come and go, so that @count is the number of them in the table */
struct map_hash {
	struct cds_lfht *table;
	uint64_t seed;
	size_t value_at; /* in an element's data */
	pthread_mutex_t lock;
	uint32_t count;
};

_Static_assert(offsetof(struct element, node) == 0, "element_of() casts");

/* caa_container_of() would do, but casts const away where clang sees it. */
static struct element *element_of(struct cds_lfht_node *node)
{
	return (struct element *)(void *)node;
}

/* What matches() looks for: a key and its size. */
struct wanted {
	const void *key;
	size_t size;
};

char rcu_sections;

/* @bytes is a hint: a retirement may be counted in one batch and freed in the next. */
static struct {
	struct element *head;
	size_t bytes;
} retired;

static size_t element_size(const struct pp_bpf_map *map)
{
	return sizeof(struct element) + map->hash->value_at + map->info.value_size;
}

static void retire(const struct pp_bpf_map *map, struct cds_lfht_node *node)
{
	struct element *element = element_of(node);

	__atomic_add_fetch(&retired.bytes, element_size(map), __ATOMIC_RELAXED);
	element->retired = __atomic_load_n(&retired.head, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&retired.head, &element->retired, element, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* The stack is only ever taken whole, so a head cannot come back under a push. */
void map_reclaim_all(void)
{
	struct element *element, *next;

	__atomic_store_n(&retired.bytes, 0, __ATOMIC_RELAXED);
	element = __atomic_exchange_n(&retired.head, NULL, __ATOMIC_ACQUIRE);
	rcu_wait();
	for (; element; element = next) {
		next = element->retired;
		free(element);
	}
}

void map_reclaim(void)
{
	if (__atomic_load_n(&retired.bytes, __ATOMIC_RELAXED) > RETIRED_MAX &&
	    !urcu_bp_read_ongoing())
		map_reclaim_all();
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Seeded, so that whoever chooses keys cannot choose them to share a bucket. */
static unsigned long hash_key(const struct pp_bpf_map *map, const void *key)
{
	const uint8_t *bytes = key;
	size_t left = map->info.key_size;
	uint64_t hash = map->hash->seed ^ left;
	uint64_t word;

	for (; left >= sizeof(word); left -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, bytes, left);
	return mix(mix(hash, word), map->hash->seed);
}

static int matches(struct cds_lfht_node *node, const void *key)
{
	const struct wanted *wanted = key;

	rcu_see(node);
	return !memcmp(element_of(node)->data, wanted->key, wanted->size);
}

static struct cds_lfht_node *find(const struct pp_bpf_map *map, const void *key,
				  struct cds_lfht_iter *iter)
{
	struct wanted wanted = {key, map->info.key_size};

	cds_lfht_lookup(map->hash->table, hash_key(map, key), matches, &wanted, iter);
	return cds_lfht_iter_get_node(iter);
}

static unsigned long buckets_for(uint32_t entries)
{
	unsigned long buckets = 1;

	while (buckets < entries && buckets < MAX_BUCKETS)
		buckets *= 2;
	return buckets;
}

static int hash_create(struct pp_bpf_map *map)
{
	const struct pp_bpf_map_info *info = &map->info;
	unsigned long buckets = buckets_for(info->max_entries);
	struct map_hash *hash;

	if (info->flags & ~FLAGS)
		return -EINVAL;
	if (!info->key_size || !info->value_size || !info->max_entries)
		return -EINVAL;
	if ((uint64_t)info->key_size + info->value_size > MAX_ELEMENT)
		return -E2BIG;
	hash = calloc(1, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	if (getrandom(&hash->seed, sizeof(hash->seed), GRND_NONBLOCK) < 0)
		hash->seed = (uintptr_t)hash; /* no entropy yet: addresses are random, too */
	hash->value_at = ((size_t)info->key_size + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN;
	hash->table = cds_lfht_new_flavor(buckets, buckets, buckets, 0, &urcu_bp_flavor, NULL);
	if (!hash->table) {
		free(hash);
		return -ENOMEM;
	}
	pthread_mutex_init(&hash->lock, NULL); /* cannot fail without attributes */
	map->hash = hash;
	return 0;
}

/* Nobody looks any more, so what is unlinked can be freed at once; iter is past it by then. */
static void hash_destroy(struct pp_bpf_map *map)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	rcu_enter();
	cds_lfht_for_each(map->hash->table, &iter, node)
	{
		if (!cds_lfht_del(map->hash->table, node))
			free(element_of(node));
	}
	rcu_leave();
	cds_lfht_destroy(map->hash->table, NULL);
	pthread_mutex_destroy(&map->hash->lock);
	free(map->hash);
	map->hash = NULL;
}

static void *value_of(const struct pp_bpf_map *map, struct cds_lfht_node *node)
{
	return element_of(node)->data + map->hash->value_at;
}

static void *hash_lookup(const struct pp_bpf_map *map, const void *key)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node = find(map, key, &iter);

	return node ? value_of(map, node) : NULL;
}

static struct element *new_element(const struct pp_bpf_map *map, const void *key, const void *value)
{
	struct element *element = malloc(element_size(map));

	if (!element)
		return NULL;
	cds_lfht_node_init(&element->node);
	memcpy(element->data, key, map->info.key_size);
	memcpy(element->data + map->hash->value_at, value, map->info.value_size);
	rcu_publish(element);
	return element;
}

/* With the lock held: 0, -E2BIG, or -EAGAIN: the key came to exist before that. */
static int add_locked(struct pp_bpf_map *map, struct element *element)
{
	struct wanted wanted = {element->data, map->info.key_size};
	struct map_hash *hash = map->hash;
	struct cds_lfht_node *there;
	struct cds_lfht_iter iter;

	if (hash->count == map->info.max_entries)
		return find(map, element->data, &iter) ? -EAGAIN : -E2BIG;
	there = cds_lfht_add_unique(hash->table, hash_key(map, element->data), matches, &wanted,
				    &element->node);
	if (there != &element->node)
		return -EAGAIN;
	hash->count++;
	return 0;
}

static int add_new(struct pp_bpf_map *map, struct element *element)
{
	int err;

	pthread_mutex_lock(&map->hash->lock);
	err = add_locked(map, element);
	pthread_mutex_unlock(&map->hash->lock);
	return err;
}

/* 0, or -EAGAIN: the old element is gone or was replaced meanwhile. */
static int replace_old(struct pp_bpf_map *map, struct cds_lfht_iter *old, struct element *element)
{
	struct wanted wanted = {element->data, map->info.key_size};
	struct cds_lfht_node *node = cds_lfht_iter_get_node(old);

	if (cds_lfht_replace(map->hash->table, old, hash_key(map, element->data), matches, &wanted,
			     &element->node))
		return -EAGAIN;
	retire(map, node);
	return 0;
}

static int put(struct pp_bpf_map *map, struct element *element, uint64_t flags)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *old = find(map, element->data, &iter);

	if (old && flags == MAP_NOEXIST)
		return -EEXIST;
	if (!old && flags == MAP_EXIST)
		return -ENOENT;
	return old ? replace_old(map, &iter, element) : add_new(map, element);
}

static int hash_update(struct pp_bpf_map *map, const void *key, const void *value, uint64_t flags)
{
	struct element *element;
	int err;

	if (flags > MAP_EXIST)
		return -EINVAL;
	element = new_element(map, key, value);
	if (!element)
		return -ENOMEM;
	do {
		/* Another thread's update or delete made each further round necessary. */
		err = put(map, element, flags);
	} while (err == -EAGAIN);
	if (err)
		free(element);
	return err;
}

/*
 * With the lock held: the element that left the table, or NULL. If one that was found cannot
 * be unlinked, it has been replaced meanwhile, and the key is still there.
 */
static struct cds_lfht_node *unlink_locked(struct pp_bpf_map *map, const void *key)
{
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;

	do {
		node = find(map, key, &iter);
	} while (node && cds_lfht_del(map->hash->table, node));
	map->hash->count -= node != NULL;
	return node;
}

static int hash_erase(struct pp_bpf_map *map, const void *key)
{
	struct cds_lfht_node *node;

	pthread_mutex_lock(&map->hash->lock);
	node = unlink_locked(map, key);
	pthread_mutex_unlock(&map->hash->lock);
	if (!node)
		return -ENOENT;
	retire(map, node);
	return 0;
}

static int hash_next_key(const struct pp_bpf_map *map, const void *key, void *next)
{
	struct cds_lfht *table = map->hash->table;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	if (key && find(map, key, &iter))
		cds_lfht_next(table, &iter);
	else
		cds_lfht_first(table, &iter);
	node = cds_lfht_iter_get_node(&iter);
	if (!node)
		return -ENOENT;
	rcu_see(node);
	memcpy(next, element_of(node)->data, map->info.key_size);
	return 0;
}

const struct map_ops map_hash_ops = {
	.create = hash_create,
	.destroy = hash_destroy,
	.lookup = hash_lookup,
	.update = hash_update,
	.erase = hash_erase,
	.next_key = hash_next_key,
};

/* SPDX-License-Identifier: MIT */
#include "bpf/map_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/map_cpu.h"
#include "bpf/map_lock.h"

#define MAX_SHARDS 64u
#define BLOCK_BYTES ((size_t)64 << 10)
/* Items beyond the entries of a map: as many as are in this much memory, within these bounds. */
#define SPARE_BYTES ((size_t)256 << 10)
#define SPARE_MIN 64u
#define SPARE_MAX 4096u
#define POOL_LATE 32

/*
 * struct shard - a queue of free items, oldest first
 * @pushed, @popped: items that came and went, ever; so @popped is the head's number
 * @ripe: items with smaller numbers may be reused; @seen: what pushed was at pool_before()
 */
struct shard {
	struct map_lock lock;
	struct pool_item *head, *tail;
	int64_t pushed, popped, ripe, seen;
} __attribute__((aligned(64)));

/* Items of a cache line or less lie in one each: threads have them for themselves. */
#define CACHE_LINE ((size_t)64)

struct block {
	struct block *next;
	void *memory; /* where it begins, as calloc() gave it */
	uint8_t items[] __attribute__((aligned(CACHE_LINE)));
};

/*
 * struct pool
 * @limit: items that may exist; @made: that do, under @grow; @block_items: of each block
 * @at_once: without grace periods
 * @unripe: a shard that has so many wants a grace period
 * @wants: one of them does; @before: pool_before() has seen it
 */
struct pool {
	size_t size;
	uint64_t limit, made, block_items;
	int64_t unripe;
	uint32_t nshards;
	bool at_once, wants, before;
	struct map_lock grow;
	struct block *blocks;
	struct pool *next, **link;
	struct shard shards[];
};

/*
 * All pools; a lock that is never held for long. A child of fork() may find the list between any
 * two of these stores: then links from behind already skip what no link from before leads to yet,
 * or any more.
 */
static struct {
	struct map_lock lock;
	struct pool *first;
	bool wants;
} all;

static void enter_list(struct pool *pool)
{
	map_lock_take(&all.lock);
	pool->next = all.first;
	pool->link = &all.first;
	__atomic_store_n(&all.first, pool, __ATOMIC_RELEASE);
	if (pool->next)
		__atomic_store_n(&pool->next->link, &pool->next, __ATOMIC_RELEASE);
	map_lock_give(&all.lock);
}

static void leave_list(struct pool *pool)
{
	map_lock_take(&all.lock);
	if (pool->next)
		__atomic_store_n(&pool->next->link, pool->link, __ATOMIC_RELEASE);
	__atomic_store_n(pool->link, pool->next, __ATOMIC_RELEASE);
	map_lock_give(&all.lock);
}

static uint64_t spare_for(size_t size, bool at_once)
{
	size_t spare = SPARE_BYTES / size;

	if (at_once || spare < SPARE_MIN)
		return SPARE_MIN;
	return spare < SPARE_MAX ? spare : SPARE_MAX;
}

static size_t padded(size_t size)
{
	return size > CACHE_LINE / 2 && size < CACHE_LINE ? CACHE_LINE : size;
}

/* calloc() leaves large blocks to be zeroed by the kernel when they are touched. */
static int add_block(struct pool *pool)
{
	struct block *block;
	uint8_t *memory;

	if (pool->size > (SIZE_MAX - 2 * sizeof(*block)) / pool->block_items)
		return -ENOMEM;
	memory = calloc(1, 2 * sizeof(*block) + pool->size * pool->block_items);
	if (!memory)
		return -ENOMEM;
	block = (struct block *)(void *)(memory + sizeof(*block) -
					 (uintptr_t)memory % sizeof(*block));
	block->memory = memory;
	block->next = pool->blocks;
	__atomic_store_n(&pool->blocks, block, __ATOMIC_RELEASE);
	return 0;
}

int pool_new(size_t size, uint64_t entries, bool at_once, struct pool **out)
{
	uint32_t nshards = cpu_count() < MAX_SHARDS ? cpu_count() : MAX_SHARDS;
	size_t bytes = sizeof(struct pool) + nshards * sizeof(struct shard);
	uint64_t spare = spare_for(size, at_once);
	struct pool *pool = aligned_alloc(64, bytes);

	if (!pool)
		return -ENOMEM;
	memset(pool, 0, bytes);
	pool->size = padded(size);
	pool->nshards = nshards;
	pool->at_once = at_once;
	pool->limit = entries + spare;
	pool->unripe = (int64_t)(spare / 4);
	pool->block_items = at_once ? pool->limit : (BLOCK_BYTES + pool->size - 1) / pool->size;
	if (at_once && add_block(pool)) {
		free(pool);
		return -ENOMEM;
	}
	enter_list(pool);
	*out = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	struct block *block, *next;

	if (!pool)
		return;
	leave_list(pool);
	for (block = pool->blocks; block; block = next) {
		next = block->next;
		free(block->memory);
	}
	free(pool);
}

static struct shard *own_shard(struct pool *pool)
{
	return &pool->shards[cpu_own(pool->nshards)];
}

static void *item_in(const struct pool *pool, struct block *block, uint64_t i)
{
	return block->items + i * pool->size;
}

/* With the lock held. Blocks made one by one: a new one each @block_items. */
static struct pool_item *grow_locked(struct pool *pool)
{
	uint64_t i = pool->made;

	if (i == pool->limit)
		return NULL;
	if (i % pool->block_items == 0 && (i || !pool->blocks) && add_block(pool))
		return NULL;
	__atomic_store_n(&pool->made, i + 1, __ATOMIC_RELEASE);
	return item_in(pool, pool->blocks, i % pool->block_items);
}

static struct pool_item *grow(struct pool *pool)
{
	struct pool_item *item;

	if (__atomic_load_n(&pool->made, __ATOMIC_RELAXED) == pool->limit)
		return NULL;
	map_lock_take(&pool->grow);
	item = grow_locked(pool);
	map_lock_give(&pool->grow);
	return item;
}

/* Which items of a queue may be taken: those that are ripe, those with others behind them, all. */
enum choice { RIPE, LATE, ANY };

static bool may_take(const struct shard *shard, enum choice choice)
{
	switch (choice) {
	case RIPE: return shard->popped < shard->ripe;
	case LATE: return shard->popped < shard->pushed - POOL_LATE;
	case ANY: break;
	}
	return true;
}

static struct pool_item *pop_locked(struct shard *shard, enum choice choice)
{
	struct pool_item *item = shard->head;

	if (!item || !may_take(shard, choice))
		return NULL;
	__atomic_store_n(&shard->head, item->next, __ATOMIC_RELAXED);
	if (!item->next)
		shard->tail = NULL;
	shard->popped++;
	return item;
}

static struct pool_item *pop(struct shard *shard, enum choice choice)
{
	struct pool_item *item;

	if (!__atomic_load_n(&shard->head, __ATOMIC_RELAXED))
		return NULL;
	map_lock_take(&shard->lock);
	item = pop_locked(shard, choice);
	map_lock_give(&shard->lock);
	return item;
}

/* From any shard, the own first. */
static struct pool_item *pop_any(struct pool *pool, enum choice choice)
{
	uint32_t own = cpu_own(pool->nshards);
	struct pool_item *item = NULL;

	for (uint32_t i = 0; i < pool->nshards && !item; i++)
		item = pop(&pool->shards[(own + i) % pool->nshards], choice);
	return item;
}

static struct pool_item *take_late(struct pool *pool)
{
	struct pool_item *item = pop(own_shard(pool), LATE);

	return item ? item : grow(pool);
}

struct pool_item *pool_take_ripe(struct pool *pool)
{
	struct pool_item *item = pop(own_shard(pool), RIPE);

	if (!item)
		item = grow(pool);
	return item ? item : pop_any(pool, RIPE);
}

struct pool_item *pool_take(struct pool *pool)
{
	struct pool_item *item = pool->at_once ? take_late(pool) : pool_take_ripe(pool);

	return item ? item : pop_any(pool, ANY);
}

static void want(struct pool *pool)
{
	__atomic_store_n(&pool->wants, true, __ATOMIC_RELAXED);
	__atomic_store_n(&all.wants, true, __ATOMIC_RELAXED);
}

/* A child of fork() may find @tail or @pushed one item behind: it loses that item, no more. */
static bool push_locked(const struct pool *pool, struct shard *shard, struct pool_item *item)
{
	int64_t ripe = shard->ripe > shard->popped ? shard->ripe : shard->popped;

	item->next = NULL;
	if (shard->tail)
		shard->tail->next = item;
	if (!shard->head)
		__atomic_store_n(&shard->head, item, __ATOMIC_RELAXED);
	shard->tail = item;
	return ++shard->pushed - ripe >= pool->unripe;
}

void pool_give(struct pool *pool, struct pool_item *item)
{
	struct shard *shard = own_shard(pool);
	bool wants;

	map_lock_take(&shard->lock);
	wants = push_locked(pool, shard, item);
	map_lock_give(&shard->lock);
	if (wants && !pool->at_once && !__atomic_load_n(&pool->wants, __ATOMIC_RELAXED))
		want(pool);
}

void pool_return(struct pool *pool, struct pool_item *item)
{
	struct shard *shard = own_shard(pool);

	map_lock_take(&shard->lock);
	item->next = shard->head;
	if (!shard->tail)
		shard->tail = item;
	__atomic_store_n(&shard->head, item, __ATOMIC_RELAXED);
	shard->popped--;
	map_lock_give(&shard->lock);
}

struct pool_item *pool_at(const struct pool *pool, uint64_t i)
{
	if (i >= __atomic_load_n(&pool->made, __ATOMIC_ACQUIRE))
		return NULL;
	return item_in(pool, pool->blocks, i);
}

struct pool_item *pool_holds(const struct pool *pool, uint64_t addr)
{
	struct block *block = __atomic_load_n(&pool->blocks, __ATOMIC_ACQUIRE);

	for (; block; block = block->next) {
		uint64_t off = addr - (uintptr_t)block->items;

		if (off < pool->size * pool->block_items)
			return item_in(pool, block, off / pool->size);
	}
	return NULL;
}

uint64_t pool_items(const struct pool *pool)
{
	return pool->limit;
}

bool pool_wants(void)
{
	return __atomic_load_n(&all.wants, __ATOMIC_RELAXED);
}

static void see_shards(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->nshards; i++) {
		map_lock_take(&pool->shards[i].lock);
		pool->shards[i].seen = pool->shards[i].pushed;
		map_lock_give(&pool->shards[i].lock);
	}
}

static void ripen_shards(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->nshards; i++) {
		map_lock_take(&pool->shards[i].lock);
		pool->shards[i].ripe = pool->shards[i].seen;
		map_lock_give(&pool->shards[i].lock);
	}
}

void pool_before(void)
{
	map_lock_take(&all.lock);
	__atomic_store_n(&all.wants, false, __ATOMIC_RELAXED);
	for (struct pool *pool = all.first; pool; pool = pool->next) {
		if (!__atomic_load_n(&pool->wants, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&pool->wants, false, __ATOMIC_RELAXED);
		pool->before = true;
		see_shards(pool);
	}
	map_lock_give(&all.lock);
}

void pool_after(void)
{
	map_lock_take(&all.lock);
	for (struct pool *pool = all.first; pool; pool = pool->next) {
		if (pool->before)
			ripen_shards(pool);
		pool->before = false;
	}
	map_lock_give(&all.lock);
}

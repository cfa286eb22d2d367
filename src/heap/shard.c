/* SPDX-License-Identifier: MIT */
#include "heap/shard.h"

#include "heap/heap.h"
#include "heap/room.h"

#include <string.h>

/*
 * Where this thread allocates, in whatever heap. A wait counts MISS, a time without one -1: who
 * has to wait for every 8th allocation or more moves. Locks that others take for a moment, to free
 * what lies there, are no reason to.
 */
static _Thread_local struct {
	unsigned int number, misses;
} own;

#define MISS 8u
#define MISSES_MAX 64u

unsigned int shard_count(const struct pp_heap *heap)
{
	return __atomic_load_n(&heap->shards, __ATOMIC_ACQUIRE);
}

struct shard *shard_of(const struct pp_heap *heap, size_t chunk)
{
	return heap->shard[index_owner(&heap->index, chunk / PACK_CHUNKS)];
}

shard_set shard_all(const struct pp_heap *heap)
{
	return ((shard_set)1 << shard_count(heap)) - 1;
}

shard_set shard_add(const struct pp_heap *heap, shard_set set, const void *rx)
{
	size_t chunk = heap_chunk(heap, rx);

	return chunk == INDEX_NONE ? set : set | shard_bit(shard_of(heap, chunk));
}

void shard_lock(const struct pp_heap *heap, shard_set set)
{
	for (; set; set &= set - 1)
		lock_take(&heap->shard[__builtin_ctz(set)]->lock);
}

void shard_unlock(const struct pp_heap *heap, shard_set set)
{
	for (; set; set &= set - 1)
		lock_give(&heap->shard[__builtin_ctz(set)]->lock);
}

static void add(struct pp_heap *heap, struct shard *shard)
{
	unsigned int count = shard_count(heap);

	shard->patched = INDEX_NONE;
	shard->spares = 1;
	heap->shard[count] = shard;
	__atomic_store_n(&heap->shards, count + 1, __ATOMIC_RELEASE);
}

void shard_init_first(struct pp_heap *heap)
{
	heap->first.index = heap->index;
	heap->first.names = names_share(&heap->names);
	add(heap, &heap->first);
}

/* NULL without memory. */
static struct shard *shard_new(const struct pp_heap *heap, uint8_t id)
{
	struct shard *shard = room_new(SHARD_ALIGN, sizeof(*shard));

	if (!shard)
		return NULL;
	memset(shard, 0, sizeof(*shard));
	if (index_share(&shard->index, &heap->index, id)) {
		room_free(shard);
		return NULL;
	}
	shard->names = names_share(&heap->names);
	return shard;
}

/* One more shard, which is locked; NULL where that cannot be had now: it never is needed. */
static struct shard *add_shard(struct pp_heap *heap)
{
	struct shard *shard = NULL;

	if (shard_count(heap) == heap->shards_max || pthread_mutex_trylock(&heap->grow))
		return NULL;
	if (shard_count(heap) < heap->shards_max)
		shard = shard_new(heap, (uint8_t)shard_count(heap));
	if (shard) {
		lock_take(&shard->lock);
		add(heap, shard);
	}
	pthread_mutex_unlock(&heap->grow);
	return shard;
}

/* To one that is free now, or else to a new one. */
static struct shard *move(struct pp_heap *heap, struct shard *from)
{
	unsigned int count = shard_count(heap);
	struct shard *to;

	for (unsigned int i = 1; i < count; i++) {
		to = heap->shard[(from->index.id + i) % count];
		if (lock_try(&to->lock))
			return to;
	}
	to = add_shard(heap);
	if (to)
		return to;
	lock_take(&from->lock);
	return from;
}

struct shard *shard_enter(struct pp_heap *heap)
{
	struct shard *shard = heap->shard[own.number % shard_count(heap)];

	if (lock_try(&shard->lock)) {
		if (own.misses)
			own.misses--;
		return shard;
	}
	own.misses += MISS;
	if (own.misses < MISSES_MAX && lock_spin(&shard->lock))
		return shard;
	shard = move(heap, shard);
	own.number = shard->index.id;
	own.misses = 0;
	return shard;
}

static void fini(struct pp_heap *heap, struct shard *shard)
{
	heap->names.count += shard->names.count;
	staging_free_all(&shard->open);
	if (shard == &heap->first)
		return;
	index_fini(&shard->index);
	room_free(shard);
}

void shard_fini_all(struct pp_heap *heap)
{
	while (heap->shards)
		fini(heap, heap->shard[--heap->shards]);
}

/* SPDX-License-Identifier: MIT */
/* map_ring.c - ring buffers: the map, and the producer's side: bpf_ringbuf_*() */
#include "bpf/map_ring.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "bpf/helper_map.h"
#include "bpf/map_words.h"
#include "os/mirror.h"

#define FLAGS ((uint32_t)MAP_NUMA_NODE)

static size_t head_size(void)
{
	size_t page = mirror_page();

	return (sizeof(struct map_ring) + page - 1) / page * page;
}

static int ring_create(struct map *map)
{
	const struct pp_bpf_map_info *info = &map->info;
	size_t head = head_size();
	void *base;
	int err;

	if (info->key_size || info->value_size || !info->max_entries || info->flags & ~FLAGS ||
	    info->max_entries & (info->max_entries - 1) || info->max_entries % mirror_page())
		return -EINVAL;
	err = mirror_map(head, info->max_entries, &base);
	if (err)
		return err == -ENOMEM ? err : -ENOMEM; /* the one word the kernel has for it */
	map->ring = base;
	map->ring->event = -1;
	map->ring->mask = info->max_entries - 1;
	map->ring->head = head;
	return 0;
}

static void ring_destroy(struct map *map)
{
	mirror_unmap(map->ring, map->ring->head, map->info.max_entries);
}

/* Not a map_lock: it is as old as the memory, and the parent's threads are there to give it back.
 */
static void lock(struct map_ring *ring)
{
	while (__atomic_exchange_n(&ring->lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(struct map_ring *ring)
{
	__atomic_store_n(&ring->lock, 0, __ATOMIC_RELEASE);
}

static uint64_t place_of(uint64_t size)
{
	return (size + RING_HEADER + 7) / 8 * 8;
}

/* With the lock held. */
static struct ring_record *take_place(struct map_ring *ring, uint32_t size)
{
	uint64_t at = ring->produced, end = at + place_of(size);
	struct ring_record *record = ring_at(ring, at);

	if (end - __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) > ring->mask)
		return NULL;
	__atomic_store_n(&record->len, size | RING_BUSY, __ATOMIC_RELAXED);
	__atomic_store_n(&record->distance, (uint32_t)(((uint8_t *)record - (uint8_t *)ring) / 8),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&ring->produced, end, __ATOMIC_RELEASE);
	return record;
}

static struct ring_record *reserve(const struct map *map, uint64_t size)
{
	struct map_ring *ring = map->ring;
	struct ring_record *record;

	if (map->ops != &map_ring_ops || size > RING_MAX_RECORD ||
	    place_of(size) > ring->mask + 1 || !map_begin())
		return NULL;
	lock(ring);
	record = take_place(ring, (uint32_t)size);
	unlock(ring);
	map_end();
	return record;
}

/* The host's errno is not a program's to change. */
static void wake(struct map_ring *ring)
{
	int event = __atomic_load_n(&ring->event, __ATOMIC_ACQUIRE), saved = errno;
	const uint64_t one = 1;

	/* EAGAIN: nobody has read 2^64 - 2 wakeups; then it is readable all the same. */
	if (event >= 0 && write(event, &one, sizeof(one)) < 0)
		errno = saved;
}

/*
 * Wake the consumer if it has nothing left before this record: else it will come here by itself.
 * Both sides first say what they did and then look at what the other did (seq_cst).
 */
static void commit(struct ring_record *record, uint32_t discard, uint64_t flags)
{
	struct map_ring *ring = (void *)((uint8_t *)record - (uint64_t)record->distance * 8);
	uint64_t at = (uint64_t)record->distance * 8 - ring->head;
	uint32_t len = record->len & ~RING_BUSY;

	__atomic_exchange_n(&record->len, len | discard, __ATOMIC_SEQ_CST);
	if (flags & RING_FORCE_WAKEUP ||
	    (!(flags & RING_NO_WAKEUP) &&
	     (__atomic_load_n(&ring->consumed, __ATOMIC_SEQ_CST) & ring->mask) == at))
		wake(ring);
}

static void *pointer(uint64_t reg)
{
	return (void *)(uintptr_t)reg;
}

static struct ring_record *record_of(uint64_t sample)
{
	return (struct ring_record *)pointer(sample - RING_HEADER);
}

uint64_t ringbuf_output(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct ring_record *record;

	(void)r5;
	if (r4 & ~(uint64_t)(RING_NO_WAKEUP | RING_FORCE_WAKEUP))
		return (uint64_t)(int64_t)-EINVAL;
	record = reserve(pointer(r1), r3);
	if (!record)
		return (uint64_t)(int64_t)-EAGAIN;
	words_put(record + 1, pointer(r2), r3); /* guards look for headers here: ring_bounds() */
	commit(record, 0, r4);
	return 0;
}

uint64_t ringbuf_reserve(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct ring_record *record = r3 ? NULL : reserve(pointer(r1), r2);

	(void)r4, (void)r5;
	return record ? (uintptr_t)(record + 1) : 0;
}

uint64_t ringbuf_submit(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r3, (void)r4, (void)r5;
	commit(record_of(r1), 0, r2);
	return 0;
}

uint64_t ringbuf_discard(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r3, (void)r4, (void)r5;
	commit(record_of(r1), RING_DISCARD, r2);
	return 0;
}

uint64_t ringbuf_query(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const struct map *map = pointer(r1);
	uint64_t consumed, produced;

	(void)r3, (void)r4, (void)r5;
	if (map->ops != &map_ring_ops)
		return 0;
	consumed = __atomic_load_n(&map->ring->consumed, __ATOMIC_ACQUIRE);
	produced = __atomic_load_n(&map->ring->produced, __ATOMIC_ACQUIRE);
	switch (r2) {
	case RING_AVAIL_DATA: return produced - consumed;
	case RING_SIZE: return map->ring->mask + 1;
	case RING_CONS_POS: return consumed;
	case RING_PROD_POS: return produced;
	default: return 0;
	}
}

const struct map_ops map_ring_ops = {
	.create = ring_create,
	.destroy = ring_destroy,
	.lookup = map_none,
	.none = -ENOTSUP,
};

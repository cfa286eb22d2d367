/* SPDX-License-Identifier: MIT */
/*
 * map_ring.h - ring buffers: records from many producers to one consumer, in order
 *
 *	base  [ struct map_ring ][ data ][ the same data ]	(os/mirror.h)
 *	record	{ length | busy | discarded, distance to base }, bytes, padding to 8
 *
 * Positions count bytes ever written and read. A producer takes a place under the lock and fills it
 * without; the consumer stops at the first record that is busy. It takes no lock at all.
 */
#ifndef BPF_MAP_RING_H
#define BPF_MAP_RING_H

#include "bpf/map.h"

/* BPF_RINGBUF_*, and BPF_RB_* of linux/bpf.h */
#define RING_BUSY (1u << 31)
#define RING_DISCARD (1u << 30)
#define RING_HEADER 8u
#define RING_MAX_RECORD (UINT32_MAX / 4)
enum { RING_NO_WAKEUP = 1, RING_FORCE_WAKEUP = 2 };
enum { RING_AVAIL_DATA, RING_SIZE, RING_CONS_POS, RING_PROD_POS };

/* @distance: from the record to base, in units of 8 bytes */
struct ring_record {
	uint32_t len, distance;
};

/*
 * struct map_ring - in memory that children of fork() share, with what they must agree on
 * @event: eventfd of the consumer, -1: there is none
 */
struct map_ring {
	uint64_t consumed __attribute__((aligned(64)));
	uint64_t produced __attribute__((aligned(64)));
	uint32_t lock;
	int event;
	uint64_t mask; /* size - 1 */
	size_t head;   /* from base to the data */
};

static inline struct ring_record *ring_at(struct map_ring *ring, uint64_t pos)
{
	return (struct ring_record *)(void *)((uint8_t *)ring + ring->head + (pos & ring->mask));
}

#endif

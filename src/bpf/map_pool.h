/* SPDX-License-Identifier: MIT */
/*
 * map_pool.h - the elements of one map: bounded memory, reused late
 *
 *	give  -->  a queue of the CPU that the thread runs on
 *	take  <--  of a pool for grace periods (BPF_F_NO_PREALLOC)
 *		   1. given back before the last grace period ("ripe"), oldest first
 *		   2. never used before, while fewer than @limit exist
 *		   3. the oldest that was given back, ripe or not
 *	take  <--  of one made at once
 *		   1. the oldest of the own queue, if POOL_LATE others were given back after it
 *		   2., 3. as above
 *
 * This is what the kernel's flag means for readers. What leaves a map without preallocation is not
 * written to while readers may hold it, as long as 1 and 2 have items: that is, until one read-side
 * section, its own or another thread's, has lasted for hundreds of replacements. With preallocation
 * a value that was looked up may become another key's, in the kernel at once, here after a while:
 * few items, so that they stay in the cache. It stays an element of this map all the time.
 *
 * Grace periods come from map_reclaim() in host context; nobody waits on the way of an update, and
 * no thread is started behind the host's back.
 */
#ifndef BPF_MAP_POOL_H
#define BPF_MAP_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

/* The first member of an item: its place in a queue while it is free. */
struct pool_item {
	struct pool_item *next;
};

/*
 * pool_new - a pool for a map of @entries
 * @size: of an item, a multiple of 8
 * @at_once: one block for all items, so that pool_at() works, and no grace periods; else blocks as
 *	they become necessary
 *
 * Items are zero when they are taken first. Return: 0 or -ENOMEM.
 */
int pool_new(size_t size, uint64_t entries, bool at_once, struct pool **pool);

/* pool_free - nobody may be using it; NULL is fine */
void pool_free(struct pool *pool);

/* pool_take - NULL: no memory, or so many threads hold items that none is left */
struct pool_item *pool_take(struct pool *pool);

/* pool_take_ripe - the same without 3: NULL, too, if nothing is ripe */
struct pool_item *pool_take_ripe(struct pool *pool);

/* pool_give - of what readers may still see */
void pool_give(struct pool *pool, struct pool_item *item);

/* pool_return - of what was taken but never shown to a reader */
void pool_return(struct pool *pool, struct pool_item *item);

/* pool_at - item number @i of a pool that was made at once, or NULL: not in use yet */
struct pool_item *pool_at(const struct pool *pool, uint64_t i);

/* pool_holds - the item that a byte at @addr would be in, or NULL: any thread, lock-free */
struct pool_item *pool_holds(const struct pool *pool, uint64_t addr);

/* pool_items - that exist at most */
uint64_t pool_items(const struct pool *pool);

/*
 * pool_wants - have enough elements left maps that a grace period is worth its time?
 * pool_before, pool_after - around that grace period, by one thread at a time: what was given back
 *	before pool_before() is ripe after pool_after()
 */
bool pool_wants(void);
void pool_before(void);
void pool_after(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * map_lock.h - locks of maps: four bytes, held for less than a microsecond, never over program code
 *
 * A lock that is held says by which generation of the process. A forked child is the next one
 * (map_fork.c): what its parent's other threads held then counts as free, for they do not exist in
 * the child, and none of the structures behind these locks is ever unfit to read or to change.
 */
#ifndef BPF_MAP_LOCK_H
#define BPF_MAP_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Zero is free. */
struct map_lock {
	uint32_t held;
};

/* This process's generation: 1, and in each child one more. */
extern uint32_t map_lock_own;

/* map_lock_wait - take it; spin for about a section's time, then sleep 50 us at a time */
void map_lock_wait(struct map_lock *lock);

static inline bool map_lock_try(struct map_lock *lock)
{
	return __atomic_exchange_n(&lock->held, map_lock_own, __ATOMIC_ACQUIRE) != map_lock_own;
}

static inline void map_lock_take(struct map_lock *lock)
{
	if (!map_lock_try(lock))
		map_lock_wait(lock);
}

static inline void map_lock_give(struct map_lock *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif

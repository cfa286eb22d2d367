/* SPDX-License-Identifier: MIT */
/*
 * lock.h - a lock for sections of a few hundred instructions without a system call
 *
 * Unlocking is one store, where a pthread mutex has a second locked instruction; and a lock is
 * taken five times for a block's life. Who waits spins for about as long as a section takes, then
 * sleeps 50 us at a time: the holder was descheduled.
 *
 * A zeroed lock is free. A child of fork(), which has one thread, may zero it.
 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct lock {
	uint32_t held;
};

void lock_wait(struct lock *lock);

/* lock_pause - sleep for 50 us */
void lock_pause(void);

/* lock_spin - take it if it becomes free within about a section's time */
bool lock_spin(struct lock *lock);

static inline bool lock_try(struct lock *lock)
{
	return !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);
}

static inline void lock_take(struct lock *lock)
{
	if (!lock_try(lock))
		lock_wait(lock);
}

static inline void lock_give(struct lock *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif

/* SPDX-License-Identifier: MIT */
#include "bpf/map_lock.h"

#include <time.h>

#define SPINS 500

uint32_t map_lock_own = 1;

static bool is_free_soon(const struct map_lock *lock)
{
	for (int i = 0; i < SPINS; i++) {
		if (__atomic_load_n(&lock->held, __ATOMIC_RELAXED) != map_lock_own)
			return true;
	}
	return false;
}

void map_lock_wait(struct map_lock *lock)
{
	const struct timespec nap = {.tv_nsec = 50000};

	do {
		if (!is_free_soon(lock))
			nanosleep(&nap, NULL); /* the holder was descheduled */
	} while (!map_lock_try(lock));
}

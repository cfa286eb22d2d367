/* SPDX-License-Identifier: MIT */
#include "os/lock.h"

#include "os/cpu.h"

#include <time.h>

#define SPINS 200

static bool is_free_soon(const struct lock *lock)
{
	for (int i = 0; i < SPINS; i++) {
		if (!__atomic_load_n(&lock->held, __ATOMIC_RELAXED))
			return true;
		cpu_relax();
	}
	return false;
}

void lock_pause(void)
{
	const struct timespec nap = {.tv_nsec = 50000};

	nanosleep(&nap, NULL);
}

bool lock_spin(struct lock *lock)
{
	return is_free_soon(lock) && lock_try(lock);
}

void lock_wait(struct lock *lock)
{
	while (!lock_spin(lock))
		lock_pause();
}

/* SPDX-License-Identifier: MIT */
#include "os/lock.h"

#include "os/cpu.h"

#include <time.h>

#define SPINS 200

static int is_free_soon(const struct lock *lock)
{
	for (int i = 0; i < SPINS; i++) {
		if (!__atomic_load_n(&lock->held, __ATOMIC_RELAXED))
			return 1;
		cpu_relax();
	}
	return 0;
}

void lock_pause(void)
{
	const struct timespec nap = {.tv_nsec = 50000};

	nanosleep(&nap, NULL);
}

void lock_wait(struct lock *lock)
{
	do {
		if (!is_free_soon(lock))
			lock_pause();
	} while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE));
}

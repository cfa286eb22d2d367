/* SPDX-License-Identifier: MIT */
/* helper_loop.c - bpf_loop(), and the locks in values of maps */
#include <errno.h>

#include "bpf/callback.h"
#include "bpf/helper_list.h"
#include "bpf/map_lock.h"

#define LOOPS_MAX (8u << 20) /* BPF_MAX_LOOPS */

uint64_t loop(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint32_t count = (uint32_t)r1;
	uint64_t args[4] = {0, r3};

	(void)r5;
	if (r4)
		return (uint64_t)-EINVAL;
	if (count > LOOPS_MAX)
		return (uint64_t)-E2BIG;
	if (!callback_has_room())
		return (uint64_t)-ELOOP;
	for (uint32_t i = 0; i < count; i++) {
		args[0] = i;
		if (callback_run(r2, args, 0))
			return i + 1;
	}
	return count;
}

/*
 * A thread has one lock at a time, as in the kernel, where the verifier sees to it: here a second
 * is not taken, and what is not held is not given back.
 */
static _Thread_local struct map_lock *held;

/* struct bpf_spin_lock is four bytes that begin as zero, as ours. */
static struct map_lock *lock_at(uint64_t reg)
{
	return (struct map_lock *)(uintptr_t)reg;
}

uint64_t spin_lock(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r2, (void)r3, (void)r4, (void)r5;
	if (held || r1 % sizeof(struct map_lock))
		return 0;
	map_lock_take(lock_at(r1));
	held = lock_at(r1);
	return 0;
}

uint64_t spin_unlock(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r2, (void)r3, (void)r4, (void)r5;
	if (held && held == lock_at(r1))
		spin_release();
	return 0;
}

void spin_release(void)
{
	if (held)
		map_lock_give(held);
	held = NULL;
}

/* SPDX-License-Identifier: MIT */
/* helper_task.c - helpers that tell who runs, where and when */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "bpf/helper_list.h"

#define NS_PER_S UINT64_C(1000000000)
#define COMM_SIZE 16 /* PR_GET_NAME */

static uint64_t in_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return in_ns(&now);
}

uint64_t ktime_get_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t ktime_get_boot_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t ktime_get_coarse_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t ktime_get_tai_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return clock_ns(CLOCK_TAI);
}

/*
 * The coarse clock advances by one jiffy at a time: its resolution is that. The kernel begins to
 * count five minutes before 2^32, so that whatever overflows there does so soon.
 */
uint64_t jiffies64(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct timespec tick;
	uint64_t ns;

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	ns = in_ns(&tick);
	return (uint32_t) - (300 * NS_PER_S / ns) + clock_ns(CLOCK_MONOTONIC_COARSE) / ns;
}

/* xorshift64*: each thread its own, seeded at its first use. Not for secrets, as in the kernel. */
uint64_t get_prandom_u32(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	static _Thread_local uint64_t state;

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	if (!state && (getrandom(&state, sizeof(state), GRND_NONBLOCK) < 0 || !state))
		state = (uintptr_t)&state | 1;
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

uint64_t get_smp_processor_id(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	unsigned int cpu = 0;

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return getcpu(&cpu, NULL) ? 0 : cpu;
}

uint64_t get_numa_node_id(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	unsigned int node = 0;

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return getcpu(NULL, &node) ? 0 : node;
}

uint64_t get_current_pid_tgid(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint64_t)getpid() << 32 | (uint32_t)gettid();
}

uint64_t get_current_uid_gid(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint64_t)getgid() << 32 | getuid();
}

/* Of the thread; cut to the buffer, and zeros behind it. */
uint64_t get_current_comm(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	char *to = (char *)(uintptr_t)r1, name[COMM_SIZE] = "";
	size_t size = (uint32_t)r2, len;

	(void)r3, (void)r4, (void)r5;
	if (!size)
		return (uint64_t)-EINVAL;
	memset(to, 0, size);
	if (prctl(PR_GET_NAME, name))
		return (uint64_t)-EINVAL;
	len = strnlen(name, COMM_SIZE);
	memcpy(to, name, len < size ? len : size - 1);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* map_cpu.h - CPUs, by which per-CPU maps have their values and pools their queues */
#ifndef BPF_MAP_CPU_H
#define BPF_MAP_CPU_H

#include <sched.h>
#include <stdint.h>

/* cpu_count - those that there are or may come to be, as the kernel's per-CPU maps count them */
uint32_t cpu_count(void);

/*
 * cpu_own - the one of @cpus this thread runs on, or ran on a moment ago
 *
 * sched_getcpu() fails only where seccomp denies it. Numbers past @cpus are what a process sees
 * that has no /sys.
 */
static inline uint32_t cpu_own(uint32_t cpus)
{
	int cpu = sched_getcpu();

	if (cpu < 0)
		return 0;
	return (uint32_t)cpu < cpus ? (uint32_t)cpu : (uint32_t)cpu % cpus;
}

#endif

/* SPDX-License-Identifier: MIT */
#include "bpf/map_cpu.h"

#include <stdio.h>
#include <sys/sysinfo.h>

/* "0-3" or "0,2-5": the last number is the highest. */
static uint32_t possible(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned int last = 0;
	char separator;

	if (!file)
		return 0;
	while (fscanf(file, "%u%c", &last, &separator) == 2 && separator != '\n')
		;
	fclose(file);
	return last + 1;
}

static uint32_t count(void)
{
	uint32_t cpus = possible(), configured = (uint32_t)get_nprocs_conf();

	return cpus > configured ? cpus : configured;
}

uint32_t cpu_count(void)
{
	static uint32_t cached;
	uint32_t cpus = __atomic_load_n(&cached, __ATOMIC_RELAXED);

	if (!cpus) {
		cpus = count();
		__atomic_store_n(&cached, cpus, __ATOMIC_RELAXED);
	}
	return cpus;
}

/* SPDX-License-Identifier: MIT */
/* perf.c - the hardware counters that the lineage's experiment is about */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/bench.h"

/* What the kernel gives with PERF_FORMAT_TOTAL_TIME_*: see perf_event_open(2). */
struct counter_value {
	uint64_t count, enabled, running;
};

static int read_value(int fd, struct counter_value *value)
{
	return read(fd, value, sizeof(*value)) == sizeof(*value) ? 0 : -EIO;
}

/* A counter that others keep from the hardware would give zeros for facts. */
static int check_runs(int fd)
{
	struct counter_value value;
	int err = read_value(fd, &value);

	if (err)
		return err;
	return value.running ? 0 : -EBUSY;
}

#define CACHE(id, op)                                                                              \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##id | PERF_COUNT_HW_CACHE_OP_##op << 8 |          \
				    PERF_COUNT_HW_CACHE_RESULT_MISS << 16

const struct counter_event counter_events[COUNTERS] = {
	[COUNTER_ITLB] = {"itlb-load-misses", CACHE(ITLB, READ)},
	[COUNTER_DTLB_LOADS] = {"dtlb-load-misses", CACHE(DTLB, READ)},
	[COUNTER_DTLB_STORES] = {"dtlb-store-misses", CACHE(DTLB, WRITE)},
	[COUNTER_INSTRUCTIONS] = {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
};

/* Of one thread wherever it runs (@cpu -1), or of whatever a processor does (@pid -1). */
static int open_event(enum counter which, bool kernel, int pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = counter_events[which].type,
		.size = sizeof(attr),
		.config = counter_events[which].config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int counter_open(enum counter which)
{
	int fd = open_event(which, false, 0, -1), err;

	if (fd < 0)
		return fd;
	err = check_runs(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int counter_open_cpu(enum counter which, int cpu)
{
	return open_event(which, true, -1, cpu);
}

/* Scaled by the share of time that the counter had the hardware. */
uint64_t counter_read(int fd)
{
	struct counter_value value;

	if (fd < 0 || read_value(fd, &value) || !value.running)
		return 0;
	return (uint64_t)((double)value.count * (double)value.enabled / (double)value.running);
}

/* SPDX-License-Identifier: MIT */
/* perf.c - the one hardware counter that the lineage's experiment is about */
#include <errno.h>
#include <linux/perf_event.h>
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

int counter_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HW_CACHE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CACHE_ITLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |
			  PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = check_runs(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* Scaled by the share of time that the counter had the hardware. */
uint64_t counter_read(int fd)
{
	struct counter_value value;

	if (fd < 0 || read_value(fd, &value) || !value.running)
		return 0;
	return (uint64_t)((double)value.count * (double)value.enabled / (double)value.running);
}

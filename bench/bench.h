/* SPDX-License-Identifier: MIT */
/* bench.h - what the benchmarks share: spreads, orders, the hardware's counter */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

/* stress_main - progpack bench stress; argv[0] is "stress". Return: an enum cli_status. */
int stress_main(int argc, char **argv);

/* heap_main - progpack bench heap; argv[0] is "heap" */
int heap_main(int argc, char **argv);

/* tag_main - progpack bench tag; argv[0] is "tag" */
int tag_main(int argc, char **argv);

/* count_main - progpack bench count; argv[0] is "count" */
int count_main(int argc, char **argv);

/* trigger_main - progpack bench trigger; argv[0] is "trigger" */
int trigger_main(int argc, char **argv);

/* map_bench_main - progpack bench map; argv[0] is "map" */
int map_bench_main(int argc, char **argv);

/* What repeated measurements of one thing came to. */
struct spread {
	double min, med, max;
};

/* spread_of - sorts @values, which are @n > 0 */
struct spread spread_of(double *values, size_t n);

/* shuffle - a permutation of 0 .. n-1 that is the same in every run */
void shuffle(uint32_t *order, uint32_t n);

/* random_next - the next number of a sequence that is the same in every run; *state is not 0 */
uint64_t random_next(uint64_t *state);

/*
 * random_block_size - of code: half of the blocks 64 .. 500 bytes, a quarter up to 2 KiB, a
 * quarter up to 16 KiB
 */
#define BLOCK_SIZE_MAX 16384u
uint32_t random_block_size(uint64_t *state);

/* What the hardware may count, with perf(1)'s name and perf_event_open(2)'s numbers. */
enum counter { COUNTER_ITLB, COUNTER_DTLB_LOADS, COUNTER_DTLB_STORES, COUNTER_INSTRUCTIONS };
#define COUNTERS 4
extern const struct counter_event {
	const char *name;
	uint32_t type;
	uint64_t config;
} counter_events[COUNTERS];

/*
 * counter_open - count this thread's, in user space
 * Return: an fd for counter_read() and close(), or -errno where the machine does not count.
 */
int counter_open(enum counter which);

/* counter_open_cpu - count all that processor @cpu does, the kernel's included; the same */
int counter_open_cpu(enum counter which, int cpu);

/* counter_read - the count since it was opened; 0 for @fd < 0 */
uint64_t counter_read(int fd);

#endif

/* SPDX-License-Identifier: MIT */
/* map.h - bench map: what it measures (map.c), in the kernel (map_kernel.c), and how it is told */
#ifndef BENCH_MAP_H
#define BENCH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/bench.h"

#define MAP_OPS 512u /* of a run of a program: bench/progs/map.bpf.c */
#define MAP_RUNS_MAX 1000
#define MAP_THREADS 2u

enum { MAP_HASH_LOOKUP, MAP_HASH_UPDATE, MAP_ARRAY_LOOKUP, MAP_ARRAY_UPDATE, MAP_WHATS };
enum { MAP_JIT, MAP_KERNEL, MAP_ARMS };

/* The object of the programs, inside the command. */
extern const uint8_t map_elf[], map_elf_end[];

struct map_settings {
	uint64_t runs;
	bool quick, json;
};

/*
 * struct map_cell - one operation, on one arm, by so many threads
 * @ns: an operation, of each run: the mean over the threads
 */
struct map_cell {
	double ns[MAP_RUNS_MAX];
	struct spread spread;
};

/*
 * struct map_bench
 * @kernel: NULL if the kernel does not let us, for which @why is the reason
 * @repeat: runs of a program in one measurement
 */
struct map_bench {
	struct map_settings settings;
	struct pp_bpf_object *object;
	struct map_kernel *kernel;
	int why;
	uint32_t repeat;
	struct map_cell cells[MAP_WHATS][MAP_ARMS][MAP_THREADS];
};

/* The programs' names in the object; what lines call them. */
extern const char *const map_programs[MAP_WHATS], *const map_names[MAP_WHATS];

/* map_kernel_new - load the same object into the kernel: 0, or -errno */
int map_kernel_new(struct map_kernel **kernel);
void map_kernel_free(struct map_kernel *kernel);

/* map_kernel_run - run a program @repeat times on this CPU: ns a run, or a negative errno */
double map_kernel_run(const struct map_kernel *kernel, unsigned int what, uint32_t repeat,
		      uint32_t *result);

/* map_report - lines or JSON, as the settings say */
void map_report(const struct map_bench *bench);

#endif

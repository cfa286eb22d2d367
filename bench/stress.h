/* SPDX-License-Identifier: MIT */
/*
 * stress.h - the lineage's experiment (lineage.md 5.3): groups of 8 programs, 5 of them called
 *
 *	load (stress_load.c)  ->  call, arms taking turns (stress.c)  ->  report (stress_report.c)
 */
#ifndef BENCH_STRESS_H
#define BENCH_STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/arms.h"
#include "bench/bench.h"
#include "bpf/prog.h"
#include "tools/json.h"

#define GROUP_LOADED 8
#define GROUP_CALLED 5
#define TENANT_LOADED 7 /* bench trigger's groups: tenants, with one program that is called */

/* One of the programs that objects.S carries. */
struct stress_object {
	const char *name;
	const uint8_t *elf;
	uint64_t size;
	uint64_t called; /* or just loaded */
};
extern const struct stress_object stress_objects[GROUP_LOADED];

/* What the programs are called with. */
#define STRESS_EVENT 128
extern const uint8_t stress_event[STRESS_EVENT];

struct stress_settings {
	uint64_t groups, runs;
	bool json;
	const char *csv;
};

/* Everything is loaded and unloaded this often, arms taking turns; the last time it is called. */
#define LOAD_ROUNDS 3

/* An arm, and what was measured of it. From @arm to @calls only while its programs are loaded. */
struct stress_arm {
	const struct arm_kind *kind;
	void *fence; /* a page of data between its mappings and those of the arm before */
	struct arm arm;
	struct pp_bpf_object **objects; /* groups * GROUP_LOADED */
	pp_bpf_entry_fn *calls;         /* groups * GROUP_CALLED, in shuffled order */
	uint64_t result;                /* sum of what the programs return: the same in all arms */
	uint64_t native_bytes, exec_bytes, huge_bytes;
	uint32_t below_500, below_2000; /* programs with less native code */
	long maps;
	double load_us[LOAD_ROUNDS], unload_us[LOAD_ROUNDS]; /* a program */
	double *ns;                                          /* per call, one for each run */
	double *misses;
	struct spread ns_per_call, itlb_misses; /* misses of one pass over all calls */
	struct spread load, unload;             /* us a program */
};

struct stress {
	struct stress_settings settings;
	uint32_t loaded, called;
	uint32_t group; /* programs in one: the first of stress_objects[] */
	bool (*is_called)(uint32_t i);
	int counter; /* fd, or -errno where nothing counts */
	FILE *csv;   /* NULL if none is wanted */
	struct stress_arm *arms;
	unsigned int narms;
};

/* stress_arms_new - one of each kind, for so many runs: 0, or -ENOMEM; stress_arms_free() after
 * both */
int stress_arms_new(struct stress *stress, uint64_t runs);
void stress_arms_free(struct stress *stress);

/* stress_load_arm - open it and load all its programs: 0, or -errno after an error message */
int stress_load_arm(struct stress *stress, struct stress_arm *arm, unsigned int round);

/* stress_unload_arm - unload what stress_load_arm() loaded, all or part of it, and close the arm */
void stress_unload_arm(struct stress *stress, struct stress_arm *arm, unsigned int round);

/* stress_json_times - the members of an arm that bench trigger has too: name, writer, ns_per_call
 */
void stress_json_times(struct json *json, const struct stress_arm *arm);

/* stress_report - the table or JSON, and the CSV file: 0, or -errno after an error message */
int stress_report(const struct stress *stress);

#endif

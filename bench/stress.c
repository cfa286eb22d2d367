/* SPDX-License-Identifier: MIT */
/* stress.c - progpack bench stress: settings, and the calls that are timed */
#include "bench/stress.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "tools/cli.h"
#include "tools/progress.h"

/* A timed run makes about this many calls: milliseconds, whatever the number of programs. */
#define RUN_CALLS 200000u

#define GROUPS_MAX 4000u
#define RUNS_MAX 1000u

static const struct cli_option stress_options[] = {
	{"--groups", "N", CLI_COUNT, 0, offsetof(struct stress_settings, groups),
	 "groups of 8 programs, 5 of them called; default 20, at most 4000"},
	{"--runs", "N", CLI_COUNT, 0, offsetof(struct stress_settings, runs),
	 "timed runs of each arm, which take turns; default 21, at most 1000"},
	{"--json", NULL, CLI_SWITCH, 0, offsetof(struct stress_settings, json),
	 "print JSON instead of the table"},
	{"--csv", "FILE", CLI_TEXT, 0, offsetof(struct stress_settings, csv),
	 "also write the table to FILE as comma-separated values"},
	{0},
};

static const struct cli_command stress_command = {
	.name = "bench stress",
	.summary = "call many small programs: packed, and a page each",
	.synopsis = "[--groups N] [--runs N] [--json] [--csv FILE]\n",
	.about =
		"Repeats the experiment that packing was measured by in Linux. Each group loads 8\n"
		"programs, compiled by clang from C, half of them below 500 bytes of native code and\n"
		"three quarters below 2 kB. 5 of the 8 are called, all groups' in one shuffled order,\n"
		"which is the same in every arm; so is the code. The arms:\n"
		"\n"
		"  page         a page for each program: mmap, mprotect\n"
		"  page-random  the same, started somewhere in its page\n"
		"  pack-4k      64-byte chunks of single pages\n"
		"  arena-4k     progpack's heap, kept on small pages\n"
		"  arena-2m     progpack's heap, each 2 MiB pack one huge page from its first program\n"
		"               on, which by default it becomes when it has filled up\n"
		"\n"
		"Columns: nanoseconds a call, over runs of the arms in turn (the programs' own work is\n"
		"the same in all arms); microseconds a program to load it (relocate, compile, place;\n"
		"reading the ELF file is left out) and to unload it with its object, medians of 3;\n"
		"executable bytes a program takes: whole pages, packs or chunks; mappings that the\n"
		"arm added to the process, as the kernel merges them; kB of it on huge pages, as\n"
		"/proc/self/smaps says; iTLB load misses of one pass over all called programs. The\n"
		"last line compares page with arena-2m/poke, the default writer.\n",
	.options = stress_options,
	.examples = "progpack bench stress --groups 400\n"
		    "progpack bench stress --json | jq '.arms[] | {name, writer, ns_per_call}'\n",
	.failure = "an arm could not be set up, or programs returned different results",
};

/* A UDP packet to port 80: some programs count it, the others leave early. */
const uint8_t stress_event[STRESS_EVENT] = {
	[12] = 0x08, [14] = 0x45, [16] = 0x00, [17] = 114, [22] = 64, [23] = 17,
	[26] = 10,   [29] = 1,    [30] = 192,  [31] = 0,   [32] = 2,  [33] = 7,
	[34] = 0xc0, [36] = 0,    [37] = 80,   [38] = 0,   [39] = 94,
};

static uint64_t call_all(const struct stress *stress, const struct stress_arm *arm, void *data,
			 uint32_t passes)
{
	uint64_t sum = 0;

	pp_bpf_enter();
	for (uint32_t pass = 0; pass < passes; pass++) {
		for (uint32_t i = 0; i < stress->called; i++)
			sum += arm->calls[i](data, sizeof(stress_event));
	}
	pp_bpf_leave();
	return sum;
}

static void time_run(struct stress *stress, struct stress_arm *arm, void *data, uint64_t run)
{
	uint32_t passes = RUN_CALLS / stress->called + 1;
	uint64_t start, misses;

	arm->result += call_all(stress, arm, data, 1); /* what the arm before left is cold */
	misses = counter_read(stress->counter);
	start = clock_ns();
	arm->result += call_all(stress, arm, data, passes);
	arm->ns[run] = (double)(clock_ns() - start) / passes / stress->called;
	arm->misses[run] = (double)(counter_read(stress->counter) - misses) / passes;
}

static int same_results(const struct stress *stress)
{
	for (unsigned int a = 1; a < stress->narms; a++) {
		if (stress->arms[a].result != stress->arms[0].result) {
			cli_error("%s: programs returned other results than in %s",
				  stress->arms[a].kind->name, stress->arms[0].kind->name);
			return 0;
		}
	}
	return 1;
}

static int measure(struct stress *stress)
{
	uint8_t data[sizeof(stress_event)] __attribute__((aligned(64)));
	struct progress progress;

	memcpy(data, stress_event, sizeof(data));
	progress_start(&progress, "calling", stress->settings.runs);
	for (uint64_t run = 0; run < stress->settings.runs; run++) {
		progress_show(&progress, run);
		for (unsigned int a = 0; a < stress->narms; a++)
			time_run(stress, &stress->arms[a], data, run);
	}
	progress_end(&progress);
	for (unsigned int a = 0; a < stress->narms; a++) {
		struct stress_arm *arm = &stress->arms[a];

		arm->ns_per_call = spread_of(arm->ns, stress->settings.runs);
		arm->itlb_misses = spread_of(arm->misses, stress->settings.runs);
	}
	return same_results(stress) ? CLI_OK : CLI_FAILED;
}

static int load_all(struct stress *stress, unsigned int round, struct progress *progress)
{
	bool keep = round == LOAD_ROUNDS - 1;
	int err = 0;

	for (unsigned int a = 0; a < stress->narms && !err; a++) {
		progress_show(progress, round * stress->narms + a);
		err = stress_load_arm(stress, &stress->arms[a], round);
		if (!keep)
			stress_unload_arm(stress, &stress->arms[a], round);
	}
	return err;
}

static int load_and_measure(struct stress *stress)
{
	struct progress progress;
	int err = 0;

	progress_start(&progress, "loading", (uint64_t)LOAD_ROUNDS * stress->narms);
	for (unsigned int round = 0; round < LOAD_ROUNDS && !err; round++)
		err = load_all(stress, round, &progress);
	progress_end(&progress);
	return err ? CLI_FAILED : measure(stress);
}

static int run(struct stress *stress)
{
	int status = load_and_measure(stress);

	for (unsigned int a = 0; a < stress->narms; a++) {
		struct stress_arm *arm = &stress->arms[a];

		stress_unload_arm(stress, arm, LOAD_ROUNDS - 1);
		arm->load = spread_of(arm->load_us, LOAD_ROUNDS);
		arm->unload = spread_of(arm->unload_us, LOAD_ROUNDS);
	}
	if (status == CLI_OK && stress_report(stress))
		status = CLI_FAILED;
	return status;
}

int stress_arms_new(struct stress *stress, uint64_t runs)
{
	stress->arms = calloc(arm_kinds_count, sizeof(*stress->arms));
	for (unsigned int a = 0; stress->arms && a < arm_kinds_count; a++) {
		struct stress_arm *arm = &stress->arms[stress->narms++];

		arm->kind = &arm_kinds[a];
		arm->ns = calloc(runs, sizeof(*arm->ns));
		arm->misses = calloc(runs, sizeof(*arm->misses));
		if (!arm->ns || !arm->misses)
			return -ENOMEM;
	}
	return stress->arms ? 0 : -ENOMEM;
}

void stress_arms_free(struct stress *stress)
{
	for (unsigned int a = 0; a < stress->narms; a++) {
		free(stress->arms[a].ns);
		free(stress->arms[a].misses);
	}
	free(stress->arms);
}

/* Opened before minutes are spent, and left as it is until there is something to write. */
static bool open_csv(struct stress *stress)
{
	if (!stress->settings.csv)
		return true;
	stress->csv = fopen(stress->settings.csv, "ae");
	if (!stress->csv)
		cli_error("%s: %s", stress->settings.csv, strerror(errno));
	return stress->csv;
}

static int run_with_arms(struct stress *stress)
{
	int status = CLI_FAILED;

	if (stress_arms_new(stress, stress->settings.runs))
		cli_error("out of memory");
	else
		status = run(stress);
	stress_arms_free(stress);
	return status;
}

static bool is_called(uint32_t i)
{
	return stress_objects[i % GROUP_LOADED].called;
}

int stress_main(int argc, char **argv)
{
	struct stress stress = {
		.settings = {.groups = 20, .runs = 21},
		.group = GROUP_LOADED,
		.is_called = is_called,
	};
	int status = cli_parse(&stress_command, argc, argv, &stress.settings);

	if (status != CLI_GO)
		return status;
	if (stress.settings.groups > GROUPS_MAX)
		return cli_usage("--groups: at most %u", GROUPS_MAX);
	if (stress.settings.runs > RUNS_MAX)
		return cli_usage("--runs: at most %u", RUNS_MAX);
	if (!open_csv(&stress))
		return CLI_FAILED;
	/* The objects' data by brk, so that the mappings counted are those of code. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	stress.loaded = (uint32_t)stress.settings.groups * GROUP_LOADED;
	stress.called = (uint32_t)stress.settings.groups * GROUP_CALLED;
	stress.counter = counter_open(COUNTER_ITLB);
	status = run_with_arms(&stress);
	os_close(stress.counter);
	if (stress.csv && fclose(stress.csv)) {
		cli_error("%s: %s", stress.settings.csv, strerror(errno));
		status = CLI_FAILED;
	}
	return status;
}

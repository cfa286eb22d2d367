/* SPDX-License-Identifier: MIT */
/* stress.c - progpack bench stress: settings, and the calls that are timed */
#include "bench/stress.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "tools/cli.h"
#include "tools/progress.h"

/* A timed run makes about this many calls: milliseconds, whatever the number of programs. */
#define RUN_CALLS 200000u

#define GROUPS_MAX 4000u

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
		"  arena-2m     progpack's heap as it is by default\n"
		"\n"
		"Columns: nanoseconds a call (the programs' own work is the same in all arms);\n"
		"microseconds to load (compile included) and to unload a program; executable bytes a\n"
		"program takes; mappings that the arm added to the process; kB of it on huge pages, as\n"
		"/proc/self/smaps says; iTLB load misses of one pass over all called programs.\n",
	.options = stress_options,
	.examples = "progpack bench stress --groups 400\n"
		    "progpack bench stress --json | jq '.arms[] | {name, writer, ns_per_call}'\n",
	.failure = "an arm could not be set up, or programs returned different results",
};

/* A UDP packet to port 80: some programs count it, the others leave early. */
static const uint8_t event[128] = {
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
			sum += arm->calls[i](data, sizeof(event));
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
				  stress->arms[a].arm.kind->name, stress->arms[0].arm.kind->name);
			return 0;
		}
	}
	return 1;
}

static int measure(struct stress *stress)
{
	uint8_t data[sizeof(event)] __attribute__((aligned(64)));
	struct progress progress;

	memcpy(data, event, sizeof(data));
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

static int load_all(struct stress *stress)
{
	struct progress progress;
	int err = 0;

	progress_start(&progress, "loading", arm_kinds_count);
	for (unsigned int a = 0; a < arm_kinds_count && !err; a++) {
		progress_show(&progress, a);
		stress->narms++;
		err = stress_load_arm(stress, &stress->arms[a], &arm_kinds[a]);
	}
	progress_end(&progress);
	return err ? CLI_FAILED : CLI_OK;
}

static int run(struct stress *stress)
{
	int status = load_all(stress);

	if (status == CLI_OK)
		status = measure(stress);
	for (unsigned int a = 0; a < stress->narms; a++)
		stress_unload_arm(stress, &stress->arms[a]);
	if (status == CLI_OK && stress_report(stress))
		status = CLI_FAILED;
	return status;
}

int stress_main(int argc, char **argv)
{
	struct stress stress = {.settings = {.groups = 20, .runs = 21}};
	int status = cli_parse(&stress_command, argc, argv, &stress.settings);

	if (status != CLI_GO)
		return status;
	if (stress.settings.groups > GROUPS_MAX)
		return cli_usage("--groups: at most %u", GROUPS_MAX);
	if (stress.settings.runs > 1000)
		return cli_usage("--runs: at most 1000");
	/* The objects' data by brk, so that the mappings counted are those of code. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	stress.loaded = (uint32_t)stress.settings.groups * GROUP_LOADED;
	stress.called = (uint32_t)stress.settings.groups * GROUP_CALLED;
	stress.arms = calloc(arm_kinds_count, sizeof(*stress.arms));
	if (!stress.arms) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	stress.counter = counter_open();
	status = run(&stress);
	os_close(stress.counter);
	free(stress.arms);
	return status;
}

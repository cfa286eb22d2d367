/* SPDX-License-Identifier: MIT */
/*
 * count.c - progpack bench count: what the hardware counts while programs are called
 *
 * The lineage's figure (lineage.md, S1) is of iTLB load misses with 160 programs loaded and 100
 * called. Twice for each arm:
 *
 *	loop	the calls alone, of this thread in user space
 *	system	all that the processors do meanwhile, as `perf stat -a` counted in the lineage:
 *		each program is called once, then everybody sleeps, and so on
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/stress.h"
#include "os/os.h"
#include "tools/cli.h"
#include "tools/progress.h"

#define GROUPS_MAX 4000u
#define PASSES_MAX 1000000u
#define REST_MS 150 /* several times, with something to do between */
#define REST_TIMES 8
#define SLEEP_MS 5 /* between two rounds of the system's */

enum scope { LOOP, SYSTEM, SCOPES };
static const char *const scopes[SCOPES] = {"loop", "system"};

struct count_settings {
	uint64_t groups, passes, rounds;
	bool all;
};

static const struct cli_option count_options[] = {
	{"--groups", "N", CLI_COUNT, 0, offsetof(struct count_settings, groups),
	 "groups of 8 programs, 5 of them called; default 20, at most 4000"},
	{"--all", NULL, CLI_SWITCH, 0, offsetof(struct count_settings, all),
	 "call all 8 of each group"},
	{"--passes", "N", CLI_COUNT, 0, offsetof(struct count_settings, passes),
	 "passes of the loop over all called programs; default 4000"},
	{"--rounds", "N", CLI_COUNT, 0, offsetof(struct count_settings, rounds),
	 "of the system's: one pass, then 5 ms of sleep; default 200"},
	{0},
};

static const struct cli_command count_command = {
	.name = "bench count",
	.summary = "count TLB misses while many small programs are called",
	.synopsis = "[--groups N] [--all] [--passes N] [--rounds N]\n",
	.about =
		"The programs, arms and calls of bench stress, one arm after the other, and what the\n"
		"hardware counts meanwhile: iTLB load misses, dTLB load and store misses, instructions.\n"
		"Lines, with the arm's name and writer and the numbers of programs:\n"
		"\n"
		"  count/EVENT scope=loop ...    of the calling thread in user space, over all passes\n"
		"  count/EVENT scope=system ...  of all processors, the kernel's included, over all\n"
		"                                rounds, as the lineage measured: mostly not of calls\n"
		"  count/change ...              iTLB load misses against those of page, in %\n"
		"\n"
		"Where a counter cannot be had, a line says so, and why: virtual machines often have\n"
		"none, and the system's need root or kernel.perf_event_paranoid=0.\n",
	.options = count_options,
	.examples = "progpack bench count\n"
		    "progpack bench count --all --passes 1000\n",
	.failure = "an arm could not be set up, or programs returned different results",
};

/* What one arm came to; a value is negative, an errno, where nothing counted. */
struct count {
	struct count_settings settings;
	struct stress stress;
	int processors;
	int thread[COUNTERS];
	int *system[COUNTERS];              /* one for each processor */
	double (*values)[SCOPES][COUNTERS]; /* of each arm */
};

/* ---- counters ---- */

/* Only one scope's at a time: some machines count an event in one place only. */
static void open_counters(struct count *count, enum scope scope)
{
	for (int c = 0; c < COUNTERS; c++) {
		if (scope == LOOP)
			count->thread[c] = counter_open((enum counter)c);
		for (int cpu = 0; scope == SYSTEM && cpu < count->processors; cpu++)
			count->system[c][cpu] = counter_open_cpu((enum counter)c, cpu);
	}
}

static void close_counters(struct count *count, enum scope scope)
{
	for (int c = 0; c < COUNTERS; c++) {
		if (scope == LOOP)
			os_close(count->thread[c]);
		for (int cpu = 0; scope == SYSTEM && cpu < count->processors; cpu++)
			os_close(count->system[c][cpu]);
	}
}

/* Processors that are off do not count; if none does, why. */
static double read_system(const struct count *count, int c)
{
	double sum = 0;
	bool any = false;

	for (int cpu = 0; cpu < count->processors; cpu++) {
		if (count->system[c][cpu] < 0)
			continue;
		sum += (double)counter_read(count->system[c][cpu]);
		any = true;
	}
	return any ? sum : count->system[c][0];
}

static double read_one(const struct count *count, enum scope scope, int c)
{
	if (scope == SYSTEM)
		return read_system(count, c);
	return count->thread[c] < 0 ? count->thread[c] : (double)counter_read(count->thread[c]);
}

static void read_all(const struct count *count, enum scope scope, double values[COUNTERS])
{
	for (int c = 0; c < COUNTERS; c++)
		values[c] = read_one(count, scope, c);
}

/* ---- calls ---- */

static void sleep_ms(long ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

/* An emulator's TLB is as large as what was used lately made it: loading an arm is a lot. */
static void rest(void)
{
	for (int i = 0; i < REST_TIMES; i++)
		sleep_ms(REST_MS);
}

static uint64_t call_once(const struct count *count, const struct stress_arm *arm, void *data)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count->stress.called; i++)
		sum += arm->calls[i](data, sizeof(stress_event));
	return sum;
}

static uint64_t run_scope(const struct count *count, const struct stress_arm *arm, enum scope scope,
			  void *data)
{
	const uint64_t times = scope == LOOP ? count->settings.passes : count->settings.rounds;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < times; i++) {
		pp_bpf_enter();
		sum += call_once(count, arm, data);
		pp_bpf_leave();
		if (scope == SYSTEM)
			sleep_ms(SLEEP_MS);
	}
	return sum;
}

static void count_arm(struct count *count, unsigned int a)
{
	uint8_t data[sizeof(stress_event)] __attribute__((aligned(64)));
	struct stress_arm *arm = &count->stress.arms[a];
	double before[COUNTERS];

	memcpy(data, stress_event, sizeof(data));
	for (unsigned int s = 0; s < SCOPES; s++) {
		double *values = count->values[a][s];

		open_counters(count, (enum scope)s);
		if (read_one(count, (enum scope)s, COUNTER_ITLB) >= 0)
			rest();
		read_all(count, (enum scope)s, before);
		arm->result += run_scope(count, arm, (enum scope)s, data);
		read_all(count, (enum scope)s, values);
		for (int c = 0; c < COUNTERS; c++)
			values[c] -= values[c] < 0 ? 0 : before[c];
		close_counters(count, (enum scope)s);
	}
}

/* ---- report ---- */

static void put_where(const struct count *count, unsigned int a, unsigned int s)
{
	const struct arm_kind *kind = count->stress.arms[a].kind;

	printf("scope=%s arm=%s writer=%s loaded=%u called=%u", scopes[s], kind->name,
	       kind->writer_name, count->stress.loaded, count->stress.called);
}

static void put_arm(const struct count *count, unsigned int a)
{
	for (unsigned int s = 0; s < SCOPES; s++) {
		for (int c = 0; c < COUNTERS; c++) {
			double value = count->values[a][s][c];

			printf("count/%s ", counter_events[c].name);
			put_where(count, a, s);
			if (value < 0)
				printf(" not counted here: %s\n", strerror((int)-value));
			else
				printf(" value=%.0f\n", value);
		}
	}
	fflush(stdout);
}

/* Against the first arm, which is page. */
static void put_changes(const struct count *count)
{
	for (unsigned int s = 0; s < SCOPES; s++) {
		double page = count->values[0][s][COUNTER_ITLB];

		for (unsigned int a = 1; a < count->stress.narms && page > 0; a++) {
			double value = count->values[a][s][COUNTER_ITLB];

			printf("count/change ");
			put_where(count, a, s);
			printf(" percent=%+.2f\n", 100 * (value - page) / page);
		}
	}
}

static bool same_results(const struct stress *stress)
{
	for (unsigned int a = 1; a < stress->narms; a++) {
		if (stress->arms[a].result != stress->arms[0].result)
			return false;
	}
	return true;
}

/* ---- set up ---- */

/* One arm at a time, so that no other's data is in the way. */
static int count_all(struct count *count)
{
	struct stress *stress = &count->stress;

	for (unsigned int a = 0; a < stress->narms; a++) {
		int err = stress_load_arm(stress, &stress->arms[a], 0);

		if (!err)
			count_arm(count, a);
		stress_unload_arm(stress, &stress->arms[a], 0);
		if (err)
			return CLI_FAILED;
		put_arm(count, a);
	}
	if (!same_results(stress)) {
		cli_error("programs returned different results in the arms");
		return CLI_FAILED;
	}
	put_changes(count);
	return CLI_OK;
}

static int make_room(struct count *count)
{
	int err = stress_arms_new(&count->stress, 1);

	count->values = calloc(count->stress.narms + 1, sizeof(*count->values));
	for (int c = 0; c < COUNTERS; c++) {
		count->system[c] = calloc((size_t)count->processors, sizeof(int));
		if (!count->system[c])
			err = -ENOMEM;
	}
	return count->values ? err : -ENOMEM;
}

static void free_room(struct count *count)
{
	for (int c = 0; c < COUNTERS; c++)
		free(count->system[c]);
	free(count->values);
	stress_arms_free(&count->stress);
}

static int run(struct count *count)
{
	int status = CLI_FAILED;

	if (make_room(count))
		cli_error("out of memory");
	else
		status = count_all(count);
	free_room(count);
	return status;
}

static bool is_called(uint32_t i)
{
	return stress_objects[i % GROUP_LOADED].called;
}

static bool is_any(uint32_t i)
{
	(void)i;
	return true;
}

int count_main(int argc, char **argv)
{
	struct count count = {.settings = {.groups = 20, .passes = 4000, .rounds = 200}};
	int status = cli_parse(&count_command, argc, argv, &count.settings);
	uint32_t groups = (uint32_t)count.settings.groups;

	if (status != CLI_GO)
		return status;
	if (count.settings.groups > GROUPS_MAX)
		return cli_usage("--groups: at most %u", GROUPS_MAX);
	if (count.settings.passes > PASSES_MAX || count.settings.rounds > PASSES_MAX)
		return cli_usage("--passes, --rounds: at most %u", PASSES_MAX);
	count.stress = (struct stress){
		.loaded = groups * GROUP_LOADED,
		.called = groups * (count.settings.all ? GROUP_LOADED : GROUP_CALLED),
		.group = GROUP_LOADED,
		.is_called = count.settings.all ? is_any : is_called,
	};
	count.processors = (int)sysconf(_SC_NPROCESSORS_CONF);
	return run(&count);
}

/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - progpack bench trigger: many tenants, of whose programs one each is hot
 * (lineage.md 5.2)
 *
 *	walk the other code -> call every hot program once, which is timed -> walk ...
 *
 * The programs are loaded as bench stress loads them, into the same arms. The other code is what an
 * application has besides: several MiB, all of which run between two calls of any program, so that
 * they take entries of the TLB and lines of the caches as a real one does. It is the same code, at
 * the same place, for all arms, and its time is not counted.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stress.h"
#include "os/cpu.h"
#include "os/os.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/progress.h"

#define PASSES 100u /* of a run */
#define STEP 2048u  /* bytes from one function of the other code to the next */
#define TENANTS_MAX 5000
#define RUNS_MAX 1000
#define WALK_MAX 256 /* MiB */

struct trigger_settings {
	uint64_t tenants, runs, walk;
	bool json;
};

/* The other code: functions that return at once. */
struct walk {
	struct pp_heap *heap;
	uint32_t (**functions)(void);
	uint32_t count;
};

struct trigger {
	struct trigger_settings settings;
	struct stress stress;
	struct walk walk;
};

static const struct cli_option trigger_options[] = {
	{"--tenants", "N", CLI_COUNT, TENANTS_MAX, offsetof(struct trigger_settings, tenants),
	 "each loads 7 programs and calls one; default 100, at most 5000"},
	{"--runs", "N", CLI_COUNT, RUNS_MAX, offsetof(struct trigger_settings, runs),
	 "timed runs of each arm, which take turns; default 11, at most 1000"},
	{"--walk", "MIB", CLI_COUNT, WALK_MAX, offsetof(struct trigger_settings, walk),
	 "of other code that runs before each pass; default 8, at most 256"},
	{"--json", NULL, CLI_SWITCH, 0, offsetof(struct trigger_settings, json),
	 "print JSON instead of lines"},
	{0},
};

static const struct cli_command trigger_command = {
	.name = "bench trigger",
	.summary = "call one program of each of 100 tenants, with other code between",
	.synopsis = "[--tenants N] [--runs N] [--walk MIB] [--json]\n",
	.about =
		"What a shared machine does: many tenants load programs, most of which wait for events\n"
		"that never come. Each tenant loads 7 and one of them is called. Before each pass over\n"
		"these, in shuffled order, several MiB of other code run, untimed, as an application's\n"
		"would. Arms are those of bench stress. Lines:\n"
		"\n"
		"  trigger/call   nanoseconds a call; iTLB load misses a call where the machine counts\n"
		"  trigger/ratio  page's time over that of the arm\n",
	.options = trigger_options,
	.examples = "progpack bench trigger --tenants 1000\n",
	.failure = "an arm could not be set up, or programs returned different results",
};

/* ---- the other code ---- */

static int put_function(struct walk *walk)
{
	struct pp_code code;
	size_t size;
	const uint8_t *bytes = cpu_probe_code(&size);
	int err = pp_alloc(walk->heap, STEP, &code);

	if (err)
		return err;
	memcpy(code.rw, bytes, size);
	err = pp_finalize(walk->heap, &code, STEP);
	if (!err)
		walk->functions[walk->count++] = (uint32_t(*)(void))(uintptr_t)code.rx;
	return err;
}

static int walk_init(struct walk *walk, uint64_t mib)
{
	const struct pp_opts opts = {.size = sizeof(opts), .flags = PP_SMALL_PAGES, .name = "walk"};
	uint64_t count = (mib << 20) / STEP;
	int err = pp_heap_new(&opts, &walk->heap);

	if (err)
		return err;
	walk->functions = calloc(count, sizeof(walk->functions[0]));
	if (!walk->functions)
		err = -ENOMEM;
	while (!err && walk->count < count)
		err = put_function(walk);
	return err;
}

static void walk_fini(struct walk *walk)
{
	pp_heap_free(walk->heap);
	free(walk->functions);
}

/* A stride that is odd: all of them, and no neighbours in a row, which would be prefetched. */
static uint64_t walk_all(const struct walk *walk)
{
	uint64_t sum = 0;
	uint32_t next = 0;

	for (uint32_t i = 0; i < walk->count; i++) {
		sum += walk->functions[next]();
		next = (next + 1021) % walk->count;
	}
	return sum;
}

/* ---- calls ---- */

static uint64_t call_all(const struct trigger *trigger, const struct stress_arm *arm, void *data)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < trigger->stress.called; i++)
		sum += arm->calls[i](data, STRESS_EVENT);
	return sum;
}

static void time_run(struct trigger *trigger, struct stress_arm *arm, void *data, uint64_t run)
{
	double calls = (double)PASSES * trigger->stress.called;
	uint64_t ns = 0, misses = 0;

	pp_bpf_enter();
	for (uint32_t pass = 0; pass < PASSES; pass++) {
		uint64_t start, missed;

		arm->result += walk_all(&trigger->walk);
		missed = counter_read(trigger->stress.counter);
		start = clock_ns();
		arm->result += call_all(trigger, arm, data);
		ns += clock_ns() - start;
		misses += counter_read(trigger->stress.counter) - missed;
	}
	pp_bpf_leave();
	arm->ns[run] = (double)ns / calls;
	arm->misses[run] = (double)misses / calls;
}

static int same_results(const struct stress *stress)
{
	for (unsigned int a = 1; a < stress->narms; a++) {
		if (stress->arms[a].result == stress->arms[0].result)
			continue;
		cli_error("%s: programs returned other results than in %s",
			  stress->arms[a].kind->name, stress->arms[0].kind->name);
		return 0;
	}
	return 1;
}

static int measure(struct trigger *trigger)
{
	uint8_t data[STRESS_EVENT] __attribute__((aligned(64)));
	struct stress *stress = &trigger->stress;
	uint64_t runs = trigger->settings.runs;
	struct progress progress;

	memcpy(data, stress_event, sizeof(data));
	progress_start(&progress, "calling", runs);
	for (uint64_t run = 0; run < runs; run++) {
		progress_show(&progress, run);
		for (unsigned int a = 0; a < stress->narms; a++)
			time_run(trigger, &stress->arms[a], data, run);
	}
	progress_end(&progress);
	for (unsigned int a = 0; a < stress->narms; a++) {
		stress->arms[a].ns_per_call = spread_of(stress->arms[a].ns, runs);
		stress->arms[a].itlb_misses = spread_of(stress->arms[a].misses, runs);
	}
	return same_results(stress) ? CLI_OK : CLI_FAILED;
}

/* ---- report ---- */

static void put_line(const struct trigger *trigger, const struct stress_arm *arm)
{
	const struct stress *stress = &trigger->stress;

	printf("trigger/call arm=%s writer=%s loaded=%u called=%u walk=%lluMiB ns/call min=%.2f "
	       "med=%.2f max=%.2f runs=%llu",
	       arm->kind->name, arm->kind->writer_name, stress->loaded, stress->called,
	       (unsigned long long)trigger->settings.walk, arm->ns_per_call.min,
	       arm->ns_per_call.med, arm->ns_per_call.max,
	       (unsigned long long)trigger->settings.runs);
	if (stress->counter >= 0)
		printf(" itlb-load-misses=%.3f", arm->itlb_misses.med);
	putchar('\n');
}

static void put_lines(const struct trigger *trigger)
{
	const struct stress *stress = &trigger->stress;

	for (unsigned int a = 0; a < stress->narms; a++)
		put_line(trigger, &stress->arms[a]);
	for (unsigned int a = 1; a < stress->narms; a++)
		printf("trigger/ratio what=page/%s writer=%s value=%.3f\n",
		       stress->arms[a].kind->name, stress->arms[a].kind->writer_name,
		       stress->arms[0].ns_per_call.med / stress->arms[a].ns_per_call.med);
}

static void put_json_arm(struct json *json, const struct stress *stress,
			 const struct stress_arm *arm)
{
	json_open(json, NULL, '{');
	stress_json_times(json, arm);
	if (stress->counter < 0)
		json_null(json, "itlb_misses");
	else
		json_real(json, "itlb_misses", arm->itlb_misses.med, 3);
	json_close(json, '}');
}

static void put_json(const struct trigger *trigger)
{
	const struct stress *stress = &trigger->stress;
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_text(&json, "benchmark", "trigger");
	json_count(&json, "loaded", stress->loaded);
	json_count(&json, "called", stress->called);
	json_count(&json, "runs", trigger->settings.runs);
	json_count(&json, "walk_mib", trigger->settings.walk);
	json_open(&json, "arms", '[');
	for (unsigned int a = 0; a < stress->narms; a++)
		put_json_arm(&json, stress, &stress->arms[a]);
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

/* ---- set up ---- */

/* Of each tenant another, so that the hot ones are as different as all are. */
static bool is_called(uint32_t i)
{
	return i % TENANT_LOADED == i / TENANT_LOADED % TENANT_LOADED;
}

static int load_and_measure(struct trigger *trigger)
{
	struct stress *stress = &trigger->stress;
	int err = 0, status = CLI_FAILED;

	for (unsigned int a = 0; a < stress->narms && !err; a++)
		err = stress_load_arm(stress, &stress->arms[a], 0);
	if (!err)
		status = measure(trigger);
	for (unsigned int a = 0; a < stress->narms; a++)
		stress_unload_arm(stress, &stress->arms[a], 0);
	return status;
}

static int run(struct trigger *trigger)
{
	int err = stress_arms_new(&trigger->stress, trigger->settings.runs), status = CLI_FAILED;

	if (!err)
		err = walk_init(&trigger->walk, trigger->settings.walk);
	if (err)
		cli_error("%s", strerror(-err));
	else
		status = load_and_measure(trigger);
	if (status == CLI_OK)
		(trigger->settings.json ? put_json : put_lines)(trigger);
	walk_fini(&trigger->walk);
	stress_arms_free(&trigger->stress);
	return status;
}

int trigger_main(int argc, char **argv)
{
	struct trigger trigger = {.settings = {.tenants = 100, .runs = 11, .walk = 8}};
	int status = cli_parse(&trigger_command, argc, argv, &trigger.settings);

	if (status != CLI_GO)
		return status;
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	trigger.stress = (struct stress){
		.loaded = (uint32_t)trigger.settings.tenants * TENANT_LOADED,
		.called = (uint32_t)trigger.settings.tenants,
		.group = TENANT_LOADED,
		.is_called = is_called,
		.counter = counter_open(COUNTER_ITLB),
	};
	status = run(&trigger);
	os_close(trigger.stress.counter);
	return status;
}

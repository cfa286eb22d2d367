/* SPDX-License-Identifier: MIT */
/* heap.c - progpack bench heap: settings, and whose turn it is */
#include "bench/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/cpu.h"
#include "tools/cli.h"
#include "tools/progress.h"

const uint32_t heap_lives[HEAP_LIVES] = {10000, 100000};

#define THREADS_MAX 2u
#define LIVE_MIN 100u
#define LIVE_MAX 100000u
#define RUNS_MAX 1000u
#define QUICK_NS 24000000000u

static const struct cli_option heap_options[] = {
	{"--quick", NULL, CLI_SWITCH, 0, offsetof(struct heap_settings, quick),
	 "fewer runs, shorter churns: at most 30 seconds; what found no time is skipped"},
	{"--runs", "N", CLI_COUNT, 0, offsetof(struct heap_settings, runs),
	 "runs of each arm, which take turns, at most 1000; default 11 with up to 10,000 live\n"
	 "blocks, 5 with more"},
	{"--live", "N", CLI_COUNT, 0, offsetof(struct heap_settings, live),
	 "live blocks, 100 to 100,000; default 10,000, and then 100,000"},
	{"--threads", "N", CLI_COUNT, 0, offsetof(struct heap_settings, threads),
	 "1 or 2, which share the live blocks; default both"},
	{"--arm", "NAME", CLI_TEXT, 0, offsetof(struct heap_settings, arm), "only this one"},
	{"--json", NULL, CLI_SWITCH, 0, offsetof(struct heap_settings, json),
	 "print JSON instead of lines"},
	{"--plot", "FILE.svg", CLI_TEXT, 0, offsetof(struct heap_settings, plot),
	 "also draw the churns with gnuplot"},
	{0},
};

static const struct cli_command heap_command = {
	.name = "bench heap",
	.summary = "keep many pieces of code: progpack's heap, and other allocators",
	.synopsis = "[OPTION...]\n",
	.about =
		"Makes blocks of code, half of them of 64 to 500 bytes, a quarter up to 2 KiB, a\n"
		"quarter up to 16 KiB, the same in every arm and run: fills up to a number of live\n"
		"blocks; churns, which is to free one at random and to make another; calls them all in\n"
		"random order; drains. Each block is a function that returns a number, and traps behind\n"
		"it up to the block's size. Each thread keeps to one CPU, through all of this. The arms:\n"
		"\n"
		"  poke, alias        progpack's heap, by its two writers\n"
		"  malloc             plain memory: what the bookkeeping around every arm costs\n"
		"  mmap-per-block     mmap, mprotect; munmap\n"
		"  asmjit             its allocator, memory both writable and executable; writes in place\n"
		"  asmjit-dual        the same with two views, as alias has them\n"
		"  asmjit-dual-pools  the same with a pool for each class of sizes\n"
		"  ffi                libffi's closures of the same sizes, which it writes itself\n"
		"\n"
		"The last four where their libraries were found when progpack was built. Lines:\n"
		"\n"
		"  heap/fill, heap/churn, heap/drain  wall time over the operations of all threads\n"
		"  heap/call       a call, warm\n"
		"  heap/density    live bytes of the executable ones that are mapped, after the churn\n"
		"  heap/mappings   that the arm added to the process\n"
		"  heap/resident   bytes of memory that the arm takes with one small block in it\n"
		"  heap/ratio      of medians above; of operations per second where it says ops\n"
		"\n"
		"An arm that runs out of mappings (vm.max_map_count) is measured with fewer live blocks,\n"
		"as its lines say.\n",
	.options = heap_options,
	.examples = "progpack bench heap --quick\n"
		    "progpack bench heap --json --plot churn.svg | jq '.ratios'\n",
	.failure = "an arm could not be measured, or gnuplot could not draw",
};

/* A function, and traps: what every block is made of. */
static uint8_t *make_image(struct heap_image *image)
{
	const size_t size = BLOCK_SIZE_MAX;
	uint8_t *bytes = malloc(size);
	const uint8_t *code;
	size_t code_size;

	if (!bytes)
		return NULL;
	code = cpu_probe_code(&code_size);
	cpu_fill_traps(bytes, size);
	memcpy(bytes, code, code_size);
	*image = (struct heap_image){.code = bytes, .result = CPU_PROBE_VALUE};
	return bytes;
}

static bool is_wanted(const struct heap_bench *bench, const struct heap_arm_kind *arm)
{
	return !bench->settings.arm || !strcmp(bench->settings.arm, arm->name);
}

static uint32_t runs_of(const struct heap_settings *settings, uint32_t live)
{
	if (settings->runs)
		return (uint32_t)settings->runs;
	if (settings->quick)
		return live > heap_lives[0] ? 1 : 3;
	return live > heap_lives[0] ? 5 : 11;
}

static int add_rows(struct heap_bench *bench, uint32_t live)
{
	for (uint32_t threads = 1; threads <= THREADS_MAX; threads++) {
		if (bench->settings.threads && threads != bench->settings.threads)
			continue;
		for (unsigned int a = 0; a < heap_arms_count; a++) {
			struct heap_row *row = &bench->rows[bench->nrows];

			if (!is_wanted(bench, &heap_arms[a]))
				continue;
			*row = (struct heap_row){.arm = &heap_arms[a],
						 .wanted = live,
						 .live = live,
						 .threads = threads,
						 .runs = runs_of(&bench->settings, live)};
			row->trials = calloc(row->runs, sizeof(*row->trials));
			if (!row->trials)
				return -1;
			bench->nrows++;
		}
	}
	return 0;
}

static int plan(struct heap_bench *bench)
{
	int err = 0;

	bench->rows =
		calloc((size_t)HEAP_LIVES * THREADS_MAX * heap_arms_count, sizeof(*bench->rows));
	bench->resident = calloc(heap_arms_count, sizeof(*bench->resident));
	bench->kept = calloc(heap_arms_count, sizeof(*bench->kept));
	if (!bench->rows || !bench->resident || !bench->kept)
		return -1;
	if (bench->settings.live)
		return add_rows(bench, (uint32_t)bench->settings.live);
	for (unsigned int i = 0; i < HEAP_LIVES && !err; i++)
		err = add_rows(bench, heap_lives[i]);
	return err;
}

/* A churn lasts so long that it is no matter how the scheduler begins it. */
#define CHURNS_MIN 30000u

/* Each block is replaced twice on average: what a heap looks like after that is no accident. */
static struct heap_load load_of(const struct heap_bench *bench, const struct heap_row *row)
{
	bool quick = bench->settings.quick;
	uint64_t churns = (quick ? 1u : 2u) * (uint64_t)row->wanted;

	return (struct heap_load){
		.image = &bench->image,
		.live = row->wanted,
		.threads = row->threads,
		.churns = churns < CHURNS_MIN ? CHURNS_MIN : churns,
		.churn_ns = quick ? 250000000 : 4000000000,
		.kept = &bench->kept[row->arm - heap_arms],
	};
}

/* --quick keeps its word also where others use the machine: what is missing is skipped. */
static bool is_late(const struct heap_bench *bench)
{
	return bench->settings.quick && clock_ns() - bench->began > QUICK_NS;
}

static void run_row(const struct heap_bench *bench, struct heap_row *row, uint32_t run)
{
	struct heap_load load = load_of(bench, row);
	struct heap_trial *trial = &row->trials[run];

	if (row->err || run >= row->runs)
		return;
	if (is_late(bench)) {
		row->runs = run;
		row->err = run ? 0 : -ETIME;
		return;
	}
	row->err = heap_run_trial(row->arm, &load, trial);
	if (!row->err && trial->live < row->live)
		row->live = trial->live;
}

static struct spread spread_of_field(const struct heap_row *row, size_t offset)
{
	double values[RUNS_MAX];

	for (uint32_t run = 0; run < row->runs; run++)
		memcpy(&values[run], (const char *)&row->trials[run] + offset, sizeof(*values));
	return spread_of(values, row->runs);
}

static void sum_up(struct heap_row *row)
{
	if (!row->runs)
		return;
	for (int phase = 0; phase < HEAP_PHASES; phase++)
		row->ns[phase] = spread_of_field(row, offsetof(struct heap_trial, ns) +
							      (size_t)phase * sizeof(double));
	row->percent = row->trials[0].percent;
	row->mappings = row->trials[0].mappings;
}

static uint32_t most_runs(const struct heap_bench *bench)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < bench->nrows; i++)
		most = bench->rows[i].runs > most ? bench->rows[i].runs : most;
	return most;
}

/* libc maps stacks and arenas for threads, and keeps them: they are nobody's mappings. */
static void warm_up(const struct heap_bench *bench)
{
	struct heap_look kept = {0};
	struct heap_trial trial;
	struct heap_load load = {.image = &bench->image,
				 .live = LIVE_MIN,
				 .threads = THREADS_MAX,
				 .kept = &kept};

	for (unsigned int a = 0; a < heap_arms_count; a++) {
		if (!heap_arms[a].is_code)
			(void)heap_run_trial(&heap_arms[a], &load, &trial);
	}
}

/* Within a run every arm has its turn: what disturbs the machine disturbs them all. */
static void measure(struct heap_bench *bench)
{
	uint32_t runs = most_runs(bench);
	struct progress progress;
	uint64_t done = 0, all = 0;

	warm_up(bench);
	for (unsigned int i = 0; i < bench->nrows; i++)
		all += (uint64_t)bench->rows[i].runs * bench->rows[i].wanted;
	progress_start(&progress, "heap", all);
	for (uint32_t run = 0; run < runs; run++) {
		for (unsigned int i = 0; i < bench->nrows; i++) {
			progress_show(&progress, done);
			done += run < bench->rows[i].runs ? bench->rows[i].wanted : 0;
			run_row(bench, &bench->rows[i], run);
		}
	}
	progress_end(&progress);
	for (unsigned int i = 0; i < bench->nrows; i++)
		sum_up(&bench->rows[i]);
}

/* First of all, while the process is small: each in a child of its own. */
static void measure_resident(struct heap_bench *bench)
{
	for (unsigned int a = 0; a < heap_arms_count; a++) {
		if (is_wanted(bench, &heap_arms[a]) && heap_arms[a].is_code &&
		    look_resident(&heap_arms[a], &bench->image, &bench->resident[a]))
			cli_error("%s: its resident memory could not be measured",
				  heap_arms[a].name);
	}
}

const struct heap_row *heap_row_of(const struct heap_bench *bench, const char *arm, uint32_t wanted,
				   uint32_t threads)
{
	for (unsigned int i = 0; i < bench->nrows; i++) {
		const struct heap_row *row = &bench->rows[i];

		if (!strcmp(row->arm->name, arm) && row->wanted == wanted &&
		    row->threads == threads && !row->err)
			return row;
	}
	return NULL;
}

static int status_of(const struct heap_bench *bench)
{
	for (unsigned int i = 0; i < bench->nrows; i++) {
		if (bench->rows[i].err && bench->rows[i].err != -ETIME)
			return CLI_FAILED;
	}
	return CLI_OK;
}

static int run(struct heap_bench *bench)
{
	const char *plot = bench->settings.plot;
	int status;

	bench->began = clock_ns();
	if (plot && plot_check(plot))
		return CLI_FAILED;
	measure_resident(bench);
	measure(bench);
	heap_report(bench);
	status = status_of(bench);
	if (plot && plot_write(bench, plot))
		status = CLI_FAILED;
	return status;
}

static int check_settings(const struct heap_bench *bench)
{
	const struct heap_settings *settings = &bench->settings;

	if (settings->runs > RUNS_MAX)
		return cli_usage("--runs: at most %u", RUNS_MAX);
	if (settings->live && (settings->live < LIVE_MIN || settings->live > LIVE_MAX))
		return cli_usage("--live: from %u to %u", LIVE_MIN, LIVE_MAX);
	if (settings->threads > THREADS_MAX)
		return cli_usage("--threads: 1 or %u", THREADS_MAX);
	for (unsigned int a = 0; a < heap_arms_count; a++) {
		if (is_wanted(bench, &heap_arms[a]))
			return CLI_GO;
	}
	return cli_usage("--arm: there is no '%s' here", settings->arm);
}

int heap_main(int argc, char **argv)
{
	struct heap_bench bench = {.nrows = 0};
	int status = cli_parse(&heap_command, argc, argv, &bench.settings);
	uint8_t *image;

	if (status == CLI_GO)
		status = check_settings(&bench);
	if (status != CLI_GO)
		return status;
	image = make_image(&bench.image);
	if (image && !plan(&bench)) {
		status = run(&bench);
	} else {
		cli_error("out of memory");
		status = CLI_FAILED;
	}
	for (unsigned int i = 0; i < bench.nrows; i++)
		free(bench.rows[i].trials);
	free(bench.rows);
	free(bench.resident);
	free(bench.kept);
	free(image);
	return status;
}

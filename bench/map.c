/* SPDX-License-Identifier: MIT */
/*
 * map.c - progpack bench map: hash and array maps from native programs, ours and the kernel's
 *
 *	for each run: for each operation, number of threads and arm: start threads, each on a CPU
 *	of its own -> run the program so many times, which is timed -> mean over the threads
 *
 * Both arms load the same object. A program does 512 operations, so what a run costs besides, an
 * RCU section here and BPF_PROG_TEST_RUN's loop there, does not show.
 */
#include "bench/map.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/prog.h"
#include "tools/cli.h"
#include "tools/progress.h"
#include "tools/tools.h"

#define REPEAT 2000u
#define REPEAT_QUICK 400u

const char *const map_programs[MAP_WHATS] = {
	[MAP_HASH_LOOKUP] = "hash_lookup",
	[MAP_HASH_UPDATE] = "hash_update",
	[MAP_ARRAY_LOOKUP] = "array_lookup",
	[MAP_ARRAY_UPDATE] = "array_update",
};

const char *const map_names[MAP_WHATS] = {
	[MAP_HASH_LOOKUP] = "hash-lookup",
	[MAP_HASH_UPDATE] = "hash-update",
	[MAP_ARRAY_LOOKUP] = "array-lookup",
	[MAP_ARRAY_UPDATE] = "array-update",
};

static const struct cli_option map_options[] = {
	{"--runs", "N", CLI_COUNT, MAP_RUNS_MAX, offsetof(struct map_settings, runs),
	 "timed runs of each arm, which take turns; default 21, at most 1000"},
	{"--quick", NULL, CLI_SWITCH, 0, offsetof(struct map_settings, quick),
	 "shorter runs: a few seconds in all"},
	{"--json", NULL, CLI_SWITCH, 0, offsetof(struct map_settings, json),
	 "print JSON instead of lines"},
	{0},
};

static const struct cli_command map_command = {
	.name = "bench map",
	.summary = "look up and update hash and array maps from programs",
	.synopsis = "[--runs N] [--quick] [--json]\n",
	.about =
		"Native programs on a hash and an array of 4096 entries, 4-byte keys, 8-byte values:\n"
		"progpack's maps, and the kernel's through BPF_PROG_TEST_RUN where bpf() is allowed.\n"
		"One object, loaded into both. One thread, and two on different CPUs, each with its\n"
		"own keys of the same map. Lines:\n"
		"\n"
		"  map/hash-lookup  arm=jit, arm=kernel: nanoseconds an operation, mean over the threads\n"
		"  map/ratio        the kernel's time over ours, medians: above 1, ours is faster\n",
	.options = map_options,
	.examples = "progpack bench map --quick\n",
	.failure = "the object cannot be loaded, or an operation failed",
};

/* struct worker - a thread of one measurement */
struct worker {
	const struct map_bench *bench;
	pthread_barrier_t *start;
	pthread_t thread;
	unsigned int what, arm, cpu;
	double ns; /* an operation; negative: an error */
};

/* The @i'th of the CPUs that we may use, over again if there are fewer. */
static void pin(unsigned int i)
{
	cpu_set_t may, one;
	size_t cpu = 0;

	if (sched_getaffinity(0, sizeof(may), &may) || !CPU_COUNT(&may))
		return;
	for (i %= (unsigned int)CPU_COUNT(&may); i || !CPU_ISSET(cpu, &may); cpu++)
		i -= CPU_ISSET(cpu, &may) ? 1 : 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

/*
 * Of this thread alone: what runs under BPF_PROG_TEST_RUN is not preempted while it is timed, and
 * so other load of the machine must not count here.
 */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Every operation works: a program gives the number of those that did. */
static double run_jit(const struct worker *worker)
{
	const struct map_bench *bench = worker->bench;
	const struct pp_bpf_prog *prog =
		pp_bpf_prog_by_name(bench->object, map_programs[worker->what]);
	uint64_t start = cpu_ns(), result;

	for (uint32_t i = 0; i < bench->repeat; i++) {
		if (pp_bpf_run(prog, NULL, 0, &result) || result != MAP_OPS)
			return -EIO;
	}
	return (double)(cpu_ns() - start) / bench->repeat;
}

static double run_kernel(const struct worker *worker)
{
	uint32_t result;
	double ns =
		map_kernel_run(worker->bench->kernel, worker->what, worker->bench->repeat, &result);

	return ns >= 0 && result != MAP_OPS ? -EIO : ns;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	pin(worker->cpu);
	pthread_barrier_wait(worker->start);
	worker->ns = (worker->arm == MAP_JIT ? run_jit : run_kernel)(worker) / MAP_OPS;
	return NULL;
}

/* Nanoseconds an operation; negative: of some thread an error. */
static double measure(const struct map_bench *bench, unsigned int what, unsigned int arm,
		      unsigned int threads)
{
	struct worker workers[MAP_THREADS];
	pthread_barrier_t start;
	bool failed = false;
	double sum = 0;

	pthread_barrier_init(&start, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		workers[i] = (struct worker){
			.bench = bench, .start = &start, .what = what, .arm = arm, .cpu = i};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			cli_error("a thread cannot be started");
			exit(CLI_FAILED); /* the others wait for it */
		}
	}
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		failed |= workers[i].ns < 0;
		sum += workers[i].ns;
	}
	pthread_barrier_destroy(&start);
	return failed ? -1 : sum / threads;
}

/* Keys of both CPUs are there before they are looked up, and memory is touched. */
static int warm_up(const struct map_bench *bench)
{
	static const unsigned int fill[] = {MAP_HASH_UPDATE, MAP_ARRAY_UPDATE};

	for (unsigned int i = 0; i < 2 * MAP_ARMS; i++) {
		unsigned int arm = i % MAP_ARMS;

		if ((arm == MAP_JIT || bench->kernel) &&
		    measure(bench, fill[i / MAP_ARMS], arm, MAP_THREADS) < 0)
			return -EIO;
	}
	return 0;
}

static int measure_all(struct map_bench *bench, uint64_t run)
{
	for (unsigned int i = 0; i < MAP_WHATS * MAP_THREADS * MAP_ARMS; i++) {
		unsigned int arm = i % MAP_ARMS, threads = i / MAP_ARMS % MAP_THREADS;
		unsigned int what = i / MAP_ARMS / MAP_THREADS;
		double ns;

		if (arm == MAP_KERNEL && !bench->kernel)
			continue;
		ns = measure(bench, what, arm, threads + 1);
		if (ns < 0)
			return -EIO;
		bench->cells[what][arm][threads].ns[run] = ns;
	}
	return 0;
}

static void sum_up(struct map_bench *bench)
{
	for (unsigned int i = 0; i < MAP_WHATS * MAP_ARMS * MAP_THREADS; i++) {
		struct map_cell *cell = &bench->cells[0][0][0] + i;

		cell->spread = spread_of(cell->ns, bench->settings.runs);
	}
}

static int run_all(struct map_bench *bench)
{
	struct progress progress;
	int err = warm_up(bench);

	progress_start(&progress, "runs", bench->settings.runs);
	for (uint64_t run = 0; run < bench->settings.runs && !err; run++) {
		progress_show(&progress, run);
		err = measure_all(bench, run);
	}
	progress_end(&progress);
	if (err) {
		cli_error("an operation on a map failed");
		return CLI_FAILED;
	}
	sum_up(bench);
	map_report(bench);
	return CLI_OK;
}

static void say(void *ctx, const char *line)
{
	(void)ctx;
	cli_error("%s", line);
}

static int load(struct map_bench *bench)
{
	const struct pp_bpf_opts opts = {.size = sizeof(opts),
					 .name = "map.bpf.o",
					 .flags = PP_BPF_TRUSTED,
					 .log = say};
	int err = pp_bpf_open_mem(map_elf, (size_t)(map_elf_end - map_elf), &opts, &bench->object);

	return err ? err : pp_bpf_load(bench->object);
}

int map_bench_main(int argc, char **argv)
{
	struct map_bench *bench = calloc(1, sizeof(*bench));
	int status = CLI_FAILED;

	if (!bench)
		return CLI_FAILED;
	bench->settings.runs = 21;
	status = cli_parse(&map_command, argc, argv, &bench->settings);
	if (status != CLI_GO)
		goto free_bench;
	bench->repeat = bench->settings.quick ? REPEAT_QUICK : REPEAT;
	bench->why = map_kernel_new(&bench->kernel);
	status = load(bench) ? CLI_FAILED : run_all(bench);
	pp_bpf_close(bench->object);
	map_kernel_free(bench->kernel);
free_bench:
	free(bench);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* bench.c - progpack bench: choose the benchmark */
#include "bench/bench.h"

#include <string.h>

#include "tools/cli.h"
#include "tools/tools.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} benchmarks[] = {
	{"stress", stress_main, "call many small programs: packed, and a page each"},
	{"count", count_main, "the same programs; what the hardware counts meanwhile: TLB misses"},
	{"trigger", trigger_main,
	 "call one program of each of 100 tenants, with other code between"},
	{"tag", tag_main, "load, run and free programs of every length, as the kernel's test_tag"},
	{"map", map_bench_main, "look up and update hash and array maps: ours, and the kernel's"},
	{"heap", heap_main, "keep many pieces of code: progpack's heap, and other allocators"},
};
#define BENCHMARKS (sizeof(benchmarks) / sizeof(benchmarks[0]))

static void put_benchmarks(FILE *to)
{
	for (size_t i = 0; i < BENCHMARKS; i++)
		fprintf(to, "  %-8s %s\n", benchmarks[i].name, benchmarks[i].summary);
}

static int help(void)
{
	puts("progpack bench - compare ways of keeping JIT-compiled code\n\n"
	     "Usage: progpack bench BENCHMARK [OPTION...]\n\n"
	     "Benchmarks:");
	put_benchmarks(stdout);
	puts("\nWays are compared within one run, by repeats that take turns, and told as min,\n"
	     "median and max or as medians: machines are shared and noisy.\n"
	     "'progpack bench BENCHMARK --help' explains one.\n\n"
	     "Exit status: 0 success; 1 failure; 2 wrong usage.");
	return CLI_OK;
}

int bench_main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("Usage: progpack bench BENCHMARK [OPTION...]\n", stderr);
		put_benchmarks(stderr);
		fputs("See 'progpack bench --help'.\n", stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help();
	for (size_t i = 0; i < BENCHMARKS; i++) {
		if (strcmp(argv[1], benchmarks[i].name) == 0)
			return benchmarks[i].main(argc - 1, argv + 1);
	}
	cli_error("bench: no such benchmark: '%s'", argv[1]);
	fputs("See 'progpack bench --help'.\n", stderr);
	return CLI_USAGE;
}

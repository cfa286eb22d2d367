/* SPDX-License-Identifier: MIT */
/* main.c - the progpack command: finds the subcommand, and sees that its output got out */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "tools.h"

static const struct subcommand {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} subcommands[] = {
	{"run", run_main, "execute the programs of an eBPF object, natively or interpreted"},
	{"dump", dump_main, "list the eBPF of an object, native code beside it if wanted"},
	{"map", map_main, "list, fill and dump the maps of an object, around runs of a program"},
	{"heap", heap_command_main, "look at a heap of packed code at work"},
	{"bench", bench_main, "measure packed programs against a page per program, and more"},
	{"plugin", plugin_main, "run one test of the public eBPF conformance suite"},
};

#define NSUBCOMMANDS (sizeof(subcommands) / sizeof(*subcommands))

static void put_subcommands(FILE *to)
{
	for (size_t i = 0; i < NSUBCOMMANDS; i++)
		fprintf(to, "  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
}

static int help(void)
{
	puts("progpack - run eBPF programs in packed, never-writable executable memory\n\n"
	     "Usage: progpack COMMAND [ARGUMENT...]\n"
	     "       progpack --help | --version\n\n"
	     "Loads eBPF objects as clang writes them, compiles all programs of an object into one\n"
	     "image among others in 2 MiB pages that nobody can write, and runs, lists or measures\n"
	     "them. Programs are trusted: they have the memory rights of this process.\n\n"
	     "Commands:");
	put_subcommands(stdout);
	puts("\n'progpack COMMAND --help' explains one.\n\n"
	     "Examples:\n"
	     "  clang -O2 -g -target bpf -c count.bpf.c -o count.o\n"
	     "  progpack run count.o --mem '01 02 03 04' --repeat 1000000\n"
	     "  progpack dump count.o --native\n"
	     "  progpack heap --demo\n"
	     "  progpack bench stress\n\n"
	     "Exit status: 0 success; 1 failure; 2 wrong usage.");
	return CLI_OK;
}

static int no_arguments(void)
{
	fputs("Usage: progpack COMMAND [ARGUMENT...]\n", stderr);
	put_subcommands(stderr);
	fputs("See 'progpack --help'.\n", stderr);
	return CLI_USAGE;
}

static int version(void)
{
	puts("progpack " PROGPACK_VERSION);
	return CLI_OK;
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2)
		return no_arguments();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help();
	if (strcmp(argv[1], "--version") == 0)
		return version();
	for (size_t i = 0; i < NSUBCOMMANDS; i++) {
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].main(argc - 1, argv + 1);
	}
	return cli_usage("unknown %s '%s'", argv[1][0] == '-' ? "option" : "command", argv[1]);
}

int main(int argc, char **argv)
{
	return cli_finish(dispatch(argc, argv));
}

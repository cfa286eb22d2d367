/* SPDX-License-Identifier: MIT */
/*
 * plugin.c - progpack plugin: one test of the public eBPF conformance suite
 *
 * The suite starts a process per test: the memory as one argument of hex bytes (none if the
 * test has no memory: the first argument is an option then), the program as hex bytes on
 * standard input. It wants r0 in hex on standard output, and status 0.
 */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "load.h"
#include "tools.h"

/* The helper that the suite's programs call: any non-zero result, whatever the arguments. */
#define SUITE_HELPER 5

enum engine { ENGINE_DEFAULT, ENGINE_JIT, ENGINE_INTERP };

struct settings {
	const char *mem;
	int engine;
	bool elf;
};

static const struct cli_option options[] = {
	{"MEM", NULL, CLI_OPERAND, 0, offsetof(struct settings, mem),
	 "the memory, in pairs of hex digits with spaces between; default: none,\n"
	 "r1 = 0 and r2 = 0"},
	{"--jit", NULL, CLI_PICK, ENGINE_JIT, offsetof(struct settings, engine),
	 "run native code; the default"},
	{"--interp", NULL, CLI_PICK, ENGINE_INTERP, offsetof(struct settings, engine), "interpret"},
	{"--elf", NULL, CLI_SWITCH, 0, offsetof(struct settings, elf),
	 "standard input is an eBPF ELF object, as hex bytes or as it is; its first\n"
	 "program runs"},
	{0},
};

static const struct cli_command command = {
	.name = "plugin",
	.summary = "one test of the public eBPF conformance suite",
	.synopsis = "[MEM] [--jit | --interp] [--elf] < PROGRAM",
	.about =
		"Reads a program from standard input, as hex bytes separated by white space, and runs\n"
		"it once with r1 = address of the memory and r2 = its length in bytes. Helper 5 exists\n"
		"and returns 1. Prints r0 in hex, nothing else.",
	.options = options,
	.examples =
		"echo b7 00 00 00 07 00 00 00 95 00 00 00 00 00 00 00 | progpack plugin\n"
		"progpack plugin '01 02 03 04' --interp < program.hex\n"
		"bpf_conformance_runner --test_file_directory tests --plugin_path progpack-plugin\n"
		"  where progpack-plugin is a script: exec progpack plugin \"$@\"",
	.failure = "any error, wrong usage among them",
	.usage_status = CLI_FAILED,
};

static uint64_t suite_helper(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return 1;
}

static int register_helper(void *ctx, struct pp_bpf_object *object)
{
	(void)ctx;
	return pp_bpf_register(object, SUITE_HELPER, "conformance", 0, suite_helper);
}

/* The program's bytes, from their hex form unless they are an ELF object already. */
static int read_program(bool elf, struct bytes *program)
{
	struct bytes text;
	int err;

	if (input_read("-", &text))
		return -1;
	if (elf && text.size && text.at[0] == 0x7f) {
		*program = text;
		return 0;
	}
	err = input_hex("standard input", (const char *)text.at, text.size, program);
	input_free(&text);
	return err;
}

static int run_first(const struct loaded *loaded, const struct bytes *mem)
{
	const struct pp_bpf_prog *prog = load_pick(loaded, "standard input", NULL);
	uint64_t result;
	int err;

	if (!prog)
		return -1;
	err = pp_bpf_run(prog, mem->at, mem->size, &result);
	if (err)
		cli_error("%s", strerror(-err));
	else
		printf("%" PRIx64 "\n", result);
	return err;
}

static int run_test(const struct settings *set, const struct bytes *program,
		    const struct bytes *mem)
{
	struct load_opts opts = {
		.name = "standard input",
		.raw = !set->elf,
		.hint = set->elf ? "leave out --elf" : "say --elf",
		.flags = set->engine == ENGINE_INTERP ? PP_BPF_NO_JIT : 0,
		.prepare = register_helper,
	};
	struct loaded loaded;
	int err = load_object(&opts, program, &loaded);

	if (err)
		return err;
	err = run_first(&loaded, mem);
	load_fini(&loaded);
	return err;
}

int plugin_main(int argc, char **argv)
{
	struct settings set = {0};
	struct bytes program = {0}, mem = {0};
	int status = cli_parse(&command, argc, argv, &set);

	if (status != CLI_GO)
		return status;
	status = CLI_FAILED;
	if (input_hex("MEM", set.mem ? set.mem : "", set.mem ? strlen(set.mem) : 0, &mem) == 0 &&
	    read_program(set.elf, &program) == 0 && run_test(&set, &program, &mem) == 0)
		status = CLI_OK;
	input_free(&program);
	input_free(&mem);
	return status;
}

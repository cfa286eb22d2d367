/* SPDX-License-Identifier: MIT */
/* map.c - progpack map: load an object, fill maps, run a program, and show what is in the maps */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "map_io.h"
#include "tools.h"

struct settings {
	const char *file, *map, *prog, *mem;
	struct cli_texts fills;
	uint64_t repeat;
	bool list, json;
};

static const struct cli_option options[] = {
	{"FILE", NULL, CLI_NEEDED, 0, offsetof(struct settings, file),
	 "an eBPF ELF object as clang -target bpf writes it; - for standard input"},
	{"NAME", NULL, CLI_OPERAND, 0, offsetof(struct settings, map),
	 "show only this map; default: all, in the order of the file"},
	{"--list", NULL, CLI_SWITCH, 0, offsetof(struct settings, list),
	 "the maps alone, without their elements"},
	{"--map", "NAME=FILE", CLI_TEXTS, 0, offsetof(struct settings, fills),
	 "fill map NAME from a JSON file: [{\"key\":..,\"value\":..},..], or a map as --json\n"
	 "shows it. May be repeated; later ones change what earlier ones put there"},
	{"--prog", "NAME", CLI_TEXT, 0, offsetof(struct settings, prog),
	 "run this program before maps are shown; default: none"},
	{"--mem", "HEX", CLI_TEXT, 0, offsetof(struct settings, mem),
	 "the program's data, as of progpack run; default: none"},
	{"--repeat", "N", CLI_COUNT, 0, offsetof(struct settings, repeat),
	 "run it N times on the same data; default: 1"},
	{"--json", NULL, CLI_SWITCH, 0, offsetof(struct settings, json),
	 "print JSON: {\"maps\":[{\"name\":..,\"type\":..,..,\"entries\":[..]}]}"},
	{0},
};

static const struct cli_command command = {
	.name = "map",
	.summary = "list, fill and dump the maps of an object, around runs of a program",
	.synopsis = "FILE [NAME] [--list] [--map NAME=FILE ...] [--json]\n"
		    "FILE [NAME] --prog NAME [--mem HEX] [--repeat N] ...",
	.about =
		"Maps live as long as the command: it loads FILE, fills maps, runs a program if told to,\n"
		"and prints each map on a line, and its elements as JSON below. Keys and values have the\n"
		"types of the object's BTF; without it they are numbers of 1, 2, 4 or 8 bytes, or hex.\n"
		"Values of per-CPU maps are lists. Maps of maps show the ids of those in them, arrays of\n"
		"programs names. Queues, stacks, ring buffers and bloom filters show no elements: to read\n"
		"them is to change them.",
	.options = options,
	.examples = "progpack map filter.o --list\n"
		    "progpack map filter.o counters --prog ingress --mem '45 00 00 54'\n"
		    "progpack map filter.o --map routes=routes.json --json",
	.failure = "FILE cannot be read or loaded, or a map cannot be filled",
};

static int run_prog(const struct settings *set, const struct loaded *loaded)
{
	const struct pp_bpf_prog *prog;
	struct bytes data = {0};
	uint64_t result;
	int err = 0;

	if (!set->prog)
		return 0;
	prog = load_pick(loaded, input_name(set->file), set->prog);
	if (!prog || (set->mem && input_hex("--mem", set->mem, strlen(set->mem), &data)))
		return -1;
	for (uint64_t i = 0; i < set->repeat && !err; i++)
		err = pp_bpf_run(prog, data.at, data.size, &result);
	input_free(&data);
	if (err)
		cli_error("%s: %s: %s", input_name(set->file), set->prog, strerror(-err));
	return err;
}

static void show(const struct settings *set, struct pp_bpf_object *object,
		 const struct types *types)
{
	struct json json = {.to = stdout};

	if (set->list) {
		map_io_list(object);
	} else if (!set->json) {
		map_io_table(object, types, set->map);
	} else {
		json_open(&json, NULL, '{');
		map_io_json(object, types, set->map, &json);
		json_close(&json, '}');
		putchar('\n');
	}
}

static int use_maps(const struct settings *set, struct loaded *loaded, const struct types *types)
{
	if (set->map && !pp_bpf_map_by_name(loaded->object, set->map)) {
		cli_error("%s: no such map: '%s'", input_name(set->file), set->map);
		return CLI_FAILED;
	}
	if (map_io_fill(loaded->object, types, &set->fills) || run_prog(set, loaded))
		return CLI_FAILED;
	show(set, loaded->object, types);
	return CLI_OK;
}

int map_main(int argc, char **argv)
{
	struct settings set = {.repeat = 1};
	struct loaded loaded = {0};
	struct load_opts opts = {.hint = "use progpack run"};
	struct bytes file = {0};
	struct types types;
	int status = cli_parse(&command, argc, argv, &set);

	if (status != CLI_GO)
		return status;
	if (set.list && (set.json || set.map))
		return cli_usage("--list shows all maps, as lines");
	opts.name = input_name(set.file);
	opts.flags = set.prog ? 0 : PP_BPF_NO_JIT;
	if (input_read(set.file, &file))
		return CLI_FAILED;
	types_init(&file, &types);
	status = load_object(&opts, &file, &loaded) ? CLI_FAILED : use_maps(&set, &loaded, &types);
	load_fini(&loaded);
	types_fini(&types);
	input_free(&file);
	return status;
}

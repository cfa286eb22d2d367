/* SPDX-License-Identifier: MIT */
/*
 * run.c - progpack run: execute the programs of an object, on either engine or on both
 *
 *	file -> load (once an engine) -> for each program: copy the data, run (lanes.c), report
 *
 * Engines that are compared share nothing: each has its own object, so its own maps and
 * global variables, and its own copy of the data.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "lanes.h"
#include "load.h"
#include "map_io.h"
#include "tools.h"

#define THREADS_MAX 1024

enum engine { ENGINE_DEFAULT, ENGINE_JIT, ENGINE_INTERP, ENGINE_DIFF };

struct settings {
	const char *file, *prog, *mem, *data, *ctx, *data_out, *writer;
	uint64_t repeat, threads, budget;
	int engine;
	struct cli_texts maps;
	bool raw, json, probe, trusted, dump_maps;
};

static const struct cli_option options[] = {
	{"FILE", NULL, CLI_NEEDED, 0, offsetof(struct settings, file),
	 "an eBPF ELF object as clang -target bpf writes it; - for standard input"},
	{"--prog", "NAME", CLI_TEXT, 0, offsetof(struct settings, prog),
	 "run only this program; default: all, in the order of the file"},
	{"--mem", "HEX", CLI_TEXT, 0, offsetof(struct settings, mem),
	 "the data, in pairs of hex digits; spaces and colons may stand between\n"
	 "pairs. Default: no data, r1 = 0 and r2 = 0"},
	{"--data", "FILE", CLI_TEXT, 0, offsetof(struct settings, data),
	 "the data, from a file; - for standard input"},
	{"--ctx", "FILE", CLI_TEXT, 0, offsetof(struct settings, ctx),
	 "a context, from a file: r1 is its address and r2 its length. Its first 16\n"
	 "bytes become address and length of the data, which is what programs that\n"
	 "load from packets expect; a shorter one is filled up with zeros"},
	{"--data-out", "FILE", CLI_TEXT, 0, offsetof(struct settings, data_out),
	 "write the data as the last program left them; - for standard output. Of\n"
	 "several threads, those of the first; with --diff, native code's"},
	{"--repeat", "N", CLI_COUNT, 0, offsetof(struct settings, repeat),
	 "run each program N times on the same copy of the data; default: 1, which\n"
	 "shows the time of a cold run"},
	{"--threads", "N", CLI_COUNT, THREADS_MAX, offsetof(struct settings, threads),
	 "run each program N times --repeat in so many threads at once, each with its\n"
	 "own copy of the data; maps are shared. Default: 1"},
	{"--budget", "N", CLI_COUNT, 0, offsetof(struct settings, budget),
	 "end a run that would take more than N instructions; default: none is ended"},
	{"--trusted", NULL, CLI_SWITCH, 0, offsetof(struct settings, trusted),
	 "do not check what programs access: they may do what this process may"},
	{"--jit", NULL, CLI_PICK, ENGINE_JIT, offsetof(struct settings, engine),
	 "run native code; the default where this machine has a JIT"},
	{"--interp", NULL, CLI_PICK, ENGINE_INTERP, offsetof(struct settings, engine),
	 "interpret; makes no executable memory"},
	{"--diff", NULL, CLI_PICK, ENGINE_DIFF, offsetof(struct settings, engine),
	 "run both, each with its own maps and data, and fail unless results and\n"
	 "data agree. Programs that return the time, a random number or an address\n"
	 "differ by nature"},
	{"--probe", NULL, CLI_SWITCH, 0, offsetof(struct settings, probe),
	 "pointers may be bad: what is loaded through one is 0, what is stored is\n"
	 "dropped, and the program goes on"},
	{"--map", "NAME=FILE", CLI_TEXTS, 0, offsetof(struct settings, maps),
	 "fill map NAME from a JSON file before the first run:\n"
	 "[{\"key\":1,\"value\":{\"count\":2}},..], or what --dump-maps wrote of it. Keys and\n"
	 "values are numbers, hex text, or objects and arrays as the object's BTF has\n"
	 "them. May be repeated"},
	{"--dump-maps", NULL, CLI_SWITCH, 0, offsetof(struct settings, dump_maps),
	 "afterwards print all maps and their elements; see 'progpack map --help'.\n"
	 "With --diff those of native code"},
	{"--writer", "NAME", CLI_TEXT, 0, offsetof(struct settings, writer),
	 "how code is written: auto, poke (no writable view) or alias (a second,\n"
	 "writable view at another address); default: auto"},
	{"--raw", NULL, CLI_SWITCH, 0, offsetof(struct settings, raw),
	 "FILE is an array of 8-byte instructions, one program named main"},
	{"--json", NULL, CLI_SWITCH, 0, offsetof(struct settings, json),
	 "print JSON: {\"programs\":[{\"name\":..,\"result\":\"0x..\",\"runs\":..,\n"
	 "\"ns_per_run\":..,\"engine\":\"jit\"}]}; with --diff also \"agree\" and\n"
	 "\"interp_ns_per_run\""},
	{0},
};

static const struct cli_command command = {
	.name = "run",
	.summary = "execute the programs of an eBPF object",
	.synopsis = "FILE [--prog NAME] [--mem HEX | --data FILE] [--ctx FILE] [--data-out FILE]\n"
		    "FILE [--repeat N] [--threads N] [--budget N] [--trusted | --probe]\n"
		    "FILE [--jit | --interp | --diff] [--writer NAME] [--raw] [--json]\n"
		    "FILE [--map NAME=FILE ...] [--dump-maps]",
	.about =
		"Loads all programs of FILE into one image and calls them with r1 = address of the\n"
		"data and r2 = its length in bytes. Each program gets a fresh copy of the data. Prints\n"
		"one line a program: name, result (r0) in hex, runs, nanoseconds per run over all of\n"
		"them, engine. What programs print with bpf_trace_printk() goes to standard error.\n"
		"Programs are guarded: one that accesses memory that is not its own ends, and where is\n"
		"said on standard error.",
	.options = options,
	.examples =
		"progpack run count.o\n"
		"progpack run filter.o --prog ingress --data packet.bin --repeat 1000000\n"
		"progpack run filter.o --mem '45 00 00 54' --diff\n"
		"printf '\\267\\0\\0\\0\\7\\0\\0\\0\\225\\0\\0\\0\\0\\0\\0\\0' | progpack run --raw -",
	.failure = "FILE cannot be read or loaded, a run ended early, or the engines differ",
};

/* struct run - everything that one call of the command works on */
struct run {
	struct settings set;
	const char *name; /* of the file, in messages */
	struct bytes file, data, ctx;
	struct types types;
	struct loaded jit, interp; /* one of them, or with --diff both */
	struct lanes jit_lanes, interp_lanes;
	enum pp_writer writer;
	struct json json;
	int name_width;
	int status;
};

/* What a program did on one engine: what there is to report, and the data of the first thread. */
struct outcome {
	const struct lane *lane;
	const struct bytes *data;
	bool native;
};

/* 0, or -1 after an error message */
static int run_prog(const struct run *run, const struct pp_bpf_prog *prog, struct lanes *lanes,
		    struct outcome *outcome)
{
	outcome->native = pp_bpf_prog_native_size(prog);
	outcome->data = &lanes->lane[0].data;
	return lanes_run(lanes, prog, run->set.repeat, &outcome->lane);
}

static const char *reason(const struct lane *lane)
{
	return lane->err == -EFAULT ? "bad access" : "budget used up";
}

/* Functions of raw programs have no section. */
static void put_stop(const struct run *run, const char *name, const struct outcome *outcome)
{
	const struct pp_bpf_stop *stop = &outcome->lane->stop;
	const char *engine = outcome->native ? "jit" : "interp";
	char address[32] = "";

	if (outcome->lane->err == -EFAULT)
		snprintf(address, sizeof(address), " to 0x%" PRIx64, stop->address);
	cli_error("%s: %s: %s%s (%s), section '%s', insn %u (%s)", run->name, name,
		  reason(outcome->lane), address, stop->function, stop->section, stop->pc, engine);
}

static void put_json_stop(struct run *run, const struct lane *lane)
{
	json_text(&run->json, "error", reason(lane));
	json_text(&run->json, "function", lane->stop.function);
	json_text(&run->json, "section", lane->stop.section);
	json_count(&run->json, "insn", lane->stop.pc);
	if (lane->err == -EFAULT)
		json_hex(&run->json, "address", lane->stop.address);
}

static void put_json(struct run *run, const char *name, const struct outcome *first,
		     const struct outcome *second, bool agree)
{
	json_open(&run->json, NULL, '{');
	json_text(&run->json, "name", name);
	if (first->lane->err)
		put_json_stop(run, first->lane);
	else
		json_hex(&run->json, "result", first->lane->result);
	json_count(&run->json, "runs", run->set.repeat);
	json_real(&run->json, "ns_per_run", first->lane->ns, 1);
	json_text(&run->json, "engine", second ? "both" : first->native ? "jit" : "interp");
	if (second) {
		json_real(&run->json, "interp_ns_per_run", second->lane->ns, 1);
		json_bool(&run->json, "agree", agree);
	}
	json_close(&run->json, '}');
}

static void put_line(const struct run *run, const char *name, const struct outcome *first,
		     const struct outcome *second, bool agree)
{
	int pad = run->name_width - (int)strlen(name);

	cli_put_text(stdout, name);
	printf("%*s  0x%" PRIx64 "  %" PRIu64 " runs  %.1f ns/run  ", pad > 0 ? pad : 0, "",
	       first->lane->result, run->set.repeat, first->lane->ns);
	if (second)
		printf("%s (interp %.1f ns/run)\n", agree ? "both" : "differ", second->lane->ns);
	else
		puts(first->native ? "jit" : "interp");
}

/* @second: the interpreter's outcome with --diff, else NULL */
static void report(struct run *run, const char *name, const struct outcome *first,
		   const struct outcome *second, bool agree)
{
	if (first->lane->err)
		put_stop(run, name, first);
	if (second && second->lane->err)
		put_stop(run, name, second);
	if (first->lane->err || (second && second->lane->err))
		run->status = CLI_FAILED;
	if (run->set.json)
		put_json(run, name, first, second, agree);
	else if (!first->lane->err)
		put_line(run, name, first, second, agree);
}

static bool same_data(const struct run *run, const char *name, const struct bytes *jit,
		      const struct bytes *interp)
{
	size_t at = 0, differ = 0;

	for (size_t i = jit->size; i-- > 0;) {
		if (jit->at[i] == interp->at[i])
			continue;
		at = i;
		differ++;
	}
	if (differ)
		cli_error("%s: %s: data differ in %zu of %zu bytes, first at byte %zu: "
			  "0x%02x by jit, 0x%02x by interp",
			  run->name, name, differ, jit->size, at, jit->at[at], interp->at[at]);
	return !differ;
}

/* Where both ended, whatever was accessed: addresses of frames differ. */
static bool same_end(const struct lane *jit, const struct lane *interp)
{
	if (jit->err != interp->err)
		return false;
	return jit->err ? jit->stop.pc == interp->stop.pc : jit->result == interp->result;
}

static bool same_outcome(const struct run *run, const char *name, const struct outcome *jit,
			 const struct outcome *interp)
{
	bool same = same_end(jit->lane, interp->lane);

	if (!same && (jit->lane->err || interp->lane->err))
		cli_error("%s: %s: the engines end differently", run->name, name);
	else if (!same)
		cli_error("%s: %s: results differ: 0x%" PRIx64 " by jit, 0x%" PRIx64 " by interp",
			  run->name, name, jit->lane->result, interp->lane->result);
	return same_data(run, name, jit->data, interp->data) && same;
}

static int do_one(struct run *run, const struct pp_bpf_prog *prog)
{
	struct lanes *lanes = run->jit.object ? &run->jit_lanes : &run->interp_lanes;
	struct outcome outcome;

	if (run_prog(run, prog, lanes, &outcome))
		return -1;
	report(run, pp_bpf_prog_name(prog), &outcome, NULL, true);
	return 0;
}

static int do_both(struct run *run, const struct pp_bpf_prog *prog)
{
	const char *name = pp_bpf_prog_name(prog);
	struct outcome jit, interp;
	bool agree;

	if (run_prog(run, prog, &run->jit_lanes, &jit))
		return -1;
	if (run_prog(run, pp_bpf_prog_by_name(run->interp.object, name), &run->interp_lanes,
		     &interp))
		return -1;
	agree = same_outcome(run, name, &jit, &interp);
	if (!agree)
		run->status = CLI_FAILED;
	report(run, name, &jit, &interp, agree);
	return 0;
}

static int do_prog(struct run *run, const struct pp_bpf_prog *prog)
{
	return run->set.engine == ENGINE_DIFF ? do_both(run, prog) : do_one(run, prog);
}

static int do_all(struct run *run, struct pp_bpf_object *object)
{
	const struct pp_bpf_prog *prog = NULL;
	int err = 0;

	while (!err && (prog = pp_bpf_prog_next(object, prog)))
		err = do_prog(run, prog);
	return err;
}

static int widest_name(struct pp_bpf_object *object)
{
	const struct pp_bpf_prog *prog = NULL;
	int width = 0;

	while ((prog = pp_bpf_prog_next(object, prog))) {
		int len = (int)strlen(pp_bpf_prog_name(prog));

		width = len > width ? len : width;
	}
	return width;
}

static int do_programs(struct run *run)
{
	const struct loaded *loaded = run->jit.object ? &run->jit : &run->interp;
	const struct pp_bpf_prog *prog = load_pick(loaded, run->name, run->set.prog);
	int err;

	if (!prog)
		return -1;
	if (run->set.engine != ENGINE_DEFAULT && run->jit.object &&
	    !pp_bpf_prog_native_size(prog)) {
		cli_error("%s: no native code: this machine has no JIT", run->name);
		return -1;
	}
	run->name_width = run->set.prog ? 0 : widest_name(loaded->object);
	if (run->set.json) {
		json_open(&run->json, NULL, '{');
		json_open(&run->json, "programs", '[');
	}
	err = run->set.prog ? do_prog(run, prog) : do_all(run, loaded->object);
	if (run->set.json) {
		json_close(&run->json, ']');
		if (run->set.dump_maps)
			map_io_json(loaded->object, &run->types, NULL, &run->json);
		json_close(&run->json, '}');
		putchar('\n');
	} else if (run->set.dump_maps) {
		map_io_table(loaded->object, &run->types, NULL);
	}
	return err;
}

static int write_data(const struct run *run)
{
	const struct lanes *lanes = run->jit.object ? &run->jit_lanes : &run->interp_lanes;

	return run->set.data_out ? input_write(run->set.data_out, &lanes->lane[0].data) : 0;
}

static int allow(void *ctx, struct pp_bpf_object *object)
{
	return lanes_allow(ctx, object);
}

static int load_engine(struct run *run, struct load_opts *opts, struct lanes *lanes,
		       struct loaded *loaded)
{
	opts->prepare = allow;
	opts->prepare_ctx = lanes;
	if (lanes_init(lanes, (unsigned int)run->set.threads, &run->data, &run->ctx))
		return -1;
	return load_object(opts, &run->file, loaded);
}

static int load_engines(struct run *run)
{
	struct load_opts opts = {
		.name = run->name,
		.raw = run->set.raw,
		.hint = run->set.raw ? "leave out --raw" : "say --raw",
		.writer = run->writer,
		.flags = (run->set.probe ? PP_BPF_PROBE : 0) |
			 (run->set.trusted ? PP_BPF_TRUSTED : 0),
		.budget = run->set.budget,
	};

	if (run->set.engine != ENGINE_INTERP && load_engine(run, &opts, &run->jit_lanes, &run->jit))
		return -1;
	opts.flags |= PP_BPF_NO_JIT;
	if (run->set.engine < ENGINE_INTERP)
		return 0;
	return load_engine(run, &opts, &run->interp_lanes, &run->interp);
}

/* There is room for where the data are. */
static int read_ctx(struct run *run)
{
	if (input_read(run->set.ctx, &run->ctx))
		return -1;
	return input_fill(&run->ctx, sizeof(struct pp_bpf_packet));
}

/* Each engine has its own maps. */
static int fill_maps(struct run *run)
{
	const struct loaded *engines[] = {&run->jit, &run->interp};
	int err = 0;

	types_init(&run->file, &run->types);
	for (size_t i = 0; i < 2 && !err; i++) {
		if (engines[i]->object)
			err = map_io_fill(engines[i]->object, &run->types, &run->set.maps);
	}
	return err;
}

static int read_inputs(struct run *run)
{
	const struct settings *set = &run->set;

	if (input_read(set->file, &run->file))
		return -1;
	if (set->data && input_read(set->data, &run->data))
		return -1;
	return set->ctx ? read_ctx(run) : 0;
}

/* The data from the command line: a text that is no hex is wrong usage. */
static int take_mem(struct run *run)
{
	const char *mem = run->set.mem;
	int err = mem ? input_hex("--mem", mem, strlen(mem), &run->data) : 0;

	if (err == -EINVAL)
		return cli_hint();
	return err ? CLI_FAILED : CLI_GO;
}

static int is_stdin(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* What the table of options cannot say. */
static int check_settings(struct run *run)
{
	const struct settings *set = &run->set;

	if (set->mem && set->data)
		return cli_usage("--mem and --data exclude each other");
	if (is_stdin(set->file) + is_stdin(set->data) + is_stdin(set->ctx) > 1)
		return cli_usage("only one of FILE, --data and --ctx can be standard input");
	if (set->probe && set->trusted)
		return cli_usage("--probe and --trusted exclude each other");
	if (set->writer && pp_writer_by_name(set->writer, &run->writer))
		return cli_usage("--writer takes auto, poke or alias, not '%s'", set->writer);
	run->name = input_name(set->file);
	return take_mem(run);
}

int run_main(int argc, char **argv)
{
	struct run run = {.set = {.repeat = 1, .threads = 1}, .json.to = stdout};
	int status = cli_parse(&command, argc, argv, &run.set);

	if (status == CLI_GO)
		status = check_settings(&run);
	if (status != CLI_GO)
		return status;
	if (read_inputs(&run) || load_engines(&run) || fill_maps(&run) || do_programs(&run) ||
	    write_data(&run))
		run.status = CLI_FAILED;
	load_fini(&run.interp);
	load_fini(&run.jit);
	types_fini(&run.types);
	lanes_fini(&run.interp_lanes);
	lanes_fini(&run.jit_lanes);
	input_free(&run.ctx);
	input_free(&run.data);
	input_free(&run.file);
	return run.status;
}

/* SPDX-License-Identifier: MIT */
/*
 * run.c - progpack run: execute the programs of an object, on either engine or on both
 *
 *	file -> load (once an engine) -> for each program: copy the data, run, report
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
#include "load.h"
#include "progress.h"
#include "tools.h"

enum engine { ENGINE_DEFAULT, ENGINE_JIT, ENGINE_INTERP, ENGINE_DIFF };

struct settings {
	const char *file, *prog, *mem, *data, *writer;
	uint64_t repeat;
	int engine;
	bool raw, json, probe;
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
	{"--repeat", "N", CLI_COUNT, 0, offsetof(struct settings, repeat),
	 "run each program N times on the same copy of the data; default: 1, which\n"
	 "shows the time of a cold run"},
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
	.synopsis = "FILE [--prog NAME] [--mem HEX | --data FILE] [--repeat N] [--probe]\n"
		    "FILE [--jit | --interp | --diff] [--writer NAME] [--raw] [--json]",
	.about =
		"Loads all programs of FILE into one image and calls them with r1 = address of the\n"
		"data and r2 = its length in bytes. Each program gets a fresh copy of the data. Prints\n"
		"one line a program: name, result (r0) in hex, runs, nanoseconds per run over all of\n"
		"them, engine. What programs print with bpf_trace_printk() goes to standard error.",
	.options = options,
	.examples =
		"progpack run count.o\n"
		"progpack run filter.o --prog ingress --data packet.bin --repeat 1000000\n"
		"progpack run filter.o --mem '45 00 00 54' --diff\n"
		"printf '\\267\\0\\0\\0\\7\\0\\0\\0\\225\\0\\0\\0\\0\\0\\0\\0' | progpack run --raw -",
	.failure = "FILE cannot be read or loaded, or the engines differ",
};

/* struct run - everything that one call of the command works on */
struct run {
	struct settings set;
	const char *name; /* of the file, in messages */
	struct bytes file, data;
	struct loaded jit, interp; /* one of them, or with --diff both */
	enum pp_writer writer;
	struct json json;
	int name_width;
	int status;
};

/* struct outcome - what a program did on one engine */
struct outcome {
	struct bytes data;
	uint64_t result;
	double ns; /* per run */
	bool native;
};

static void run_slice(const struct pp_bpf_prog *prog, const struct bytes *data, uint64_t runs,
		      uint64_t *result)
{
	pp_bpf_entry_fn entry = pp_bpf_prog_entry(prog);

	if (!entry) {
		while (runs--)
			(void)!pp_bpf_interpret(prog, data->at, data->size, result);
		return;
	}
	pp_bpf_enter();
	while (runs--)
		*result = entry(data->at, data->size);
	pp_bpf_leave();
}

/*
 * All runs, in slices that double from one run on until a slice takes 10 ms: the clock is read
 * seldom enough not to show, and progress is shown in time.
 */
static double run_all(const struct pp_bpf_prog *prog, const struct bytes *data, uint64_t runs,
		      uint64_t *result)
{
	struct progress progress;
	uint64_t start, before, now, slice = 1, done = 0;

	progress_start(&progress, pp_bpf_prog_name(prog), runs);
	pp_bpf_enter(); /* a thread's first one registers it: not the program's time */
	pp_bpf_leave();
	start = now = clock_ns();
	while (done < runs) {
		if (slice > runs - done)
			slice = runs - done;
		run_slice(prog, data, slice, result);
		done += slice;
		before = now;
		now = clock_ns();
		if (now - before < 10000000u)
			slice *= 2;
		progress_show(&progress, done);
	}
	progress_end(&progress);
	return (double)(now - start) / (double)runs;
}

/* 0, or -1 after an error message; on success outcome->data is to be freed. */
static int run_prog(const struct run *run, const struct pp_bpf_prog *prog, struct outcome *outcome)
{
	*outcome = (struct outcome){.native = pp_bpf_prog_entry(prog) != NULL};
	if (input_copy(&run->data, &outcome->data))
		return -1;
	outcome->ns = run_all(prog, &outcome->data, run->set.repeat, &outcome->result);
	return 0;
}

static void put_json(struct run *run, const char *name, const struct outcome *first,
		     const struct outcome *second, bool agree)
{
	json_open(&run->json, NULL, '{');
	json_text(&run->json, "name", name);
	json_hex(&run->json, "result", first->result);
	json_count(&run->json, "runs", run->set.repeat);
	json_real(&run->json, "ns_per_run", first->ns, 1);
	json_text(&run->json, "engine", second ? "both" : first->native ? "jit" : "interp");
	if (second) {
		json_real(&run->json, "interp_ns_per_run", second->ns, 1);
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
	       first->result, run->set.repeat, first->ns);
	if (second)
		printf("%s (interp %.1f ns/run)\n", agree ? "both" : "differ", second->ns);
	else
		puts(first->native ? "jit" : "interp");
}

/* @second: the interpreter's outcome with --diff, else NULL */
static void report(struct run *run, const char *name, const struct outcome *first,
		   const struct outcome *second, bool agree)
{
	if (run->set.json)
		put_json(run, name, first, second, agree);
	else
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

static bool same_outcome(const struct run *run, const char *name, const struct outcome *jit,
			 const struct outcome *interp)
{
	bool same = jit->result == interp->result;

	if (!same)
		cli_error("%s: %s: results differ: 0x%" PRIx64 " by jit, 0x%" PRIx64 " by interp",
			  run->name, name, jit->result, interp->result);
	return same_data(run, name, &jit->data, &interp->data) && same;
}

static int do_one(struct run *run, const struct pp_bpf_prog *prog)
{
	struct outcome outcome;

	if (run_prog(run, prog, &outcome))
		return -1;
	report(run, pp_bpf_prog_name(prog), &outcome, NULL, true);
	input_free(&outcome.data);
	return 0;
}

static int do_both(struct run *run, const struct pp_bpf_prog *prog)
{
	const char *name = pp_bpf_prog_name(prog);
	struct outcome jit, interp;
	bool agree;

	if (run_prog(run, prog, &jit))
		return -1;
	if (run_prog(run, pp_bpf_prog_by_name(run->interp.object, name), &interp)) {
		input_free(&jit.data);
		return -1;
	}
	agree = same_outcome(run, name, &jit, &interp);
	if (!agree)
		run->status = CLI_FAILED;
	report(run, name, &jit, &interp, agree);
	input_free(&jit.data);
	input_free(&interp.data);
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
	if (run->set.engine != ENGINE_DEFAULT && run->jit.object && !pp_bpf_prog_entry(prog)) {
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
		json_close(&run->json, '}');
		putchar('\n');
	}
	return err;
}

static int load_engines(struct run *run)
{
	struct load_opts opts = {
		.name = run->name,
		.raw = run->set.raw,
		.hint = run->set.raw ? "leave out --raw" : "say --raw",
		.writer = run->writer,
		.flags = run->set.probe ? PP_BPF_PROBE : 0,
	};

	if (run->set.engine != ENGINE_INTERP && load_object(&opts, &run->file, &run->jit))
		return -1;
	opts.flags |= PP_BPF_NO_JIT;
	if (run->set.engine < ENGINE_INTERP)
		return 0;
	return load_object(&opts, &run->file, &run->interp);
}

static int read_inputs(struct run *run)
{
	const struct settings *set = &run->set;

	if (input_read(set->file, &run->file))
		return -1;
	return set->data ? input_read(set->data, &run->data) : 0;
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

/* What the table of options cannot say. */
static int check_settings(struct run *run)
{
	const struct settings *set = &run->set;

	if (set->mem && set->data)
		return cli_usage("--mem and --data exclude each other");
	if (set->data && strcmp(set->data, "-") == 0 && strcmp(set->file, "-") == 0)
		return cli_usage("FILE and --data cannot both be standard input");
	if (set->writer && pp_writer_by_name(set->writer, &run->writer))
		return cli_usage("--writer takes auto, poke or alias, not '%s'", set->writer);
	run->name = input_name(set->file);
	return take_mem(run);
}

int run_main(int argc, char **argv)
{
	struct run run = {.set.repeat = 1, .json.to = stdout};
	int status = cli_parse(&command, argc, argv, &run.set);

	if (status == CLI_GO)
		status = check_settings(&run);
	if (status != CLI_GO)
		return status;
	if (read_inputs(&run) || load_engines(&run) || do_programs(&run))
		run.status = CLI_FAILED;
	load_fini(&run.interp);
	load_fini(&run.jit);
	input_free(&run.data);
	input_free(&run.file);
	return run.status;
}

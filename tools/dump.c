/* SPDX-License-Identifier: MIT */
/*
 * dump.c - progpack dump: list the eBPF of an object, with its native code beside it
 *
 * All lines are taken twice: once to measure the columns and to learn where functions begin,
 * once to print.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cross.h"
#include "load.h"
#include "native.h"
#include "progress.h"
#include "tools.h"

/* Wider eBPF pushes the native column of its line to the right. */
#define WIDEST_TEXT 56
/* Native bytes shown in a line of their column; longer instructions push as well. */
#define BYTES_COLUMN 10

struct settings {
	const char *file, *prog, *arch, *features;
	bool native, raw, words;
};

static const struct cli_option options[] = {
	{"FILE", NULL, CLI_NEEDED, 0, offsetof(struct settings, file),
	 "an eBPF ELF object as clang -target bpf writes it; - for standard input"},
	{"--prog", "NAME", CLI_TEXT, 0, offsetof(struct settings, prog),
	 "list only this program and the functions that it calls; default: all"},
	{"--native", NULL, CLI_SWITCH, 0, offsetof(struct settings, native),
	 "compile, and show native code to the right of the eBPF it is made from:\n"
	 "its offset in the object's image (hex), its bytes, the instruction"},
	{"--arch", "NAME", CLI_TEXT, 0, offsetof(struct settings, arch),
	 "with --native: code for x86-64, arm64 or riscv64; default: this machine's. No\n"
	 "such machine is needed: nothing is run"},
	{"--features", "LIST", CLI_TEXT, 0, offsetof(struct settings, features),
	 "with --arch: what the CPU has, as zba,zbb; none; or all, the default for other\n"
	 "arches than this machine's"},
	{"--words", NULL, CLI_SWITCH, 0, offsetof(struct settings, words),
	 "with --native: code as numbers (.4byte), not as instructions"},
	{"--raw", NULL, CLI_SWITCH, 0, offsetof(struct settings, raw),
	 "FILE is an array of 8-byte instructions, one program named main"},
	{0},
};

static const struct cli_command command = {
	.name = "dump",
	.summary = "list the eBPF of an object, and its native code",
	.synopsis =
		"FILE [--prog NAME] [--native [--arch NAME [--features LIST]] [--words]] [--raw]",
	.about =
		"Loads FILE and lists each function once: the programs, each with those it calls behind\n"
		"it, then those that no program calls. A line begins with the instruction's slot (8 bytes\n"
		"each) in its section; jumps and calls count slots from the one behind them (goto pc+2);\n"
		"calls into another section show the function's name alone. Targets of native jumps and\n"
		"calls are offsets in the image, as in the column of offsets; targets outside of it are\n"
		"addresses. Behind a native call stands what it calls. For another arch, addresses of the\n"
		"image, helpers and maps are made up, and the same on every run.",
	.options = options,
	.examples = "progpack dump count.o\n"
		    "progpack dump filter.o --prog ingress --native\n"
		    "progpack dump filter.o --native --arch riscv64 --features c,zba\n"
		    "clang -O2 -target bpf -c f.c -o - | progpack dump - --native",
	.failure = "FILE cannot be read or loaded, or there is no native code to show",
};

/* struct start - where the native code of a function begins; calls go to @at .. @end */
struct start {
	char *name;
	size_t at, end;
};

/* struct listing - @starts: by @at, once all lines were measured */
struct listing {
	struct native native;
	bool with_native;
	struct start *starts;
	size_t nstarts;
	int width; /* of the eBPF column */
	bool first;
	struct progress progress;
	uint64_t lines, done;
	int err;
};

/*
 * struct source - the object, and where its native code is: in a heap, or in @cross to be looked at
 * @words: show it as numbers
 */
struct source {
	struct loaded loaded;
	const struct jit_arch *arch;
	bool words;
	struct cross cross;
};

static size_t native_at(const struct listing *list, const struct pp_bpf_line *line)
{
	return line->native ? (size_t)((uintptr_t)line->native - list->native.code.base) : SIZE_MAX;
}

/* Room doubles at powers of two. */
static int add_start(struct listing *list, const struct pp_bpf_line *line)
{
	size_t at = native_at(list, line), count = list->nstarts;
	struct start *starts = list->starts;

	if (!(count & (count - 1)))
		starts = reallocarray(starts, count ? 2 * count : 1, sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	list->starts = starts;
	starts[count] = (struct start){strdup(line->function), at, at + line->native_size};
	list->nstarts++;
	return starts[count].name ? 0 : -ENOMEM;
}

/* The first pass. */
static void measure_line(void *ctx, const struct pp_bpf_line *line)
{
	struct listing *list = ctx;
	int len = line->text ? (int)strlen(line->text) : 0;

	list->lines++;
	if (len > list->width)
		list->width = len < WIDEST_TEXT ? len : WIDEST_TEXT;
	if (line->function && line->native && !list->err)
		list->err = add_start(list, line);
}

static int compare_starts(const void *a, const void *b)
{
	const struct start *left = a, *right = b;

	return left->at < right->at ? -1 : left->at > right->at;
}

/* The function that a call or jump to @at enters, or NULL. */
static const char *function_at(const struct listing *list, size_t at)
{
	size_t low = 0, high = list->nstarts;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list->starts[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || (list->starts[low - 1].at != at && list->starts[low - 1].end <= at))
		return NULL;
	return list->starts[low - 1].name;
}

/* The end of "call bpf_ktime_get_ns#5"; NULL for anything else. */
static const char *helper_in(const char *text)
{
	return text && !strncmp(text, "call ", 5) && strchr(text, '#') ? text + 5 : NULL;
}

/* What a native call or jump goes to: a function of the image, or the helper of its eBPF. */
static void put_callee(const struct listing *list, const struct native_ins *ins, const char *text)
{
	const char *name = function_at(list, ins->target);

	if (!name && ins->calls)
		name = helper_in(text);
	if (!name)
		return;
	fputs("  ; ", stdout);
	cli_put_text(stdout, name);
}

static void put_native(const struct listing *list, const struct native_ins *ins, const char *text)
{
	const uint8_t *bytes = list->native.code.bytes + ins->at;

	printf("  %6zx  ", ins->at);
	for (size_t i = 0; i < ins->size; i++)
		printf("%02x ", bytes[i]);
	for (size_t i = ins->size; i < BYTES_COLUMN; i++)
		fputs("   ", stdout);
	printf(" %s%s%s", ins->mnemonic, *ins->operands ? " " : "", ins->operands);
	put_callee(list, ins, text);
	putchar('\n');
}

static void put_header(struct listing *list, const struct pp_bpf_line *line)
{
	if (!list->first)
		putchar('\n');
	list->first = false;
	cli_put_text(stdout, line->function);
	if (*line->section) {
		fputs("  (section ", stdout);
		cli_put_text(stdout, line->section);
		putchar(')');
	}
	fputs(":\n", stdout);
}

/* The eBPF column, padded only where something follows; returns nothing on an empty one. */
static void put_text(const struct listing *list, const struct pp_bpf_line *line, bool padded)
{
	int pad = padded ? list->width - (line->text ? (int)strlen(line->text) : 0) : 0;

	if (line->text) {
		printf("%6u  ", line->pc);
		cli_put_text(stdout, line->text);
	} else {
		fputs("        ", stdout);
	}
	printf("%*s", pad > 0 ? pad : 0, "");
}

static void put_instructions(struct listing *list, const struct pp_bpf_line *line)
{
	size_t at = native_at(list, line);
	size_t end = at + line->native_size;
	struct native_ins ins;
	bool begun = false;

	while (native_next(&list->native, &at, end, &ins)) {
		if (begun)
			printf("%*s", 8 + list->width, "");
		put_native(list, &ins, line->text);
		begun = true;
	}
}

/* The second pass. */
static void put_line(void *ctx, const struct pp_bpf_line *line)
{
	struct listing *list = ctx;
	bool native = list->with_native && line->native_size;

	progress_show(&list->progress, list->done++);
	if (line->function)
		put_header(list, line);
	if (!line->text && !native)
		return;
	put_text(list, line, native);
	if (native)
		put_instructions(list, line);
	else
		putchar('\n');
}

static int each_line(const struct loaded *loaded, const struct pp_bpf_prog *only, pp_bpf_line_fn fn,
		     struct listing *list)
{
	if (only)
		return pp_bpf_prog_lines(only, fn, list);
	return pp_bpf_lines(loaded->object, fn, list);
}

/* A listing that goes to a terminal shows by itself how far it is. */
static void start_progress(struct listing *list)
{
	progress_start(&list->progress, "dump", 1);
	if (isatty(STDOUT_FILENO))
		list->progress.wanted = false;
}

static int list_all(const struct loaded *loaded, const struct pp_bpf_prog *only,
		    struct listing *list)
{
	int err;

	start_progress(list);
	err = each_line(loaded, only, measure_line, list);
	if (!err)
		err = list->err;
	if (err)
		goto free_starts;
	if (list->nstarts)
		qsort(list->starts, list->nstarts, sizeof(*list->starts), compare_starts);
	list->progress.total = list->lines;
	err = each_line(loaded, only, put_line, list);
	progress_end(&list->progress);
free_starts:
	for (size_t i = 0; i < list->nstarts; i++)
		free(list->starts[i].name);
	free(list->starts);
	return err;
}

static int list_native(const struct source *source, const struct pp_bpf_prog *only,
		       struct listing *list)
{
	struct pp_block image;
	struct native_code code;
	int err = pp_bpf_image(source->loaded.object, &image);

	if (err)
		return -ENOTSUP;
	code = (struct native_code){
		.arch = source->arch->name,
		.words = source->words,
		.bytes = source->cross.bytes ? source->cross.bytes : image.rx,
		.base = (uintptr_t)image.rx,
		.size = image.size,
	};
	err = native_init(&list->native, &code);
	if (err)
		return err;
	printf("; native code: %zu bytes at %p\n", image.size, image.rx);
	if (source->cross.bytes)
		printf("; for %s, as if it lay there\n", code.arch);
	if (native_is_words(&list->native))
		puts("; shown as words: nothing here disassembles it (libllvm14 would)");
	putchar('\n');
	err = list_all(&source->loaded, only, list);
	native_fini(&list->native);
	return err;
}

static int dump(const struct settings *set, const struct source *source)
{
	const struct loaded *loaded = &source->loaded;
	struct listing list = {.with_native = set->native, .first = true};
	const struct pp_bpf_prog *prog = load_pick(loaded, input_name(set->file), set->prog);
	const struct pp_bpf_prog *only = set->prog ? prog : NULL;
	int err;

	if (!prog)
		return -1;
	err = set->native ? list_native(source, only, &list) : list_all(loaded, only, &list);
	if (err == -ENOTSUP)
		cli_error("%s: no native code: this machine has no JIT", input_name(set->file));
	else if (err)
		cli_error("%s: %s", input_name(set->file), strerror(-err));
	return err;
}

/* NULL after an error message. */
static const struct jit_arch *find_arch(const char *name)
{
	const struct jit_arch *arch = name ? jit_arch_by_name(name) : jit_host_arch();

	if (!arch && name)
		cli_error("--arch: no JIT for '%s': there are x86-64, arm64 and riscv64", name);
	else if (!arch)
		cli_error("no native code: this machine has no JIT (say --arch)");
	return arch;
}

static int load_and_dump(const struct settings *set, const struct bytes *file)
{
	struct source source = {
		.arch = set->native ? find_arch(set->arch) : NULL,
		.words = set->words,
	};
	struct native_for native = {.arch = source.arch, .mem = &source.cross.mem};
	struct load_opts opts = {
		.name = input_name(set->file),
		.raw = set->raw,
		.hint = set->raw ? "leave out --raw" : "say --raw",
		.flags = PP_BPF_TRUSTED | (set->native ? PP_BPF_KEEP_LINES : PP_BPF_NO_JIT),
		.native = set->arch ? &native : NULL,
	};
	int err;

	if (set->native && !source.arch)
		return -1;
	if (set->arch && cross_features(source.arch, set->features, &native.features))
		return -1;
	cross_init(&source.cross);
	native.stand_in = source.cross.stand_in;
	err = load_object(&opts, file, &source.loaded);
	if (err)
		return err;
	err = dump(set, &source);
	load_fini(&source.loaded);
	cross_fini(&source.cross);
	return err;
}

int dump_main(int argc, char **argv)
{
	struct settings set = {0};
	struct bytes file;
	int status = cli_parse(&command, argc, argv, &set);

	if (status != CLI_GO)
		return status;
	if (set.arch && !set.native)
		return cli_usage("--arch goes with --native");
	if (set.words && !set.native)
		return cli_usage("--words goes with --native");
	if (set.features && !set.arch)
		return cli_usage("--features goes with --arch");
	if (input_read(set.file, &file))
		return CLI_FAILED;
	status = load_and_dump(&set, &file) ? CLI_FAILED : CLI_OK;
	input_free(&file);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* load.c - from the bytes of a file to a loaded object; see load.h */
#include "load.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What no longer fits is dropped: the first reasons are the ones that matter. */
static void keep_reason(void *ctx, const char *message)
{
	struct reasons *reasons = ctx;
	size_t room = sizeof(reasons->text) - reasons->len;
	int len = snprintf(reasons->text + reasons->len, room, "%s\n", message);

	if (len > 0 && (size_t)len < room)
		reasons->len += (size_t)len;
}

static void keep_heap_reason(void *ctx, const char *message)
{
	char line[600];

	snprintf(line, sizeof(line), "executable memory: %s", message);
	keep_reason(ctx, line);
}

/* Report that what @name stands for failed with @err. */
static void report(struct reasons *reasons, int err, const char *name)
{
	char *text = reasons->text;
	char *line;

	reasons->text[reasons->len] = '\0';
	if (!reasons->len)
		cli_error("%s: %s", name, strerror(-err));
	while ((line = strsep(&text, "\n"))) {
		if (*line)
			cli_error("%s", line);
	}
}

static int make_heap(enum pp_writer writer, struct loaded *loaded)
{
	struct pp_opts opts = {
		.size = sizeof(opts),
		.anchor = (const void *)(uintptr_t)pp_bpf_run, /* calls of helpers reach it */
		.writer = writer,
		.log = keep_heap_reason,
		.log_ctx = &loaded->reasons,
	};

	return pp_heap_new(&opts, &loaded->heap);
}

static void print_text(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	fwrite(text, 1, len, stderr);
}

static int open_bytes(const struct load_opts *opts, const struct bytes *file,
		      const struct pp_bpf_opts *bpf, struct pp_bpf_object **object)
{
	if (opts->raw)
		return pp_bpf_open_raw(file->at, file->size, bpf, object);
	return pp_bpf_open_mem(file->at, file->size, bpf, object);
}

static int open_and_load(const struct load_opts *opts, const struct bytes *file,
			 struct loaded *loaded)
{
	struct pp_bpf_opts bpf = {
		.size = sizeof(bpf),
		.heap = loaded->heap,
		.name = opts->name,
		.flags = opts->flags,
		.budget = opts->budget,
		.log = keep_reason,
		.log_ctx = &loaded->reasons,
		.print = print_text,
	};
	int err = open_bytes(opts, file, &bpf, &loaded->object);

	if (!err && opts->prepare)
		err = opts->prepare(opts->prepare_ctx, loaded->object);
	if (!err)
		err = opts->native ? object_load_for(loaded->object, opts->native)
				   : pp_bpf_load(loaded->object);
	return err;
}

static int check_kind(const struct load_opts *opts, const struct bytes *file)
{
	bool is_elf = file->size >= SELFMAG && memcmp(file->at, ELFMAG, SELFMAG) == 0;

	if (!file->size)
		cli_error("%s: is empty", opts->name);
	else if (is_elf && opts->raw)
		cli_error("%s: is an ELF object, not raw instructions (%s)", opts->name,
			  opts->hint);
	else if (!is_elf && !opts->raw)
		cli_error("%s: not an ELF object (raw instructions? then %s)", opts->name,
			  opts->hint);
	else
		return 0;
	return -1;
}

int load_object(const struct load_opts *opts, const struct bytes *file, struct loaded *loaded)
{
	int err = 0;

	*loaded = (struct loaded){0};
	if (check_kind(opts, file))
		return -1;
	if (!(opts->flags & PP_BPF_NO_JIT) && !opts->native)
		err = make_heap(opts->writer, loaded);
	if (!err)
		err = open_and_load(opts, file, loaded);
	if (!err)
		return 0;
	report(&loaded->reasons, err, opts->name);
	load_fini(loaded);
	return -1;
}

void load_fini(struct loaded *loaded)
{
	pp_bpf_close(loaded->object);
	pp_heap_free(loaded->heap);
	loaded->object = NULL;
	loaded->heap = NULL;
}

static void report_names(const struct loaded *loaded, const char *file, const char *name)
{
	const struct pp_bpf_prog *prog = NULL;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	const char *lead = "; there are: ";

	while (to && (prog = pp_bpf_prog_next(loaded->object, prog))) {
		fprintf(to, "%s%s", lead, pp_bpf_prog_name(prog));
		lead = ", ";
	}
	if (to)
		fclose(to);
	cli_error("%s: no program '%s'%s", file, name, text ? text : "");
	free(text);
}

struct pp_bpf_prog *load_pick(const struct loaded *loaded, const char *file, const char *name)
{
	struct pp_bpf_prog *prog;

	prog = name ? pp_bpf_prog_by_name(loaded->object, name)
		    : pp_bpf_prog_next(loaded->object, NULL);
	if (!prog && name)
		report_names(loaded, file, name);
	else if (!prog)
		cli_error("%s: has no programs", file);
	return prog;
}

/* SPDX-License-Identifier: MIT */
/* load.c - from the bytes of a file to a loaded object; see load.h */
#include "load.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/*
 * What the libraries said: kept until it is known whether the call failed, so that a
 * fallback that worked stays quiet and all reasons of a failure are shown.
 */
struct reasons {
	char *text;
	size_t len;
	FILE *to;
};

static void keep_reason(void *ctx, const char *message)
{
	struct reasons *reasons = ctx;

	if (reasons->to)
		fprintf(reasons->to, "%s\n", message);
}

static void reasons_init(struct reasons *reasons)
{
	*reasons = (struct reasons){0};
	reasons->to = open_memstream(&reasons->text, &reasons->len);
}

static void show_reasons(char *text, const char *name)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (*line)
			cli_error("%s: %s", name, line);
	}
}

/* End of a call that returned @err: report it if it failed. 0 or -1. */
static int reasons_fini(struct reasons *reasons, int err, const char *name)
{
	if (reasons->to)
		fclose(reasons->to);
	if (err && reasons->len)
		show_reasons(reasons->text, name);
	else if (err)
		cli_error("%s: %s", name, strerror(-err));
	free(reasons->text);
	return err ? -1 : 0;
}

static int make_heap(enum pp_writer writer, struct pp_heap **heap)
{
	struct reasons reasons;
	struct pp_opts opts = {
		.size = sizeof(opts),
		.writer = writer,
		.log = keep_reason,
		.log_ctx = &reasons,
	};
	int err;

	reasons_init(&reasons);
	err = pp_heap_new(&opts, heap);
	return reasons_fini(&reasons, err, "executable memory");
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
			 const struct pp_bpf_opts *bpf, struct pp_bpf_object **object)
{
	struct pp_bpf_object *opened;
	int err = open_bytes(opts, file, bpf, &opened);

	if (err)
		return err;
	if (opts->prepare)
		err = opts->prepare(opened);
	if (!err)
		err = pp_bpf_load(opened);
	if (err)
		pp_bpf_close(opened);
	else
		*object = opened;
	return err;
}

static int check_kind(const struct load_opts *opts, const struct bytes *file)
{
	bool is_elf = file->size >= SELFMAG && memcmp(file->at, ELFMAG, SELFMAG) == 0;

	if (!file->size)
		cli_error("%s: is empty", opts->name);
	else if (is_elf && opts->raw)
		cli_error("%s: is an ELF object, not raw instructions", opts->name);
	else if (!is_elf && !opts->raw)
		cli_error("%s: not an ELF object (raw instructions? then say --raw)", opts->name);
	else
		return 0;
	return -1;
}

int load_object(const struct load_opts *opts, const struct bytes *file, struct loaded *loaded)
{
	struct reasons reasons;
	struct loaded done = {0};
	struct pp_bpf_opts bpf = {
		.size = sizeof(bpf),
		.name = opts->name,
		.flags = opts->flags,
		.log = keep_reason,
		.log_ctx = &reasons,
		.print = print_text,
	};
	int err;

	if (check_kind(opts, file))
		return -1;
	if (!(opts->flags & PP_BPF_NO_JIT) && make_heap(opts->writer, &done.heap))
		return -1;
	bpf.heap = done.heap;
	reasons_init(&reasons);
	err = open_and_load(opts, file, &bpf, &done.object);
	err = reasons_fini(&reasons, err, opts->name);
	if (err)
		load_fini(&done);
	else
		*loaded = done;
	return err;
}

void load_fini(struct loaded *loaded)
{
	pp_bpf_close(loaded->object);
	pp_heap_free(loaded->heap);
	*loaded = (struct loaded){0};
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

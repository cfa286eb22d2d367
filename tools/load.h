/* SPDX-License-Identifier: MIT */
/* load.h - from the bytes of a file to a loaded object; failures are reported here */
#ifndef TOOLS_LOAD_H
#define TOOLS_LOAD_H

#include <progpack_bpf.h>

#include "bpf/prog.h"
#include "input.h"

/*
 * struct load_opts - how to load
 * @name: the file's, for messages
 * @raw: an array of instructions, no ELF object
 * @hint: what to say to load a file of the other kind, "say --raw"
 * @flags: of struct pp_bpf_opts; with PP_BPF_NO_JIT no heap is made
 * @native: code for another machine than this, or NULL; no heap is made then
 * @budget: of struct pp_bpf_opts
 * @prepare: called between opening and loading, or NULL; 0 or -errno
 */
struct load_opts {
	const char *name;
	bool raw;
	const char *hint;
	unsigned int flags;
	enum pp_writer writer;
	const struct native_for *native;
	uint64_t budget;
	int (*prepare)(void *ctx, struct pp_bpf_object *object);
	void *prepare_ctx;
};

/*
 * What the libraries said, a line each: kept until it is known whether the call failed, so that
 * a fallback that worked stays quiet and all reasons of a failure are shown.
 */
struct reasons {
	char text[4096];
	size_t len;
};

/* struct loaded - an object and the heap that its code is in, which both point to @reasons */
struct loaded {
	struct pp_heap *heap;
	struct pp_bpf_object *object;
	struct reasons reasons;
};

/*
 * load_object - 0, or -1 after error messages; programs print to standard error
 * @loaded: stays where it is until load_fini(); on failure there is nothing to give back
 */
int load_object(const struct load_opts *opts, const struct bytes *file, struct loaded *loaded);
void load_fini(struct loaded *loaded);

/*
 * load_pick - the program of that name, or the first one if @name is NULL
 * Return: NULL after an error message that lists those that there are.
 */
struct pp_bpf_prog *load_pick(const struct loaded *loaded, const char *file, const char *name);

#endif

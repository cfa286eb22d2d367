/* SPDX-License-Identifier: MIT */
/* prog.c - running programs, and looking at them */
#include "bpf/prog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/helper.h"
#include "bpf/object.h"
#include "bpf/rcu.h"

#define LINE_MAX_TEXT 256

struct pp_bpf_prog *pp_bpf_prog_next(struct pp_bpf_object *object, const struct pp_bpf_prog *prev)
{
	size_t next = prev ? (size_t)(prev - object->progs) + 1 : 0;

	return next < object->nprogs ? &object->progs[next] : NULL;
}

static struct pp_bpf_prog *prog_of(struct pp_bpf_object *object, uint32_t func)
{
	for (uint32_t i = 0; i < object->nprogs; i++) {
		if (object->progs[i].func == func)
			return &object->progs[i];
	}
	return NULL;
}

struct pp_bpf_prog *pp_bpf_prog_by_name(struct pp_bpf_object *object, const char *name)
{
	for (uint32_t i = 0; i < object->nprogs; i++) {
		if (!strcmp(pp_bpf_prog_name(&object->progs[i]), name))
			return &object->progs[i];
	}
	for (uint32_t i = 0; i < object->naliases; i++) {
		if (!strcmp(object->aliases[i].name, name))
			return prog_of(object, object->aliases[i].func);
	}
	return NULL;
}

const char *pp_bpf_prog_name(const struct pp_bpf_prog *prog)
{
	return prog->object->funcs[prog->func].name;
}

const char *pp_bpf_prog_section(const struct pp_bpf_prog *prog)
{
	return prog->object->funcs[prog->func].section;
}

void pp_bpf_enter(void)
{
	rcu_enter();
}

void pp_bpf_leave(void)
{
	rcu_leave();
	map_reclaim();
}

static uint64_t interpret(const struct pp_bpf_prog *prog, void *data, size_t len)
{
	const struct pp_bpf_object *before = trace_enter(prog->object);
	uint64_t result = interp_run(&prog->object->unit, prog->func, (uintptr_t)data, len);

	trace_enter(before);
	return result;
}

int pp_bpf_run(const struct pp_bpf_prog *prog, void *data, size_t len, uint64_t *result)
{
	if (!prog->native)
		return pp_bpf_interpret(prog, data, len, result);
	pp_bpf_enter();
	*result = prog->native(data, len);
	pp_bpf_leave();
	return 0;
}

int pp_bpf_interpret(const struct pp_bpf_prog *prog, void *data, size_t len, uint64_t *result)
{
	if (!prog->object->loaded)
		return -EINVAL;
	pp_bpf_enter();
	*result = interpret(prog, data, len);
	pp_bpf_leave();
	return 0;
}

pp_bpf_entry_fn pp_bpf_prog_entry(const struct pp_bpf_prog *prog)
{
	return prog->native;
}

size_t pp_bpf_prog_native_size(const struct pp_bpf_prog *prog)
{
	const uint32_t *entry = prog->object->image.entry;

	return prog->native ? entry[prog->func + 1] - entry[prog->func] : 0;
}

int pp_bpf_image(const struct pp_bpf_object *object, struct pp_block *image)
{
	if (!object->image.rx)
		return -ENOENT;
	*image = (struct pp_block){.rx = object->image.rx, .size = object->image.size};
	return 0;
}

/* struct listing - functions that were met: @seen by number, @queue in that order, some @listed */
struct listing {
	const struct pp_bpf_object *object;
	pp_bpf_line_fn fn;
	void *ctx;
	bool *seen;
	uint32_t *queue;
	uint32_t queued, listed;
};

static void enqueue(struct listing *listing, uint32_t func)
{
	if (listing->seen[func])
		return;
	listing->seen[func] = true;
	listing->queue[listing->queued++] = func;
}

static void set_native(const struct listing *listing, struct pp_bpf_line *line, uint32_t from,
		       uint32_t to)
{
	line->native = listing->object->image.rx + from;
	line->native_size = to - from;
}

static void list_prologue(const struct listing *listing, const struct func *func, uint32_t number)
{
	const struct jit_image *image = &listing->object->image;
	struct pp_bpf_line line = {
		.function = func->name,
		.section = func->section,
		.pc = func->section_pc,
	};

	if (!image->at)
		return;
	set_native(listing, &line, image->entry[number], image->at[func->start]);
	listing->fn(listing->ctx, &line);
}

static void list_insn(struct listing *listing, const struct func *func, uint32_t number, uint32_t i)
{
	const struct jit_image *image = &listing->object->image;
	const struct unit *unit = &listing->object->unit;
	const struct insn *in = &unit->ins[i];
	char text[LINE_MAX_TEXT];
	struct pp_bpf_line line = {
		.function = !image->at && i == func->start ? func->name : NULL,
		.section = func->section,
		.pc = func->section_pc + in->pc - func->pc,
		.text = text,
	};

	disasm(unit, i, text, sizeof(text));
	if (image->at)
		set_native(listing, &line, image->at[i],
			   i + 1 < func->end ? image->at[i + 1] : image->entry[number + 1]);
	if (in->kind == INSN_CALL)
		enqueue(listing, in->target);
	listing->fn(listing->ctx, &line);
}

static void list_func(struct listing *listing, uint32_t number)
{
	const struct func *func = &listing->object->unit.funcs[number];

	list_prologue(listing, func, number);
	for (uint32_t i = func->start; i < func->end; i++)
		list_insn(listing, func, number, i);
}

/* A function and all that it calls, but for those that were met before. */
static void list_from(struct listing *listing, uint32_t func)
{
	enqueue(listing, func);
	while (listing->listed < listing->queued)
		list_func(listing, listing->queue[listing->listed++]);
}

static int listing_init(struct listing *listing, const struct pp_bpf_object *object,
			pp_bpf_line_fn fn, void *ctx)
{
	*listing = (struct listing){.object = object, .fn = fn, .ctx = ctx};
	if (!object->loaded)
		return -EINVAL;
	listing->seen = calloc(object->nfuncs, sizeof(*listing->seen));
	listing->queue = calloc(object->nfuncs, sizeof(*listing->queue));
	return listing->seen && listing->queue ? 0 : -ENOMEM;
}

static void listing_fini(struct listing *listing)
{
	free(listing->queue);
	free(listing->seen);
}

int pp_bpf_prog_lines(const struct pp_bpf_prog *prog, pp_bpf_line_fn fn, void *ctx)
{
	struct listing listing;
	int err = listing_init(&listing, prog->object, fn, ctx);

	if (!err)
		list_from(&listing, prog->func);
	listing_fini(&listing);
	return err;
}

int pp_bpf_lines(const struct pp_bpf_object *object, pp_bpf_line_fn fn, void *ctx)
{
	struct listing listing;
	int err = listing_init(&listing, object, fn, ctx);

	for (uint32_t i = 0; i < object->nprogs && !err; i++)
		list_from(&listing, object->progs[i].func);
	for (uint32_t i = 0; i < object->nfuncs && !err; i++)
		list_from(&listing, i);
	listing_fini(&listing);
	return err;
}

/* SPDX-License-Identifier: MIT */
/* prog.c - running programs, and looking at them */
#include "bpf/prog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/helper.h"
#include "bpf/life.h"
#include "bpf/object.h"
#include "bpf/rcu.h"
#include "bpf/regions.h"

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
	life_reclaim();
}

/*
 * struct call - of a program, on one of the engines
 * @enter: of native code that is guarded: jit.h
 */
struct call {
	const struct pp_bpf_prog *prog;
	void *data;
	size_t len;
	bool native;
	struct guard *guard;
	jit_enter_fn enter;
};

static uint64_t call_plain(const struct call *call)
{
	if (call->native)
		return call->prog->native(call->data, call->len);
	return interp_run(&call->prog->object->unit, call->prog->func, (uintptr_t)call->data,
			  call->len);
}

/* For fault_run(). */
static uint64_t call_guarded(void *r1, uint64_t r2)
{
	const struct call *call = r1;

	(void)r2;
	if (call->native)
		return call->enter(call->guard, call->prog->inner);
	return interp_guarded(call->guard, call->prog->func);
}

static void tell_stop(const struct pp_bpf_object *object, const struct fault_run *run,
		      struct pp_bpf_stop *stop)
{
	const struct unit *unit = &object->unit;
	const struct func *func = unit_func_of(unit, run->insn);

	*stop = (struct pp_bpf_stop){
		.function = func->name,
		.section = func->section,
		.pc = func->section_pc + unit->ins[run->insn].pc - func->pc,
		.address = run->address,
	};
}

static int run_guarded(struct call *call, uint64_t *result, struct pp_bpf_stop *stop)
{
	const struct pp_bpf_object *object = call->prog->object;
	const struct pp_bpf_object *traced = trace_interpreted();
	struct guard guard, *before;
	struct fault_run run;
	int err;

	guard.unit = &object->unit;
	guard.ops = &region_ops;
	guard.owner = object;
	guard.left = object->opts.budget < INT64_MAX ? (int64_t)object->opts.budget : INT64_MAX;
	if (!object->opts.budget)
		guard.left = INT64_MAX;
	/* cppcheck-suppress ctuuninitvar ; what it reads is set */
	guard_init(&guard, call->data, call->len);
	/* cppcheck-suppress autoVariables ; the call ends first */
	call->guard = &guard;
	call->enter = jit_image_enter(&object->image);
	before = guard_enter(&guard);
	err = fault_run(call_guarded, call, 0, result, &run);
	guard_enter(before);
	trace_enter(traced); /* it may have ended in a tail call */
	spin_release();
	if (err && stop)
		tell_stop(guard.at, &run, stop);
	return err;
}

static int run_call(struct call *call, uint64_t *result, struct pp_bpf_stop *stop)
{
	if (call->prog->object->unit.guarded)
		return run_guarded(call, result, stop);
	*result = call_plain(call);
	return 0;
}

/* Whose program is interpreted: for bpf_trace_printk(), however the run ends. */
static int interpret(struct call *call, uint64_t *result, struct pp_bpf_stop *stop)
{
	const struct pp_bpf_object *before = trace_enter(call->prog->object);
	int err = run_call(call, result, stop);

	trace_enter(before);
	return err;
}

static int run(const struct pp_bpf_prog *prog, bool native, struct call *call, uint64_t *result,
	       struct pp_bpf_stop *stop)
{
	int err;

	if (!prog->object->loaded)
		return -EINVAL;
	call->prog = prog;
	call->native = native;
	pp_bpf_enter();
	err = (native ? run_call : interpret)(call, result, stop);
	pp_bpf_leave();
	return err;
}

int pp_bpf_run_stop(const struct pp_bpf_prog *prog, void *data, size_t len, uint64_t *result,
		    struct pp_bpf_stop *stop)
{
	struct call call = {.data = data, .len = len};

	return run(prog, prog->native, &call, result, stop);
}

int pp_bpf_run(const struct pp_bpf_prog *prog, void *data, size_t len, uint64_t *result)
{
	struct call call = {.data = data, .len = len};

	return run(prog, prog->native, &call, result, NULL);
}

int pp_bpf_interpret(const struct pp_bpf_prog *prog, void *data, size_t len, uint64_t *result)
{
	struct call call = {.data = data, .len = len};

	return run(prog, false, &call, result, NULL);
}

pp_bpf_entry_fn pp_bpf_prog_entry(const struct pp_bpf_prog *prog)
{
	return prog->object->unit.guarded ? NULL : prog->native;
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

/* SPDX-License-Identifier: MIT */
/* tail.c - see tail.h */
#include "bpf/tail.h"

#include <errno.h>

#include "bpf/guard.h"
#include "bpf/helper.h"
#include "bpf/map_slots.h"

static uint64_t error(int err)
{
	return (uint64_t)(int64_t)err;
}

/* The index has 32 bits, as the kernel's. @left: tail calls */
static int find(uint64_t at, uint64_t index, uint64_t left, const struct pp_bpf_prog **prog)
{
	const struct map *map = (const void *)(uintptr_t)at;

	if (map->ops != &map_progs_ops)
		return -EINVAL;
	if ((uint32_t)index >= map->info.max_entries)
		return -E2BIG;
	*prog = map_prog_at(map, (uint32_t)index);
	if (!*prog)
		return -ENOENT;
	return left ? 0 : -ELOOP;
}

uint64_t tail_native(uint64_t left_at, uint64_t map, uint64_t index, uint64_t r4, uint64_t r5)
{
	uint64_t *left = (void *)(uintptr_t)left_at;
	const struct pp_bpf_prog *prog;
	int err = find(map, index, *left, &prog);

	(void)r4, (void)r5;
	if (!err && (!prog->native || prog->object->unit.guarded))
		err = -ENOTSUP;
	if (err)
		return error(err);
	--*left;
	return (uintptr_t)prog->inner;
}

/* ---- guarded ---- */

static uint64_t run_interpreted(const struct pp_bpf_prog *prog, struct guard *guard)
{
	const struct pp_bpf_object *before = trace_enter(prog->object);
	uint64_t result = interp_guarded(guard, prog->func);

	trace_enter(before);
	return result;
}

/* What it takes of the budget, the run has taken. */
static uint64_t run_within(struct guard *outer, uint64_t r1, const struct pp_bpf_prog *prog,
			   bool native)
{
	const void *at = outer->root->at;
	struct guard guard;
	uint64_t result;

	guard.unit = &prog->object->unit;
	guard.owner = outer->root->at = prog->object;
	outer->root->tails--;
	/* cppcheck-suppress ctuuninitvar ; what it reads is set */
	guard_init_tail(&guard, outer, r1);
	guard_enter(&guard);
	if (native && prog->native)
		result = jit_image_enter(&prog->object->image)(&guard, prog->inner);
	else
		result = run_interpreted(prog, &guard);
	guard_enter(outer);
	outer->root->at = at;
	outer->left = guard.left;
	return result;
}

/* What is checked and counted of a run is so to its end. */
static bool is_alike(const struct unit *from, const struct unit *to)
{
	return to->guarded && to->checked == from->checked && to->counted == from->counted;
}

/* @r: r1 .. r3; true if a program has run, whose result is *result */
static bool go_on(struct guard *guard, const uint64_t r[3], bool native, uint64_t *result)
{
	const struct unit *unit = guard->unit;
	const struct pp_bpf_prog *prog;
	int err = find(r[1], r[2], guard->root->tails, &prog);

	if (!err && !is_alike(unit, &prog->object->unit))
		err = -ENOTSUP;
	*result = err ? error(err) : run_within(guard, r[0], prog, native);
	return !err;
}

uint64_t tail_guarded(uint64_t guard_at, uint64_t ctx, uint64_t map, uint64_t index, uint64_t r5)
{
	struct guard *guard = (void *)(uintptr_t)guard_at;
	const uint64_t r[3] = {ctx, map, index};

	(void)r5;
	return go_on(guard, r, true, &guard->args[0]);
}

/* ---- interpreted ---- */

bool tail_interpret(const uint64_t *r, struct guard *guard, uint64_t *left, uint64_t *result)
{
	const struct pp_bpf_object *before;
	const struct pp_bpf_prog *prog;
	int err;

	if (guard)
		return go_on(guard, &r[1], false, result);
	err = find(r[2], r[3], *left, &prog);
	if (!err && prog->object->unit.guarded)
		err = -ENOTSUP;
	if (err) {
		*result = error(err);
		return false;
	}
	--*left;
	before = trace_enter(prog->object);
	*result = interp_tail(&prog->object->unit, prog->func, r[1], left);
	trace_enter(before);
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "bpf/callback.h"

#include <errno.h>

#include "bpf/guard.h"
#include "bpf/helper.h"
#include "os/fault.h"

typedef uint64_t (*native_fn)(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

/* Is it one of the program that this thread interprets? Native code of that may be another arch's.
 */
static bool is_interpreted(const struct func *func)
{
	const struct pp_bpf_object *object = trace_interpreted();
	const struct unit *unit = object ? &object->unit : NULL;

	return unit && func >= unit->funcs && func < unit->funcs + unit->nfuncs;
}

static uint64_t run_in(struct guard *guard, const struct func *func)
{
	const struct pp_bpf_object *object = guard->owner;

	if (is_interpreted(func))
		return interp_guarded(guard, (uint32_t)(func - guard->unit->funcs));
	return jit_image_enter(&object->image)(guard, func->native);
}

/* With frames of its own; what it takes of the budget, the run has taken. */
static uint64_t run_guarded(const struct func *func, struct guard *outer, const uint64_t args[4],
			    size_t key_size)
{
	const struct guard_span key = {args[1], args[1] + key_size, false};
	struct guard guard;
	uint64_t result;

	if (outer->depth == GUARD_DEPTH)
		fault_end(-ELOOP, func->start, 0);
	guard_init_inner(&guard, outer, args, key);
	guard_enter(&guard);
	result = run_in(&guard, func);
	guard_enter(outer);
	outer->left = guard.left;
	return result;
}

/* Of functions that are not guarded: a guarded run may end in the middle, and counts itself. */
static _Thread_local uint32_t active;

bool callback_has_room(void)
{
	return active < BPF_MAX_DEPTH;
}

/* Native functions follow the C ABI, those of the interpreter begin with fresh frames. */
static uint64_t call(const struct func *func, const uint64_t args[4])
{
	const struct unit *unit;

	if (!is_interpreted(func))
		return ((native_fn)(uintptr_t)func->native)(args[0], args[1], args[2], args[3], 0);
	unit = &trace_interpreted()->unit;
	return interp_call(unit, (uint32_t)(func - unit->funcs), args);
}

uint64_t callback_run(uint64_t function, const uint64_t args[4], size_t key_size)
{
	const struct func *func = (const void *)(uintptr_t)function;
	struct guard *guard = guard_of(func);
	uint64_t result;

	if (guard)
		return run_guarded(func, guard, args, key_size);
	active++;
	result = call(func, args);
	active--;
	return result;
}

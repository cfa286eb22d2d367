/* SPDX-License-Identifier: MIT */
#include "bpf/callback.h"

#include "bpf/helper.h"

typedef uint64_t (*native_fn)(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

/* Is it one of the program that this thread interprets? Native code of that may be another arch's.
 */
static bool is_interpreted(const struct func *func)
{
	const struct pp_bpf_object *object = trace_interpreted();
	const struct unit *unit = object ? &object->unit : NULL;

	return unit && func >= unit->funcs && func < unit->funcs + unit->nfuncs;
}

/* Native functions follow the C ABI, those of the interpreter begin with fresh frames. */
uint64_t callback_run(uint64_t function, const uint64_t args[4])
{
	const struct func *func = (const void *)(uintptr_t)function;
	const struct unit *unit;

	if (!is_interpreted(func))
		return ((native_fn)(uintptr_t)func->native)(args[0], args[1], args[2], args[3], 0);
	unit = &trace_interpreted()->unit;
	return interp_call(unit, (uint32_t)(func - unit->funcs), args);
}

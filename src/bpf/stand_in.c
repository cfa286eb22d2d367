/* SPDX-License-Identifier: MIT */
/* stand_in.c - see stand_in.h */
#include "bpf/stand_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_STEP 16u /* as compilers align them */
#define STRUCT_STEP 128u
#define VALUE_STEP 4096u

_Static_assert(sizeof(struct pp_bpf_map) <= STRUCT_STEP && sizeof(struct func) <= STRUCT_STEP &&
		       sizeof(struct unit) <= STRUCT_STEP,
	       "they would overlap");

/* struct plan - where the first of each kind is said to lie; the others follow by its step */
struct plan {
	uintptr_t helpers, unit, funcs, maps, values;
};

static struct plan make_plan(const struct unit *unit, uint32_t nmaps, uintptr_t at)
{
	struct plan plan = {.helpers = at + 2 * FUNCTION_STEP};

	plan.unit = plan.helpers + (uintptr_t)unit->nhelpers * FUNCTION_STEP;
	plan.funcs = plan.unit + STRUCT_STEP;
	plan.maps = plan.funcs + (uintptr_t)unit->nfuncs * STRUCT_STEP;
	plan.values = plan.maps + (uintptr_t)nmaps * STRUCT_STEP;
	plan.values = (plan.values + VALUE_STEP - 1) / VALUE_STEP * VALUE_STEP;
	return plan;
}

/* Of the first byte of each map's values; one more is where all end. */
static uintptr_t *place_values(const struct pp_bpf_object *object, uintptr_t at)
{
	uintptr_t *values = calloc(object->nmaps + (size_t)1, sizeof(*values));

	if (!values)
		return NULL;
	for (uint32_t i = 0; i < object->nmaps; i++) {
		uintptr_t pages = object->maps[i].info.value_size / VALUE_STEP + 1u;

		values[i] = at;
		at += pages * VALUE_STEP;
	}
	values[object->nmaps] = at;
	return values;
}

static void move_ref(struct insn *in, const struct plan *plan, const uintptr_t *values)
{
	uintptr_t to;

	switch ((enum imm_ref)in->op) {
	case REF_MAP: to = plan->maps + (uintptr_t)in->target * STRUCT_STEP; break;
	case REF_VALUE: to = values[in->target] + (uint32_t)in->off; break;
	case REF_FUNC: to = plan->funcs + (uintptr_t)in->target * STRUCT_STEP; break;
	case REF_NONE:
	default: return;
	}
	in->imm = (int64_t)to;
}

static int move_insns(struct stand_in *stand_in, const struct pp_bpf_object *object,
		      const struct plan *plan)
{
	uintptr_t *values = place_values(object, plan->values);
	struct unit *unit = &stand_in->unit;

	unit->ins = reallocarray(NULL, unit->nins, sizeof(*unit->ins));
	if (!values || !unit->ins) {
		free(values);
		return -ENOMEM;
	}
	memcpy(unit->ins, object->unit.ins, unit->nins * sizeof(*unit->ins));
	for (uint32_t i = 0; i < unit->nins; i++) {
		if (unit->ins[i].kind == INSN_IMM64)
			move_ref(&unit->ins[i], plan, values);
	}
	free(values);
	return 0;
}

static int move_helpers(struct stand_in *stand_in, const struct plan *plan)
{
	struct unit *unit = &stand_in->unit;
	struct helper *helpers;

	if (!unit->nhelpers)
		return 0;
	helpers = reallocarray(NULL, unit->nhelpers, sizeof(*helpers));
	if (!helpers)
		return -ENOMEM;
	memcpy(helpers, unit->helpers, unit->nhelpers * sizeof(*helpers));
	for (uint32_t i = 0; i < unit->nhelpers; i++) {
		uintptr_t fn = plan->helpers + (uintptr_t)i * FUNCTION_STEP;

		memcpy(&helpers[i].fn, &fn, sizeof(fn)); /* a number: nothing is called there */
	}
	unit->helpers = stand_in->helpers = helpers;
	return 0;
}

int stand_in_init(struct stand_in *stand_in, const struct pp_bpf_object *object, uintptr_t at)
{
	const struct plan plan = make_plan(&object->unit, object->nmaps, at);
	int err;

	*stand_in = (struct stand_in){
		.unit = object->unit,
		.outside = {.unit = plan.unit,
			    .calls_native = at,
			    .packet_load = at + FUNCTION_STEP},
	};
	err = move_insns(stand_in, object, &plan);
	if (!err)
		err = move_helpers(stand_in, &plan);
	if (err)
		stand_in_fini(stand_in);
	return err;
}

void stand_in_fini(struct stand_in *stand_in)
{
	free(stand_in->unit.ins);
	free(stand_in->helpers);
}

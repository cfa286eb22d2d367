/* SPDX-License-Identifier: MIT */
/*
 * inline.c - lookups in arrays, without the call: what r1 is, is known at load
 *
 *	r1 = map		r1 = the array's values
 *	r2 = r10 ..		r2 = r10 ..
 *	call lookup	->	w0 = *(u32 *)(r2 + 0)
 *				if r0 >= max_entries goto miss
 *				r0 <<= 3	(r0 *= stride)
 *				r0 += r1
 *				goto done
 *			miss:	r0 = 0
 *			done:
 *
 * Done once, on the unit: interpreter, JITs and listings all see the same. The insns carry the pc
 *of the call. Left as they are: calls whose r1 comes from another block, or is used otherwise, and
 *those behind which a program reads r1 .. r5, which a call leaves zero.
 */
#include "bpf/inline.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/flow.h"
#include "bpf/helper_map.h"

#define NONE UINT32_MAX
#define LENGTH 6u /* of what stands for a call */

/*
 * struct work - by insn, as decoded
 * @label: something jumps there
 * @def: of a call that is inlined: the insn that sets its r1; of that one: itself; else NONE
 * @at: where it goes; of nins: how many there are then
 */
struct work {
	struct pp_bpf_object *object;
	bool *label;
	uint32_t *def, *at;
	uint32_t count;
};

static bool is_lookup(const struct unit *unit, const struct insn *in)
{
	return in->kind == INSN_HELPER && unit->helpers[in->target].fn == map_lookup_elem;
}

static bool has_lookups(const struct unit *unit)
{
	for (uint32_t i = 0; i < unit->nhelpers; i++) {
		if (unit->helpers[i].fn == map_lookup_elem)
			return true;
	}
	return false;
}

static bool is_array(const struct pp_bpf_object *object, const struct insn *in)
{
	const struct map *map;

	if (in->kind != INSN_IMM64 || in->op != REF_MAP)
		return false;
	map = object->maps[in->target].core;
	return map->ops == &map_array_ops && map->info.max_entries <= INT32_MAX &&
	       map->array.stride <= INT32_MAX;
}

/* Straight on, and r1 is not looked at; fields that an insn does not use are 0. */
static bool leaves_r1(const struct insn *in)
{
	return !insn_calls(in) && !insn_jumps(in) && in->kind != INSN_EXIT && in->dst != 1 &&
	       in->src != 1;
}

/* The insn that sets r1 to an array for the call at @i, or NONE. */
static uint32_t find_def(const struct work *work, uint32_t i)
{
	const struct insn *ins = work->object->unit.ins;

	while (i && !work->label[i]) {
		i--;
		if (ins[i].dst == 1 && is_array(work->object, &ins[i]))
			return i;
		if (!leaves_r1(&ins[i]))
			break;
	}
	return NONE;
}

static void find_labels(struct work *work)
{
	const struct unit *unit = &work->object->unit;

	for (uint32_t i = 0; i < unit->nins; i++) {
		if (insn_jumps(&unit->ins[i]))
			work->label[unit->ins[i].target] = true;
	}
	for (uint32_t f = 0; f < unit->nfuncs; f++)
		work->label[unit->funcs[f].start] = true;
}

static int find_calls(struct work *work)
{
	const struct unit *unit = &work->object->unit;
	struct flow flow;
	int err = flow_init(&flow, unit);

	if (err)
		return err;
	for (uint32_t i = 0; i < unit->nins; i++) {
		uint32_t def = is_lookup(unit, &unit->ins[i]) ? find_def(work, i) : NONE;

		work->def[i] = NONE;
		if (def == NONE || flow_undefined(&flow, unit, i))
			continue;
		work->def[i] = work->def[def] = def;
		work->count++;
	}
	flow_fini(&flow);
	return 0;
}

static bool is_call(const struct work *work, uint32_t i)
{
	return work->def[i] != NONE && work->def[i] != i;
}

static void lay_out(struct work *work)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < work->object->unit.nins; i++) {
		work->at[i] = at;
		at += is_call(work, i) ? LENGTH : 1;
	}
	work->at[work->object->unit.nins] = at;
}

/* r0 *= @stride, a multiple of 8 */
static struct insn multiply(uint32_t stride)
{
	struct insn in = {.kind = INSN_ALU, .op = ALU_MUL, .flags = INSN_W64 | INSN_IMM};

	in.imm = stride;
	if (stride & (stride - 1))
		return in;
	in.op = ALU_LSH;
	in.imm = __builtin_ctz(stride);
	return in;
}

static void put_lookup(const struct map *map, uint32_t pc, uint32_t at, struct insn *to)
{
	const uint32_t max = map->info.max_entries, stride = (uint32_t)map->array.stride;
	const struct insn lookup[LENGTH] = {
		{.kind = INSN_LOAD, .src = 2, .bytes = sizeof(uint32_t)},
		{.kind = INSN_BRANCH,
		 .op = COND_GE,
		 .flags = INSN_W64 | INSN_IMM,
		 .target = at + LENGTH - 1,
		 .imm = max},
		multiply(stride),
		{.kind = INSN_ALU, .op = ALU_ADD, .src = 1, .flags = INSN_W64},
		{.kind = INSN_JUMP, .target = at + LENGTH},
		{.kind = INSN_ALU, .op = ALU_MOV, .flags = INSN_W64 | INSN_IMM},
	};

	for (uint32_t i = 0; i < LENGTH; i++) {
		to[i] = lookup[i];
		to[i].pc = pc;
	}
}

static const struct map *map_of(const struct work *work, uint32_t i)
{
	return work->object->maps[work->object->unit.ins[work->def[i]].target].core;
}

static void put(const struct work *work, uint32_t i, struct insn *ins)
{
	const struct insn *in = &work->object->unit.ins[i];
	struct insn *to = &ins[work->at[i]];

	if (is_call(work, i)) {
		put_lookup(map_of(work, i), in->pc, work->at[i], to);
		return;
	}
	*to = *in;
	if (insn_jumps(in))
		to->target = work->at[in->target];
	if (work->def[i] == NONE)
		return;
	to->op = REF_VALUE;
	to->imm = (int64_t)(uintptr_t)map_of(work, i)->array.values;
}

static int rewrite(const struct work *work)
{
	struct unit *unit = &work->object->unit;
	struct insn *ins = reallocarray(NULL, work->at[unit->nins], sizeof(*ins));

	if (!ins)
		return -ENOMEM;
	for (uint32_t i = 0; i < unit->nins; i++)
		put(work, i, ins);
	for (uint32_t f = 0; f < unit->nfuncs; f++) {
		unit->funcs[f].start = work->at[unit->funcs[f].start];
		unit->funcs[f].end = work->at[unit->funcs[f].end];
	}
	free(unit->ins);
	unit->ins = ins;
	unit->nins = work->at[unit->nins];
	return 0;
}

static int run(struct work *work)
{
	int err;

	find_labels(work);
	err = find_calls(work);
	if (err || !work->count)
		return err;
	lay_out(work);
	return rewrite(work);
}

int inline_lookups(struct pp_bpf_object *object)
{
	struct work work = {.object = object};
	size_t n = object->unit.nins;
	int err = -ENOMEM;

	if (!has_lookups(&object->unit))
		return 0;
	work.label = calloc(n, sizeof(*work.label));
	work.def = calloc(n, sizeof(*work.def));
	work.at = calloc(n + 1, sizeof(*work.at));
	if (work.label && work.def && work.at)
		err = run(&work);
	free(work.label);
	free(work.def);
	free(work.at);
	return err;
}

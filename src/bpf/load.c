/* SPDX-License-Identifier: MIT */
/*
 * load.c - from an open object to one that runs: maps, relocations, decoding, native code
 *
 * All or nothing. What an object needs to be loaded stays as it was opened until all steps
 * are done, so a load that failed can be tried again.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/calls.h"
#include "bpf/guard.h"
#include "bpf/helper.h"
#include "bpf/inline.h"
#include "bpf/prog.h"
#include "bpf/stand_in.h"
#include "bpf/tail.h"

static int create_maps(struct pp_bpf_object *object)
{
	int err = 0;

	map_fork_init();
	for (uint32_t i = 0; i < object->nmaps && !err; i++) {
		if (!object->maps[i].reused)
			err = object_make_map(object, &object->maps[i]);
	}
	return err;
}

/* The values of data sections: the file's bytes, with the addresses of this process in them. */
static int fill_data(struct pp_bpf_object *object)
{
	const struct source *source = &object->source;

	for (uint32_t i = 1; i < source->elf.nsections; i++) {
		const struct elf_section *section = &source->elf.sections[i];
		const struct place *place = &source->places[i];

		if (place->kind == PLACE_DATA && section->data && !object->maps[place->at].reused)
			memcpy(map_value_address(object->maps[place->at].core, 0), section->data,
			       section->size);
	}
	return reloc_data(object);
}

static int decode_code(struct pp_bpf_object *object)
{
	const struct source *source = &object->source;
	uint8_t *slots = malloc((size_t)source->nslots * BPF_SLOT);
	int err;

	if (!slots)
		return -ENOMEM;
	memcpy(slots, source->slots, (size_t)source->nslots * BPF_SLOT);
	err = reloc_code(object, slots);
	if (!err)
		err = decode(slots, source->nslots, object->funcs, object->nfuncs, &object->log,
			     &object->unit);
	free(slots);
	return err;
}

static int resolve_ref(struct pp_bpf_object *object, uint32_t at)
{
	struct insn *in = &object->unit.ins[at];
	const struct pp_bpf_map *map;
	const void *value;

	if (in->op == REF_NONE || in->op == REF_FUNC)
		return 0;
	if (in->target >= object->nmaps)
		return unit_error(&object->unit, at, &object->log, -EINVAL, "no such map");
	map = &object->maps[in->target];
	if (in->op == REF_MAP) {
		in->imm = (int64_t)(uintptr_t)map->core;
		return 0;
	}
	value = map_value_address(map->core, (uint32_t)in->off);
	if (!value)
		return unit_error(&object->unit, at, &object->log, -EINVAL,
				  "map '%s' has no value with such a byte", map->name);
	in->imm = (int64_t)(uintptr_t)value;
	return 0;
}

/* Helpers in use are few: a linear search finds those met before. Room doubles. */
static int add_helper(struct pp_bpf_object *object, const struct helper *helper, uint32_t *count,
		      uint32_t *index)
{
	struct helper *helpers = object->helpers;

	for (*index = 0; *index < *count; ++*index) {
		if (helpers[*index].id == helper->id)
			return 0;
	}
	if (!(*count & (*count - 1))) {
		helpers = reallocarray(helpers, *count ? *count * 2u : 1, sizeof(*helpers));
		if (!helpers)
			return -ENOMEM;
		object->helpers = helpers;
	}
	helpers[(*count)++] = *helper;
	return 0;
}

static int resolve_helper(struct pp_bpf_object *object, uint32_t at, uint32_t *count)
{
	struct insn *in = &object->unit.ins[at];
	const struct helper *helper = helper_by_id(object, (uint32_t)in->imm);

	if (!helper)
		return unit_error(&object->unit, at, &object->log, -ENOENT, "no such helper");
	if (helper->tail)
		in->kind = INSN_TAIL;
	return add_helper(object, helper, count, &in->target);
}

/* A call by register may be of any: nobody can tell. */
static int add_all_helpers(struct pp_bpf_object *object, uint32_t *count)
{
	const struct helper *helper = NULL;
	uint32_t index;
	int err = 0;

	while (!err && (helper = helper_next(object, helper)))
		err = add_helper(object, helper, count, &index);
	return err;
}

static int name_maps(struct pp_bpf_object *object)
{
	if (!object->nmaps)
		return 0;
	object->map_names = calloc(object->nmaps, sizeof(*object->map_names));
	if (!object->map_names)
		return -ENOMEM;
	for (uint32_t i = 0; i < object->nmaps; i++)
		object->map_names[i] = object->maps[i].name;
	object->unit.map_names = object->map_names;
	return 0;
}

/* The unit shows helpers and maps only when all are resolved: errors before print numbers. */
static int resolve(struct pp_bpf_object *object)
{
	uint32_t nhelpers = 0, by_register = 0;
	int err = 0;

	for (uint32_t i = 0; i < object->unit.nins && !err; i++) {
		if (object->unit.ins[i].kind == INSN_IMM64)
			err = resolve_ref(object, i);
		else if (object->unit.ins[i].kind == INSN_HELPER)
			err = resolve_helper(object, i, &nhelpers);
		else if (object->unit.ins[i].kind == INSN_CALLX && !by_register++)
			err = add_all_helpers(object, &nhelpers);
	}
	if (err)
		return err;
	object->unit.helpers = object->helpers;
	object->unit.nhelpers = nhelpers;
	return name_maps(object);
}

/* Does it call a helper that needs this? */
static bool needs(const struct pp_bpf_object *object, uint32_t need)
{
	for (uint32_t i = 0; i < object->unit.nhelpers; i++) {
		if (object->unit.helpers[i].needs & need)
			return true;
	}
	return false;
}

static bool prints(const struct pp_bpf_object *object)
{
	return object->opts.print && needs(object, HELPER_PRINTS);
}

static int publish(struct pp_bpf_object *object)
{
	for (uint32_t i = 0; i < object->nprogs; i++) {
		struct pp_bpf_prog *prog = &object->progs[i];
		uintptr_t entry = (uintptr_t)object->image.rx + object->image.entry[prog->func];

		prog->native = (pp_bpf_entry_fn)entry;
		prog->inner = object->funcs[prog->func].native;
	}
	return prints(object) ? trace_add(object) : 0;
}

/* @outside: NULL for code that runs */
static int make_image(struct pp_bpf_object *object, const struct native_for *native,
		      const struct unit *unit, const struct jit_outside *outside)
{
	const struct jit_job job = {
		.arch = native->arch,
		.features = native->features,
		.unit = unit,
		.mem = native->mem,
		.outside = outside,
		.log = &object->log,
		.lines = object->opts.flags & PP_BPF_KEEP_LINES,
	};
	int err;

	object->mem = *native->mem;
	err = jit_compile(&job, &object->image);
	return err ? log_error(&object->log, err, "cannot compile: %s", strerror(-err)) : 0;
}

static int compile_to_run(struct pp_bpf_object *object, const struct native_for *native)
{
	int err = make_image(object, native, &object->unit, NULL);

	return err ? err : publish(object);
}

static int compile_to_look_at(struct pp_bpf_object *object, const struct native_for *native)
{
	struct stand_in stand_in;
	int err = stand_in_init(&stand_in, object, native->stand_in);

	if (err)
		return err;
	err = make_image(object, native, &stand_in.unit, &stand_in.outside);
	stand_in_fini(&stand_in);
	return err;
}

static bool probes(const struct pp_bpf_object *object)
{
	return object->opts.flags & PP_BPF_PROBE || needs(object, HELPER_PROBES);
}

/* What opts ask for, as guard_unit() takes it. */
static unsigned int guards(const struct pp_bpf_object *object)
{
	bool check = !(object->opts.flags & (PP_BPF_PROBE | PP_BPF_TRUSTED));

	return (check ? GUARD_CHECK : 0) | (object->opts.budget ? GUARD_CHARGE : 0);
}

static int guard(struct pp_bpf_object *object)
{
	for (uint32_t i = 0; i < object->unit.nhelpers; i++) {
		if (object->helpers[i].tail)
			object->helpers[i].fn = tail_guarded;
	}
	return guard_unit(&object->unit, guards(object), &object->log);
}

static struct fault_mem fault_mem(const struct jit_mem *mem)
{
	return (struct fault_mem){
		.ctx = mem->ctx,
		.lo = mem->lo,
		.hi = mem->hi,
		.lookup = mem->lookup,
	};
}

/* Nothing of the object can run before. @mem: NULL to interpret */
static int hold_faults(struct pp_bpf_object *object, const struct jit_mem *mem)
{
	struct fault_mem images;
	int err;

	if (!probes(object) && !object->unit.checked)
		return 0;
	if (object->opts.flags & PP_BPF_PROBE)
		unit_may_fault(&object->unit, INSN_PROBE);
	if (mem)
		images = fault_mem(mem);
	err = fault_hold(mem ? &images : NULL);
	if (err)
		return err;
	object->holds_faults = true;
	object->holds_images = mem;
	if (mem)
		object->mem = *mem;
	return 0;
}

static void drop_faults(struct pp_bpf_object *object)
{
	const struct fault_mem images = fault_mem(&object->mem);

	if (object->holds_faults)
		fault_drop(object->holds_images ? &images : NULL);
	object->holds_faults = object->holds_images = false;
}

/* @native: NULL to interpret */
static int make(struct pp_bpf_object *object, const struct native_for *native)
{
	bool runs = native && !native->stand_in;
	int err = create_maps(object);

	if (!err)
		err = fill_data(object);
	if (!err)
		err = reloc_maps(object);
	if (!err)
		err = decode_code(object);
	if (!err)
		err = resolve(object);
	if (!err)
		err = inline_lookups(object);
	if (!err)
		err = calls_check(&object->unit, &object->log);
	if (!err && guards(object))
		err = guard(object);
	if (!err)
		err = calls_tails(&object->unit, &object->log);
	if (!err)
		err = hold_faults(object, runs ? native->mem : NULL);
	if (err)
		return err;
	interp_prepare(&object->unit);
	if (!native || (object->unit.guarded && !native->arch->guard))
		return 0;
	return (runs ? compile_to_run : compile_to_look_at)(object, native);
}

static void free_source(struct source *source)
{
	elf_fini(&source->elf);
	free(source->places);
	free(source->slots);
	*source = (struct source){0};
}

static int load(struct pp_bpf_object *object, const struct native_for *native)
{
	int err = make(object, native);

	object->loaded = !err;
	if (!err)
		err = reloc_progs(object);
	if (err) {
		object->loaded = false;
		load_undo(object);
		return err;
	}
	free_source(&object->source);
	free(object->registered); /* the unit has those it calls */
	object->registered = NULL;
	object->nregistered = 0;
	return 0;
}

void load_undo(struct pp_bpf_object *object)
{
	for (uint32_t i = 0; i < object->nprogs; i++)
		object->progs[i].native = NULL;
	if (object->image.rx) {
		trace_remove(object);
		jit_image_fini(&object->image, &object->mem);
		object->image = (struct jit_image){0};
	}
	drop_faults(object);
	unit_fini(&object->unit);
	object->unit = (struct unit){0};
	free(object->helpers);
	object->helpers = NULL;
	free(object->map_names);
	object->map_names = NULL;
	for (uint32_t i = 0; i < object->nmaps; i++) {
		if (!object->maps[i].reused)
			map_handle_fini(&object->maps[i]);
	}
}

/*
 * The process's heap: made when first needed, kept for good. @creator is set while it is
 * being made, under the lock; the heap must not hold on to the log of an object.
 */
static struct {
	pthread_mutex_t lock;
	struct pp_heap *heap;
	const struct log *creator;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void log_creation(void *ctx, const char *message)
{
	(void)ctx;
	if (process.creator)
		log_line(process.creator, "%s", message);
}

/* Near this library, whose helpers the code calls. */
static int process_heap(const struct log *log, struct pp_heap **heap)
{
	const struct pp_opts opts = {
		.size = sizeof(opts),
		.anchor = (const void *)(uintptr_t)trace_printk,
		.log = log_creation,
	};
	int err = 0;

	pthread_mutex_lock(&process.lock);
	if (!process.heap) {
		process.creator = log;
		err = pp_heap_new(&opts, &process.heap);
		process.creator = NULL;
	}
	*heap = process.heap;
	pthread_mutex_unlock(&process.lock);
	return err;
}

int object_load_for(struct pp_bpf_object *object, const struct native_for *native)
{
	if (object->loaded)
		return log_error(&object->log, -EALREADY, "loaded already");
	return load(object, object->opts.flags & PP_BPF_NO_JIT ? NULL : native);
}

/* On a machine without a JIT, programs are interpreted. */
int object_load_into(struct pp_bpf_object *object, const struct jit_mem *mem)
{
	const struct native_for native = {jit_host_arch(), jit_host_features(), mem, 0};

	return object_load_for(object, native.arch ? &native : NULL);
}

int pp_bpf_load(struct pp_bpf_object *object)
{
	struct pp_heap *heap = object->opts.heap;
	struct jit_mem mem;
	int err = 0;

	if (object->loaded)
		return log_error(&object->log, -EALREADY, "loaded already");
	if (!jit_host_arch() || (object->opts.flags & PP_BPF_NO_JIT))
		return load(object, NULL);
	if (!heap)
		err = process_heap(&object->log, &heap);
	if (err)
		return log_error(&object->log, err, "no heap for native code: %s", strerror(-err));
	mem = jit_mem_heap(heap);
	return object_load_into(object, &mem);
}

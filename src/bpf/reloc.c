/* SPDX-License-Identifier: MIT */
/*
 * reloc.c - relocations: what the compiler left for whoever places code and data
 *
 *	R_BPF_64_64	64-bit load of the address of a map, of a function, or of a byte of data
 *	R_BPF_64_32	call of a function, by its symbol or its section's; of a helper, by name
 *	R_BPF_64_ABS64	address of a byte of data, of a function, or of a map, in data; of a map or
 *			program that is an initial value of a map, in .maps
 *
 * Code gets map and function numbers here, which decode and load.c turn into addresses, so
 * that listings can name them; data gets the addresses themselves. Addends are in place.
 * Relocations of sections that are neither (debug information, BTF) do not concern us.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/helper.h"
#include "bpf/map_slots.h"
#include "bpf/slot.h"

/* llvm/BinaryFormat/ELFRelocs/BPF.def; libelf's header has older numbers. */
enum {
	RELOC_64_64 = 1,
	RELOC_64_ABS64 = 2,
	RELOC_64_32 = 10,
};

/* src of a 64-bit load: RFC 9669 section 5.4 */
enum { LOAD_MAP = 1, LOAD_VALUE = 2 };

/* One relocation, of section @table: the @symbol's address for a place in section @target. */
struct site {
	const struct pp_bpf_object *object;
	const struct elf_symbol *symbol;
	struct elf_reloc reloc;
	uint32_t table, target;
};

__attribute__((format(printf, 2, 3))) static void say(const struct site *site, const char *format,
						      ...)
{
	const struct elf *elf = &site->object->source.elf;
	const struct elf_symbol *symbol = site->symbol;
	const char *name = symbol->name;
	char why[160];
	va_list args;

	if (!*name && symbol->section < elf->nsections)
		name = elf->sections[symbol->section].name;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	log_line(&site->object->log, "section '%s' +0x%" PRIx64 ": relocation %u against '%s': %s",
		 elf->sections[site->target].name, site->reloc.offset, site->reloc.type, name, why);
}

/* A macro, as log_error() is. */
#define refuse(site, error, ...) (say((site), __VA_ARGS__), (error))

static struct place place_of(const struct site *site)
{
	const struct source *source = &site->object->source;

	if (!site->symbol->section || site->symbol->section >= source->elf.nsections)
		return (struct place){PLACE_NONE, 0};
	return source->places[site->symbol->section];
}

/* Undefined symbols have no type: what a table calls is a function. */
static bool is_called(const struct site *site)
{
	const struct elf *elf = &site->object->source.elf;
	uint64_t count = elf->sections[site->table].size / sizeof(Elf64_Rel);

	for (uint64_t i = 0; i < count; i++) {
		struct elf_reloc reloc = elf_reloc_at(elf, site->table, i);

		if (reloc.symbol == site->reloc.symbol && reloc.type == RELOC_64_32)
			return true;
	}
	return false;
}

static int refuse_nowhere(const struct site *site)
{
	if (site->symbol->section == ELF_COMMON)
		return refuse(site, -ENOTSUP,
			      "it is COMMON, in no section (compile with "
			      "-fno-common)");
	if (site->symbol->section)
		return refuse(site, -ENOEXEC, "its section holds neither maps nor data");
	if (is_called(site))
		return refuse(site, -ENOTSUP, "the address of a function that nothing defines");
	return refuse(site, -ENOTSUP, "extern variables are not supported");
}

/* Data or a map, @addend behind the symbol: the map, and the offset in its value. */
static int find_map(const struct site *site, int64_t addend, struct pp_bpf_map **map,
		    uint64_t *offset)
{
	const struct pp_bpf_object *object = site->object;
	struct place place = place_of(site);

	*offset = site->symbol->value + (uint64_t)addend;
	switch (place.kind) {
	case PLACE_DATA:
		*map = &object->maps[place.at];
		if (*offset <= (*map)->info.value_size)
			return 0;
		return refuse(site, -ENOEXEC, "offset %" PRId64 " lies outside of %u bytes",
			      (int64_t)*offset, (*map)->info.value_size);
	case PLACE_MAPS:
		*map = object_find_map(object, site->symbol->section, *offset);
		if (*map)
			return 0;
		return refuse(site, -ENOEXEC, "no map is defined there");
	case PLACE_CODE:
	case PLACE_NONE: break;
	}
	return refuse_nowhere(site);
}

/* Of code, @addend bytes behind the symbol: the slot of the unit, which it checks. */
static int find_slot(const struct site *site, int64_t addend, uint32_t *pc)
{
	const struct elf_symbol *symbol = site->symbol;
	uint64_t offset = symbol->value + (uint64_t)addend;
	uint64_t size = site->object->source.elf.sections[symbol->section].size;

	if (offset % BPF_SLOT || offset >= size)
		return refuse(site, -ENOEXEC,
			      "the address of byte %" PRId64 " of %" PRIu64 " of code",
			      (int64_t)offset, size);
	*pc = place_of(site).at + (uint32_t)(offset / BPF_SLOT);
	return 0;
}

static void put_imm(uint8_t *slot, uint32_t imm)
{
	memcpy(slot + 4, &imm, sizeof(imm));
}

static void put_src(uint8_t *slot, unsigned int src)
{
	slot[1] = (uint8_t)((slot[1] & 0x0f) | src << 4);
}

/* A distance, as in a call: decode finds the function there. */
static int load_address(const struct site *site, int64_t addend, uint8_t *slot, uint32_t pc)
{
	uint32_t to;
	int err = find_slot(site, addend, &to);

	if (err)
		return err;
	put_src(slot, SLOT_IMM64_FUNC);
	put_imm(slot, to - pc - 1);
	put_imm(slot + BPF_SLOT, 0);
	return 0;
}

static int relocate_load(const struct site *site, uint8_t *slot, uint32_t pc)
{
	struct pp_bpf_map *map;
	uint64_t offset, addend;
	int err;

	if (slot[0] != SLOT_IMM64)
		return refuse(site, -ENOEXEC, "not at a 64-bit load");
	addend = (uint32_t)slot_read(slot).imm | (uint64_t)(uint32_t)slot_read(slot + BPF_SLOT).imm
							 << 32;
	if (place_of(site).kind == PLACE_CODE)
		return load_address(site, (int64_t)addend, slot, pc);
	err = find_map(site, (int64_t)addend, &map, &offset);
	if (err)
		return err;
	put_imm(slot, (uint32_t)(map - site->object->maps));
	if (place_of(site).kind == PLACE_MAPS) {
		put_src(slot, LOAD_MAP);
		put_imm(slot + BPF_SLOT, 0);
	} else {
		put_src(slot, LOAD_VALUE);
		put_imm(slot + BPF_SLOT, (uint32_t)offset);
	}
	return 0;
}

static int call_helper(const struct site *site, uint8_t *slot)
{
	const struct helper *helper = helper_by_name(site->object, site->symbol->name);

	if (!helper)
		return refuse(site, -ENOENT, "a function that nothing defines, and no such helper");
	put_src(slot, 0);
	put_imm(slot, helper->id);
	return 0;
}

/* The addend counts slots, less one: a call is relative to the slot behind it. */
static int call_function(const struct site *site, uint8_t *slot, uint32_t pc)
{
	const struct elf_symbol *symbol = site->symbol;
	const struct place place = place_of(site);
	int64_t to = (int64_t)(symbol->value / BPF_SLOT) + slot_read(slot).imm + 1;
	uint64_t slots;

	if (place.kind != PLACE_CODE)
		return refuse(site, -ENOEXEC, "a call into what is not code");
	slots = site->object->source.elf.sections[symbol->section].size / BPF_SLOT;
	if (symbol->value % BPF_SLOT || to < 0 || (uint64_t)to >= slots)
		return refuse(site, -ENOEXEC, "a call to instruction %" PRId64 " of %" PRIu64, to,
			      slots);
	put_src(slot, SLOT_CALL_LOCAL);
	put_imm(slot, (uint32_t)(place.at + to - pc - 1)); /* the unit has < 2^31 slots */
	return 0;
}

static int relocate_call(const struct site *site, uint8_t *slot, uint32_t pc)
{
	if (slot[0] != SLOT_CALL)
		return refuse(site, -ENOEXEC, "not at a call");
	if (!site->symbol->section)
		return call_helper(site, slot);
	return call_function(site, slot, pc);
}

static int relocate_code(const struct site *site, void *slots)
{
	const struct elf_section *section = &site->object->source.elf.sections[site->target];
	uint64_t offset = site->reloc.offset;
	uint32_t pc = site->object->source.places[site->target].at + (uint32_t)(offset / BPF_SLOT);
	uint8_t *slot = (uint8_t *)slots + (size_t)pc * BPF_SLOT;

	if (offset % BPF_SLOT)
		return refuse(site, -ENOEXEC, "not at an instruction");
	if (site->reloc.type == RELOC_64_64 && section->size - offset < 2 * BPF_SLOT)
		return refuse(site, -ENOEXEC, "not at a 64-bit load");
	if (site->reloc.type == RELOC_64_64)
		return relocate_load(site, slot, pc);
	if (site->reloc.type == RELOC_64_32)
		return relocate_call(site, slot, pc);
	return refuse(site, -ENOEXEC, "unknown type");
}

/* Functions are in the order of their slots. */
static int compare_pc(const void *a, const void *b)
{
	uint32_t pc = *(const uint32_t *)a, at = ((const struct func *)b)->pc;

	return pc < at ? -1 : pc > at;
}

static int function_address(const struct site *site, int64_t addend, uint64_t *value)
{
	const struct pp_bpf_object *object = site->object;
	struct func *func;
	uint32_t pc;
	int err = find_slot(site, addend, &pc);

	if (err)
		return err;
	func = bsearch(&pc, object->funcs, object->nfuncs, sizeof(*func), compare_pc);
	if (!func)
		return refuse(site, -ENOEXEC, "an address where no function starts");
	func->taken = true;
	*value = (uintptr_t)func;
	return 0;
}

static int data_address(const struct site *site, int64_t addend, uint64_t *value)
{
	struct pp_bpf_map *map = NULL;
	uint64_t offset = 0;
	int err = find_map(site, addend, &map, &offset);

	if (err)
		return err;
	assert(map);
	*value = place_of(site).kind == PLACE_MAPS
			 ? (uintptr_t)map->core
			 : (uintptr_t)map_value_address(map->core, offset);
	return 0;
}

static int relocate_data(const struct site *site, void *unused)
{
	const struct pp_bpf_object *object = site->object;
	const struct pp_bpf_map *in = &object->maps[object->source.places[site->target].at];
	uint64_t value;
	int64_t addend;
	uint8_t *at;
	int err;

	(void)unused;
	if (site->reloc.type != RELOC_64_ABS64)
		return refuse(site, -ENOEXEC, "unknown type");
	if (in->reused)
		return 0; /* it has the addresses of the object that made it */
	at = map_value_address(in->core, site->reloc.offset);
	if (!at || in->info.value_size - site->reloc.offset < sizeof(value))
		return refuse(site, -ENOEXEC, "less than 8 bytes of data");
	memcpy(&addend, at, sizeof(addend));
	err = place_of(site).kind == PLACE_CODE ? function_address(site, addend, &value)
						: data_address(site, addend, &value);
	if (err)
		return err;
	memcpy(at, &value, sizeof(value));
	return 0;
}

/* ---- initial values ---- */

/* The map whose definition a place in .maps belongs to, and the index there; or NULL. */
static struct pp_bpf_map *outer_map(const struct site *site, uint32_t *index)
{
	const struct pp_bpf_object *object = site->object;
	struct pp_bpf_map *outer = NULL;
	uint64_t at;

	for (uint32_t i = 0; i < object->nmaps; i++) {
		struct pp_bpf_map *map = &object->maps[i];

		if (map->section == site->target && map->offset <= site->reloc.offset)
			outer = map;
	}
	if (!outer || !outer->values_at)
		return NULL;
	at = site->reloc.offset - outer->offset - outer->values_at;
	*index = (uint32_t)(at / sizeof(uint64_t));
	return at % sizeof(uint64_t) || at / sizeof(uint64_t) >= outer->info.max_entries ? NULL
											 : outer;
}

static const struct pp_bpf_prog *prog_at(const struct site *site, int64_t addend)
{
	const struct pp_bpf_object *object = site->object;
	uint32_t pc;

	if (find_slot(site, addend, &pc))
		return NULL;
	for (uint32_t i = 0; i < object->nprogs; i++) {
		if (object->funcs[object->progs[i].func].pc == pc)
			return &object->progs[i];
	}
	return NULL;
}

static int put_prog(const struct site *site, struct pp_bpf_map *outer, uint32_t index,
		    int64_t addend)
{
	const struct pp_bpf_prog *prog = prog_at(site, addend);

	if (!prog)
		return refuse(site, -ENOEXEC, "it is no program");
	return map_set_prog(outer->core, &index, prog, MAP_ANY);
}

static int put_map(const struct site *site, struct pp_bpf_map *outer, uint32_t index,
		   int64_t addend)
{
	struct pp_bpf_map *inner = NULL;
	uint64_t offset;
	int err = find_map(site, addend, &inner, &offset);

	if (err)
		return err;
	err = map_set_map(outer->core, &index, inner->core, MAP_ANY);
	if (err)
		return refuse(site, err == -ENOMEM ? err : -ENOEXEC,
			      "map '%s' cannot be in map '%s': %s", inner->name, outer->name,
			      strerror(-err));
	return 0;
}

/* @kind: of what is put in now: PLACE_MAPS or PLACE_CODE */
static int relocate_values(const struct site *site, void *kind)
{
	const struct elf_section *section = &site->object->source.elf.sections[site->target];
	uint32_t index = 0;
	struct pp_bpf_map *outer = outer_map(site, &index);
	int64_t addend = 0;

	if (place_of(site).kind != *(const enum place_kind *)kind)
		return place_of(site).kind == PLACE_NONE ? refuse_nowhere(site) : 0;
	if (site->reloc.type != RELOC_64_ABS64)
		return refuse(site, -ENOEXEC, "unknown type");
	if (!outer || outer->info.key_size != sizeof(index) || !section->data ||
	    section->size < sizeof(addend) || section->size - sizeof(addend) < site->reloc.offset)
		return refuse(site, -ENOEXEC, "no initial value of a map is there");
	if (outer->reused)
		return 0;
	memcpy(&addend, section->data + site->reloc.offset, sizeof(addend));
	return place_of(site).kind == PLACE_CODE ? put_prog(site, outer, index, addend)
						 : put_map(site, outer, index, addend);
}

/* ---- all of them ---- */

/* Hand each relocation of a table to @apply. */
static int apply_table(const struct pp_bpf_object *object, uint32_t table,
		       int (*apply)(const struct site *site, void *to), void *to)
{
	const struct elf *elf = &object->source.elf;
	struct site site = {
		.object = object,
		.table = table,
		.target = elf->sections[table].info,
	};
	int64_t count = elf_relocs(elf, table, &object->log);
	int err = count < 0 ? (int)count : 0;

	for (int64_t i = 0; i < count && !err; i++) {
		site.reloc = elf_reloc_at(elf, table, (uint64_t)i);
		site.symbol = &elf->symbols[site.reloc.symbol];
		err = apply(&site, to);
	}
	return err;
}

/* All tables of sections of a kind. */
static int apply_all(const struct pp_bpf_object *object, enum place_kind kind,
		     int (*apply)(const struct site *site, void *to), void *to)
{
	const struct elf *elf = &object->source.elf;
	int err = 0;

	for (uint32_t i = 1; i < elf->nsections && !err; i++) {
		const struct elf_section *table = &elf->sections[i];

		if (table->type != SHT_REL && table->type != SHT_RELA)
			continue;
		if (table->info >= elf->nsections)
			return log_error(&object->log, -ENOEXEC,
					 "section '%s': relocates section %u of %u", table->name,
					 table->info, elf->nsections);
		if (object->source.places[table->info].kind != kind)
			continue;
		if (table->type == SHT_RELA)
			return log_error(&object->log, -ENOTSUP,
					 "section '%s': relocations with addends", table->name);
		err = apply_table(object, i, apply, to);
	}
	return err;
}

int reloc_code(const struct pp_bpf_object *object, uint8_t *slots)
{
	return apply_all(object, PLACE_CODE, relocate_code, slots);
}

int reloc_data(const struct pp_bpf_object *object)
{
	return apply_all(object, PLACE_DATA, relocate_data, NULL);
}

int reloc_maps(const struct pp_bpf_object *object)
{
	enum place_kind kind = PLACE_MAPS;

	return apply_all(object, PLACE_MAPS, relocate_values, &kind);
}

int reloc_progs(const struct pp_bpf_object *object)
{
	enum place_kind kind = PLACE_CODE;

	return apply_all(object, PLACE_MAPS, relocate_values, &kind);
}

/* SPDX-License-Identifier: MIT */
/*
 * layout.c - from sections and symbols to functions, data maps and map definitions
 *
 *	section		flags		becomes
 *	any		code		functions, by its symbols; if none, one named after it
 *	.data .rodata .bss, also .NAME.*	a map of one entry, the section its value
 *	.maps, maps			definitions of maps: BTF, legacy
 *	others				nothing
 *
 * Invariant: functions tile their section, sections tile the unit's slots. Symbols of the same
 * bytes are names of one function; what else overlaps is refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/object.h"

#define MAX_DATA ((uint64_t)256 << 20)

/*
 * struct layout - while opening
 * @symbols: those of functions, by section, then address, then with the name to show first;
 *	the next section's are at @next
 */
struct layout {
	struct pp_bpf_object *object;
	const struct elf *elf;
	const struct log *log;
	const struct elf_symbol **symbols;
	size_t nsymbols, next;
	uint64_t data;       /* bytes of data sections so far */
	const char *section; /* the pooled name of the current code section */
	bool outside_text;   /* a global function lies outside .text */
};

static bool is_code(const struct elf_section *section)
{
	return section->type == SHT_PROGBITS && (section->flags & SHF_EXECINSTR) && section->size;
}

static bool is_named(const char *name, const char *stem)
{
	size_t len = strlen(stem);

	return !strncmp(name, stem, len) && (!name[len] || name[len] == '.');
}

static bool is_data(const struct elf_section *section)
{
	if (!(section->flags & SHF_ALLOC) || (section->flags & SHF_EXECINSTR) || !section->size)
		return false;
	if (section->type != SHT_PROGBITS && section->type != SHT_NOBITS)
		return false;
	return is_named(section->name, ".data") || is_named(section->name, ".rodata") ||
	       is_named(section->name, ".bss");
}

static bool is_function(const struct elf *elf, const struct elf_symbol *symbol)
{
	return symbol->type == STT_FUNC && symbol->section && symbol->section < elf->nsections &&
	       is_code(&elf->sections[symbol->section]);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct elf_symbol *left = *(const struct elf_symbol *const *)a;
	const struct elf_symbol *right = *(const struct elf_symbol *const *)b;

	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	if (left->value != right->value)
		return left->value < right->value ? -1 : 1;
	if ((left->bind == STB_LOCAL) != (right->bind == STB_LOCAL))
		return left->bind == STB_LOCAL ? 1 : -1;
	return left < right ? -1 : left > right; /* in the order of their table */
}

static int collect_symbols(struct layout *layout)
{
	const struct elf *elf = layout->elf;

	layout->symbols = calloc((size_t)elf->nsymbols + 1, sizeof(layout->symbols[0]));
	if (!layout->symbols)
		return -ENOMEM;
	for (uint32_t i = 0; i < elf->nsymbols; i++) {
		if (is_function(elf, &elf->symbols[i]))
			layout->symbols[layout->nsymbols++] = &elf->symbols[i];
	}
	qsort(layout->symbols, layout->nsymbols, sizeof(layout->symbols[0]), compare_symbols);
	return 0;
}

/* Code sections that overlap in the file could add up to more than any file: refused. */
static int alloc_code(struct layout *layout)
{
	struct pp_bpf_object *object = layout->object;
	const struct elf *elf = layout->elf;
	uint64_t size = 0, sections = 0;

	for (uint32_t i = 1; i < elf->nsections; i++) {
		if (!is_code(&elf->sections[i]))
			continue;
		if (elf->sections[i].size % BPF_SLOT)
			return log_error(layout->log, -ENOEXEC,
					 "section '%s': size 0x%" PRIx64 " is not a multiple of 8",
					 elf->sections[i].name, elf->sections[i].size);
		size += elf->sections[i].size;
		sections++;
		if (size > elf->size || size / BPF_SLOT > INT32_MAX)
			return log_error(layout->log, -ENOEXEC, "section '%s': code overlaps",
					 elf->sections[i].name);
	}
	if (!size)
		return log_error(layout->log, -ENOEXEC, "no code");
	object->source.slots = malloc(size);
	object->funcs = calloc(sections + layout->nsymbols, sizeof(*object->funcs));
	object->aliases = calloc(layout->nsymbols + 1, sizeof(*object->aliases));
	return object->source.slots && object->funcs && object->aliases ? 0 : -ENOMEM;
}

static int add_func(struct layout *layout, const char *name, uint64_t at, uint64_t size)
{
	struct pp_bpf_object *object = layout->object;
	struct func *func = &object->funcs[object->nfuncs];

	*func = (struct func){
		.name = object_name(object, name),
		.section = layout->section,
		.section_pc = (uint32_t)(at / BPF_SLOT),
		.pc = object->source.nslots + (uint32_t)(at / BPF_SLOT),
		.slots = (uint32_t)(size / BPF_SLOT),
	};
	if (!func->name)
		return -ENOMEM;
	object->nfuncs++;
	return 0;
}

/* Whether it has the bytes of the function before, of a section that is filled up to @end. */
static bool is_alias(const struct layout *layout, const struct elf_symbol *symbol, uint64_t end)
{
	const struct pp_bpf_object *object = layout->object;
	const struct func *last;

	if (!end)
		return false;
	last = &object->funcs[object->nfuncs - 1];
	return symbol->value == (uint64_t)last->section_pc * BPF_SLOT &&
	       symbol->size == (uint64_t)last->slots * BPF_SLOT;
}

static int add_alias(struct layout *layout, const struct elf_symbol *symbol)
{
	struct pp_bpf_object *object = layout->object;
	struct alias *alias = &object->aliases[object->naliases];

	if (symbol->bind == STB_LOCAL)
		return 0; /* nobody outside knows it */
	*alias = (struct alias){object_name(object, symbol->name), object->nfuncs - 1};
	if (!alias->name)
		return -ENOMEM;
	object->naliases++;
	return 0;
}

static int refuse_symbol(const struct layout *layout, const struct elf_symbol *symbol,
			 const char *why)
{
	return log_error(layout->log, -ENOEXEC,
			 "section '%s' +0x%" PRIx64 ": function '%s' of 0x%" PRIx64 " bytes %s",
			 layout->section, symbol->value, symbol->name, symbol->size, why);
}

/* It must be whole instructions, from @end on. */
static int check_symbol(const struct layout *layout, const struct elf_symbol *symbol, uint64_t end)
{
	if (symbol->value % BPF_SLOT || symbol->size % BPF_SLOT || !symbol->size)
		return refuse_symbol(layout, symbol, "is not made of whole instructions");
	if (symbol->value < end)
		return refuse_symbol(layout, symbol, "overlaps the one before");
	if (symbol->value > end)
		return refuse_symbol(layout, symbol, "has code without a function before it");
	return 0;
}

static int add_symbol(struct layout *layout, const struct elf_symbol *symbol, uint64_t *end)
{
	uint32_t number = layout->object->nfuncs;
	int err;

	if (is_alias(layout, symbol, *end))
		return add_alias(layout, symbol);
	err = check_symbol(layout, symbol, *end);
	if (!err)
		err = add_func(layout, symbol->name, symbol->value, symbol->size);
	if (err)
		return err;
	layout->object->funcs[number].entry = symbol->bind != STB_LOCAL;
	if (symbol->bind != STB_LOCAL && strcmp(layout->section, ".text"))
		layout->outside_text = true;
	*end += symbol->size;
	return 0;
}

/* The section's functions by its symbols; *end is where the last one does. */
static int add_symbols(struct layout *layout, uint32_t number, uint64_t *end)
{
	int err = 0;

	while (!err && layout->next < layout->nsymbols &&
	       layout->symbols[layout->next]->section == number)
		err = add_symbol(layout, layout->symbols[layout->next++], end);
	return err;
}

static int add_unnamed(struct layout *layout, const struct elf_section *section)
{
	struct pp_bpf_object *object = layout->object;
	int err = add_func(layout, section->name, 0, section->size);

	if (err)
		return err;
	object->funcs[object->nfuncs - 1].entry = true;
	if (strcmp(section->name, ".text"))
		layout->outside_text = true;
	return 0;
}

static int add_code(struct layout *layout, uint32_t number)
{
	const struct elf_section *section = &layout->elf->sections[number];
	struct source *source = &layout->object->source;
	uint64_t end = 0;
	int err;

	layout->section = object_name(layout->object, section->name);
	if (!layout->section)
		return -ENOMEM;
	err = add_symbols(layout, number, &end);
	if (!err && !end)
		err = add_unnamed(layout, section);
	else if (!err && end != section->size)
		err = log_error(layout->log, -ENOEXEC,
				"section '%s' +0x%" PRIx64 ": code without a function",
				section->name, end);
	if (err)
		return err;
	source->places[number] = (struct place){PLACE_CODE, source->nslots};
	memcpy(source->slots + (size_t)source->nslots * BPF_SLOT, section->data, section->size);
	source->nslots += (uint32_t)(section->size / BPF_SLOT);
	return 0;
}

static int add_data(struct layout *layout, uint32_t number)
{
	const struct elf_section *section = &layout->elf->sections[number];
	struct pp_bpf_map map = {.name = section->name, .section = number};

	if (section->size > MAX_DATA - layout->data)
		return log_error(layout->log, -ENOEXEC,
				 "section '%s': 0x%" PRIx64 " bytes make more than %" PRIu64
				 " MiB of data",
				 section->name, section->size, MAX_DATA >> 20);
	if (section->align > MAP_MAX_ALIGN)
		return log_error(layout->log, -ENOTSUP,
				 "section '%s': aligned to %" PRIu64 ", more than %u",
				 section->name, section->align, MAP_MAX_ALIGN);
	if (section->align & (section->align - 1))
		return log_error(layout->log, -ENOEXEC,
				 "section '%s': aligned to %" PRIu64 ", no power of two",
				 section->name, section->align);
	map.align = (uint32_t)section->align;
	layout->data += section->size;
	map.info = (struct pp_bpf_map_info){
		.type = MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = (uint32_t)section->size,
		.max_entries = 1,
		.flags = is_named(section->name, ".rodata") ? MAP_RDONLY_PROG : 0,
	};
	layout->object->source.places[number] = (struct place){PLACE_DATA, layout->object->nmaps};
	return object_add_map(layout->object, &map);
}

static int add_section(struct layout *layout, uint32_t number)
{
	const struct elf_section *section = &layout->elf->sections[number];
	struct place *place = &layout->object->source.places[number];

	if (is_code(section))
		return add_code(layout, number);
	if (is_data(section))
		return add_data(layout, number);
	if (section->type != SHT_PROGBITS || !section->size)
		return 0;
	if (strcmp(section->name, ".maps") && strcmp(section->name, "maps"))
		return 0;
	place->kind = PLACE_MAPS;
	return section->name[0] == '.' ? btf_maps(layout->object, number)
				       : legacy_maps(layout->object, number);
}

/* Programs: the globals outside .text; else those in .text; else the first function. */
static void choose_entries(struct layout *layout)
{
	struct pp_bpf_object *object = layout->object;
	uint32_t entries = 0;

	for (uint32_t i = 0; i < object->nfuncs; i++) {
		struct func *func = &object->funcs[i];

		if (layout->outside_text && !strcmp(func->section, ".text"))
			func->entry = false;
		entries += func->entry;
	}
	if (!entries)
		object->funcs[0].entry = true;
}

/* By place in the file. Sections were added in order, so maps of data sections stay put. */
static int compare_maps(const void *a, const void *b)
{
	const struct pp_bpf_map *left = a, *right = b;

	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int sort_maps(struct layout *layout)
{
	struct pp_bpf_object *object = layout->object;

	if (!object->nmaps)
		return 0;
	qsort(object->maps, object->nmaps, sizeof(object->maps[0]), compare_maps);
	for (uint32_t i = 1; i < object->nmaps; i++) {
		const struct pp_bpf_map *map = &object->maps[i];

		if (!compare_maps(map - 1, map))
			return log_error(layout->log, -ENOEXEC,
					 "section '%s' +0x%" PRIx64 ": map '%s' is also '%s'",
					 layout->elf->sections[map->section].name, map->offset,
					 map->name, map[-1].name);
	}
	return 0;
}

static int lay_out(struct layout *layout)
{
	int err = collect_symbols(layout);

	if (!err)
		err = alloc_code(layout);
	for (uint32_t i = 1; i < layout->elf->nsections && !err; i++)
		err = add_section(layout, i);
	if (!err)
		err = sort_maps(layout);
	if (!err)
		choose_entries(layout);
	return err;
}

int layout_elf(struct pp_bpf_object *object)
{
	struct layout layout = {
		.object = object,
		.elf = &object->source.elf,
		.log = &object->log,
	};
	int err;

	object->source.places = calloc(layout.elf->nsections, sizeof(struct place));
	if (!object->source.places)
		return -ENOMEM;
	err = lay_out(&layout);
	free(layout.symbols);
	return err;
}

int layout_raw(struct pp_bpf_object *object)
{
	int count = decode_find_funcs(object->source.slots, object->source.nslots, &object->log,
				      &object->funcs);
	int err = 0;

	if (count < 0)
		return count;
	object->nfuncs = (uint32_t)count;
	for (uint32_t i = 0; i < object->nfuncs; i++) {
		const char *name = object->funcs[i].name;

		object->funcs[i].name = object_name(object, name);
		if (!object->funcs[i].name)
			err = -ENOMEM;
		free((void *)(uintptr_t)name); /* decode_find_funcs() allocated it */
	}
	return err;
}

#define LEGACY_SIZE (5 * sizeof(uint32_t))
_Static_assert(offsetof(struct pp_bpf_map_info, flags) == 4 * sizeof(uint32_t), "the same order");

/* struct bpf_map_def, which linux/bpf.h left to programs to declare; they may append to it. */
static int legacy_map(struct pp_bpf_object *object, const struct elf_symbol *symbol)
{
	const struct elf_section *section = &object->source.elf.sections[symbol->section];
	struct pp_bpf_map map = {.section = symbol->section, .offset = symbol->value};
	const uint8_t *bytes = section->data + symbol->value;

	if (symbol->size < LEGACY_SIZE)
		return log_error(&object->log, -ENOEXEC,
				 "section '%s' +0x%" PRIx64 ": map '%s' of %" PRIu64
				 " bytes, less than %zu",
				 section->name, symbol->value, symbol->name, symbol->size,
				 LEGACY_SIZE);
	for (uint64_t i = LEGACY_SIZE; i < symbol->size; i++) {
		if (bytes[i])
			return log_error(&object->log, -ENOTSUP,
					 "section '%s' +0x%" PRIx64
					 ": map '%s' sets fields past map_flags",
					 section->name, symbol->value + i, symbol->name);
	}
	map.name = symbol->name;
	memcpy(&map.info, bytes, LEGACY_SIZE);
	return object_add_map(object, &map);
}

int legacy_maps(struct pp_bpf_object *object, uint32_t section)
{
	const struct elf *elf = &object->source.elf;
	int err = 0;

	for (uint32_t i = 1; i < elf->nsymbols && !err; i++) {
		const struct elf_symbol *symbol = &elf->symbols[i];

		if (symbol->section == section &&
		    (symbol->type == STT_OBJECT || symbol->type == STT_NOTYPE))
			err = legacy_map(object, symbol);
	}
	return err;
}

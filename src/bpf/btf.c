/* SPDX-License-Identifier: MIT */
/*
 * btf.c - map definitions of a .maps section, by the object's BTF
 *
 *	DATASEC ".maps" -> VAR, named as the map -> STRUCT -> a member for each attribute:
 *	__uint(name, n)	 PTR -> ARRAY of n elements
 *	__type(name, t)	 PTR -> t, of which the size counts
 *	__array(values, t)  ARRAY of PTR -> STRUCT, those in a map of maps, or -> FUNC_PROTO
 *
 * BTF says what, the symbol of the variable's name says where. libbpf reads the format but
 * takes type numbers and names on trust: each pointer that it gives is checked, and each
 * kind before its accessors. It writes to stderr where types overrun their table, so that
 * is checked before it is asked.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bpf/object.h"

/* Modifiers and typedefs in a row; hostile BTF has circles of them. */
#define MAX_CHAIN 32

struct reader {
	struct pp_bpf_object *object;
	const struct btf *btf;
	uint32_t section;
	const char *map; /* the one being read */
};

/* Bytes that follow a struct btf_type, by kind: some, and some for each member. */
static const struct tail {
	uint8_t known, once, each;
} tails[] = {
	[BTF_KIND_INT] = {1, sizeof(uint32_t), 0},
	[BTF_KIND_PTR] = {1, 0, 0},
	[BTF_KIND_ARRAY] = {1, sizeof(struct btf_array), 0},
	[BTF_KIND_STRUCT] = {1, 0, sizeof(struct btf_member)},
	[BTF_KIND_UNION] = {1, 0, sizeof(struct btf_member)},
	[BTF_KIND_ENUM] = {1, 0, sizeof(struct btf_enum)},
	[BTF_KIND_FWD] = {1, 0, 0},
	[BTF_KIND_TYPEDEF] = {1, 0, 0},
	[BTF_KIND_VOLATILE] = {1, 0, 0},
	[BTF_KIND_CONST] = {1, 0, 0},
	[BTF_KIND_RESTRICT] = {1, 0, 0},
	[BTF_KIND_FUNC] = {1, 0, 0},
	[BTF_KIND_FUNC_PROTO] = {1, 0, sizeof(struct btf_param)},
	[BTF_KIND_VAR] = {1, sizeof(struct btf_var), 0},
	[BTF_KIND_DATASEC] = {1, 0, sizeof(struct btf_var_secinfo)},
	[BTF_KIND_FLOAT] = {1, 0, 0},
	[BTF_KIND_DECL_TAG] = {1, sizeof(struct btf_decl_tag), 0},
	[BTF_KIND_TYPE_TAG] = {1, 0, 0},
	[BTF_KIND_ENUM64] = {1, 0, sizeof(struct btf_enum64)},
};

/* Bytes of the type at @at, or 0: unknown kind. */
static uint64_t type_bytes(const uint8_t *at)
{
	struct btf_type type;
	const struct tail *tail;
	size_t kind;

	memcpy(&type, at, sizeof(type));
	kind = BTF_INFO_KIND(type.info);
	if (kind >= sizeof(tails) / sizeof(tails[0]) || !tails[kind].known)
		return 0;
	tail = &tails[kind];
	return sizeof(type) + tail->once + (uint64_t)tail->each * BTF_INFO_VLEN(type.info);
}

bool btf_fits(const uint8_t *btf, uint64_t size)
{
	struct btf_header header;
	uint64_t at, end;

	if (size < sizeof(header))
		return false;
	memcpy(&header, btf, sizeof(header));
	at = (uint64_t)header.hdr_len + header.type_off;
	end = at + header.type_len;
	if (header.magic != BTF_MAGIC || end > size)
		return false;
	while (at + sizeof(struct btf_type) <= end) {
		uint64_t bytes = type_bytes(btf + at);

		if (!bytes || bytes > end - at)
			return false;
		at += bytes;
	}
	return at == end;
}

__attribute__((format(printf, 3, 4))) static int refuse(const struct reader *reader, int err,
							const char *format, ...)
{
	char why[128];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return log_error(&reader->object->log, err, "section '%s': map '%s': %s",
			 reader->object->source.elf.sections[reader->section].name, reader->map,
			 why);
}

/* The type behind modifiers and typedefs, or NULL. */
static const struct btf_type *resolve(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (int i = 0; i < MAX_CHAIN && type; i++) {
		if (!btf_is_mod(type) && !btf_is_typedef(type))
			return type;
		type = btf__type_by_id(btf, type->type);
	}
	return NULL;
}

/* What a member points to: both macros wrap their value in a pointer. */
static const struct btf_type *pointer_of(const struct reader *reader,
					 const struct btf_member *member)
{
	const struct btf_type *type = resolve(reader->btf, member->type);

	return type && btf_is_ptr(type) ? type : NULL;
}

static int read_uint(const struct reader *reader, const struct btf_member *member, uint32_t *value)
{
	const struct btf_type *type = pointer_of(reader, member);

	type = type ? resolve(reader->btf, type->type) : NULL;
	if (!type || !btf_is_array(type))
		return -ENOEXEC;
	*value = btf_array(type)->nelems;
	return 0;
}

static int read_size(const struct reader *reader, const struct btf_member *member, uint32_t *value)
{
	const struct btf_type *type = pointer_of(reader, member);
	int64_t size = type ? btf__resolve_size(reader->btf, type->type) : -1;

	if (size < 0 || size > UINT32_MAX)
		return -ENOEXEC;
	*value = (uint32_t)size;
	return 0;
}

static const struct attribute {
	const char *name;
	size_t at;
	int (*read)(const struct reader *reader, const struct btf_member *member, uint32_t *value);
} attributes[] = {
	{"type", offsetof(struct pp_bpf_map_info, type), read_uint},
	{"key_size", offsetof(struct pp_bpf_map_info, key_size), read_uint},
	{"value_size", offsetof(struct pp_bpf_map_info, value_size), read_uint},
	{"max_entries", offsetof(struct pp_bpf_map_info, max_entries), read_uint},
	{"map_flags", offsetof(struct pp_bpf_map_info, flags), read_uint},
	{"map_extra", offsetof(struct pp_bpf_map_info, extra), read_uint}, /* its low word */
	{"key", offsetof(struct pp_bpf_map_info, key_size), read_size},
	{"value", offsetof(struct pp_bpf_map_info, value_size), read_size},
};

static const struct attribute *find_attribute(const char *name)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (!strcmp(attributes[i].name, name))
			return &attributes[i];
	}
	return NULL;
}

/* Said twice, a value must be the same: key and key_size are one. */
static int read_member(const struct reader *reader, const struct btf_member *member,
		       struct pp_bpf_map_info *info)
{
	const char *name = btf__name_by_offset(reader->btf, member->name_off);
	const struct attribute *attribute = name ? find_attribute(name) : NULL;
	uint32_t value, *field;

	if (!name)
		return refuse(reader, -ENOEXEC, "a member has no name");
	if (!attribute)
		return 0;
	if (attribute->read(reader, member, &value))
		return refuse(reader, -ENOEXEC, "malformed member '%s'", name);
	field = (uint32_t *)(void *)((char *)info + attribute->at);
	if (*field && *field != value)
		return refuse(reader, -ENOEXEC, "'%s' is %u, but was %u", name, value, *field);
	*field = value;
	return 0;
}

static int read_members(const struct reader *reader, const struct btf_type *def,
			struct pp_bpf_map_info *info)
{
	int err = 0;

	for (uint32_t i = 0; i < btf_vlen(def) && !err; i++)
		err = read_member(reader, &btf_members(def)[i], info);
	return err;
}

/* What the elements of "values" point to, or NULL. */
static const struct btf_type *value_type(const struct reader *reader,
					 const struct btf_member *member)
{
	const struct btf_type *type = resolve(reader->btf, member->type);

	type = type && btf_is_array(type) ? resolve(reader->btf, btf_array(type)->type) : NULL;
	return type && btf_is_ptr(type) ? resolve(reader->btf, type->type) : NULL;
}

/* Initial values, of which relocations say what they are; and what maps of maps are for. */
static int read_values(const struct reader *reader, const struct btf_type *def, uint32_t i,
		       struct pp_bpf_map *map)
{
	const struct btf_type *type = value_type(reader, &btf_members(def)[i]);

	map->values_at = btf_member_bit_offset(def, i) / 8;
	if (type && btf_is_func_proto(type))
		return 0;
	if (!type || !btf_is_struct(type))
		return refuse(reader, -ENOEXEC, "malformed member 'values'");
	map->has_inner = true;
	return read_members(reader, type, &map->inner);
}

/* Values that are maps or programs have four bytes, whether that is said or not. */
static int read_def(const struct reader *reader, const struct btf_type *def, struct pp_bpf_map *map)
{
	int err = read_members(reader, def, &map->info);

	for (uint32_t i = 0; i < btf_vlen(def) && !err; i++) {
		const char *name = btf__name_by_offset(reader->btf, btf_members(def)[i].name_off);

		if (strcmp(name, "values") != 0)
			continue;
		err = read_values(reader, def, i, map);
		if (!map->info.value_size)
			map->info.value_size = sizeof(uint32_t);
	}
	return err;
}

static const struct elf_symbol *find_symbol(const struct reader *reader, const char *name)
{
	const struct elf *elf = &reader->object->source.elf;

	for (uint32_t i = 1; i < elf->nsymbols; i++) {
		if (elf->symbols[i].section == reader->section &&
		    !strcmp(elf->symbols[i].name, name))
			return &elf->symbols[i];
	}
	return NULL;
}

static int read_map(struct reader *reader, uint32_t var_id)
{
	const struct btf_type *var = btf__type_by_id(reader->btf, var_id);
	const char *name = var ? btf__name_by_offset(reader->btf, var->name_off) : NULL;
	const struct btf_type *def =
		var && btf_is_var(var) ? resolve(reader->btf, var->type) : NULL;
	struct pp_bpf_map map = {.name = name, .section = reader->section};
	const struct elf_symbol *symbol;
	int err;

	reader->map = name ? name : "?";
	if (!name || !def || !btf_is_struct(def))
		return refuse(reader, -ENOEXEC, "BTF type %u is not a variable of a struct",
			      var_id);
	symbol = find_symbol(reader, name);
	if (!symbol)
		return refuse(reader, -ENOEXEC, "no symbol of this name");
	map.offset = symbol->value;
	err = read_def(reader, def, &map);
	if (err)
		return err;
	return object_add_map(reader->object, &map);
}

static int read_section(struct reader *reader)
{
	const struct btf_type *section;
	int err = 0;
	int32_t id = btf__find_by_name_kind(reader->btf, ".maps", BTF_KIND_DATASEC);

	section = id > 0 ? btf__type_by_id(reader->btf, (uint32_t)id) : NULL;
	if (!section)
		return log_error(&reader->object->log, -ENOEXEC,
				 "section '.maps': not described by the BTF");
	for (uint32_t i = 0; i < btf_vlen(section) && !err; i++)
		err = read_map(reader, btf_var_secinfos(section)[i].type);
	return err;
}

int btf_maps(struct pp_bpf_object *object, uint32_t section)
{
	const struct elf *elf = &object->source.elf;
	const struct elf_section *raw = &elf->sections[elf_find(elf, ".BTF")];
	struct reader reader = {.object = object, .section = section};
	struct btf *btf;
	int err;

	if (!raw->data)
		return log_error(&object->log, -ENOEXEC,
				 "section '.maps': no BTF to read it by (compile with -g)");
	if (raw->size > UINT32_MAX || !btf_fits(raw->data, raw->size))
		return log_error(&object->log, -ENOEXEC, "section '.BTF': malformed");
	btf = btf__new(raw->data, (uint32_t)raw->size);
	if (!btf)
		return log_error(&object->log, errno == ENOMEM ? -ENOMEM : -ENOEXEC,
				 "section '.BTF': %s", strerror(errno));
	reader.btf = btf;
	err = read_section(&reader);
	btf__free(btf);
	return err;
}

/* SPDX-License-Identifier: MIT */
/* typed.c - see typed.h; libbpf reads the BTF, and every type that it gives is checked */
#include "typed.h"

#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bpf/object.h"

#define MAX_CHAIN 32

/* ---- types ---- */

void types_init(const struct bytes *file, struct types *types)
{
	const struct log silent = {0};
	const struct elf_section *raw;

	*types = (struct types){0};
	if (elf_init(&types->elf, file->at, file->size, &silent))
		return;
	raw = &types->elf.sections[elf_find(&types->elf, ".BTF")];
	if (raw->data && raw->size <= UINT32_MAX && btf_fits(raw->data, raw->size))
		types->btf = btf__new(raw->data, (uint32_t)raw->size);
}

void types_fini(struct types *types)
{
	btf__free(types->btf);
	elf_fini(&types->elf);
}

/* Behind modifiers, typedefs and variables; NULL: nothing that we know. */
static const struct btf_type *resolve(const struct types *types, uint32_t id)
{
	const struct btf_type *type = id ? btf__type_by_id(types->btf, id) : NULL;

	for (int i = 0; i < MAX_CHAIN && type; i++) {
		if (!btf_is_mod(type) && !btf_is_typedef(type) && !btf_is_var(type))
			return type;
		type = btf__type_by_id(types->btf, type->type);
	}
	return NULL;
}

static const char *name_of(const struct types *types, uint32_t offset)
{
	const char *name = btf__name_by_offset(types->btf, offset);

	return name ? name : "";
}

/* __type(key, t): a pointer to t; 0 if there is no such member. */
static uint32_t member_type(const struct types *types, const struct btf_type *def, const char *name)
{
	for (uint32_t i = 0; i < btf_vlen(def); i++) {
		const struct btf_member *member = &btf_members(def)[i];
		const struct btf_type *type;

		if (strcmp(name_of(types, member->name_off), name) != 0)
			continue;
		type = resolve(types, member->type);
		return type && btf_is_ptr(type) ? type->type : 0;
	}
	return 0;
}

struct map_types types_of_map(const struct types *types, const char *map)
{
	struct map_types found = {0, 0};
	const struct btf_type *def;
	int32_t id;

	if (!types->btf)
		return found;
	id = btf__find_by_name_kind(types->btf, map, BTF_KIND_DATASEC);
	if (id > 0)
		return (struct map_types){0, (uint32_t)id};
	id = btf__find_by_name_kind(types->btf, map, BTF_KIND_VAR);
	def = id > 0 ? resolve(types, (uint32_t)id) : NULL;
	if (!def || !btf_is_struct(def))
		return found;
	found.key = member_type(types, def, "key");
	found.value = member_type(types, def, "value");
	return found;
}

/*
 * struct part - a member, an element or a variable: what it is called, what it is, where it lies
 * Variables of sections: the compiler leaves their places to the symbols.
 */
struct part {
	const char *name;
	uint32_t id;
	uint64_t at, size;
};

static uint64_t symbol_at(const struct types *types, const char *section, const char *name)
{
	const struct elf *elf = &types->elf;
	uint32_t in = elf_find(elf, section);

	for (uint32_t i = 1; i < elf->nsymbols; i++) {
		if (elf->symbols[i].section == in && !strcmp(elf->symbols[i].name, name))
			return elf->symbols[i].value;
	}
	return UINT64_MAX;
}

static uint32_t count_parts(const struct btf_type *type)
{
	return btf_is_array(type) ? btf_array(type)->nelems : btf_vlen(type);
}

/* False: it is no whole bytes, or does not lie inside @size bytes. */
static bool get_part(const struct types *types, const struct btf_type *type, uint32_t i,
		     uint64_t size, struct part *part)
{
	int64_t part_size;

	if (btf_is_array(type)) {
		*part = (struct part){.id = btf_array(type)->type};
	} else if (btf_is_datasec(type)) {
		const struct btf_type *var;

		part->id = btf_var_secinfos(type)[i].type;
		var = btf__type_by_id(types->btf, part->id);
		part->name = var ? name_of(types, var->name_off) : "";
		part->at = symbol_at(types, name_of(types, type->name_off), part->name);
	} else {
		part->id = btf_members(type)[i].type;
		part->name = name_of(types, btf_members(type)[i].name_off);
		part->at = btf_member_bit_offset(type, i) / 8;
		if (btf_member_bit_offset(type, i) % 8 || btf_member_bitfield_size(type, i))
			return false;
	}
	part_size = btf__resolve_size(types->btf, part->id);
	if (part_size <= 0)
		return false;
	part->size = (uint64_t)part_size;
	if (btf_is_array(type))
		part->at = i * part->size;
	return part->at <= size && part->size <= size - part->at;
}

static bool has_parts(const struct btf_type *type)
{
	return btf_is_array(type) || btf_is_composite(type) || btf_is_datasec(type);
}

/* Sections whose variables have no symbols are bytes. */
static bool is_described(const struct types *types, const struct btf_type *type, size_t size)
{
	struct part part = {0};

	if (!has_parts(type))
		return false;
	if (!btf_is_datasec(type))
		return true;
	for (uint32_t i = 0; i < count_parts(type); i++) {
		if (get_part(types, type, i, size, &part))
			return true;
	}
	return false;
}

static bool is_number(size_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_bool(const struct btf_type *type)
{
	return type && btf_is_int(type) && (btf_int_encoding(type) & BTF_INT_BOOL);
}

/* ---- bytes to JSON ---- */

static void put_hex(const uint8_t *bytes, size_t size, struct json *json, const char *key)
{
	char *text = malloc(size * 3 + 1), *to = text;

	if (!text) {
		json_null(json, key);
		return;
	}
	*text = '\0';
	for (size_t i = 0; i < size; i++)
		to += sprintf(to, i ? " %02x" : "%02x", bytes[i]);
	json_text(json, key, text);
	free(text);
}

static void put_number(const struct btf_type *type, const uint8_t *bytes, size_t size,
		       struct json *json, const char *key)
{
	bool is_signed = type && btf_is_int(type) && (btf_int_encoding(type) & BTF_INT_SIGNED);
	uint64_t number = 0;

	memcpy(&number, bytes, size);
	if (is_bool(type))
		json_bool(json, key, number != 0);
	else if (type && btf_is_ptr(type))
		json_hex(json, key, number);
	else if (is_signed)
		json_signed(json, key, (int64_t)(number << (64 - 8 * size)) >> (64 - 8 * size));
	else
		json_count(json, key, number);
}

static void put_at(const struct types *types, uint32_t id, const uint8_t *bytes, size_t size,
		   struct json *json, const char *key, unsigned int depth);

static void put_parts(const struct types *types, const struct btf_type *type, const uint8_t *bytes,
		      size_t size, struct json *json, const char *key, unsigned int depth)
{
	bool array = btf_is_array(type);
	struct part part = {0};

	json_open(json, key, array ? '[' : '{');
	for (uint32_t i = 0; i < count_parts(type); i++) {
		if (get_part(types, type, i, size, &part))
			put_at(types, part.id, bytes + part.at, part.size, json,
			       array ? NULL : part.name, depth + 1);
		else if (array)
			break; /* the others are no better */
	}
	json_close(json, array ? ']' : '}');
}

static void put_at(const struct types *types, uint32_t id, const uint8_t *bytes, size_t size,
		   struct json *json, const char *key, unsigned int depth)
{
	const struct btf_type *type = types->btf ? resolve(types, id) : NULL;

	if (type && depth < MAX_CHAIN && is_described(types, type, size))
		put_parts(types, type, bytes, size, json, key, depth);
	else if (is_number(size) && (!type || !btf_is_float(type)))
		put_number(type, bytes, size, json, key);
	else
		put_hex(bytes, size, json, key);
}

void typed_put(const struct types *types, uint32_t id, const uint8_t *bytes, size_t size,
	       struct json *json, const char *key)
{
	put_at(types, id, bytes, size, json, key, 0);
}

/* ---- JSON to bytes ---- */

static const char *take_hex(const struct json_node *node, uint8_t *bytes, size_t size)
{
	struct bytes got = {0};
	const char *why = NULL;

	if (!strncmp(node->text, "0x", 2) && is_number(size)) {
		char *end;
		uint64_t number = strtoull(node->text, &end, 16);

		memcpy(bytes, &number, size);
		return *end || (size < 8 && number >> 8 * size) ? "a number that does not fit"
								: NULL;
	}
	if (input_hex("hex", node->text, strlen(node->text), &got))
		return "not pairs of hex digits";
	if (got.size != size)
		why = "hex of another length";
	else
		memcpy(bytes, got.at, size);
	input_free(&got);
	return why;
}

static const char *take_number(const struct json_node *node, uint8_t *bytes, size_t size)
{
	uint64_t limit = size < 8 ? (uint64_t)1 << 8 * size : 0;

	if (!is_number(size))
		return "a number where there are more bytes";
	if (limit && (node->negative ? 0 - node->number > limit / 2 : node->number >= limit))
		return "a number that does not fit";
	memcpy(bytes, &node->number, size);
	return NULL;
}

static const char *take_at(const struct types *types, uint32_t id, const struct json_node *node,
			   uint8_t *bytes, size_t size, unsigned int depth);

static const char *take_elements(const struct types *types, const struct btf_type *type,
				 const struct json_node *node, uint8_t *bytes, size_t size,
				 unsigned int depth)
{
	const char *why = NULL;
	struct part part;
	uint32_t i = 0;

	for (node = node->first; node && !why; node = node->next, i++) {
		if (i >= count_parts(type) || !get_part(types, type, i, size, &part))
			return "an array of more elements";
		why = take_at(types, part.id, node, bytes + part.at, part.size, depth + 1);
	}
	return why;
}

static bool find_part(const struct types *types, const struct btf_type *type, const char *name,
		      size_t size, struct part *part)
{
	for (uint32_t i = 0; i < count_parts(type); i++) {
		if (get_part(types, type, i, size, part) && !strcmp(part->name, name))
			return true;
	}
	return false;
}

static const char *take_members(const struct types *types, const struct btf_type *type,
				const struct json_node *node, uint8_t *bytes, size_t size,
				unsigned int depth)
{
	const char *why = NULL;
	struct part part = {0};

	for (node = node->first; node && !why; node = node->next) {
		if (!find_part(types, type, node->key, size, &part))
			return "a member that the type does not have";
		why = take_at(types, part.id, node, bytes + part.at, part.size, depth + 1);
	}
	return why;
}

static const char *take_at(const struct types *types, uint32_t id, const struct json_node *node,
			   uint8_t *bytes, size_t size, unsigned int depth)
{
	const struct btf_type *type = types->btf ? resolve(types, id) : NULL;

	if (node->kind == JSON_TEXT)
		return take_hex(node, bytes, size);
	if (node->kind == JSON_NUMBER || node->kind == JSON_BOOL)
		return take_number(node, bytes, size);
	if (depth > MAX_CHAIN || !type || !has_parts(type))
		return "an object or array where the type has none";
	if (node->kind == JSON_ARRAY && btf_is_array(type))
		return take_elements(types, type, node, bytes, size, depth);
	if (node->kind == JSON_OBJECT && !btf_is_array(type))
		return take_members(types, type, node, bytes, size, depth);
	return "a value of another kind than the type";
}

const char *typed_take(const struct types *types, uint32_t id, const struct json_node *node,
		       uint8_t *bytes, size_t size)
{
	memset(bytes, 0, size);
	return take_at(types, id, node, bytes, size, 0);
}

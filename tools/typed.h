/* SPDX-License-Identifier: MIT */
/*
 * typed.h - bytes of maps as JSON, by the types of the object's BTF
 *
 *	integers, enums	numbers		structs, unions	objects
 *	booleans	true, false	arrays		arrays
 *	pointers	"0x.."		all others	"2a 00 00", bytes in hex
 *
 * Without a type, what has 1, 2, 4 or 8 bytes is a number. Reading takes hex for everything.
 */
#ifndef TOOLS_TYPED_H
#define TOOLS_TYPED_H

#include "bpf/elf.h"
#include "input.h"
#include "json.h"
#include "json_read.h"

struct btf;

/* struct types - of an object; @btf is NULL if it has none */
struct types {
	struct elf elf;
	struct btf *btf;
};

/* What keys and values of a map are: numbers of types, 0: not known. */
struct map_types {
	uint32_t key, value;
};

void types_init(const struct bytes *file, struct types *types);
void types_fini(struct types *types);
struct map_types types_of_map(const struct types *types, const char *map);

/* typed_put - write @size bytes; @key: as in json.h */
void typed_put(const struct types *types, uint32_t id, const uint8_t *bytes, size_t size,
	       struct json *json, const char *key);

/* typed_take - the other way: NULL, or why it cannot be. Members that are not there are 0. */
const char *typed_take(const struct types *types, uint32_t id, const struct json_node *node,
		       uint8_t *bytes, size_t size);

#endif

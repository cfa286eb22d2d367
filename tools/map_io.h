/* SPDX-License-Identifier: MIT */
/*
 * map_io.h - maps of a loaded object: listed, dumped, and filled from JSON files
 *
 * A dump of a map is {"name":.., "type":.., "key_size":.., .., "entries":[{"key":..,"value":..}]};
 * per-CPU maps have "values", one for each CPU. What fills a map is the list of entries alone, or
 * such an object, of which the entries count. Queues, stacks, ring buffers and bloom filters show
 * no entries: reading would change them. "value" alone goes into those without keys.
 */
#ifndef TOOLS_MAP_IO_H
#define TOOLS_MAP_IO_H

#include <progpack_bpf.h>

#include "cli.h"
#include "typed.h"

/* map_io_fill - what --map says, "NAME=FILE" each: 0, or -1 after an error message */
int map_io_fill(struct pp_bpf_object *object, const struct types *types,
		const struct cli_texts *fills);

/* map_io_json - all maps, or the one called @name, as member "maps" */
void map_io_json(struct pp_bpf_object *object, const struct types *types, const char *name,
		 struct json *json);

/* map_io_list - a line each; map_io_table - with their elements, keys and values as JSON */
void map_io_list(struct pp_bpf_object *object);
void map_io_table(struct pp_bpf_object *object, const struct types *types, const char *name);

#endif

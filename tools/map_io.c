/* SPDX-License-Identifier: MIT */
/* map_io.c - see map_io.h; everything goes through the public functions of maps */
#include "map_io.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)64 << 20) /* of a key or of all CPUs' values */

/* struct place - a map and room for one element of it, @values for all CPUs */
struct place {
	struct pp_bpf_map *map;
	const struct types *types;
	struct pp_bpf_map_info info;
	struct map_types type;
	uint8_t *key, *values;
	size_t stride; /* from one CPU's value to the next one's; 0: there is one for all */
	bool lines;    /* each element is a line of its own */
};

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		[BPF_MAP_TYPE_HASH] = "hash",
		[BPF_MAP_TYPE_ARRAY] = "array",
		[BPF_MAP_TYPE_PROG_ARRAY] = "prog_array",
		[BPF_MAP_TYPE_PERCPU_HASH] = "percpu_hash",
		[BPF_MAP_TYPE_PERCPU_ARRAY] = "percpu_array",
		[BPF_MAP_TYPE_LRU_HASH] = "lru_hash",
		[BPF_MAP_TYPE_LRU_PERCPU_HASH] = "lru_percpu_hash",
		[BPF_MAP_TYPE_LPM_TRIE] = "lpm_trie",
		[BPF_MAP_TYPE_ARRAY_OF_MAPS] = "array_of_maps",
		[BPF_MAP_TYPE_HASH_OF_MAPS] = "hash_of_maps",
		[BPF_MAP_TYPE_QUEUE] = "queue",
		[BPF_MAP_TYPE_STACK] = "stack",
		[BPF_MAP_TYPE_RINGBUF] = "ringbuf",
		[BPF_MAP_TYPE_BLOOM_FILTER] = "bloom_filter",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "?";
}

static bool is_percpu(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static void place_fini(struct place *place)
{
	free(place->key);
	free(place->values);
}

static int place_init(struct place *place, struct pp_bpf_map *map, const struct types *types)
{
	size_t bytes = pp_bpf_map_value_bytes(map);

	*place = (struct place){.map = map, .types = types};
	pp_bpf_map_info(map, &place->info);
	place->type = types_of_map(types, pp_bpf_map_name(map));
	if (is_percpu(place->info.type))
		place->stride = bytes / pp_bpf_map_cpus();
	if (place->info.key_size <= MAX_BYTES && bytes <= MAX_BYTES) {
		place->key = calloc(1, place->info.key_size + (size_t)1);
		place->values = calloc(1, bytes + 1);
	}
	if (place->key && place->values)
		return 0;
	cli_error("map '%s': no memory", pp_bpf_map_name(map));
	place_fini(place);
	return -1;
}

/* ---- out ---- */

static void put_value(const struct place *place, struct json *json)
{
	uint32_t size = place->info.value_size;

	if (!place->stride) {
		typed_put(place->types, place->type.value, place->values, size, json, "value");
		return;
	}
	json_open(json, "values", '[');
	for (uint32_t cpu = 0; cpu < pp_bpf_map_cpus(); cpu++)
		typed_put(place->types, place->type.value, place->values + cpu * place->stride,
			  size, json, NULL);
	json_close(json, ']');
}

static void open_entry(const struct place *place, struct json *json)
{
	if (place->lines)
		fputs("  ", json->to);
	json_open(json, NULL, '{');
	typed_put(place->types, place->type.key, place->key, place->info.key_size, json, "key");
}

/* False: there is none, or it is gone by now. */
static bool put_entry_of_prog(const struct place *place, struct json *json)
{
	const struct pp_bpf_prog *prog;

	if (pp_bpf_map_get_prog(place->map, place->key, &prog))
		return false;
	open_entry(place, json);
	json_text(json, "value", pp_bpf_prog_name(prog));
	json_close(json, '}');
	return true;
}

static bool put_entry(const struct place *place, struct json *json)
{
	if (place->info.type == BPF_MAP_TYPE_PROG_ARRAY)
		return put_entry_of_prog(place, json);
	if (pp_bpf_map_lookup(place->map, place->key, place->values))
		return false;
	open_entry(place, json);
	put_value(place, json);
	json_close(json, '}');
	return true;
}

static void put_entries(const struct place *place, struct json *json)
{
	bool first = true;

	if (!place->info.key_size)
		return;
	while (!pp_bpf_map_next_key(place->map, first ? NULL : place->key, place->key)) {
		first = false;
		if (!put_entry(place, json) || !place->lines)
			continue;
		putc('\n', json->to);
		json->comma = false;
	}
}

static void put_map(const struct place *place, struct json *json)
{
	json_open(json, NULL, '{');
	json_text(json, "name", pp_bpf_map_name(place->map));
	json_text(json, "type", type_name(place->info.type));
	json_count(json, "key_size", place->info.key_size);
	json_count(json, "value_size", place->info.value_size);
	json_count(json, "max_entries", place->info.max_entries);
	json_count(json, "flags", place->info.flags);
	json_count(json, "id", pp_bpf_map_id(place->map));
	json_open(json, "entries", '[');
	put_entries(place, json);
	json_close(json, ']');
	json_close(json, '}');
}

static bool is_wanted(const struct pp_bpf_map *map, const char *name)
{
	return !name || !strcmp(pp_bpf_map_name(map), name);
}

void map_io_json(struct pp_bpf_object *object, const struct types *types, const char *name,
		 struct json *json)
{
	struct pp_bpf_map *map = NULL;
	struct place place;

	json_open(json, "maps", '[');
	while ((map = pp_bpf_map_next(object, map))) {
		if (!is_wanted(map, name) || place_init(&place, map, types))
			continue;
		put_map(&place, json);
		place_fini(&place);
	}
	json_close(json, ']');
}

static void list_map(const struct pp_bpf_map *map)
{
	struct pp_bpf_map_info info;

	pp_bpf_map_info(map, &info);
	cli_put_text(stdout, pp_bpf_map_name(map));
	printf("  %s  key %u  value %u  max_entries %u", type_name(info.type), info.key_size,
	       info.value_size, info.max_entries);
	if (info.flags)
		printf("  flags 0x%x", info.flags);
	putchar('\n');
}

void map_io_list(struct pp_bpf_object *object)
{
	struct pp_bpf_map *map = NULL;

	while ((map = pp_bpf_map_next(object, map)))
		list_map(map);
}

void map_io_table(struct pp_bpf_object *object, const struct types *types, const char *name)
{
	struct json json = {.to = stdout};
	struct pp_bpf_map *map = NULL;
	struct place place;

	while ((map = pp_bpf_map_next(object, map))) {
		if (!is_wanted(map, name) || place_init(&place, map, types))
			continue;
		list_map(map);
		place.lines = true;
		put_entries(&place, &json);
		place_fini(&place);
	}
}

/* ---- in ---- */

/* Of an element, why it cannot be taken, or NULL: everything is in the place then. */
static const char *take_values(const struct place *place, const struct json_node *entry)
{
	const struct json_node *value = json_member(entry, "value"), *values;
	uint32_t size = place->info.value_size, cpu = 0;
	const char *why = NULL;

	if (!place->stride)
		return value ? typed_take(place->types, place->type.value, value, place->values,
					  size)
			     : "an element without a value";
	values = json_member(entry, "values");
	if (!values || values->kind != JSON_ARRAY)
		return "an element without values, one for each CPU";
	memset(place->values, 0, pp_bpf_map_value_bytes(place->map));
	for (values = values->first; values && !why; values = values->next, cpu++) {
		if (cpu == pp_bpf_map_cpus())
			return "values for more CPUs than there are";
		why = typed_take(place->types, place->type.value, values,
				 place->values + cpu * place->stride, size);
	}
	return why;
}

static const char *take_entry(const struct place *place, const struct json_node *entry)
{
	const struct json_node *key = json_member(entry, "key");
	const char *why = NULL;
	int err;

	if (!key && place->info.key_size)
		return "an element without a key";
	if (key && !place->info.key_size)
		return "a key, which these maps do not have";
	if (key)
		why = typed_take(place->types, place->type.key, key, place->key,
				 place->info.key_size);
	if (!why)
		why = take_values(place, entry);
	if (why)
		return why;
	err = pp_bpf_map_update(place->map, key ? place->key : NULL, place->values, BPF_ANY);
	return err ? strerror(-err) : NULL;
}

static int fill_from(const struct place *place, const char *file, const struct json_node *root)
{
	const struct json_node *entries = json_member(root, "entries");
	unsigned int number = 1;

	entries = entries ? entries : root;
	if (entries->kind != JSON_ARRAY) {
		cli_error("%s: no array of elements", file);
		return -1;
	}
	for (entries = entries->first; entries; entries = entries->next, number++) {
		const char *why = take_entry(place, entries);

		if (why) {
			cli_error("%s: map '%s', element %u: %s", file, pp_bpf_map_name(place->map),
				  number, why);
			return -1;
		}
	}
	return 0;
}

static int fill_map(struct pp_bpf_map *map, const struct types *types, const char *file)
{
	struct json_node *root;
	struct bytes bytes;
	struct place place;
	int err = -1;

	if (input_read(file, &bytes))
		return -1;
	root = json_read(input_name(file), bytes.at, bytes.size);
	if (root && !place_init(&place, map, types)) {
		err = fill_from(&place, input_name(file), root);
		place_fini(&place);
	}
	json_free(root);
	input_free(&bytes);
	return err;
}

static int fill(struct pp_bpf_object *object, const struct types *types, const char *text)
{
	const char *equals = strchr(text, '=');
	char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;
	struct pp_bpf_map *map = name ? pp_bpf_map_by_name(object, name) : NULL;

	if (!equals)
		cli_error("--map takes NAME=FILE, not '%s'", text);
	else if (!map)
		cli_error("--map: no such map: '%s'", name ? name : "");
	free(name);
	return map ? fill_map(map, types, equals + 1) : -1;
}

int map_io_fill(struct pp_bpf_object *object, const struct types *types,
		const struct cli_texts *fills)
{
	int err = 0;

	for (unsigned int i = 0; i < fills->count && !err; i++)
		err = fill(object, types, fills->at[i]);
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * object.c - opening and closing objects, and what can be done in between
 *
 * An open object has its functions, programs and map definitions; maps and code come with
 * load.c. Nothing here is locked: until it is loaded an object belongs to one thread, and
 * afterwards only runs and map accesses may be concurrent.
 */
#include "bpf/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opts.h"
#include "bpf/map_slots.h"
#include "bpf/rcu.h"

#define FLAGS (PP_BPF_NO_JIT | PP_BPF_KEEP_LINES | PP_BPF_PROBE | PP_BPF_TRUSTED)
/* Size of the first version of struct pp_bpf_opts: it is the first. */
#define OPTS_FIRST sizeof(struct pp_bpf_opts)

const char *object_name(struct pp_bpf_object *object, const char *text)
{
	size_t size = strlen(text) + 1;
	struct name *name = malloc(sizeof(*name) + size);

	if (!name)
		return NULL;
	memcpy(name->text, text, size);
	name->next = object->names;
	object->names = name;
	return name->text;
}

int object_add_map(struct pp_bpf_object *object, const struct pp_bpf_map *map)
{
	struct pp_bpf_map *maps = object->maps;
	const char *name = object_name(object, map->name);

	if (!name)
		return -ENOMEM;
	/* Doubles at powers of two. */
	if (!(object->nmaps & (object->nmaps - 1)))
		maps = reallocarray(maps, object->nmaps ? object->nmaps * 2u : 1, sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	object->maps = maps;
	maps[object->nmaps] = *map;
	maps[object->nmaps].object = object;
	maps[object->nmaps++].name = name;
	return 0;
}

static int compare_place(const void *a, const void *b)
{
	const struct pp_bpf_map *wanted = a, *map = b;

	if (wanted->section != map->section)
		return wanted->section < map->section ? -1 : 1;
	return wanted->offset < map->offset ? -1 : wanted->offset > map->offset;
}

struct pp_bpf_map *object_find_map(const struct pp_bpf_object *object, uint32_t section,
				   uint64_t offset)
{
	const struct pp_bpf_map wanted = {.section = section, .offset = offset};

	if (!object->nmaps)
		return NULL;
	return bsearch(&wanted, object->maps, object->nmaps, sizeof(wanted), compare_place);
}

static void log_named(void *ctx, const char *message)
{
	const struct pp_bpf_object *object = ctx;
	char line[640];

	snprintf(line, sizeof(line), "%s: %s", object->opts.name, message);
	log_clean(line);
	object->opts.log(object->opts.log_ctx, line);
}

void object_free(struct pp_bpf_object *object)
{
	struct name *name, *next;

	elf_fini(&object->source.elf);
	free(object->source.places);
	free(object->source.slots);
	free(object->funcs);
	free(object->aliases);
	free(object->progs);
	for (uint32_t i = 0; i < object->nmaps; i++)
		map_handle_fini(&object->maps[i]);
	free(object->maps);
	free(object->registered);
	free(object->regions);
	for (name = object->names; name; name = next) {
		next = name->next;
		free(name);
	}
	free(object);
}

/* @name: the default one */
static int new_object(const struct pp_bpf_opts *opts, const char *name, struct pp_bpf_object **out)
{
	struct pp_bpf_object *object = calloc(1, sizeof(*object));
	int err;

	if (!object)
		return -ENOMEM;
	err = opts_copy(&object->opts, sizeof(object->opts), opts, OPTS_FIRST);
	if (err)
		goto free_object;
	err = -ENOMEM;
	object->opts.name = object_name(object, object->opts.name ? object->opts.name : name);
	if (!object->opts.name)
		goto free_object;
	if (object->opts.log)
		object->log = (struct log){log_named, object};
	if (object->opts.flags & ~FLAGS) {
		err = log_error(&object->log, -EINVAL, "unknown flags 0x%x",
				object->opts.flags & ~FLAGS);
		goto free_object;
	}
	object->refs = 1;
	*out = object;
	return 0;
free_object:
	object_free(object);
	return err;
}

static int add_progs(struct pp_bpf_object *object)
{
	object->progs = calloc(object->nfuncs, sizeof(*object->progs));
	if (!object->progs)
		return -ENOMEM;
	for (uint32_t i = 0; i < object->nfuncs; i++) {
		if (object->funcs[i].entry)
			object->progs[object->nprogs++] =
				(struct pp_bpf_prog){.object = object, .func = i};
	}
	return 0;
}

/* The host's maps take the place of those of the same names. */
static int reuse_maps(struct pp_bpf_object *object)
{
	int err = 0;

	for (size_t i = 0; i < object->opts.nmaps && !err; i++) {
		struct pp_bpf_map *other = object->opts.maps[i];
		struct pp_bpf_map *map = pp_bpf_map_by_name(object, other->name);

		if (map)
			err = object_reuse_map(object, map, other);
	}
	object->opts.maps = NULL;
	object->opts.nmaps = 0;
	return err;
}

int pp_bpf_open_mem(const void *elf, size_t size, const struct pp_bpf_opts *opts,
		    struct pp_bpf_object **out)
{
	struct pp_bpf_object *object;
	int err = new_object(opts, "<memory>", &object);

	if (err)
		return err;
	err = elf_init(&object->source.elf, elf, size, &object->log);
	if (!err)
		err = layout_elf(object);
	if (!err)
		err = add_progs(object);
	if (!err)
		err = reuse_maps(object);
	if (err)
		object_free(object);
	else
		*out = object;
	return err;
}

struct bytes {
	uint8_t *at;
	size_t size;
};

/* @bytes: empty; what it holds is to be freed, on failure too */
static int read_all(FILE *file, struct bytes *bytes)
{
	size_t room = 1 << 14;

	do {
		uint8_t *larger = realloc(bytes->at, room *= 2);

		if (!larger)
			return -ENOMEM;
		bytes->at = larger;
		errno = 0;
		bytes->size += fread(bytes->at + bytes->size, 1, room - bytes->size, file);
	} while (bytes->size == room);
	if (ferror(file))
		return errno ? -errno : -EIO;
	return 0;
}

static int read_file(const char *path, struct bytes *bytes)
{
	FILE *file = fopen(path, "rbe");
	int err;

	if (!file)
		return -errno;
	err = read_all(file, bytes);
	fclose(file);
	return err;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int pp_bpf_open_file(const char *path, const struct pp_bpf_opts *opts, struct pp_bpf_object **out)
{
	struct pp_bpf_opts copy;
	struct bytes bytes = {0};
	int err = opts_copy(&copy, sizeof(copy), opts, OPTS_FIRST);

	if (err)
		return err;
	copy.size = sizeof(copy);
	if (!copy.name)
		copy.name = file_name(path);
	err = read_file(path, &bytes);
	if (err) {
		const struct log log = {copy.log, copy.log_ctx};

		log_line(&log, "%s: %s", path, strerror(-err));
	} else {
		err = pp_bpf_open_mem(bytes.at, bytes.size, &copy, out);
	}
	free(bytes.at);
	return err;
}

int pp_bpf_open_raw(const void *insns, size_t size, const struct pp_bpf_opts *opts,
		    struct pp_bpf_object **out)
{
	struct pp_bpf_object *object;
	int err = new_object(opts, "<memory>", &object);

	if (err)
		return err;
	if (!size || size % BPF_SLOT || size / BPF_SLOT > INT32_MAX) {
		err = log_error(&object->log, -ENOEXEC, "%zu bytes are not whole instructions",
				size);
		goto out;
	}
	err = -ENOMEM;
	object->source.slots = malloc(size);
	if (!object->source.slots)
		goto out;
	memcpy(object->source.slots, insns, size);
	object->source.nslots = (uint32_t)(size / BPF_SLOT);
	err = layout_raw(object);
	if (!err)
		err = add_progs(object);
out:
	if (err)
		object_free(object);
	else
		*out = object;
	return err;
}

struct pp_bpf_map *pp_bpf_map_next(struct pp_bpf_object *object, const struct pp_bpf_map *prev)
{
	size_t next = prev ? (size_t)(prev - object->maps) + 1 : 0;

	return next < object->nmaps ? &object->maps[next] : NULL;
}

struct pp_bpf_map *pp_bpf_map_by_name(struct pp_bpf_object *object, const char *name)
{
	for (uint32_t i = 0; i < object->nmaps; i++) {
		if (!strcmp(object->maps[i].name, name))
			return &object->maps[i];
	}
	return NULL;
}

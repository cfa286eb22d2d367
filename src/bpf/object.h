/* SPDX-License-Identifier: MIT */
/*
 * object.h - an object between its file and its programs
 *
 *	elf -> layout (functions, data sections, map definitions)		open
 *	-> create maps -> reloc -> decode -> resolve -> check -> compile	load
 *
 * Functions of all code sections form one unit. A code section lies whole in the unit's
 * slots, so distances within it stay as the compiler wrote them.
 */
#ifndef BPF_OBJECT_H
#define BPF_OBJECT_H

#include <progpack_bpf.h>

#include "bpf/elf.h"
#include "bpf/insn.h"
#include "bpf/map.h"
#include "jit/jit.h"

/* What became of a section of the file. */
enum place_kind {
	PLACE_NONE,
	PLACE_CODE, /* @at: its first slot in the unit */
	PLACE_DATA, /* @at: number of the map that holds it */
	PLACE_MAPS, /* definitions of maps */
};

struct place {
	enum place_kind kind;
	uint32_t at;
};

/*
 * struct source - what loading needs of the file; all zero once loaded
 * @elf, @places: of an ELF object; places by section number
 * @slots: its code sections, as in the file, one behind the other; owned
 */
struct source {
	struct elf elf;
	struct place *places;
	uint8_t *slots;
	uint32_t nslots;
};

/* @native: NULL if it is interpreted; @inner: the same function, as others of the unit call it */
struct pp_bpf_prog {
	struct pp_bpf_object *object;
	uint32_t func; /* of the unit */
	pp_bpf_entry_fn native;
	const void *inner;
};

/* A further name of a function, known outside; names are the object's. */
struct alias {
	const char *name;
	uint32_t func;
};

/* A name that lives as long as its object. */
struct name {
	struct name *next;
	char text[];
};

/*
 * struct pp_bpf_object
 * @opts: the caller's; @log wraps its log, adding the object's name
 * @maps: in the order of (section, offset); handles are pointers into it
 * @registered: helpers of the host, searched before the built-in ones
 * @unit: funcs from the start; the rest, @helpers, @map_names and @image when loaded
 * @regions: what guarded programs may touch besides
 * @mem: where image went; image.rx is NULL if not compiled
 * @holds_faults: fault_hold() was called; @holds_images: for @mem
 */
struct pp_bpf_object {
	struct pp_bpf_opts opts;
	struct log log;
	struct name *names;
	struct source source;
	struct func *funcs;
	struct alias *aliases;
	uint32_t nfuncs, naliases, nprogs, nmaps, nregistered, nregions;
	struct pp_bpf_prog *progs;
	struct pp_bpf_map *maps;
	struct helper *registered;
	struct region *regions;
	bool loaded, holds_faults, holds_images;
	struct unit unit;
	struct helper *helpers;
	const char **map_names;
	struct jit_image image;
	struct jit_mem mem;
	uint32_t refs;
	struct pp_bpf_object *next_dead;
};

/* object_name - a copy of @text that lives as long as the object, or NULL */
const char *object_name(struct pp_bpf_object *object, const char *text);

/*
 * object_add_map - append a definition
 * @map: all but ops and state; name is copied
 * Return: 0 or -ENOMEM. Maps move: only while opening.
 */
int object_add_map(struct pp_bpf_object *object, const struct pp_bpf_map *map);

/* object_make_map - 0, -ENOTSUP (type), -ENOEXEC (what defines it), -ENOMEM; log: which map, why */
int object_make_map(struct pp_bpf_object *object, struct pp_bpf_map *map);

/* object_reuse_map - as pp_bpf_map_reuse() */
int object_reuse_map(struct pp_bpf_object *object, struct pp_bpf_map *map,
		     const struct pp_bpf_map *other);

/* object_find_map - by its place in the file, or NULL */
struct pp_bpf_map *object_find_map(const struct pp_bpf_object *object, uint32_t section,
				   uint64_t offset);

/*
 * layout_elf - make functions, maps and places of object->source.elf
 * Return: 0, -ENOEXEC (log: section and offset), -ENOTSUP, -ENOMEM.
 */
int layout_elf(struct pp_bpf_object *object);

/* layout_raw - the same for source.slots alone: 0, -EINVAL (a call to nowhere), -ENOMEM */
int layout_raw(struct pp_bpf_object *object);

/* btf_fits - are these bytes BTF whose types do not overrun their table? libbpf may be given them
 */
bool btf_fits(const uint8_t *btf, uint64_t size);

/* btf_maps, legacy_maps - add the maps that a section defines: -ENOEXEC, -ENOTSUP, -ENOMEM */
int btf_maps(struct pp_bpf_object *object, uint32_t section);
int legacy_maps(struct pp_bpf_object *object, uint32_t section);

/*
 * reloc_code - apply the relocations of code sections to a copy of source.slots
 * reloc_data - those of data sections to the maps' values; the maps exist
 * reloc_maps, reloc_progs - put maps and programs in maps whose definitions say so; the maps exist,
 *	and for programs the object is loaded
 *
 * Return: 0, -ENOEXEC (bad relocation), -ENOENT (no such helper), -ENOTSUP.
 */
int reloc_code(const struct pp_bpf_object *object, uint8_t *slots);
int reloc_data(const struct pp_bpf_object *object);
int reloc_maps(const struct pp_bpf_object *object);
int reloc_progs(const struct pp_bpf_object *object);

/* object_free - free one that is not loaded, or no more */
void object_free(struct pp_bpf_object *object);

/* load_undo - free all that loading made; the object is as it was when opened */
void load_undo(struct pp_bpf_object *object);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * heap_demo.h - the parts of progpack heap --demo
 *
 *	load (heap_load.c): blocks that come and go
 *	map (heap_map.c): the heap's packs as cells of as many bytes each, from pp_walk()
 *	draw (heap_draw.c, heap_svg.c): a map in the terminal; a map as a picture
 */
#ifndef TOOLS_HEAP_DEMO_H
#define TOOLS_HEAP_DEMO_H

#include <progpack.h>
#include <stdbool.h>
#include <stdio.h>

#define DEMO_PACK ((size_t)2 << 20)
#define DEMO_PACKS 8u

/* A heap under a load. */
struct demo {
	struct pp_heap *heap;
	const void **blocks;
	size_t *sizes;
	size_t nblocks, room;
	uint64_t live; /* bytes */
	uint64_t random;
};

/* demo_init - 0, or -errno after an error message */
int demo_init(struct demo *demo, enum pp_writer writer);
void demo_fini(struct demo *demo);

/* demo_step - one frame of the load at @time, 0 .. 1: 0, or -errno after an error message */
int demo_step(struct demo *demo, double time);

/* Bytes of one cell by what they are; all 0: addresses without memory and pack. */
struct heap_cell {
	uint32_t used, free, ungrown;
	bool huge;
};

struct heap_map {
	size_t cell_bytes;
	size_t ncells; /* of DEMO_PACKS packs */
	struct heap_cell *cells;
	struct pp_stats stats;
};

/* heap_map_init - cells of @cell_bytes, a part of a pack: 0, or -ENOMEM */
int heap_map_init(struct heap_map *map, size_t cell_bytes);
void heap_map_fini(struct heap_map *map);

/* heap_map_read - the heap as it is now: 0, or -errno */
int heap_map_read(struct heap_map *map, const struct pp_heap *heap);

static inline size_t heap_map_pack_cells(const struct heap_map *map)
{
	return DEMO_PACK / map->cell_bytes;
}

/* How a cell is drawn: as one of these, and of a huge page or not. */
enum cell_look {
	CELL_NONE,    /* not mapped */
	CELL_UNGROWN, /* in a pack that has not grown so far */
	CELL_FREE,
	CELL_SOME, /* a little of it used */
	CELL_HALF,
	CELL_MOST,
	CELL_FULL,
	CELL_LOOKS,
};
enum cell_look heap_cell_look(const struct heap_map *map, const struct heap_cell *cell);

/* heap_map_figures - blocks, bytes, density, as one line of text without its end */
void heap_map_figures(const struct heap_map *map, FILE *to);

/* heap_draw - the map as lines of text; where there are @colours, in UTF-8. How many lines. */
int heap_draw(const struct heap_map *map, FILE *to, bool colours);

/* heap_svg - the map as a picture; cells of a page look best */
void heap_svg(const struct heap_map *map, FILE *to);

#endif

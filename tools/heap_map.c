/* SPDX-License-Identifier: MIT */
/* heap_map.c - a heap's packs as cells; see heap_demo.h */
#include "heap_demo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int heap_map_init(struct heap_map *map, size_t cell_bytes)
{
	map->cell_bytes = cell_bytes;
	map->ncells = DEMO_PACKS * heap_map_pack_cells(map);
	map->cells = calloc(map->ncells, sizeof(*map->cells));
	return map->cells ? 0 : -ENOMEM;
}

void heap_map_fini(struct heap_map *map)
{
	free(map->cells);
}

struct reading {
	struct heap_map *map;
	uintptr_t lo;
};

static void add_to_cell(struct heap_cell *cell, const struct pp_run *run, uint32_t bytes)
{
	cell->huge = run->huge;
	switch (run->state) {
	case PP_RUN_FREE: cell->free += bytes; break;
	case PP_RUN_UNGROWN: cell->ungrown += bytes; break;
	default: cell->used += bytes; break;
	}
}

static int add_run(void *ctx, const struct pp_run *run)
{
	const struct reading *reading = ctx;
	struct heap_map *map = reading->map;
	size_t at = (uintptr_t)run->rx - reading->lo, end = at + run->size;

	while (at < end && at / map->cell_bytes < map->ncells) {
		size_t cell = at / map->cell_bytes, cell_end = (cell + 1) * map->cell_bytes;
		size_t stop = end < cell_end ? end : cell_end;

		add_to_cell(&map->cells[cell], run, (uint32_t)(stop - at));
		at = stop;
	}
	return 0;
}

int heap_map_read(struct heap_map *map, const struct pp_heap *heap)
{
	struct reading reading = {.map = map};
	uintptr_t hi;
	int err;

	memset(map->cells, 0, map->ncells * sizeof(*map->cells));
	pp_heap_range(heap, &reading.lo, &hi);
	err = pp_walk(heap, add_run, &reading);
	if (err)
		return err;
	map->stats.size = sizeof(map->stats);
	return pp_stats(heap, &map->stats);
}

enum cell_look heap_cell_look(const struct heap_map *map, const struct heap_cell *cell)
{
	if (!cell->used && !cell->free)
		return cell->ungrown ? CELL_UNGROWN : CELL_NONE;
	if (!cell->used)
		return CELL_FREE;
	if (cell->used >= map->cell_bytes - map->cell_bytes / 32)
		return CELL_FULL;
	if (cell->used >= map->cell_bytes - map->cell_bytes / 4)
		return CELL_MOST;
	return cell->used >= map->cell_bytes / 3 ? CELL_HALF : CELL_SOME;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

void heap_map_figures(const struct heap_map *map, FILE *to)
{
	const struct pp_stats *stats = &map->stats;

	fprintf(to, "%llu blocks, %.1f MiB used, %.1f committed (%.1f %%), %.1f on huge pages",
		(unsigned long long)stats->blocks, mib(stats->used), mib(stats->committed),
		100.0 * (double)stats->used / (double)stats->committed, mib(stats->huge));
}

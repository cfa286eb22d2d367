/* SPDX-License-Identifier: MIT */
/* heap_svg.c - a heap as a picture: two columns of packs, a cell a page; see heap_demo.h */
#include "heap_demo.h"

#include <stdlib.h>

/* In pixels: a cell and the gap to the next one; a pack; the picture. */
#define CELL 6u
#define GAP 1u
#define PITCH (CELL + GAP)
#define LINE_CELLS 64u
#define PACK_WIDTH (LINE_CELLS * PITCH)
#define COLUMN_GAP 36u
#define MARGIN 28u
#define WIDTH (2 * PACK_WIDTH + COLUMN_GAP + 2 * MARGIN)
#define HEAD 92u
#define LABEL 20u
#define FOOT 66u

static unsigned int pack_height(const struct heap_map *map)
{
	return (unsigned int)(heap_map_pack_cells(map) / LINE_CELLS) * PITCH;
}

static unsigned int row_height(const struct heap_map *map)
{
	return LABEL + pack_height(map) + 18;
}

static unsigned int height(const struct heap_map *map)
{
	return HEAD + DEMO_PACKS / 2 * row_height(map) + FOOT;
}

/* The packs go down the left column, then down the right one, as addresses go up. */
static unsigned int pack_x(size_t pack)
{
	return MARGIN + (pack < DEMO_PACKS / 2 ? 0 : PACK_WIDTH + COLUMN_GAP);
}

static unsigned int pack_y(const struct heap_map *map, size_t pack)
{
	return HEAD + LABEL + (unsigned int)(pack % (DEMO_PACKS / 2)) * row_height(map);
}

/* Classes: one a look; used ones once more for huge pages. */
static const char *const looks[CELL_LOOKS] = {
	[CELL_UNGROWN] = "n", [CELL_FREE] = "f",  [CELL_SOME] = "u1",
	[CELL_HALF] = "u2",   [CELL_MOST] = "u3", [CELL_FULL] = "u4",
};

static bool is_used(enum cell_look look)
{
	return look >= CELL_SOME;
}

static void put_style(FILE *to)
{
	fputs("<style>\n"
	      "text{font-family:system-ui,'Segoe UI','DejaVu Sans',Helvetica,sans-serif;fill:#1f2933}\n"
	      ".t{font-size:20px;font-weight:600}.s{font-size:13px;fill:#52606d}\n"
	      ".l{font-size:12px;fill:#52606d}.b{font-weight:600;fill:#1f2933}\n"
	      ".n{fill:none;stroke:#cbd2d9;stroke-width:.8}.f{fill:#e4e7eb}\n"
	      ".u1{fill:#cfe0f0}.u2{fill:#9fc1e0}.u3{fill:#639bcb}.u4{fill:#2f6fa8}\n"
	      ".h.u1{fill:#cfe6d8}.h.u2{fill:#9ccdb0}.h.u3{fill:#5fae83}.h.u4{fill:#2c8057}\n"
	      ".e{fill:none;stroke:#cbd2d9;stroke-dasharray:4 4}\n"
	      "</style>\n",
	      to);
}

/* All cells of a pack that look the same are one path. */
static void put_path(const struct heap_map *map, size_t pack, enum cell_look look, FILE *to)
{
	size_t cells = heap_map_pack_cells(map);
	const struct heap_cell *cell = &map->cells[pack * cells];
	bool any = false;

	for (size_t i = 0; i < cells; i++) {
		if (heap_cell_look(map, &cell[i]) != look)
			continue;
		if (!any)
			fprintf(to, "<path class=\"%s%s\" d=\"",
				cell->huge && is_used(look) ? "h " : "", looks[look]);
		any = true;
		fprintf(to, "M%zu %zuh%uv%uh-%uz", i % LINE_CELLS * PITCH, i / LINE_CELLS * PITCH,
			CELL, CELL, CELL);
	}
	if (any)
		fputs("\"/>\n", to);
}

/* Sums over a pack's cells. */
struct totals {
	uint64_t used, grown;
	bool huge;
};

static struct totals totals_of(const struct heap_map *map, size_t pack)
{
	size_t cells = heap_map_pack_cells(map);
	struct totals totals = {.huge = map->cells[pack * cells].huge};

	for (size_t i = pack * cells; i < (pack + 1) * cells; i++) {
		totals.used += map->cells[i].used;
		totals.grown += map->cells[i].used + map->cells[i].free;
	}
	return totals;
}

static void put_label(const struct totals *totals, size_t pack, FILE *to)
{
	fprintf(to, "<text class=\"l\" y=\"-7\"><tspan class=\"b\">pack %zu</tspan>", pack);
	if (!totals->grown)
		fputs("  not mapped", to);
	else if (totals->grown < DEMO_PACK)
		fprintf(to, "  %llu KiB so far, %.0f %% used",
			(unsigned long long)totals->grown >> 10,
			100.0 * (double)totals->used / (double)totals->grown);
	else
		fprintf(to, "  %.1f %% used%s",
			100.0 * (double)totals->used / (double)totals->grown,
			totals->huge ? ", one huge page" : "");
	fputs("</text>\n", to);
}

static void put_pack(const struct heap_map *map, size_t pack, FILE *to)
{
	struct totals totals = totals_of(map, pack);

	fprintf(to, "<g transform=\"translate(%u %u)\">\n", pack_x(pack), pack_y(map, pack));
	put_label(&totals, pack, to);
	if (!totals.grown)
		fprintf(to,
			"<rect class=\"e\" x=\".5\" y=\".5\" width=\"%u\" height=\"%u\" rx=\"3\"/>\n",
			PACK_WIDTH - GAP - 1, pack_height(map) - GAP - 1);
	for (int look = CELL_UNGROWN; look < CELL_LOOKS; look++)
		put_path(map, pack, (enum cell_look)look, to);
	fputs("</g>\n", to);
}

static void put_head(const struct heap_map *map, FILE *to)
{
	fprintf(to,
		"<text class=\"t\" x=\"%u\" y=\"40\">A progpack heap after churn</text>\n"
		"<text class=\"s\" x=\"%u\" y=\"63\">",
		MARGIN, MARGIN);
	heap_map_figures(map, to);
	fprintf(to,
		"; writer %s</text>\n<text class=\"s\" x=\"%u\" y=\"63\" text-anchor=\"end\">"
		"cell = %zu KiB, pack = 2 MiB</text>\n",
		pp_writer_name(map->stats.writer), WIDTH - MARGIN, map->cell_bytes >> 10);
}

static const struct legend {
	const char *classes[4];
	const char *text;
	unsigned int width;
} legend[] = {
	{{"h u4", "h u3", "h u2", "h u1"}, "code on a huge page, full to thin", 272},
	{{"u4", "u3", "u2", "u1"}, "code on small pages", 198},
	{{"f"}, "free: traps, ready to be allocated", 250},
	{{"n"}, "not grown yet: no memory", 0},
};
#define LEGEND (sizeof(legend) / sizeof(legend[0]))

static void put_legend(const struct heap_map *map, FILE *to)
{
	unsigned int x = MARGIN, y = height(map) - FOOT + 30;

	for (size_t i = 0; i < LEGEND; i++) {
		unsigned int at = x;

		for (size_t k = 0; k < 4 && legend[i].classes[k]; k++, at += 13)
			fprintf(to,
				"<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"11\" height=\"11\"/>\n",
				legend[i].classes[k], at, y - 10);
		fprintf(to, "<text class=\"l\" x=\"%u\" y=\"%u\">%s</text>\n", at + 5, y,
			legend[i].text);
		x += legend[i].width;
	}
}

void heap_svg(const struct heap_map *map, FILE *to)
{
	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\">\n"
		"<title>A progpack heap</title>\n",
		WIDTH, height(map), WIDTH, height(map));
	put_style(to);
	fprintf(to,
		"<rect x=\".5\" y=\".5\" width=\"%u\" height=\"%u\" rx=\"8\" fill=\"#ffffff\" "
		"stroke=\"#e4e7eb\"/>\n",
		WIDTH - 1, height(map) - 1);
	put_head(map, to);
	for (size_t pack = 0; pack < DEMO_PACKS; pack++)
		put_pack(map, pack, to);
	put_legend(map, to);
	fputs("</svg>\n", to);
}

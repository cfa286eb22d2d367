/* SPDX-License-Identifier: MIT */
/* heap_draw.c - a heap in the terminal; see heap_demo.h */
#include "heap_demo.h"

#include <string.h>

#define CELLS_A_LINE 64u

/* 256-colour codes of xterm: small pages blue, huge ones green, what is no code grey. */
#define SMALL "\033[38;5;75m"
#define HUGE_PAGE "\033[38;5;71m"
#define GREY "\033[38;5;244m"
#define PLAIN "\033[0m"

static const struct look {
	const char *ascii, *drawn;
	bool is_code;
} looks[CELL_LOOKS] = {
	[CELL_NONE] = {" ", " ", false}, [CELL_UNGROWN] = {"-", "╌", false},
	[CELL_FREE] = {".", "·", false}, [CELL_SOME] = {":", "░", true},
	[CELL_HALF] = {"+", "▒", true},  [CELL_MOST] = {"x", "▓", true},
	[CELL_FULL] = {"#", "█", true},
};

static const char *colour_of(const struct look *look, bool huge)
{
	if (!look->is_code)
		return GREY;
	return huge ? HUGE_PAGE : SMALL;
}

static void put_cells(const struct heap_map *map, size_t from, FILE *to, bool colours)
{
	const char *last = NULL;

	for (size_t i = from; i < from + CELLS_A_LINE; i++) {
		const struct look *look = &looks[heap_cell_look(map, &map->cells[i])];
		const char *colour = colour_of(look, map->cells[i].huge);

		if (colours && colour != last)
			fputs(colour, to);
		last = colour;
		fputs(colours ? look->drawn : look->ascii, to);
	}
	if (colours)
		fputs(PLAIN, to);
}

/* What to say behind a pack's first line. */
static const char *remark(const struct heap_map *map, size_t pack)
{
	const struct heap_cell *first = &map->cells[pack * heap_map_pack_cells(map)];
	const struct heap_cell *last = first + heap_map_pack_cells(map) - 1;

	if (heap_cell_look(map, first) == CELL_NONE)
		return "not mapped";
	if (first->huge)
		return "huge page";
	return last->ungrown ? "growing" : "small pages";
}

static int put_packs(const struct heap_map *map, FILE *to, bool colours)
{
	size_t lines = heap_map_pack_cells(map) / CELLS_A_LINE;
	const char *clear = colours ? "\033[K\n" : "\n";

	for (size_t pack = 0; pack < DEMO_PACKS; pack++) {
		for (size_t line = 0; line < lines; line++) {
			if (line)
				fputs("   ", to);
			else
				fprintf(to, "%2zu ", pack);
			put_cells(map, (pack * lines + line) * CELLS_A_LINE, to, colours);
			fprintf(to, " %s%s", line ? "" : remark(map, pack), clear);
		}
	}
	return (int)(DEMO_PACKS * lines);
}

/* In colours, the words are in the ones that they explain. */
static void put_legend(const struct heap_map *map, FILE *to, bool colours)
{
	const char *full = colours ? looks[CELL_FULL].drawn : looks[CELL_FULL].ascii;
	const char *most = colours ? looks[CELL_MOST].drawn : looks[CELL_MOST].ascii;
	const char *half = colours ? looks[CELL_HALF].drawn : looks[CELL_HALF].ascii;
	const char *some = colours ? looks[CELL_SOME].drawn : looks[CELL_SOME].ascii;
	const char *none = colours ? looks[CELL_FREE].drawn : looks[CELL_FREE].ascii;
	const char *ungrown = colours ? looks[CELL_UNGROWN].drawn : looks[CELL_UNGROWN].ascii;

	fprintf(to, "   %s%s%s%s code, full to thin  %s free: traps  %s not grown yet  ", full,
		most, half, some, none, ungrown);
	fprintf(to, "cell: %zu KiB", map->cell_bytes >> 10);
	if (colours)
		fprintf(to, "  " HUGE_PAGE "huge" PLAIN " " SMALL "small pages" PLAIN "\033[K");
	putc('\n', to);
}

int heap_draw(const struct heap_map *map, FILE *to, bool colours)
{
	const char *clear = colours ? "\033[K\n" : "\n";
	int lines;

	fprintf(to,
		"progpack heap, writer %s, %llu MiB reserved: a line is a part of a pack of 2 MiB%s",
		pp_writer_name(map->stats.writer), (unsigned long long)map->stats.reserved >> 20,
		clear);
	lines = put_packs(map, to, colours);
	put_legend(map, to, colours);
	fputs("   ", to);
	heap_map_figures(map, to);
	fputs(clear, to);
	return lines + 3;
}

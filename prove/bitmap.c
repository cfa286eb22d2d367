/* SPDX-License-Identifier: MIT */
/* bitmap.c - bitmaps of 4 words with any contents, and any part of them */
#include "prove.h"

#include "base/bitmap.c"

#define WORDS 4u
#define BITS (WORDS * BITMAP_WORD)

static uint64_t map[WORDS], old[WORDS];

static void any_map(void)
{
	for (size_t i = 0; i < WORDS; i++)
		old[i] = map[i] = any_word();
}

/* A part of the bits, which may be empty. */
static size_t from, to;

static void any_part(void)
{
	to = any_below(BITS + 1);
	from = any_below(to + 1);
}

/* prove: --unwind 5 */
void prove_set(void)
{
	size_t i = any_below(BITS);

	any_map();
	any_part();
	bitmap_set(map, from, to - from);
	PROVE(bitmap_get(map, i) == (bitmap_get(old, i) || (i >= from && i < to)));
}

/* prove: --unwind 5 */
void prove_clear(void)
{
	size_t i = any_below(BITS);

	any_map();
	any_part();
	bitmap_clear(map, from, to - from);
	PROVE(bitmap_get(map, i) == (bitmap_get(old, i) && !(i >= from && i < to)));
}

/* prove: --unwind 5 */
void prove_next(void)
{
	size_t i = any_below(BITS), at;
	bool bit = any_bool();

	any_map();
	any_part();
	at = bit ? bitmap_next_one(map, from, to) : bitmap_next_zero(map, from, to);
	PROVE(at >= from && at <= to);
	PROVE(at == to || bitmap_get(map, at) == bit);
	PROVE(!(i >= from && i < at) || bitmap_get(map, i) != bit);
}

/* prove: --unwind 5 */
void prove_last(void)
{
	size_t i = any_below(BITS), at;

	any_map();
	any_part();
	at = bitmap_last_one(map, from, to);
	PROVE(at == BITMAP_NONE || (at >= from && at < to && bitmap_get(map, at)));
	if (i >= from && i < to && (at == BITMAP_NONE || i > at))
		PROVE(!bitmap_get(map, i));
}

/* prove: --unwind 5 */
void prove_nothing_past_the_end(void)
{
	any_map();
	any_part();
	PROVE(bitmap_next_one(map, to, from) == from || from == to);
	PROVE(bitmap_last_one(map, to, from) == BITMAP_NONE);
}

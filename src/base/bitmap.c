/* SPDX-License-Identifier: MIT */
#include "base/bitmap.h"

/* Bits from .. from + count - 1 of one word; 1 <= count, from + count <= 64. */
static uint64_t mask(size_t from, size_t count)
{
	return ~UINT64_C(0) >> (BITMAP_WORD - count) << from;
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void store(uint64_t *map, size_t word, uint64_t bits)
{
	__atomic_store_n(&map[word], bits, __ATOMIC_RELEASE);
}

void bitmap_set(uint64_t *map, size_t from, size_t count)
{
	while (count) {
		size_t word = from / BITMAP_WORD, bit = from % BITMAP_WORD;
		size_t here = at_most(count, BITMAP_WORD - bit);

		store(map, word, bitmap_word(map, word) | mask(bit, here));
		from += here;
		count -= here;
	}
}

void bitmap_clear(uint64_t *map, size_t from, size_t count)
{
	while (count) {
		size_t word = from / BITMAP_WORD, bit = from % BITMAP_WORD;
		size_t here = at_most(count, BITMAP_WORD - bit);

		store(map, word, bitmap_word(map, word) & ~mask(bit, here));
		from += here;
		count -= here;
	}
}

/* The first bit of from .. to - 1 that is set in (word ^ flip), or @to. */
static size_t next(const uint64_t *map, size_t from, size_t to, uint64_t flip)
{
	uint64_t bits;
	size_t word = from / BITMAP_WORD;

	if (from >= to)
		return to;
	bits = (bitmap_word(map, word) ^ flip) & ~UINT64_C(0) << from % BITMAP_WORD;
	while (!bits) {
		if (++word * BITMAP_WORD >= to)
			return to;
		bits = bitmap_word(map, word) ^ flip;
	}
	return at_most(word * BITMAP_WORD + (size_t)__builtin_ctzll(bits), to);
}

size_t bitmap_next_one(const uint64_t *map, size_t from, size_t to)
{
	return next(map, from, to, 0);
}

size_t bitmap_next_zero(const uint64_t *map, size_t from, size_t to)
{
	return next(map, from, to, ~UINT64_C(0));
}

size_t bitmap_last_one(const uint64_t *map, size_t from, size_t to)
{
	size_t word, found;
	uint64_t bits;

	if (from >= to)
		return BITMAP_NONE;
	word = (to - 1) / BITMAP_WORD;
	bits = bitmap_word(map, word) & mask(0, (to - 1) % BITMAP_WORD + 1);
	while (!bits) {
		if (word <= from / BITMAP_WORD)
			return BITMAP_NONE;
		bits = bitmap_word(map, --word);
	}
	found = word * BITMAP_WORD + 63 - (size_t)__builtin_clzll(bits);
	return found >= from ? found : BITMAP_NONE;
}

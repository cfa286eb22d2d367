/* SPDX-License-Identifier: MIT */
/*
 * bitmap.h - bitmaps that one thread writes while others read
 *
 * Bits are numbered from 0 and kept in 64-bit words. Writers must exclude each other; readers
 * need no lock: a word changes in one release store and is read by an acquire load, so a
 * reader that sees a bit also sees what was written before it. A change of several words is
 * seen word by word.
 */
#ifndef BASE_BITMAP_H
#define BASE_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITMAP_WORD 64u

/* No such bit. */
#define BITMAP_NONE SIZE_MAX

static inline uint64_t bitmap_word(const uint64_t *map, size_t word)
{
	return __atomic_load_n(&map[word], __ATOMIC_ACQUIRE);
}

static inline bool bitmap_get(const uint64_t *map, size_t bit)
{
	return bitmap_word(map, bit / BITMAP_WORD) >> bit % BITMAP_WORD & 1;
}

/* bitmap_set, bitmap_clear - change bits from .. from + count - 1, lowest word first */
void bitmap_set(uint64_t *map, size_t from, size_t count);
void bitmap_clear(uint64_t *map, size_t from, size_t count);

/* bitmap_next_one, _zero - the first such bit in from .. to - 1, or @to */
size_t bitmap_next_one(const uint64_t *map, size_t from, size_t to);
size_t bitmap_next_zero(const uint64_t *map, size_t from, size_t to);

/* bitmap_last_one - the last set bit in from .. to - 1, or BITMAP_NONE */
size_t bitmap_last_one(const uint64_t *map, size_t from, size_t to);

#endif

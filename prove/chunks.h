/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - index.c over two packs in any state that the invariant allows, and what should follow
 *
 * Packs are of 8 chunks and leaves of 4 (or of what a proof's options say): nothing in index.c
 * depends on their sizes but that they are multiples. By induction over all operations: each keeps
 * the invariant, and what it gives is what a look at each chunk gives. In the place of bitmap.c and
 * runs.c, which have their own proofs, stands what they promise; the highest kind has several
 * lengths, as real ones have from 257 on. The view is the first of two: packs may be another's.
 *
 * What is not proved here: index_rebuild() and index_largest(), which tests and the fuzzer compare
 * with others' answers; and what readers see who come in the middle of a change.
 */
#ifndef PROVE_CHUNKS_H
#define PROVE_CHUNKS_H

#include "prove.h"

#include "heap/index.h"

#define PACKS 2u
#ifndef CHUNKS
#define CHUNKS 8u
#define LEAF 4u
#endif
#define ALL ((size_t)PACKS * CHUNKS)
#define LEAVES (ALL / LEAF)

#undef PACK_CHUNKS
#undef RUNS_LEAF
#undef RUNS_PLANES
#define PACK_CHUNKS CHUNKS
#define RUNS_LEAF LEAF
#define RUNS_PLANES 1u

/* A bitmap is one word, which shortens formulas a lot. */
#define bitmap_word(map, word) (*(map))
#define bitmap_get(map, bit) ((bool)(*(map) >> (bit) % 32 & 1))

#include "heap/index.c"

static uint64_t used, first, opened, dying, old;
static uint32_t leaf_kinds[LEAVES];
static struct index_pack pack[PACKS];
static struct index ix;

/* Bits from .. to - 1; nothing is asked of chunks that there are not. */
static uint32_t bits(size_t from, size_t to)
{
	PROVE(to <= ALL);
	return from < to ? (UINT32_C(1) << to % 32) - (UINT32_C(1) << from % 32) : 0;
}

static size_t lowest(uint32_t ones, size_t none)
{
	return ones ? (size_t)__builtin_ctz(ones) : none;
}

static size_t highest(uint32_t ones, size_t none)
{
	return ones ? (size_t)(31 - __builtin_clz(ones)) : none;
}

void bitmap_set(uint64_t *map, size_t from, size_t count)
{
	*map |= bits(from, from + count);
}

void bitmap_clear(uint64_t *map, size_t from, size_t count)
{
	*map &= ~bits(from, from + count);
}

size_t bitmap_next_one(const uint64_t *map, size_t from, size_t to)
{
	return lowest((uint32_t)*map & bits(from, to), to);
}

size_t bitmap_next_zero(const uint64_t *map, size_t from, size_t to)
{
	return lowest(~(uint32_t)*map & bits(from, to), to);
}

size_t bitmap_last_one(const uint64_t *map, size_t from, size_t to)
{
	return highest((uint32_t)*map & bits(from, to), BITMAP_NONE);
}

size_t runs_kind(size_t chunks)
{
	return chunks <= CHUNKS / 2 ? chunks - 1 : CHUNKS / 2;
}

void runs_set(struct runs *runs, size_t leaf, const uint64_t kinds[RUNS_PLANES])
{
	(void)runs;
	PROVE(leaf < LEAVES);
	leaf_kinds[leaf] = (uint32_t)kinds[0];
}

static uint32_t all_kinds(void)
{
	uint32_t all = 0;

	for (size_t leaf = 0; leaf < LEAVES; leaf++)
		all |= leaf_kinds[leaf];
	return all;
}

size_t runs_lowest_kind(const struct runs *runs, size_t kind)
{
	(void)runs;
	return lowest(all_kinds() & ~UINT32_C(0) << kind % 32, RUNS_NONE);
}

size_t runs_next_leaf(const struct runs *runs, size_t kind, size_t leaf)
{
	(void)runs;
	for (size_t i = 0; i < LEAVES; i++) {
		if (i >= leaf && leaf_kinds[i] >> kind % 32 & 1)
			return i;
	}
	return RUNS_NONE;
}

size_t runs_first_leaf(const struct runs *runs, size_t kind)
{
	return runs_next_leaf(runs, kind, 0);
}

static bool is_used(size_t i)
{
	return bitmap_get(&used, i);
}

static bool is_first(size_t i)
{
	return bitmap_get(&first, i);
}

static bool was_used(size_t i)
{
	return bitmap_get(&old, i);
}

static bool is_own(size_t i)
{
	return pack[i / CHUNKS].owner == ix.id;
}

static bool has_memory(size_t i)
{
	return i % CHUNKS < pack[i / CHUNKS].grown;
}

/* Free, and this view's to give. */
static bool is_free(size_t i)
{
	return is_own(i) && has_memory(i) && !is_used(i);
}

/* Such chunks from each on, within its pack. */
static uint8_t length[ALL + 1];

static void measure(void)
{
	length[ALL] = 0;
	for (size_t i = ALL; i--;) {
		uint8_t next = (i + 1) % CHUNKS ? length[i + 1] : 0;

		length[i] = is_free(i) ? (uint8_t)(next + 1) : 0;
	}
}

static bool starts_run(size_t i)
{
	return length[i] && (i % CHUNKS == 0 || !is_free(i - 1));
}

/* Of the runs that start in a leaf. */
static uint32_t expected_kinds(size_t leaf)
{
	uint32_t kinds = 0;

	for (size_t i = leaf * LEAF; i < (leaf + 1) * LEAF; i++) {
		if (starts_run(i))
			kinds |= UINT32_C(1) << runs_kind(length[i]) % 32;
	}
	return kinds;
}

/* Only chunks with memory are used, and a used one behind an unused one starts a block. */
static bool are_blocks_right(void)
{
	for (size_t i = 0; i < ALL; i++) {
		if (is_used(i) && (!has_memory(i) || ((!i || !is_used(i - 1)) && !is_first(i))))
			return false;
	}
	return true;
}

static bool are_runs_right(void)
{
	measure();
	for (size_t leaf = 0; leaf < LEAVES; leaf++) {
		if (leaf_kinds[leaf] != expected_kinds(leaf))
			return false;
	}
	return true;
}

static uint8_t count_unused(size_t p)
{
	uint8_t n = 0;

	for (size_t i = p * CHUNKS; i < (p + 1) * CHUNKS; i++)
		n = (uint8_t)(n + (has_memory(i) && !is_used(i)));
	return n;
}

static bool is_empty(size_t p)
{
	return pack[p].grown && count_unused(p) == pack[p].grown && !pack[p].sealed;
}

/* What follows from the chunks; free and used ones are all that have memory: none is lost. */
static bool are_sums_right(void)
{
	size_t empty = 0, top = 0;

	for (size_t p = 0; p < PACKS; p++) {
		if (pack[p].free != count_unused(p))
			return false;
		if (!is_own(p * CHUNKS))
			continue;
		empty += is_empty(p);
		if (pack[p].grown)
			top = p;
	}
	return ix.empty == empty && ix.highest == top;
}

static void any_pack(size_t p)
{
	pack[p].grown = (uint32_t)(any_below(CHUNKS / LEAF + 1) * LEAF);
	pack[p].owner = (uint8_t)any_below(2);
	pack[p].sealed = any_bool();
	pack[p].free = count_unused(p);
	if (!is_own(p * CHUNKS))
		return;
	ix.empty += is_empty(p);
	if (pack[p].grown)
		ix.highest = p;
}

static void any_index(void)
{
	ix = (struct index){.packs = PACKS, .pack = pack};
	ix.used = &used;
	ix.first = &first;
	ix.open = &opened;
	ix.dying = &dying;
	used = old = any_word() & bits(0, ALL);
	first = any_word();
	opened = any_word();
	dying = any_word();
	for (size_t p = 0; p < PACKS; p++)
		any_pack(p);
	ASSUME(are_blocks_right());
	measure();
	for (size_t leaf = 0; leaf < LEAVES; leaf++)
		leaf_kinds[leaf] = expected_kinds(leaf);
}

/* Chunks of the block at a chunk that starts one. */
static size_t block_size(size_t at)
{
	size_t end = ALL;

	for (size_t i = ALL; i--;) {
		if (i > at && (!is_used(i) || is_first(i)))
			end = i;
	}
	return end - at;
}

/* Chunks that are taken or given. */
struct part {
	size_t at, chunks;
};

static bool is_in(const struct part *part, size_t i)
{
	return i >= part->at && i < part->at + part->chunks;
}

/* May a block be here: within a pack, or from a pack's start on? */
static bool fits(const struct part *part)
{
	size_t in = part->at % CHUNKS;

	if (part->chunks > ALL - part->at || (in && in + part->chunks > CHUNKS))
		return false;
	for (size_t i = 0; i < ALL; i++) {
		if (is_in(part, i) && !is_free(i))
			return false;
	}
	return true;
}

#endif

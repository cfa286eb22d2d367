/* SPDX-License-Identifier: MIT */
/* find.c - searches of the index of chunks: they find what a look at each chunk finds */
#include "chunks.h"

/*
 * The bounds are how often each loop may run; that none runs longer is proved too.
 *
 * prove: --unwind 3 --unwindset measure.0:17,are_blocks_right.0:17,count_unused.0:9
 *	--unwindset expected_kinds.0:5,any_index.1:5,all_kinds.0:5,runs_next_leaf.0:5
 *	--unwindset fits.0:17,has_room.0:17,block_size.0:17,find_of_kind.0:3,find_of_kind.1:5
 *	--unwindset find_within_packs.0:6
 *	--object-bits 12 --slice-formula --no-standard-checks --unwinding-assertions
 */

/* More than a pack: the lowest pack from which on there are so many. */
void prove_find_span(void)
{
	size_t wish = CHUNKS + 1 + any_below(ALL - CHUNKS), at;
	struct part other = {any_below(PACKS) * CHUNKS, wish}, found;

	any_index();
	at = index_find(&ix, wish);
	found = (struct part){at, wish};
	PROVE(at == INDEX_NONE || (at % CHUNKS == 0 && at < ALL && fits(&found)));
	PROVE(!fits(&other) || at <= other.at);
}

/* Of what is free, or without memory, which may be any view's. */
static bool has_room(size_t p, size_t wish)
{
	for (size_t i = 0; i < ALL; i++) {
		if (i < p * CHUNKS || i >= p * CHUNKS + wish)
			continue;
		if (is_used(i) || (!is_own(i) && pack[i / CHUNKS].grown))
			return false;
	}
	return p * CHUNKS + wish <= ALL;
}

void prove_find_room(void)
{
	size_t wish = CHUNKS + 1 + any_below(ALL - CHUNKS), p = any_below(PACKS), at;

	any_index();
	at = index_find_room(&ix, wish);
	PROVE(at == INDEX_NONE || (at % CHUNKS == 0 && has_room(at / CHUNKS, wish)));
	PROVE(!has_room(p, wish) || at <= p * CHUNKS);
}

void prove_size(void)
{
	size_t i = any_below(ALL), size, got;

	any_index();
	ASSUME(is_used(i) && is_first(i));
	got = index_size(&ix, i);
	size = block_size(i);
	PROVE(got == size);
}

/* Each used chunk is in one block, and that is the one that is found. */
void prove_block(void)
{
	size_t i = any_below(ALL), start, size;

	any_index();
	start = index_block(&ix, i);
	PROVE((start != INDEX_NONE) == is_used(i));
	ASSUME(start != INDEX_NONE);
	PROVE(start <= i && is_used(start) && is_first(start));
	size = block_size(start);
	PROVE(i < start + size);
}

void prove_tail(void)
{
	size_t p = any_below(PACKS), i = any_below(CHUNKS), tail;

	any_index();
	tail = index_tail(&ix, p);
	PROVE(tail <= pack[p].grown);
	PROVE(tail == pack[p].grown || is_used(p * CHUNKS + pack[p].grown - tail - 1));
	ASSUME(i < pack[p].grown && i >= pack[p].grown - tail);
	PROVE(!is_used(p * CHUNKS + i));
}

/*
 * In packs of 4 chunks.
 *
 * prove: -DCHUNKS=4u -DLEAF=2u --unwind 3 --unwindset measure.0:9,are_blocks_right.0:9
 *	--unwindset count_unused.0:5,any_index.1:5,all_kinds.0:5,runs_next_leaf.0:5
 *	--unwindset fits.0:9,find_of_kind.0:3,find_of_kind.1:5
 *	--unwindset find_aligned_of_kind.0:2,find_aligned_of_kind.1:5,index_find_aligned.0:4
 *	--object-bits 12 --slice-formula --no-standard-checks --unwinding-assertions
 */
static bool is_below_highest(size_t at)
{
	return at / CHUNKS < ix.highest;
}

/*
 * A run that is long enough, and of all of those one below the highest pack if there is one; of
 * those the shortest kind, and the lowest of it.
 */
void prove_find(void)
{
	size_t wish = any_below(CHUNKS) + 1, i = any_below(ALL), at;

	any_index();
	at = index_find(&ix, wish);
	PROVE(at == INDEX_NONE || (at < ALL && starts_run(at) && length[at] >= wish));
	ASSUME(starts_run(i) && length[i] >= wish);
	PROVE(at != INDEX_NONE);
	PROVE(!is_below_highest(i) || is_below_highest(at));
	ASSUME(is_below_highest(i) == is_below_highest(at));
	PROVE(runs_kind(length[at]) <= runs_kind(length[i]));
	PROVE(runs_kind(length[at]) < runs_kind(length[i]) || at <= i);
}

static bool fits_aligned(size_t i, size_t wish, size_t align)
{
	return i % align == 0 && length[i] >= wish;
}

static void find_aligned(size_t align)
{
	size_t wish = any_below(CHUNKS) + 1, i = any_below(ALL), at;

	any_index();
	at = index_find_aligned(&ix, wish, align, ALL);
	PROVE(at == INDEX_NONE || (at < ALL && fits_aligned(at, wish, align)));
	ASSUME(fits_aligned(i, wish, align));
	PROVE(at != INDEX_NONE);
	PROVE(!is_below_highest(i) || is_below_highest(at));
}

void prove_find_aligned_2(void)
{
	find_aligned(2);
}

void prove_find_aligned_4(void)
{
	find_aligned(4);
}

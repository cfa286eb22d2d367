/* SPDX-License-Identifier: MIT */
/* index.c - changes of the index of chunks: what they make of chunks, runs and sums */
#include "chunks.h"

/*
 * The bounds are how often each loop may run; that none runs longer is proved too. Accesses are
 * checked by the sanitizers of the tests.
 *
 * prove: --unwind 3 --unwindset measure.0:17,are_blocks_right.0:17,count_unused.0:9
 *	--unwindset expected_kinds.0:5,any_index.1:5,are_runs_right.0:5,all_kinds.0:5
 *	--unwindset fits.0:17,block_size.0:17,each_part.0:2,refresh.0:3
 *	--object-bits 12 --slice-formula --no-standard-checks --unwinding-assertions
 */

/* Within a pack, or from a pack's start on. */
static struct part any_free_part(void)
{
	struct part part = {any_below(ALL), any_below(ALL) + 1};

	any_index();
	ASSUME(fits(&part));
	return part;
}

/* The last of a block's chunks, or all. */
static struct part any_used_part(void)
{
	size_t start = any_below(ALL), size, keep;
	struct part part;

	any_index();
	ASSUME(is_used(start) && is_first(start));
	size = block_size(start);
	keep = any_below(size);
	part = (struct part){start + keep, size - keep};
	ASSUME(is_own(part.at) && is_own(part.at + part.chunks - 1));
	return part;
}

static struct part within_pack(struct part part)
{
	ASSUME(part.at % CHUNKS + part.chunks <= CHUNKS);
	return part;
}

static struct part beyond_pack(struct part part)
{
	ASSUME(part.at % CHUNKS + part.chunks > CHUNKS);
	return part;
}

/* No other chunk is touched, so no two blocks overlap; the size follows from the address. */
void prove_take(void)
{
	struct part part = within_pack(any_free_part());
	size_t i = any_below(ALL), size;
	bool was_first = is_first(i);

	index_take(&ix, part.at, part.chunks);
	PROVE(is_used(i) == (was_used(i) || is_in(&part, i)));
	PROVE(is_in(&part, i) || is_first(i) == was_first);
	PROVE(bitmap_get(&opened, part.at) && !bitmap_get(&dying, part.at));
	size = block_size(part.at);
	PROVE(is_first(part.at) && size == part.chunks);
	PROVE(are_blocks_right());
}

void prove_take_sums(void)
{
	struct part part = within_pack(any_free_part());

	index_take(&ix, part.at, part.chunks);
	PROVE(are_sums_right());
}

void prove_take_runs(void)
{
	struct part part = within_pack(any_free_part());

	index_take(&ix, part.at, part.chunks);
	PROVE(are_runs_right());
}

void prove_give(void)
{
	struct part part = within_pack(any_used_part());
	size_t i = any_below(ALL);

	index_give(&ix, part.at, part.chunks);
	PROVE(is_used(i) == (was_used(i) && !is_in(&part, i)));
	PROVE(are_blocks_right());
}

void prove_give_sums(void)
{
	struct part part = within_pack(any_used_part());

	index_give(&ix, part.at, part.chunks);
	PROVE(are_sums_right());
}

void prove_give_runs(void)
{
	struct part part = within_pack(any_used_part());

	index_give(&ix, part.at, part.chunks);
	PROVE(are_runs_right());
}

/*
 * Of more than a pack.
 *
 * prove: --unwind 3 --unwindset measure.0:17,are_blocks_right.0:17,count_unused.0:9
 *	--unwindset expected_kinds.0:5,any_index.1:5,are_runs_right.0:5,fits.0:17
 *	--unwindset block_size.0:17,each_part.0:3,refresh.0:3
 *	--object-bits 12 --slice-formula --no-standard-checks --unwinding-assertions
 */
void prove_take_span(void)
{
	struct part part = beyond_pack(any_free_part());
	size_t i = any_below(ALL), size;

	index_take(&ix, part.at, part.chunks);
	PROVE(is_used(i) == (was_used(i) || is_in(&part, i)));
	size = block_size(part.at);
	PROVE(is_first(part.at) && size == part.chunks);
	PROVE(are_sums_right());
	PROVE(are_runs_right());
}

void prove_give_span(void)
{
	struct part part = beyond_pack(any_used_part());
	size_t i = any_below(ALL);

	index_give(&ix, part.at, part.chunks);
	PROVE(is_used(i) == (was_used(i) && !is_in(&part, i)));
	PROVE(are_sums_right());
	PROVE(are_runs_right());
}

static void grow_any(void)
{
	size_t p = any_below(PACKS), to;

	any_index();
	to = pack[p].grown + LEAF * (1 + any_below(CHUNKS / LEAF));
	ASSUME(is_own(p * CHUNKS) && to <= CHUNKS);
	index_grow(&ix, p, to);
}

void prove_grow(void)
{
	grow_any();
	PROVE(used == old);
	PROVE(are_sums_right());
}

void prove_grow_runs(void)
{
	grow_any();
	PROVE(are_runs_right());
}

/* An empty pack goes: nothing of it is found; then it may become another view's. */
void prove_leave(void)
{
	size_t p = any_below(PACKS), i = any_below(ALL);

	any_index();
	ASSUME(is_own(p * CHUNKS) && index_is_empty(&ix, p));
	index_leave(&ix, p);
	PROVE(are_sums_right());
	PROVE(are_runs_right());
	PROVE(i / CHUNKS != p || !length[i]);
	index_pass(&ix, p, 1);
	PROVE(are_sums_right());
	PROVE(are_runs_right());
}

void prove_seal(void)
{
	size_t p = any_below(PACKS);

	any_index();
	ASSUME(is_own(p * CHUNKS) && !pack[p].sealed);
	index_seal(&ix, p);
	PROVE(are_sums_right());
}

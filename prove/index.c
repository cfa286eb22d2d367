/* SPDX-License-Identifier: MIT */
/*
 * index.c - the chunks of two packs, in any state that the invariant allows
 *
 * Packs are of 8 chunks and leaves of 4: nothing in index.c depends on their sizes but that they
 * are multiples. By induction over all operations: each keeps the invariant, and what it gives is
 * what a look at each chunk gives. In the place of runs.c, which has its own proofs, stands what
 * runs.h promises; its kinds have several lengths from 5 on, as real ones have from 257 on.
 */
#include "prove.h"

#include "heap/index.h"

#ifndef PACKS
#define PACKS 2u
#endif
#ifndef CHUNKS
#define CHUNKS 8u
#endif
#ifndef LEAF
#define LEAF 4u
#endif

#undef PACK_CHUNKS
#undef RUNS_LEAF
#define PACK_CHUNKS CHUNKS
#define RUNS_LEAF LEAF

#define ALL ((size_t)PACKS * CHUNKS)
#define LEAVES (ALL / LEAF)
#define WORDS ((ALL + BITMAP_WORD - 1) / BITMAP_WORD)

#include "heap/index.c"

static uint64_t used[WORDS], first[WORDS], opened[WORDS], dying[WORDS], old[WORDS];
static uint64_t leaf_kinds[LEAVES];
static struct index_pack pack[PACKS];
static struct index ix;

/* One each up to 4, then those up to 8, up to 16, .. */
size_t runs_kind(size_t chunks)
{
	return chunks <= 4 ? chunks - 1 : (size_t)4 + (chunks > 8) + (chunks > 16);
}

void runs_set(struct runs *runs, size_t leaf, const uint64_t kinds[RUNS_PLANES])
{
	(void)runs;
	PROVE(leaf < LEAVES);
	leaf_kinds[leaf] = kinds[0];
}

static uint64_t all_kinds(void)
{
	uint64_t all = 0;

	for (size_t leaf = 0; leaf < LEAVES; leaf++)
		all |= leaf_kinds[leaf];
	return all;
}

size_t runs_lowest_kind(const struct runs *runs, size_t kind)
{
	uint64_t from = all_kinds() & ~UINT64_C(0) << kind;

	(void)runs;
	return from ? (size_t)__builtin_ctzll(from) : RUNS_NONE;
}

size_t runs_highest_kind(const struct runs *runs)
{
	uint64_t all = all_kinds();

	(void)runs;
	return all ? 63 - (size_t)__builtin_clzll(all) : RUNS_NONE;
}

size_t runs_next_leaf(const struct runs *runs, size_t kind, size_t leaf)
{
	(void)runs;
	for (size_t i = 0; i < LEAVES; i++) {
		if (i >= leaf && leaf_kinds[i] >> kind & 1)
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
	return bitmap_get(used, i);
}

static bool is_grown_at(size_t i)
{
	return i % CHUNKS < pack[i / CHUNKS].grown;
}

static bool is_free_at(size_t i)
{
	return is_grown_at(i) && !is_used(i);
}

/* Free chunks from each chunk on, within its pack. */
static uint8_t length[ALL + 1];

static void measure(void)
{
	length[ALL] = 0;
	for (size_t i = ALL; i--;) {
		uint8_t next = (i + 1) % CHUNKS ? length[i + 1] : 0;

		length[i] = is_free_at(i) ? (uint8_t)(next + 1) : 0;
	}
}

static bool starts_run(size_t i)
{
	return length[i] && (i % CHUNKS == 0 || !is_free_at(i - 1));
}

/* Of the runs that start in a leaf. */
static uint64_t expected_kinds(size_t leaf)
{
	uint64_t kinds = 0;

	for (size_t i = leaf * LEAF; i < (leaf + 1) * LEAF; i++) {
		if (starts_run(i))
			kinds |= UINT64_C(1) << runs_kind(length[i]);
	}
	return kinds;
}

static bool are_runs_right(void)
{
	for (size_t leaf = 0; leaf < LEAVES; leaf++) {
		if (leaf_kinds[leaf] != expected_kinds(leaf))
			return false;
	}
	return true;
}

static uint8_t count_free_in(size_t p)
{
	uint8_t n = 0;

	for (size_t i = p * CHUNKS; i < (p + 1) * CHUNKS; i++)
		n = (uint8_t)(n + is_free_at(i));
	return n;
}

/* Only chunks with memory are used, and a used one behind an unused one starts a block. */
static bool are_blocks_right(void)
{
	for (size_t i = 0; i < ALL; i++) {
		if (is_used(i) &&
		    (!is_grown_at(i) || ((!i || !is_used(i - 1)) && !bitmap_get(first, i))))
			return false;
	}
	return true;
}

/* What follows from the chunks; free and used ones are all that have memory: none is lost. */
static bool are_sums_right(void)
{
	size_t empty = 0, highest = 0;

	for (size_t p = 0; p < PACKS; p++) {
		if (pack[p].free != count_free_in(p))
			return false;
		empty += pack[p].grown && pack[p].free == pack[p].grown && !pack[p].sealed;
		if (pack[p].grown)
			highest = p;
	}
	return ix.empty == empty && ix.highest == highest;
}

/* There are no chunks behind the last pack. */
static uint64_t mask_of(size_t word)
{
	size_t bits = ALL - word * BITMAP_WORD;

	return bits < BITMAP_WORD ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0);
}

static void any_chunks(void)
{
	for (size_t i = 0; i < WORDS; i++) {
		used[i] = any_word() & mask_of(i);
		first[i] = any_word();
		opened[i] = any_word();
		dying[i] = any_word();
	}
	for (size_t p = 0; p < PACKS; p++) {
		pack[p].grown = (uint32_t)(any_below(CHUNKS / LEAF + 1) * LEAF);
		pack[p].sealed = any_bool();
	}
	ASSUME(are_blocks_right());
	for (size_t i = 0; i < WORDS; i++)
		old[i] = used[i];
}

static void any_index(void)
{
	ix = (struct index){.packs = PACKS, .pack = pack};
	ix.used = used;
	ix.first = first;
	ix.open = opened;
	ix.dying = dying;
	any_chunks();
	for (size_t p = 0; p < PACKS; p++) {
		pack[p].free = count_free_in(p);
		ix.empty += index_is_empty(&ix, p);
		if (pack[p].grown)
			ix.highest = p;
	}
	measure();
	for (size_t leaf = 0; leaf < LEAVES; leaf++)
		leaf_kinds[leaf] = expected_kinds(leaf);
}

/* Chunks of the block at a chunk that starts one. */
static size_t block_size(size_t at)
{
	size_t end = at + 1;

	while (end < ALL && is_used(end) && !bitmap_get(first, end))
		end++;
	return end - at;
}

/* May a block of so many chunks start here? */
static bool fits(size_t at, size_t chunks)
{
	if (chunks > ALL - at || (at % CHUNKS && at % CHUNKS + chunks > CHUNKS))
		return false;
	for (size_t i = 0; i < ALL; i++) {
		if (i >= at && i < at + chunks && !is_free_at(i))
			return false;
	}
	return true;
}

/* Chunks that are taken or given: within a pack, but for those of prove_span(). */
struct part {
	size_t at, chunks;
};

static bool is_in(const struct part *part, size_t i)
{
	return i >= part->at && i < part->at + part->chunks;
}

static struct part any_free_part(void)
{
	struct part part;

	any_index();
	part.at = any_below(ALL);
	part.chunks = any_below(CHUNKS) + 1;
	ASSUME(fits(part.at, part.chunks));
	return part;
}

/* The last of a block's chunks, or all. */
static struct part any_used_part(void)
{
	size_t start = any_below(ALL), size, keep;
	struct part part;

	any_index();
	ASSUME(is_used(start) && bitmap_get(first, start));
	size = block_size(start);
	keep = any_below(size);
	part = (struct part){start + keep, size - keep};
	ASSUME(part.at / CHUNKS == (part.at + part.chunks - 1) / CHUNKS);
	return part;
}

/*
 * How often each loop runs at most. That they do not run longer is proved too; accesses are checked
 * by the sanitizers of the tests.
 *
 * prove: --unwind 4 --unwindset measure.0:25,fits.0:25,has_room.0:25,are_blocks_right.0:25
 *	--unwindset block_size.0:25,count_free_in.0:13,expected_kinds.0:5,are_runs_right.0:7
 *	--unwindset any_index.1:7,all_kinds.0:7,runs_next_leaf.0:7,find_of_kind.0:8
 *	--unwindset find_within_packs.0:8,index_find_aligned.0:8,find_aligned_of_kind.1:8
 *	--object-bits 12 --slice-formula --no-standard-checks --unwinding-assertions
 */

/* No other chunk is touched, so no two blocks overlap; the size follows from the address. */
void prove_take(void)
{
	struct part part = any_free_part();
	size_t i = any_below(ALL), size;
	bool was_first;

	ASSUME(!is_in(&part, i));
	was_first = bitmap_get(first, i);
	index_take(&ix, part.at, part.chunks);
	PROVE(is_used(i) == bitmap_get(old, i));
	PROVE(bitmap_get(first, i) == was_first);
	PROVE(bitmap_get(opened, part.at) && !bitmap_get(dying, part.at));
	size = block_size(part.at);
	PROVE(size == part.chunks);
	PROVE(are_blocks_right());
}

void prove_take_sums(void)
{
	struct part part = any_free_part();

	index_take(&ix, part.at, part.chunks);
	PROVE(are_sums_right());
}

void prove_take_runs(void)
{
	struct part part = any_free_part();

	index_take(&ix, part.at, part.chunks);
	measure();
	PROVE(are_runs_right());
}

void prove_give(void)
{
	struct part part = any_used_part();
	size_t i = any_below(ALL);

	index_give(&ix, part.at, part.chunks);
	PROVE(is_used(i) == (bitmap_get(old, i) && !is_in(&part, i)));
	PROVE(are_blocks_right());
}

void prove_give_sums(void)
{
	struct part part = any_used_part();

	index_give(&ix, part.at, part.chunks);
	PROVE(are_sums_right());
}

void prove_give_runs(void)
{
	struct part part = any_used_part();

	index_give(&ix, part.at, part.chunks);
	measure();
	PROVE(are_runs_right());
}

/* A block of more than a pack, from a pack's start on; and its end again. */
void prove_span(void)
{
	size_t chunks = CHUNKS + 1 + any_below(ALL - CHUNKS), keep = any_below(chunks);
	size_t i = any_below(ALL);

	any_index();
	ASSUME(fits(0, chunks));
	index_take(&ix, 0, chunks);
	PROVE(is_used(i) == (bitmap_get(old, i) || i < chunks));
	PROVE(are_sums_right());
	index_give(&ix, keep, chunks - keep);
	PROVE(is_used(i) == ((bitmap_get(old, i) && i >= chunks) || i < keep));
	PROVE(are_sums_right());
}

static bool is_below_highest(size_t at)
{
	return at / CHUNKS < ix.highest;
}

/* A run that is long enough, and of all of those one below the highest pack if there is one. */
void prove_find(void)
{
	size_t wish = any_below(CHUNKS) + 1, i = any_below(ALL), at;

	any_index();
	at = index_find(&ix, wish);
	PROVE(at == INDEX_NONE || (at < ALL && starts_run(at) && length[at] >= wish));
	ASSUME(starts_run(i) && length[i] >= wish);
	PROVE(at != INDEX_NONE);
	PROVE(!is_below_highest(i) || is_below_highest(at));
}

/* And of those the shortest kind, and the lowest of it. */
void prove_find_best(void)
{
	size_t wish = any_below(CHUNKS) + 1, i = any_below(ALL), at;

	any_index();
	at = index_find(&ix, wish);
	ASSUME(starts_run(i) && length[i] >= wish && at < ALL);
	ASSUME(is_below_highest(i) == is_below_highest(at));
	PROVE(runs_kind(length[at]) <= runs_kind(length[i]));
	PROVE(runs_kind(length[at]) < runs_kind(length[i]) || at <= i);
}

static bool fits_aligned(size_t i, size_t wish, size_t align)
{
	return i % align == 0 && length[i] >= wish;
}

void prove_find_aligned(void)
{
	size_t wish = any_below(CHUNKS) + 1, i = any_below(ALL), align = (size_t)1 << any_below(4);
	size_t at;

	any_index();
	at = index_find_aligned(&ix, wish, align, ALL);
	PROVE(at == INDEX_NONE || (at < ALL && fits_aligned(at, wish, align)));
	ASSUME(fits_aligned(i, wish, align));
	PROVE(at != INDEX_NONE);
	PROVE(!is_below_highest(i) || is_below_highest(at));
}

/* More than a pack: the lowest pack from which on there are so many. */
void prove_find_span(void)
{
	size_t wish = CHUNKS + 1 + any_below(ALL - CHUNKS), p = any_below(PACKS), at;

	any_index();
	at = index_find(&ix, wish);
	PROVE(at == INDEX_NONE || (at % CHUNKS == 0 && fits(at, wish)));
	PROVE(!fits(p * CHUNKS, wish) || at <= p * CHUNKS);
}

/* Of what is free or has no memory yet. */
static bool has_room(size_t p, size_t wish)
{
	for (size_t i = 0; i < ALL; i++) {
		if (i >= p * CHUNKS && i < p * CHUNKS + wish && is_used(i))
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
	ASSUME(is_used(i) && bitmap_get(first, i));
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
	PROVE(start <= i && is_used(start) && bitmap_get(first, start));
	size = block_size(start);
	PROVE(i < start + size);
}

static size_t grow_any(void)
{
	size_t p = any_below(PACKS), to;

	any_index();
	to = pack[p].grown + LEAF * (1 + any_below(CHUNKS / LEAF));
	ASSUME(to <= CHUNKS);
	index_grow(&ix, p, to);
	measure();
	return p;
}

void prove_grow(void)
{
	grow_any();
	PROVE(are_sums_right());
}

void prove_grow_runs(void)
{
	grow_any();
	PROVE(are_runs_right());
}

/* An empty pack goes: nothing of it is found. */
void prove_leave(void)
{
	size_t p = any_below(PACKS), i = any_below(ALL);

	any_index();
	ASSUME(index_is_empty(&ix, p));
	index_leave(&ix, p);
	measure();
	PROVE(are_sums_right());
	PROVE(are_runs_right());
	PROVE(i / CHUNKS != p || !length[i]);
}

void prove_seal(void)
{
	size_t p = any_below(PACKS);

	any_index();
	ASSUME(!pack[p].sealed);
	index_seal(&ix, p);
	PROVE(are_sums_right());
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

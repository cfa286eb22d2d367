/* SPDX-License-Identifier: MIT */
#include "heap/index.h"

#include "os/os.h"

static size_t map_bytes(size_t packs)
{
	return packs * PACK_CHUNKS / 8;
}

static size_t round_to_page(size_t size)
{
	size_t page = os_page_size();

	return (size + page - 1) / page * page;
}

#define PACK_LEAVES (PACK_CHUNKS / RUNS_LEAF)

int index_init(struct index *ix, size_t packs)
{
	size_t map = map_bytes(packs) / sizeof(uint64_t);
	size_t tree = runs_bytes(packs * PACK_LEAVES);
	size_t size = round_to_page(4 * map_bytes(packs) + tree + packs * sizeof(*ix->pack));
	void *memory;
	int err = os_map_rw(size, &memory);

	if (err)
		return err;
	os_want_small(memory, size);
	*ix = (struct index){.packs = packs, .memory = memory, .size = size};
	ix->used = memory;
	ix->first = ix->used + map;
	ix->open = ix->first + map;
	ix->dying = ix->open + map;
	runs_init(&ix->runs, packs * PACK_LEAVES, ix->dying + map);
	ix->pack = (void *)((uint8_t *)(ix->dying + map) + tree);
	return 0;
}

int index_share(struct index *view, const struct index *ix, uint8_t id)
{
	size_t leaves = ix->packs * PACK_LEAVES, size = round_to_page(runs_bytes(leaves));
	void *memory;
	int err = os_map_rw(size, &memory);

	if (err)
		return err;
	os_want_small(memory, size);
	*view = *ix;
	view->id = id;
	view->memory = memory;
	view->size = size;
	view->highest = view->empty = view->idle = 0;
	runs_init(&view->runs, leaves, memory);
	return 0;
}

static bool owns(const struct index *ix, size_t p)
{
	return index_owner(ix, p) == ix->id;
}

void index_fini(struct index *ix)
{
	os_unmap(ix->memory, ix->size);
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The end of the grown part of the pack that @at is in. */
static size_t grown_end(const struct index *ix, size_t at)
{
	size_t p = at / PACK_CHUNKS;

	return p * PACK_CHUNKS + ix->pack[p].grown;
}

/* Where the free run starts that @at would belong to if it were free. */
static size_t run_start(const struct index *ix, size_t at)
{
	size_t start = at - at % PACK_CHUNKS, left = bitmap_last_one(ix->used, start, at);

	return left == BITMAP_NONE ? start : left + 1;
}

struct run {
	size_t at, end;
};

/* The first run that starts in from .. to - 1, which lie in one pack; its end may be beyond. */
static bool next_run(const struct index *ix, size_t from, size_t to, struct run *run)
{
	size_t grown = grown_end(ix, from);

	run->at = bitmap_next_zero(ix->used, from, at_most(to, grown));
	if (run->at >= at_most(to, grown))
		return false;
	run->end = bitmap_next_one(ix->used, run->at, grown);
	return true;
}

/* The first chunk of a leaf that no run from before it reaches. */
static size_t leaf_start(const struct index *ix, size_t leaf)
{
	size_t at = leaf * RUNS_LEAF;

	if (at % PACK_CHUNKS == 0 || bitmap_get(ix->used, at - 1))
		return at;
	return bitmap_next_one(ix->used, at, at + RUNS_LEAF);
}

/* Look at a leaf's runs again. */
static void refresh(struct index *ix, size_t leaf)
{
	size_t at = leaf_start(ix, leaf), stop = (leaf + 1) * RUNS_LEAF;
	uint64_t kinds[RUNS_PLANES] = {0};
	struct run run;

	for (; at < stop && next_run(ix, at, stop, &run); at = run.end) {
		size_t kind = runs_kind(run.end - run.at);

		kinds[kind / 64] |= UINT64_C(1) << kind % 64;
	}
	runs_set(&ix->runs, leaf, kinds);
}

/*
 * Chunks at .. at + chunks - 1, of one pack, were taken or given: the run that they were or are
 * part of started left of them, and another may start right of them, or did.
 */
static void refresh_around(struct index *ix, size_t at, size_t chunks)
{
	size_t left = run_start(ix, at) / RUNS_LEAF, here = at / RUNS_LEAF;
	size_t end = at + chunks, right = end / RUNS_LEAF;

	refresh(ix, left);
	if (here != left)
		refresh(ix, here);
	if (right != here && end % PACK_CHUNKS)
		refresh(ix, right);
}

void index_grow(struct index *ix, size_t p, size_t chunks)
{
	struct index_pack *pack = &ix->pack[p];
	size_t old = pack->grown;

	if (p > ix->highest)
		ix->highest = p;
	ix->empty -= index_is_empty(ix, p);
	pack->grown = (uint32_t)chunks;
	pack->free += (uint32_t)(chunks - old);
	ix->empty += index_is_empty(ix, p);
	refresh(ix, run_start(ix, p * PACK_CHUNKS + old) / RUNS_LEAF);
}

static void lower_highest(struct index *ix)
{
	while (ix->highest && !(owns(ix, ix->highest) && ix->pack[ix->highest].grown))
		ix->highest--;
}

void index_leave(struct index *ix, size_t p)
{
	ix->empty--;
	ix->pack[p].grown = ix->pack[p].free = 0;
	ix->pack[p].huge = false;
	refresh(ix, p * PACK_LEAVES);
	lower_highest(ix);
}

static size_t count_free(const struct index *ix, size_t p)
{
	size_t from = p * PACK_CHUNKS / BITMAP_WORD, words = ix->pack[p].grown / BITMAP_WORD;
	size_t free = 0;

	for (size_t i = 0; i < words; i++)
		free += (size_t)__builtin_popcountll(~bitmap_word(ix->used, from + i));
	return free;
}

/* It starts no block: does it belong to the one that ends the pack in front? */
static bool is_continued(const struct index *ix, size_t at)
{
	return at && at % PACK_CHUNKS == 0 && bitmap_get(ix->used, at - 1);
}

/* Used chunks behind a free one that start no block: the rest of a give, which are traps. */
static void end_give(struct index *ix, size_t p)
{
	size_t end = (p + 1) * PACK_CHUNKS, at = bitmap_next_one(ix->used, p * PACK_CHUNKS, end);

	while (at < end) {
		if (!bitmap_get(ix->first, at) && !is_continued(ix, at))
			bitmap_clear(ix->used, at, index_size(ix, at));
		at = bitmap_next_one(ix->used, bitmap_next_zero(ix->used, at, end), end);
	}
}

static void rebuild_pack(struct index *ix, size_t p)
{
	ix->pack[p].free = (uint32_t)count_free(ix, p);
	ix->empty += index_is_empty(ix, p);
	for (size_t leaf = 0; leaf < PACK_LEAVES; leaf++)
		refresh(ix, p * PACK_LEAVES + leaf);
}

/* No pack above `highest` has anything, at no moment of a change. */
void index_rebuild(struct index *ix)
{
	ix->empty = 0;
	for (size_t p = 0; p <= ix->highest; p++) {
		if (owns(ix, p))
			end_give(ix, p);
	}
	for (size_t p = 0; p <= ix->highest; p++) {
		if (owns(ix, p))
			rebuild_pack(ix, p);
	}
	lower_highest(ix);
}

void index_seal(struct index *ix, size_t p)
{
	ix->empty -= index_is_empty(ix, p);
	ix->pack[p].sealed = true;
}

/* The lowest run of a kind that is long enough; up to RUNS_EXACT all runs of a kind are. */
static size_t find_of_kind(const struct index *ix, size_t kind, size_t chunks)
{
	size_t leaf = runs_first_leaf(&ix->runs, kind);

	for (; leaf != RUNS_NONE; leaf = runs_next_leaf(&ix->runs, kind, leaf + 1)) {
		size_t at = leaf_start(ix, leaf), stop = (leaf + 1) * RUNS_LEAF;
		struct run run;

		for (; at < stop && next_run(ix, at, stop, &run); at = run.end) {
			size_t length = run.end - run.at;

			if (length >= chunks && runs_kind(length) == kind)
				return run.at;
		}
	}
	return INDEX_NONE;
}

/* The best run below the highest pack, or else in it. */
static size_t find_within_packs(const struct index *ix, size_t chunks)
{
	size_t kind = runs_lowest_kind(&ix->runs, runs_kind(chunks)), last = INDEX_NONE;

	while (kind != RUNS_NONE) {
		size_t at = find_of_kind(ix, kind, chunks);

		if (at < ix->highest * PACK_CHUNKS)
			return at;
		if (last == INDEX_NONE)
			last = at;
		kind = runs_lowest_kind(&ix->runs, kind + 1);
	}
	return last;
}

/* Free chunks at the start of a pack; with @grow, those that may be had count too. */
static size_t head(const struct index *ix, size_t p, bool grow)
{
	size_t start = p * PACK_CHUNKS, end, stop;

	if (!owns(ix, p))
		return grow && !ix->pack[p].grown ? PACK_CHUNKS : 0;
	end = grown_end(ix, start);
	stop = bitmap_next_one(ix->used, start, end);
	return grow && stop == end ? PACK_CHUNKS : stop - start;
}

/* Blocks larger than a pack start at one. */
static size_t find_span(const struct index *ix, size_t chunks, bool grow)
{
	size_t run = 0, start = 0;

	for (size_t p = 0; p < ix->packs; p++) {
		size_t here = head(ix, p, grow);

		if (run + here >= chunks)
			return start * PACK_CHUNKS;
		if (here == PACK_CHUNKS) {
			run += here;
		} else {
			run = 0;
			start = p + 1;
		}
	}
	return INDEX_NONE;
}

size_t index_find(const struct index *ix, size_t chunks)
{
	if (chunks > PACK_CHUNKS)
		return find_span(ix, chunks, false);
	return find_within_packs(ix, chunks);
}

size_t index_find_room(const struct index *ix, size_t chunks)
{
	return find_span(ix, chunks, true);
}

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* The same as find_of_kind(), but at an aligned chunk of the run; *looks is how many may be tried.
 */
static size_t find_aligned_of_kind(const struct index *ix, size_t kind, size_t chunks, size_t align,
				   size_t *looks)
{
	size_t leaf = runs_first_leaf(&ix->runs, kind);

	for (; leaf != RUNS_NONE && *looks; leaf = runs_next_leaf(&ix->runs, kind, leaf + 1)) {
		size_t at = leaf_start(ix, leaf), stop = (leaf + 1) * RUNS_LEAF;
		struct run run;

		for (; at < stop && *looks && next_run(ix, at, stop, &run); at = run.end) {
			size_t start = round_up(run.at, align);

			--*looks;
			if (start + chunks <= run.end && runs_kind(run.end - run.at) == kind)
				return start;
		}
	}
	return INDEX_NONE;
}

/* Below the highest pack, or else in it, as find_within_packs(). */
size_t index_find_aligned(const struct index *ix, size_t chunks, size_t align, size_t looks)
{
	size_t kind = runs_lowest_kind(&ix->runs, runs_kind(chunks)), last = INDEX_NONE;

	while (kind != RUNS_NONE && looks) {
		size_t at = find_aligned_of_kind(ix, kind, chunks, align, &looks);

		if (at < ix->highest * PACK_CHUNKS)
			return at;
		if (last == INDEX_NONE)
			last = at;
		kind = runs_lowest_kind(&ix->runs, kind + 1);
	}
	return last;
}

size_t index_tail(const struct index *ix, size_t p)
{
	size_t start = p * PACK_CHUNKS, end = grown_end(ix, start);
	size_t last = bitmap_last_one(ix->used, start, end);

	return end - (last == BITMAP_NONE ? start : last + 1);
}

void index_expect(const struct index *ix, size_t at)
{
	const uint64_t *const maps[] = {ix->used, ix->first, ix->open, ix->dying};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		__builtin_prefetch(&maps[i][at / BITMAP_WORD], 1);
	runs_expect(&ix->runs, at / RUNS_LEAF);
}

static void take_from_pack(struct index *ix, size_t at, size_t chunks)
{
	size_t p = at / PACK_CHUNKS;

	ix->empty -= index_is_empty(ix, p);
	ix->pack[p].free -= (uint32_t)chunks;
	refresh_around(ix, at, chunks);
}

static void give_to_pack(struct index *ix, size_t at, size_t chunks)
{
	size_t p = at / PACK_CHUNKS;

	ix->pack[p].free += (uint32_t)chunks;
	ix->idle = index_is_empty(ix, p) ? 0 : ix->idle + 1;
	ix->empty += index_is_empty(ix, p);
	refresh_around(ix, at, chunks);
}

/* Call @change for each pack's part of at .. at + chunks - 1. */
static void each_part(struct index *ix, size_t at, size_t chunks,
		      void (*change)(struct index *ix, size_t at, size_t chunks))
{
	while (chunks) {
		size_t here = at_most(chunks, PACK_CHUNKS - at % PACK_CHUNKS);

		change(ix, at, here);
		at += here;
		chunks -= here;
	}
}

void index_take(struct index *ix, size_t at, size_t chunks)
{
	bitmap_clear(ix->dying, at, 1);
	bitmap_set(ix->open, at, 1);
	/* Never clear and set again: a reader in the block in front may be looking for its end. */
	bitmap_set(ix->first, at, 1);
	bitmap_clear(ix->first, at + 1, chunks - 1);
	bitmap_set(ix->used, at, chunks);
	each_part(ix, at, chunks, take_from_pack);
}

void index_give(struct index *ix, size_t at, size_t chunks)
{
	bitmap_clear(ix->used, at, chunks);
	each_part(ix, at, chunks, give_to_pack);
}

size_t index_size(const struct index *ix, size_t at)
{
	size_t all = index_chunks(ix), word = (at + 1) / BITMAP_WORD;
	uint64_t from = ~UINT64_C(0) << (at + 1) % BITMAP_WORD;

	for (; word * BITMAP_WORD < all; word++) {
		uint64_t unused = ~bitmap_word(ix->used, word);
		uint64_t stop = (unused | bitmap_word(ix->first, word)) & from;

		if (stop)
			return word * BITMAP_WORD + (size_t)__builtin_ctzll(stop) - at;
		from = ~UINT64_C(0);
	}
	return all - at;
}

size_t index_block(const struct index *ix, size_t at)
{
	if (!bitmap_get(ix->used, at))
		return INDEX_NONE;
	return bitmap_last_one(ix->first, 0, at + 1);
}

/* The longest free run within a pack. */
static size_t longest_in_packs(const struct index *ix)
{
	size_t kind = runs_highest_kind(&ix->runs), chunks = 0, at = 0;

	while (kind != RUNS_NONE && at != INDEX_NONE) {
		at = find_of_kind(ix, kind, chunks + 1);
		if (at != INDEX_NONE)
			chunks = bitmap_next_one(ix->used, at, grown_end(ix, at)) - at;
	}
	return chunks;
}

size_t index_largest(const struct index *ix)
{
	size_t largest = longest_in_packs(ix), run = 0;

	for (size_t p = 0; p < ix->packs; p++) {
		size_t here = head(ix, p, false);

		run += here;
		if (run > largest)
			largest = run;
		if (here < PACK_CHUNKS)
			run = 0;
	}
	return largest;
}

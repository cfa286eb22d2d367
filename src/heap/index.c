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

int index_init(struct index *ix, size_t packs)
{
	size_t map = map_bytes(packs) / sizeof(uint64_t);
	size_t size = round_to_page(4 * map_bytes(packs) + packs * sizeof(struct index_pack));
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
	ix->pack = (void *)(ix->dying + map);
	return 0;
}

void index_fini(struct index *ix)
{
	os_unmap(ix->memory, ix->size);
}

void index_add_pack(struct index *ix, size_t p)
{
	ix->pack[p] =
		(struct index_pack){.mapped = true, .free = PACK_CHUNKS, .longest = PACK_CHUNKS};
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* First fit. A search in vain has seen every run, so that the pack's bounds become exact. */
static size_t find_in_pack(struct index *ix, size_t p, size_t chunks)
{
	struct index_pack *pack = &ix->pack[p];
	size_t start = p * PACK_CHUNKS, end = start + PACK_CHUNKS, longest = 0;
	size_t at = bitmap_next_zero(ix->used, start + pack->lowest, end);

	pack->lowest = (uint32_t)(at - start);
	while (at < end) {
		size_t stop = bitmap_next_one(ix->used, at, at_most(at + chunks, end));

		if (stop - at == chunks)
			return at;
		if (stop - at > longest)
			longest = stop - at;
		at = bitmap_next_zero(ix->used, stop, end);
	}
	pack->longest = (uint32_t)longest;
	return INDEX_NONE;
}

/* Free chunks at the start of a pack; one that is not mapped has none, or with @grow all. */
static size_t head(const struct index *ix, size_t p, bool grow)
{
	const struct index_pack *pack = &ix->pack[p];
	size_t start = p * PACK_CHUNKS;

	if (!pack->mapped)
		return grow ? PACK_CHUNKS : 0;
	if (pack->free == PACK_CHUNKS)
		return PACK_CHUNKS;
	return bitmap_next_one(ix->used, start, start + PACK_CHUNKS) - start;
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

size_t index_find(struct index *ix, size_t chunks)
{
	size_t at;

	if (chunks > PACK_CHUNKS)
		return find_span(ix, chunks, false);
	for (size_t p = 0; p < ix->packs; p++) {
		if (ix->pack[p].longest < chunks)
			continue;
		at = find_in_pack(ix, p, chunks);
		if (at != INDEX_NONE)
			return at;
	}
	return INDEX_NONE;
}

size_t index_find_room(const struct index *ix, size_t chunks)
{
	return find_span(ix, chunks, true);
}

static void take_from_pack(struct index_pack *pack, size_t at, size_t chunks)
{
	pack->free -= (uint32_t)chunks;
	if (at == pack->lowest)
		pack->lowest += (uint32_t)chunks;
}

/* The given chunks and their free neighbours are one run now; it may be the longest. */
static void give_to_pack(struct index *ix, size_t p, size_t at, size_t chunks)
{
	struct index_pack *pack = &ix->pack[p];
	size_t start = p * PACK_CHUNKS, end = start + PACK_CHUNKS;
	size_t left = bitmap_last_one(ix->used, start, at);
	size_t right = bitmap_next_one(ix->used, at + chunks, end);
	size_t run = right - (left == BITMAP_NONE ? start : left + 1);

	pack->free += (uint32_t)chunks;
	if (run > pack->longest)
		pack->longest = (uint32_t)run;
	if (at - start < pack->lowest)
		pack->lowest = (uint32_t)(at - start);
}

void index_take(struct index *ix, size_t at, size_t chunks)
{
	bitmap_clear(ix->dying, at, 1);
	bitmap_set(ix->open, at, 1);
	/* Never clear and set again: a reader in the block in front may be looking for its end. */
	bitmap_set(ix->first, at, 1);
	bitmap_clear(ix->first, at + 1, chunks - 1);
	bitmap_set(ix->used, at, chunks);
	while (chunks) {
		size_t p = at / PACK_CHUNKS, in = at % PACK_CHUNKS;
		size_t here = at_most(chunks, PACK_CHUNKS - in);

		take_from_pack(&ix->pack[p], in, here);
		at += here;
		chunks -= here;
	}
}

void index_give(struct index *ix, size_t at, size_t chunks)
{
	bitmap_clear(ix->used, at, chunks);
	while (chunks) {
		size_t p = at / PACK_CHUNKS;
		size_t here = at_most(chunks, (p + 1) * PACK_CHUNKS - at);

		give_to_pack(ix, p, at, here);
		at += here;
		chunks -= here;
	}
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
static size_t longest_in_pack(const struct index *ix, size_t p)
{
	size_t at = p * PACK_CHUNKS, end = at + PACK_CHUNKS, longest = 0;

	while ((at = bitmap_next_zero(ix->used, at, end)) < end) {
		size_t stop = bitmap_next_one(ix->used, at, end);

		if (stop - at > longest)
			longest = stop - at;
		at = stop;
	}
	return longest;
}

size_t index_largest(const struct index *ix)
{
	size_t largest = 0, run = 0;

	for (size_t p = 0; p < ix->packs; p++) {
		size_t here = head(ix, p, false);
		size_t within = ix->pack[p].longest > largest ? longest_in_pack(ix, p) : 0;

		if (within > largest)
			largest = within;
		run += here;
		if (run > largest)
			largest = run;
		if (here < PACK_CHUNKS)
			run = 0;
	}
	return largest;
}

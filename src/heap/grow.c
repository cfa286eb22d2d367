/* SPDX-License-Identifier: MIT */
/*
 * grow.c - where chunks come from: packs that grow, are made huge, and are returned
 *
 *	not mapped --64 KiB--> growing --doubles--> whole --collapse--> huge
 *	    ^----------------- empty, and another one is too <-----------'
 *
 * At most one pack is growing, so that an alias heap keeps one descriptor: a block that does not
 * fit into it gets a whole pack. The thread whose growth makes a pack whole also makes it huge, as
 * then 1 MiB of it is in use: after its chunks were published, with `grow` held and `lock` free.
 *
 * One empty pack stays mapped, so that a load and unload that crosses a pack's boundary maps
 * nothing; but if nobody needed it for SPARE_GIVES frees, only a heap's last pack stays.
 */
#include "heap/heap.h"
#include "heap/pack.h"
#include "os/os.h"
#include <errno.h>
#include <string.h>

static bool is_over_limit(const struct pp_heap *heap, size_t chunks)
{
	uint64_t limit = heap->stats.limit, used = heap->stats.used;

	return limit && (used > limit || chunks * PP_CHUNK > limit - used);
}

static size_t round_up(size_t at, size_t align)
{
	return (at + align - 1) / align * align;
}

/*
 * Runs to look at for the shortest that an aligned block happens to fit into: at each allocation,
 * before growth, which costs more by far, and where there is nothing to grow.
 */
#define LOOKS_FIRST 64u
#define LOOKS_BEFORE_GROWTH 4096u
#define LOOKS_AT_LAST SIZE_MAX

/*
 * Where too many runs hold the block but for its alignment, one that holds it at any. Packs are
 * aligned: larger blocks start at one.
 */
static size_t find(const struct index *ix, size_t chunks, size_t align, size_t looks)
{
	size_t padded = chunks + align - 1, at;

	if (align == 1 || chunks > PACK_CHUNKS)
		return index_find(ix, chunks);
	at = index_find_aligned(ix, chunks, align, looks);
	if (at != INDEX_NONE || padded > PACK_CHUNKS)
		return at;
	at = index_find(ix, padded);
	return at == INDEX_NONE ? at : round_up(at, align);
}

/* What a block is to be: as large as its buffer. */
struct wish {
	size_t align; /* in chunks */
	struct name *name;
	struct staging *staging;
};

/* With the lock held: the block is open from here on, and anybody may find it. */
static void open_block(struct pp_heap *heap, const struct wish *wish, size_t at)
{
	struct staging *staging = wish->staging;

	index_take(&heap->index, at, staging->size / PP_CHUNK);
	staging->chunk = at;
	staging->name = NULL;
	staging_put(&heap->open, staging);
	if (wish->name)
		names_put(&heap->names, at, wish->name);
	heap->stats.used += staging->size;
	heap->stats.blocks++;
	heap->stats.open++;
	heap->stats.allocs++;
}

/* With the lock held: -ENOSPC if there is no room in grown memory. */
static int take_grown(struct pp_heap *heap, const struct wish *wish, size_t looks)
{
	size_t chunks = wish->staging->size / PP_CHUNK, at;

	if (is_over_limit(heap, chunks))
		return -EDQUOT;
	at = find(&heap->index, chunks, wish->align, looks);
	if (at == INDEX_NONE)
		return -ENOSPC;
	open_block(heap, wish, at);
	return 0;
}

/* Packs from .. to - 1 are to have @chunks each; none if both are the same. */
struct growth {
	size_t from, to, chunks;
};

static size_t growing_pack(const struct index *ix)
{
	for (size_t p = 0; p < ix->packs; p++) {
		if (ix->pack[p].grown && ix->pack[p].grown < PACK_CHUNKS)
			return p;
	}
	return INDEX_NONE;
}

static size_t unmapped_pack(const struct index *ix)
{
	for (size_t p = 0; p < ix->packs; p++) {
		if (!ix->pack[p].grown)
			return p;
	}
	return INDEX_NONE;
}

/* Doubled until the block fits behind the last chunk in use. */
static bool plan_more(const struct index *ix, size_t p, size_t chunks, size_t align,
		      struct growth *plan)
{
	size_t grown = ix->pack[p].grown, size = 2 * grown;
	size_t end = round_up(grown - index_tail(ix, p), align) + chunks;

	if (end > PACK_CHUNKS)
		return false;
	while (size < end)
		size *= 2;
	*plan = (struct growth){p, p + 1, size};
	return true;
}

/* Its first chunk is aligned. */
static bool plan_new(const struct index *ix, size_t chunks, bool whole, struct growth *plan)
{
	size_t p = unmapped_pack(ix), size = whole ? PACK_CHUNKS : PACK_STEP_CHUNKS;

	if (p == INDEX_NONE)
		return false;
	while (size < chunks)
		size *= 2;
	*plan = (struct growth){p, p + 1, size};
	return true;
}

static bool plan_span(const struct index *ix, size_t chunks, struct growth *plan)
{
	size_t at = index_find_room(ix, chunks), from = at / PACK_CHUNKS;

	if (at == INDEX_NONE)
		return false;
	*plan = (struct growth){from, from + (chunks + PACK_CHUNKS - 1) / PACK_CHUNKS, PACK_CHUNKS};
	return true;
}

static bool make_plan(const struct pp_heap *heap, size_t chunks, size_t align, struct growth *plan)
{
	const struct index *ix = &heap->index;
	size_t growing = growing_pack(ix);
	bool whole = growing != INDEX_NONE || heap->mem.flags & PP_WHOLE_PACKS;

	if (chunks > PACK_CHUNKS)
		return plan_span(ix, chunks, plan);
	if (growing != INDEX_NONE && plan_more(ix, growing, chunks, align, plan))
		return true;
	return plan_new(ix, chunks, whole, plan);
}

static int carry_out(struct pp_heap *heap, const struct growth *plan)
{
	if (plan->to - plan->from == 1)
		return pack_grow(&heap->mem, &heap->index, plan->from, plan->chunks);
	return pack_grow_run(&heap->mem, &heap->index, plan->from, plan->to);
}

/* With the lock held. */
static void publish(struct pp_heap *heap, const struct growth *plan)
{
	for (size_t p = plan->from; p < plan->to; p++) {
		size_t had = heap->index.pack[p].grown;

		if (had == PACK_CHUNKS)
			continue;
		index_grow(&heap->index, p, plan->chunks);
		heap->stats.packs += !had;
		heap->stats.committed += (plan->chunks - had) * PP_CHUNK;
	}
}

/* With `grow` held. */
static int make_huge(struct pp_heap *heap, size_t p)
{
	int err = pack_make_huge(&heap->mem, p);

	if (err)
		return err;
	lock_take(&heap->lock);
	heap->index.pack[p].huge = true;
	lock_give(&heap->lock);
	return 0;
}

/* With `grow` held. */
static int seal(struct pp_heap *heap, size_t p)
{
	int err = os_seal_code(pack_rx(&heap->mem, p), PACK_SIZE);

	if (err)
		return err;
	lock_take(&heap->lock);
	index_seal(&heap->index, p);
	lock_give(&heap->lock);
	return 0;
}

/* With `grow` held: what is done once to a whole pack, as far as it is not done yet. */
static int finish(struct pp_heap *heap, size_t p, bool is_huge)
{
	const struct index_pack *pack = &heap->index.pack[p];
	unsigned int flags = heap->mem.flags;
	int err = 0, seal_err = 0;

	if (!(flags & PP_SMALL_PAGES) && !pack->huge && !is_huge)
		err = make_huge(heap, p);
	if (flags & PP_SEAL && !pack->sealed)
		seal_err = seal(heap, p);
	return err ? err : seal_err;
}

/* Failing is no harm: pp_heap_tidy() tries again. */
static void finish_whole(struct pp_heap *heap, const struct growth *plan, bool is_new)
{
	bool is_huge = is_new && heap->mem.writer->huge_at_birth;

	if (plan->chunks < PACK_CHUNKS)
		return;
	for (size_t p = plan->from; p < plan->to; p++)
		(void)finish(heap, p, is_huge);
}

/* With `grow` held. */
static int grow(struct pp_heap *heap, const struct growth *plan)
{
	bool is_new = !heap->index.pack[plan->from].grown;
	int err = carry_out(heap, plan);

	if (err)
		return err;
	for (size_t p = plan->from; p < plan->to; p++)
		(void)fork_keep_out(heap, p); /* what a child has, it has no call for */
	lock_take(&heap->lock);
	publish(heap, plan);
	lock_give(&heap->lock);
	finish_whole(heap, plan, is_new);
	return 0;
}

/* The probe has left the first pack with one step. */
int heap_start(struct pp_heap *heap)
{
	const struct growth first = {0, 1, PACK_CHUNKS};

	return heap->mem.flags & PP_WHOLE_PACKS ? grow(heap, &first) : 0;
}

/* A block, or the growth that will give it. */
static int take_or_plan(struct pp_heap *heap, const struct wish *wish, size_t looks,
			struct growth *plan)
{
	int err;

	*plan = (struct growth){0};
	lock_take(&heap->lock);
	err = take_grown(heap, wish, looks);
	if (err == -ENOSPC && make_plan(heap, wish->staging->size / PP_CHUNK, wish->align, plan))
		err = 0;
	if (err == -ENOSPC && looks != LOOKS_AT_LAST)
		err = take_grown(heap, wish, LOOKS_AT_LAST);
	lock_give(&heap->lock);
	return err;
}

/*
 * With `grow` held. Others may take what is grown here before we do, so try again: each round
 * grows a pack, hence there is a last one.
 */
static int take_growing(struct pp_heap *heap, const struct wish *wish)
{
	struct growth plan;
	int err = take_or_plan(heap, wish, LOOKS_BEFORE_GROWTH, &plan);

	while (!err && plan.to > plan.from) {
		err = grow(heap, &plan);
		if (!err)
			err = take_or_plan(heap, wish, LOOKS_AT_LAST,
					   &plan); /* it grew just enough */
	}
	return err;
}

/* The way of nearly all: a kept buffer and grown memory, in one section. */
static int take_quickly(struct pp_heap *heap, size_t size, struct wish *wish)
{
	int err = -ENOMEM;

	lock_take(&heap->lock);
	wish->staging = staging_reuse(&heap->open, size);
	if (wish->staging)
		err = take_grown(heap, wish, LOOKS_FIRST);
	lock_give(&heap->lock);
	return err;
}

/* What the caller's log function is told under `grow`, it is told after. */
static void lock_growth(struct pp_heap *heap, struct log_held *held)
{
	log_hold(held);
	pthread_mutex_lock(&heap->grow);
}

static void unlock_growth(struct pp_heap *heap, const struct log_held *held)
{
	pthread_mutex_unlock(&heap->grow);
	log_let_go(&heap->mem.log, held);
}

static int take_slowly(struct pp_heap *heap, size_t size, struct wish *wish)
{
	struct log_held held;
	int err;

	if (!wish->staging)
		wish->staging = staging_new(size);
	if (!wish->staging)
		return -ENOMEM;
	lock_take(&heap->lock);
	err = take_grown(heap, wish, LOOKS_FIRST);
	lock_give(&heap->lock);
	if (err != -ENOSPC)
		return err;
	lock_growth(heap, &held);
	err = take_growing(heap, wish);
	unlock_growth(heap, &held);
	return err;
}

int heap_open(struct pp_heap *heap, size_t chunks, size_t align, struct name *name,
	      struct staging **staging)
{
	struct wish wish = {.align = align, .name = name};
	int err = take_quickly(heap, chunks * PP_CHUNK, &wish);

	if (err)
		err = take_slowly(heap, chunks * PP_CHUNK, &wish);
	if (err)
		staging_free(wish.staging);
	else
		*staging = wish.staging;
	return err;
}

#define SPARE_GIVES 1024u

bool heap_has_surplus(const struct pp_heap *heap)
{
	const struct index *ix = &heap->index;

	return ix->empty > 1 || (ix->empty && ix->idle >= SPARE_GIVES && heap->stats.packs > 1);
}

/* With the lock held: the highest empty pack, if it is to be returned; INDEX_NONE. */
static size_t surplus(const struct pp_heap *heap)
{
	size_t p = heap_has_surplus(heap) ? heap->index.highest + 1 : 0;

	while (p--) {
		if (index_is_empty(&heap->index, p))
			return p;
	}
	return INDEX_NONE;
}

/*
 * With both locks held. Nobody finds the pack's chunks while it is unmapped; where that fails (a
 * process with too many mappings), they are found again.
 */
static int return_pack(struct pp_heap *heap, size_t p)
{
	const struct index_pack was = heap->index.pack[p];
	int err;

	index_leave(&heap->index, p);
	lock_give(&heap->lock);
	err = heap->mem.writer->unmap(&heap->mem, p);
	lock_take(&heap->lock);
	if (!err) {
		heap->stats.packs--;
		heap->stats.committed -= was.grown * (uint64_t)PP_CHUNK;
		return 0;
	}
	index_grow(&heap->index, p, was.grown);
	heap->index.pack[p].huge = was.huge;
	return err;
}

/* With `grow` held. */
static int trim(struct pp_heap *heap)
{
	size_t p;
	int err = 0;

	lock_take(&heap->lock);
	while (!err && (p = surplus(heap)) != INDEX_NONE)
		err = return_pack(heap, p);
	lock_give(&heap->lock);
	return err;
}

void heap_trim(struct pp_heap *heap)
{
	struct log_held held;

	lock_growth(heap, &held);
	(void)trim(heap);
	unlock_growth(heap, &held);
}

/* With `grow` held. */
static int finish_all(struct pp_heap *heap)
{
	int err = 0;

	for (size_t p = 0; p < heap->index.packs; p++) {
		int failed = 0;

		if (heap->index.pack[p].grown == PACK_CHUNKS)
			failed = finish(heap, p, false);
		if (!err)
			err = failed;
	}
	return err;
}

int pp_heap_tidy(struct pp_heap *heap)
{
	int err = heap_enter_writing(heap), finish_err;
	struct log_held held;

	if (err)
		return err;
	lock_growth(heap, &held);
	err = trim(heap);
	finish_err = finish_all(heap);
	unlock_growth(heap, &held);
	if (!err)
		err = finish_err;
	if (err)
		log_line(&heap->mem.log, "pp_heap_tidy: %s", strerror(-err));
	return err;
}

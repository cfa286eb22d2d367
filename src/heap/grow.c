/* SPDX-License-Identifier: MIT */
#include "heap/grow.h"

#include "heap/pack.h"
#include "os/os.h"

#include <errno.h>

static size_t round_up(size_t at, size_t align)
{
	return (at + align - 1) / align * align;
}

static size_t growing_pack(const struct shard *shard)
{
	const struct index *ix = &shard->index;

	for (size_t p = 0; p <= ix->highest; p++) {
		if (index_owner(ix, p) == ix->id && ix->pack[p].grown &&
		    ix->pack[p].grown < PACK_CHUNKS)
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

bool grow_plan(const struct pp_heap *heap, const struct shard *shard, size_t chunks, size_t align,
	       struct growth *plan)
{
	const struct index *ix = &shard->index;
	size_t growing = growing_pack(shard);
	bool whole = growing != INDEX_NONE || heap->mem.flags & PP_WHOLE_PACKS;

	if (chunks > PACK_CHUNKS)
		return plan_span(ix, chunks, plan);
	if (growing != INDEX_NONE && plan_more(ix, growing, chunks, align, plan))
		return true;
	return plan_new(ix, chunks, whole, plan);
}

static int map_packs(struct pp_heap *heap, const struct growth *plan)
{
	if (plan->to - plan->from == 1)
		return pack_grow(&heap->mem, &heap->index, plan->from, plan->chunks);
	return pack_grow_run(&heap->mem, &heap->index, plan->from, plan->to);
}

void grow_count_packs(struct pp_heap *heap, int64_t packs, int64_t bytes)
{
	__atomic_fetch_add(&heap->stats.packs, (uint64_t)packs, __ATOMIC_RELAXED);
	__atomic_fetch_add(&heap->stats.committed, (uint64_t)bytes, __ATOMIC_RELAXED);
}

/* A pack that is to be mapped becomes the shard's, if it was another's. */
static void adopt(struct pp_heap *heap, const struct shard *shard, size_t p)
{
	struct shard *old = shard_of(heap, p * PACK_CHUNKS);

	if (old == shard)
		return;
	lock_take(&old->lock);
	index_pass(&heap->index, p, shard->index.id);
	lock_give(&old->lock);
}

/* Packs that were returned a moment ago are mapped again: some of them stay the next time. */
static void keep_more(struct shard *shard, size_t packs)
{
	if (packs && shard->has_returned)
		shard->spares =
			shard->spares + packs < SPARES_MAX ? shard->spares + packs : SPARES_MAX;
	if (packs)
		shard->has_returned = false;
}

/* With the shard's lock held. */
static void publish(struct pp_heap *heap, struct shard *shard, const struct growth *plan)
{
	size_t packs = 0;

	for (size_t p = plan->from; p < plan->to; p++) {
		size_t had = heap->index.pack[p].grown;

		if (had == PACK_CHUNKS)
			continue;
		index_grow(&shard->index, p, plan->chunks);
		packs += !had;
		grow_count_packs(heap, !had, (int64_t)((plan->chunks - had) * PP_CHUNK));
	}
	keep_more(shard, packs);
}

static int make_huge(struct pp_heap *heap, size_t p)
{
	struct shard *shard = shard_of(heap, p * PACK_CHUNKS);
	int err = pack_make_huge(&heap->mem, p);

	if (err)
		return err;
	lock_take(&shard->lock);
	heap->index.pack[p].huge = true;
	lock_give(&shard->lock);
	return 0;
}

static int seal(struct pp_heap *heap, size_t p)
{
	struct shard *shard = shard_of(heap, p * PACK_CHUNKS);
	int err = os_seal_code(pack_rx(&heap->mem, p), PACK_SIZE);

	if (err)
		return err;
	lock_take(&shard->lock);
	index_seal(&shard->index, p);
	lock_give(&shard->lock);
	return 0;
}

int grow_finish(struct pp_heap *heap, size_t p, bool is_huge)
{
	const struct index_pack *pack = &heap->index.pack[p];
	unsigned int flags = heap->mem.flags;
	int err = 0, seal_err = 0;

	if (!(flags & PP_SMALL_PAGES) && !is_huge)
		err = make_huge(heap, p);
	if (err == -ENOTSUP)
		err = 0; /* nor later: nobody need ask again */
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
		(void)grow_finish(heap, p, is_huge || heap->index.pack[p].huge);
}

int grow_carry_out(struct pp_heap *heap, struct shard *shard, const struct growth *plan)
{
	bool is_new = !heap->index.pack[plan->from].grown;
	int err = map_packs(heap, plan);

	if (err)
		return err;
	for (size_t p = plan->from; p < plan->to; p++) {
		(void)fork_keep_out(heap, p); /* what a child has, it has no call for */
		adopt(heap, shard, p);
	}
	lock_take(&shard->lock);
	publish(heap, shard, plan);
	lock_give(&shard->lock);
	finish_whole(heap, plan, is_new);
	return 0;
}

/* What has small pages already is not huge from birth. A step that cannot be unmapped stays. */
static void leave_step(struct pp_heap *heap)
{
	if (!heap->mem.writer->huge_at_birth || heap->mem.writer->unmap(&heap->mem, 0))
		return;
	index_leave(&heap->first.index, 0);
	grow_count_packs(heap, -1, -(int64_t)PACK_STEP);
}

/* The probe has left the first pack with one step. */
int heap_start(struct pp_heap *heap)
{
	const struct growth first = {0, 1, PACK_CHUNKS};

	if (!(heap->mem.flags & PP_WHOLE_PACKS))
		return 0;
	leave_step(heap);
	return grow_carry_out(heap, &heap->first, &first);
}

void grow_lock(struct pp_heap *heap, struct log_held *held)
{
	log_hold(held);
	pthread_mutex_lock(&heap->grow);
}

void grow_unlock(struct pp_heap *heap, const struct log_held *held)
{
	pthread_mutex_unlock(&heap->grow);
	log_let_go(&heap->mem.log, held);
}

/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include "os/cpu.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

bool is_traps(const uint8_t *at, size_t size)
{
	uint8_t traps[PP_CHUNK];

	cpu_fill_traps(traps, sizeof(traps));
	if (size <= PP_CHUNK)
		return !memcmp(at, traps, size);
	return !memcmp(at, traps, PP_CHUNK) && !memcmp(at, at + PP_CHUNK, size - PP_CHUNK);
}

size_t whole_chunks(size_t size)
{
	return (size + PP_CHUNK - 1) / PP_CHUNK * PP_CHUNK;
}

struct block *at_address(struct oracle *o, const uint8_t *at)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		struct block *b = &o->block[i];

		if (b->state && at >= b->rx && at < b->rx + b->size)
			return b;
	}
	return NULL;
}

void forget(struct oracle *o, struct block *b)
{
	o->stats.used -= b->size;
	o->stats.blocks--;
	o->stats.open -= b->state == OPEN;
	b->state = NONE;
	free(b->want);
	b->want = NULL;
}

void check_block(const struct block *b)
{
	if (b->state == OPEN)
		MUST(is_traps(b->rx, b->size));
	else if (b->state == LIVE)
		MUST(!memcmp(b->rx, b->want, b->size));
}

int failed(struct oracle *o, int err)
{
	o->stats.fail_args += err == -EINVAL || err == -E2BIG || err == -EBUSY ||
			      err == -EOVERFLOW || err == -ENOENT || err == -ENOTSUP;
	o->stats.fail_stale += err == -ESTALE;
	o->stats.fail_limit += err == -EDQUOT;
	o->stats.fail_space += err == -ENOSPC;
	return err;
}

/* Is there room: blocks of up to a pack lie in one, larger ones start with one. */
static bool has_room(struct oracle *o, size_t size, size_t align)
{
	size_t step = size > PACK ? PACK : align;
	uint8_t *at = o->base, *end = o->base + o->packs * PACK;

	while (size <= (size_t)(end - at)) {
		size_t in = (size_t)(at - o->base) % PACK;
		const struct block *in_the_way = NULL;

		for (size_t i = 0; i < BLOCKS && !in_the_way; i++) {
			const struct block *b = &o->block[i];

			if (b->state && at < b->rx + b->size && b->rx < at + size)
				in_the_way = b;
		}
		if (!in_the_way && (in + size <= PACK || !in))
			return true;
		if (in_the_way)
			at = in_the_way->rx + in_the_way->size;
		else
			at += PACK - in;
		at += (step - (size_t)(at - o->base) % step) % step;
	}
	return false;
}

int expect_alloc(struct oracle *o, size_t size, size_t align)
{
	if (align > 4096 || align & (align - 1) || !size)
		return -EINVAL;
	if (size > o->packs * PACK)
		return -E2BIG;
	if (o->stats.limit && o->stats.used + whole_chunks(size) > o->stats.limit)
		return -EDQUOT;
	return has_room(o, whole_chunks(size), align < PP_CHUNK ? PP_CHUNK : align) ? 0 : -ENOSPC;
}

/* An old copy may be the same as a new one. */
struct block *claimed(struct oracle *o, const struct pp_code *code)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		struct block *b = &o->block[i];

		if (b->state == OPEN && b->rx == code->rx && b->code.rw == code->rw)
			return b;
	}
	return NULL;
}

bool is_grown(const struct oracle *o, const uint8_t *at)
{
	size_t offset = (size_t)(at - o->base);

	return at >= o->base && offset < o->packs * PACK && offset % PACK < o->grown[offset / PACK];
}

int expect_free(struct oracle *o, const uint8_t *at)
{
	const struct block *b = at_address(o, at);
	size_t offset = (size_t)(at - o->base);

	if (at < o->base || offset >= o->packs * PACK || offset % PP_CHUNK)
		return -EINVAL;
	if (!b)
		return -ESTALE;
	if (b->rx != at)
		return -EINVAL;
	return b->state == OPEN ? -EBUSY : 0;
}

/* A walk: where it is, and what it has added up. */
struct walk {
	struct oracle *o;
	size_t at, blocks;
	size_t span, span_end; /* free chunks from a pack's start on, through whole packs */
	struct pp_stats sum;
	bool check;
};

static void add_free(struct walk *walk, size_t at, size_t size)
{
	if (at % PACK == 0 && walk->span_end != at)
		walk->span = 0;
	if (at % PACK == 0) {
		walk->span += size;
		walk->span_end = at + size;
		size = walk->span;
	}
	if (size > walk->sum.largest_free)
		walk->sum.largest_free = size;
}

static void check_run(struct walk *walk, const struct pp_run *run)
{
	const struct block *b = at_address(walk->o, run->rx);

	switch (run->state) {
	case PP_RUN_UNGROWN: MUST(!b && !run->name); return;
	case PP_RUN_FREE: MUST(!b && !run->name && is_traps(run->rx, run->size)); return;
	default: break;
	}
	MUST(b && b->rx == run->rx && b->size == run->size);
	MUST(b->state == (run->state == PP_RUN_OPEN ? OPEN : LIVE));
	MUST(!b->name == !run->name && (!b->name || !strcmp(b->name, run->name)));
	check_block(b);
	walk->blocks++;
}

static void add_grown(struct oracle *o, size_t at, size_t end)
{
	for (; at < end; at = (at / PACK + 1) * PACK)
		o->grown[at / PACK] = end - at / PACK * PACK < PACK ? end - at / PACK * PACK : PACK;
}

/* Runs come lowest first, and fill each pack that has memory. */
static int see_run(void *ctx, const struct pp_run *run)
{
	struct walk *walk = ctx;
	size_t at = (size_t)((const uint8_t *)run->rx - walk->o->base);

	MUST(at == walk->at || (at > walk->at && at % PACK == 0 && walk->at % PACK == 0));
	MUST(run->size && at + run->size <= walk->o->packs * PACK);
	walk->at = at + run->size;
	if (run->state != PP_RUN_UNGROWN)
		add_grown(walk->o, at, walk->at);
	if (run->state == PP_RUN_FREE)
		add_free(walk, at, run->size);
	if (walk->check)
		check_run(walk, run);
	return 0;
}

static struct walk walk_all(struct oracle *o, bool check)
{
	struct walk walk = {.o = o, .check = check};

	memset(o->grown, 0, sizeof(o->grown));
	MUST(!pp_walk(o->heap, see_run, &walk));
	MUST(walk.at % PACK == 0);
	for (size_t p = 0; p < o->packs; p++) {
		walk.sum.committed += o->grown[p];
		walk.sum.packs += o->grown[p] != 0;
	}
	return walk;
}

/*
 * In the place of os.h's (-Wl,--wrap): under a sanitizer the kernel takes 10 ms to look through its
 * mappings, and whether pages are huge depends on the host.
 */
int __wrap_os_huge_bytes(uintptr_t lo, uintptr_t hi, uint64_t *bytes);

int __wrap_os_huge_bytes(uintptr_t lo, uintptr_t hi, uint64_t *bytes)
{
	(void)lo;
	(void)hi;
	*bytes = 0;
	return 0;
}

void look(struct oracle *o)
{
	walk_all(o, false);
}

void check_all(struct oracle *o)
{
	struct walk walk = walk_all(o, true);
	struct pp_stats stats = {.size = sizeof(stats)};

	MUST(walk.blocks == o->stats.blocks);
	MUST(!pp_stats(o->heap, &stats));
	o->stats.committed = walk.sum.committed;
	o->stats.packs = walk.sum.packs;
	o->stats.largest_free = walk.sum.largest_free;
	/* From the first figure: between the members before it are bytes that nobody sets. */
	MUST(stats.writer == o->stats.writer);
	MUST(!memcmp(&stats.reserved, &o->stats.reserved,
		     sizeof(stats) - offsetof(struct pp_stats, reserved)));
}

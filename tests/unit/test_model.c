/* SPDX-License-Identifier: MIT */
/*
 * test_model.c - random operations against a model that knows one owner for each chunk
 *
 * After each operation the heap must have done what the model says: the same address (the shortest
 * run that fits, the lowest of its kind) unless it had to grow, the same error, no overlap;
 * contents intact until the free; every free chunk traps.
 */
#include "heap/heap.h"
#include "heap_test.h"

#include <errno.h>

#define PACKS 4u
#define PER_PACK (2 * MIB / PP_CHUNK)
#define CHUNKS (PACKS * PER_PACK)
#define BLOCKS 600u
#define LIMIT (7 * MIB)

struct block {
	struct pp_code code; /* rx is NULL if there is none */
	size_t at, chunks;
	bool open;
	uint8_t seed;
};

struct model {
	struct pp_heap *heap;
	uint8_t *base;
	uint16_t owner[CHUNKS]; /* index of the block + 1, 0 is free */
	struct block block[BLOCKS];
	size_t used;
	uint64_t random;
};

static uint32_t draw(struct model *model, uint32_t below)
{
	model->random = model->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(model->random >> 33) % below;
}

/* 50 % up to 500 B, 25 % to 2 KiB, and the rest up to more than a pack. */
static size_t draw_size(struct model *model)
{
	switch (draw(model, 40)) {
	case 0: return 1 + draw(model, 3 * MIB);
	case 1: return 1 + draw(model, 300 * 1024);
	case 2 ... 9: return 1 + draw(model, 16 * 1024);
	case 10 ... 19: return 1 + draw(model, 2048);
	default: return 1 + draw(model, 500);
	}
}

static bool is_free_run(const struct model *model, size_t at, size_t chunks)
{
	if (at + chunks > CHUNKS)
		return false;
	for (size_t i = chunks; i; i--) {
		if (model->owner[at + i - 1])
			return false;
	}
	return true;
}

static size_t grown(const struct model *model, size_t p)
{
	return model->heap->index.pack[p].grown;
}

static size_t run_length(const struct model *model, size_t at, size_t end)
{
	size_t length = 0;

	while (at + length < end && !model->owner[at + length])
		length++;
	return length;
}

/* The best run in packs from .. to - 1, by looking at all of them; SIZE_MAX. */
static size_t find_best(const struct model *model, size_t chunks, size_t from, size_t to)
{
	size_t best = SIZE_MAX, best_kind = SIZE_MAX, length;

	for (size_t p = from; p < to; p++) {
		size_t end = p * PER_PACK + grown(model, p);

		for (size_t at = p * PER_PACK; at < end; at += length ? length : 1) {
			length = run_length(model, at, end);
			if (length < chunks || runs_kind(length) >= best_kind)
				continue;
			best = at;
			best_kind = runs_kind(length);
		}
	}
	return best;
}

/* The highest pack is for what fits nowhere else. */
static size_t model_find_grown(const struct model *model, size_t chunks)
{
	size_t highest = PACKS - 1, at;

	while (highest && !grown(model, highest))
		highest--;
	at = find_best(model, chunks, 0, highest);
	return at == SIZE_MAX ? find_best(model, chunks, highest, highest + 1) : at;
}

/* Any room, grown or not. Blocks of up to a pack lie in one, larger ones start at one. */
static size_t model_find(const struct model *model, size_t chunks)
{
	size_t step = chunks > PER_PACK ? PER_PACK : 1;

	for (size_t at = 0; at < CHUNKS; at += step) {
		if (model->owner[at])
			continue;
		if (step == 1 && at % PER_PACK + chunks > PER_PACK)
			continue;
		if (is_free_run(model, at, chunks))
			return at;
	}
	return SIZE_MAX;
}

static void own(struct model *model, size_t at, size_t chunks, size_t owner)
{
	for (size_t i = at; i < at + chunks; i++)
		model->owner[i] = (uint16_t)owner;
}

static void give(struct model *model, size_t at, size_t chunks)
{
	own(model, at, chunks, 0);
	model->used -= chunks * PP_CHUNK;
}

static uint8_t pattern(const struct block *block, size_t i)
{
	return (uint8_t)(block->seed + i * 13);
}

static void do_alloc(struct model *model, struct block *block)
{
	size_t size = draw_size(model), chunks = (size + 63) / 64;
	size_t best = model_find_grown(model, chunks), at = model_find(model, chunks);
	int err = pp_alloc(model->heap, size, &block->code);

	if (model->used + chunks * PP_CHUNK > LIMIT) {
		assert_int_equal(err, -EDQUOT);
		return;
	}
	if (at == SIZE_MAX) {
		assert_int_equal(err, -ENOSPC);
		return;
	}
	assert_int_equal(err, 0);
	block->at = (size_t)((uint8_t *)block->code.rx - model->base) / PP_CHUNK;
	if (best != SIZE_MAX)
		assert_int_equal(block->at, best);
	assert_true(is_free_run(model, block->at, chunks));
	assert_true(block->at % PER_PACK + chunks <= PER_PACK || block->at % PER_PACK == 0);
	assert_int_equal(block->code.size, chunks * PP_CHUNK);
	block->chunks = chunks;
	block->open = true;
	block->seed = (uint8_t)draw(model, 256);
	own(model, block->at, chunks, (size_t)(block - model->block) + 1);
	model->used += chunks * PP_CHUNK;
}

static void do_finalize(struct model *model, struct block *block)
{
	size_t used = 1 + draw(model, (uint32_t)block->code.size), keep = (used + 63) / 64;
	uint8_t *rw = block->code.rw;

	for (size_t i = 0; i < used; i++)
		rw[i] = pattern(block, i);
	assert_int_equal(pp_finalize(model->heap, &block->code, used), 0);
	give(model, block->at + keep, block->chunks - keep);
	block->chunks = keep;
	block->code.size = used;
	block->open = false;
}

static void do_abort(struct model *model, struct block *block)
{
	assert_int_equal(pp_abort(model->heap, &block->code), 0);
	give(model, block->at, block->chunks);
	block->code.rx = NULL;
}

static void assert_intact(const struct block *block)
{
	const uint8_t *rx = block->code.rx;
	size_t used = block->open ? 0 : block->code.size;

	for (size_t i = 0; i < used; i++) {
		if (rx[i] != pattern(block, i))
			fail_msg("byte %zu of block at %p", i, block->code.rx);
	}
	assert_true(is_traps(rx + used, block->chunks * PP_CHUNK - used));
}

static void do_free(struct model *model, struct block *block)
{
	void *rx = block->code.rx;

	assert_intact(block);
	assert_int_equal(pp_free(model->heap, rx), 0);
	assert_int_equal(pp_free(model->heap, rx), -ESTALE); /* also if its pack was returned */
	if (block->at % PER_PACK < grown(model, block->at / PER_PACK))
		assert_true(is_traps(rx, PP_CHUNK));
	give(model, block->at, block->chunks);
	block->code.rx = NULL;
}

static void do_lookup(struct model *model)
{
	size_t chunk = draw(model, CHUNKS);
	struct pp_block found;
	int err = pp_lookup(model->heap, model->base + chunk * 64 + draw(model, 64), &found);
	const struct block *block;

	if (!model->owner[chunk]) {
		assert_int_equal(err, -ENOENT);
		return;
	}
	block = &model->block[model->owner[chunk] - 1];
	assert_int_equal(err, 0);
	assert_ptr_equal(found.rx, model->base + block->at * PP_CHUNK);
	assert_int_equal(found.size, block->chunks * PP_CHUNK);
}

static void step(struct model *model)
{
	struct block *block = &model->block[draw(model, BLOCKS)];

	if (!block->code.rx)
		do_alloc(model, block);
	else if (!block->open)
		do_free(model, block);
	else if (draw(model, 8))
		do_finalize(model, block);
	else
		do_abort(model, block);
	do_lookup(model);
}

/* The whole of the heap: contents, traps, and the sums. */
static void check_all(const struct model *model)
{
	struct pp_stats stats = test_stats(model->heap);
	uint64_t blocks = 0, open = 0, committed = 0;

	for (size_t p = 0; p < PACKS; p++)
		committed += grown(model, p) * PP_CHUNK;
	for (size_t i = 0; i < BLOCKS; i++) {
		if (!model->block[i].code.rx)
			continue;
		assert_intact(&model->block[i]);
		blocks++;
		open += model->block[i].open;
	}
	for (size_t i = 0; i < CHUNKS; i++) {
		if (!model->owner[i] && i % PER_PACK < grown(model, i / PER_PACK))
			assert_true(is_traps(model->base + i * PP_CHUNK, PP_CHUNK));
	}
	assert_int_equal(stats.used, model->used);
	assert_int_equal(stats.blocks, blocks);
	assert_int_equal(stats.open, open);
	assert_int_equal(stats.committed, committed);
}

static void heap_agrees_with_the_model(void **state)
{
	struct model *model = calloc(1, sizeof(*model));
	struct pp_opts opts = test_opts(WRITER(state), PACKS);
	uintptr_t lo, hi;

	opts.limit = LIMIT;
	model->random = 20230814;
	assert_int_equal(pp_heap_new(&opts, &model->heap), 0);
	pp_heap_range(model->heap, &lo, &hi);
	model->base = (uint8_t *)lo;
	for (int i = 0; i < 12000; i++) {
		step(model);
		if (i % 1000 == 999)
			check_all(model);
	}
	pp_heap_free(model->heap);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {EACH_WRITER(heap_agrees_with_the_model)};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * heap.c - a fuzz target: bytes are operations on a heap, which must do as an array of blocks says
 *
 *	byte 0	writer, limit, small pages
 *	then	an operation and its operands, and so on to the end
 *
 * Built for libFuzzer by `make fuzz`; replay.c runs the corpus in the tests.
 */
#include "oracle.h"

#include "os/cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4u

static uint8_t take(struct oracle *o)
{
	return o->in < o->end ? *o->in++ : 0;
}

static size_t take_two(struct oracle *o)
{
	size_t high = take(o);

	return high << 8 | take(o);
}

/* Mostly small, up to more than the heap. */
static size_t take_size(struct oracle *o)
{
	static const unsigned int shift[] = {0, 0, 0, 1, 2, 4, 6, 7};
	size_t kind = take(o) % 8, size = take_two(o);

	return kind < 3 ? size % 1024 : size << shift[kind];
}

static struct block *take_block(struct oracle *o)
{
	return &o->block[take(o) % BLOCKS];
}

static void check_new(struct oracle *o, const struct pp_code *code, size_t size, size_t align)
{
	size_t at = (size_t)((uint8_t *)code->rx - o->base);

	MUST(code->size == whole_chunks(size));
	MUST(at % PP_CHUNK == 0 && at % (align ? align : 1) == 0);
	MUST(at + code->size <= o->packs * PACK);
	MUST(at % PACK == 0 || at % PACK + code->size <= PACK);
	for (size_t i = 0; i < BLOCKS; i++) {
		const struct block *b = &o->block[i];

		MUST(!b->state || b->rx + b->size <= (uint8_t *)code->rx ||
		     b->rx >= (uint8_t *)code->rx + code->size);
	}
	MUST(is_traps(code->rx, code->size) && is_traps(code->rw, code->size));
}

static void do_alloc(struct oracle *o)
{
	static const size_t aligns[] = {0, 64, 128, 1024, 4096, 1, 3, 8192};
	static const char *const names[] = {NULL, NULL, "a", "another name"};
	uint8_t how = take(o);
	struct pp_block_opts opts = {.size = sizeof(opts), .name = names[how / 8 % 4]};
	struct block *b = take_block(o);
	size_t size = take_size(o);
	struct pp_code code = {0};
	int err, want;

	if (b->state)
		return;
	opts.align = how & 0x80 ? aligns[how % 8] : 0;
	want = expect_alloc(o, size, opts.align);
	err = pp_alloc_with(o->heap, size, &opts, &code);
	MUST(err == want);
	if (err) {
		MUST(!code.rx && !code.rw && !code.size);
		failed(o, err);
		return;
	}
	check_new(o, &code, size, opts.align);
	*b = (struct block){OPEN, code, code.rx, code.size, NULL, opts.name};
	o->stats.used += code.size;
	o->stats.blocks++;
	o->stats.open++;
	o->stats.allocs++;
}

/* Code that is not the same anywhere, and in one of 16 cases one byte too much of it. */
static bool emit(struct block *b, size_t used, uint8_t seed)
{
	uint8_t *rw = b->code.rw;
	size_t size = used <= b->size ? used : b->size;

	b->want = malloc(b->size);
	MUST(b->want);
	cpu_fill_traps(b->want, b->size);
	for (size_t i = 0; i < size; i++)
		b->want[i] = (uint8_t)(seed + i * 7 + i / 256);
	memcpy(rw, b->want, size);
	if (seed % 16)
		return true;
	rw[b->size + seed / 16] ^= 0x55;
	return false;
}

static void settle(struct oracle *o, struct block *b, size_t used)
{
	o->stats.used -= b->size - whole_chunks(used);
	o->stats.open--;
	o->stats.finalizes++;
	o->stats.copies++;
	b->size = whole_chunks(used);
	b->state = LIVE;
	check_block(b);
}

/* A batch of operands: what to finalize, and what should come of it. */
struct batch {
	struct pp_code code[BATCH];
	size_t used[BATCH];
	struct block *block[BATCH];
	size_t n;
};

static bool is_claimable(struct oracle *o, struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		batch->block[i] = claimed(o, &batch->code[i]);
		if (!batch->block[i])
			return false;
		for (size_t j = 0; j < i; j++) {
			if (batch->block[j] == batch->block[i])
				return false;
		}
	}
	return true;
}

static int emit_all(struct oracle *o, struct batch *batch)
{
	int want = 0;

	for (size_t i = 0; i < batch->n; i++) {
		struct block *b = batch->block[i];
		size_t used = batch->used[i];
		bool fits = emit(b, used, take(o));

		if (want)
			continue;
		if (!used || used > b->size)
			want = -EINVAL;
		else if (!fits)
			want = -EOVERFLOW;
	}
	return want;
}

static void finalize(struct oracle *o, struct batch *batch)
{
	struct pp_code before[BATCH];
	bool claimable = is_claimable(o, batch);
	int want = claimable ? emit_all(o, batch) : -ESTALE, err;

	memcpy(before, batch->code, sizeof(before));
	if (batch->n == 1)
		err = pp_finalize(o->heap, batch->code, batch->used[0]);
	else
		err = pp_finalize_batch(o->heap, batch->code, batch->used, batch->n);
	MUST(err == want);
	failed(o, err);
	o->stats.syncs += !err && batch->n;
	for (size_t i = 0; i < batch->n; i++) {
		struct pp_code *code = &batch->code[i];

		MUST(claimable ? !code->rw : code->rw == before[i].rw);
		if (!err)
			settle(o, batch->block[i], batch->used[i]);
		else if (claimable)
			forget(o, batch->block[i]);
		MUST(code->size == (err ? before[i].size : batch->block[i]->size));
	}
}

static void add_to_batch(struct oracle *o, struct batch *batch)
{
	const struct block *b = take_block(o);
	size_t used = take_size(o);

	batch->code[batch->n] = b->code;
	batch->used[batch->n++] = b->size && used > b->size ? used % (b->size + 2) : used;
}

static void do_finalize(struct oracle *o)
{
	struct batch batch = {0};

	add_to_batch(o, &batch);
	finalize(o, &batch);
}

static void do_finalize_batch(struct oracle *o)
{
	struct batch batch = {0};

	for (size_t n = take(o) % (BATCH + 1); n; n--)
		add_to_batch(o, &batch);
	finalize(o, &batch);
}

/* What is checked is checked before: an empty pack may be unmapped. */
static void do_abort(struct oracle *o)
{
	struct pp_code code = take_block(o)->code;
	struct block *b = claimed(o, &code);
	const void *rw = code.rw;

	if (!b) {
		MUST(pp_abort(o->heap, &code) == failed(o, -ESTALE));
		MUST(code.rw == rw);
		return;
	}
	check_block(b);
	MUST(!pp_abort(o->heap, &code));
	MUST(!code.rw);
	forget(o, b);
	o->stats.aborts++;
}

/* A block's address, or one in it, near the heap, or wild. */
static uint8_t *take_address(struct oracle *o)
{
	uint8_t how = take(o);
	const struct block *b = take_block(o);
	size_t offset = how % 2 ? take_size(o) : 0;

	if (how / 2 % 4)
		return (b->rx ? b->rx : o->base) + offset;
	return o->base + take_two(o) * 128 + offset - 4096;
}

static int expect_free_all(struct oracle *o, uint8_t *const *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int err = expect_free(o, at[i]);

		for (size_t j = 0; j < i && !err; j++)
			err = at[j] == at[i] ? -ESTALE : 0;
		if (err)
			return err;
	}
	return 0;
}

static void free_all(struct oracle *o, uint8_t *const *at, size_t n)
{
	const void *rx[BATCH] = {0};
	int err, want;

	look(o);
	want = expect_free_all(o, at, n);
	for (size_t i = 0; i < n; i++) {
		rx[i] = at[i];
		if (!want)
			check_block(at_address(o, at[i]));
	}
	err = n == 1 ? pp_free(o->heap, rx[0]) : pp_free_batch(o->heap, rx, n);
	MUST(err == want);
	failed(o, err);
	o->stats.syncs += !err && n;
	for (size_t i = 0; i < n && !err; i++) {
		forget(o, at_address(o, at[i]));
		o->stats.frees++;
		o->stats.fills++;
	}
}

static void do_free(struct oracle *o)
{
	uint8_t *at = take_address(o);

	free_all(o, &at, 1);
	if (take(o) % 4 == 0)
		free_all(o, &at, 1);
}

static void do_free_batch(struct oracle *o)
{
	uint8_t *at[BATCH];
	size_t n = take(o) % (BATCH + 1);

	for (size_t i = 0; i < n; i++)
		at[i] = take_address(o);
	free_all(o, at, n);
}

/* Bytes that differ, from the first to the last. */
static size_t difference(const uint8_t *a, const uint8_t *b, size_t size)
{
	while (size && *a == *b) {
		a++;
		b++;
		size--;
	}
	while (size && a[size - 1] == b[size - 1])
		size--;
	return size;
}

static int expect_patch(struct oracle *o, const uint8_t *at, const uint8_t *bytes, size_t size)
{
	const struct block *b = at_address(o, at);

	if (!size || size > 8 || (uintptr_t)at % 8 + size > 8)
		return -EINVAL;
	if (!b || b->state != LIVE)
		return -ENOENT;
	if (o->stats.writer == PP_WRITER_POKE && difference(at, bytes, size) > 1)
		return -ENOTSUP;
	return 0;
}

static void do_patch(struct oracle *o)
{
	uint8_t *at = take_address(o), bytes[16] = {0};
	uint8_t how = take(o);
	size_t size = how % 16;
	int want;

	look(o);
	if (is_grown(o, at) && how & 0x80)
		memcpy(bytes, at, 8 - (uintptr_t)at % 8);
	for (size_t i = how / 16 % 8; i < size; i += 3)
		bytes[i] = take(o);
	want = expect_patch(o, at, bytes, size);
	MUST(pp_patch(o->heap, at, bytes, size) == want);
	failed(o, want);
	if (want)
		return;
	memcpy(at_address(o, at)->want + (at - at_address(o, at)->rx), bytes, size);
	check_block(at_address(o, at));
	o->stats.patches++;
	o->stats.syncs++;
}

static void do_lookup(struct oracle *o)
{
	const uint8_t *at = take_address(o);
	const struct block *b = at_address(o, at);
	struct pp_block found = {0};

	MUST(pp_lookup(o->heap, at, &found) == (b ? 0 : -ENOENT));
	MUST(!b || (found.rx == b->rx && found.size == b->size));
}

static void do_tidy(struct oracle *o)
{
	(void)!pp_heap_tidy(o->heap); /* the system may have no huge page to give */
}

static void step(struct oracle *o)
{
	static void (*const does[])(struct oracle * o) = {
		do_alloc, do_alloc,  do_alloc, do_finalize,   do_finalize,
		do_free,  do_free,   do_abort, do_free_batch, do_finalize_batch,
		do_patch, do_lookup, do_tidy,  check_all,
	};

	does[take(o) % (sizeof(does) / sizeof(*does))](o);
}

static struct pp_opts take_opts(struct oracle *o)
{
	uint8_t how = take(o);
	struct pp_opts opts = {.size = sizeof(opts), .reserve = PACKS * PACK};

	opts.writer = how & 1 ? PP_WRITER_POKE : PP_WRITER_ALIAS;
	opts.limit = how & 2 ? PACK + (size_t)(how >> 5) * 12345 : 0;
	opts.flags = how & 0x1c ? PP_SMALL_PAGES : 0;
	return opts;
}

static void start(struct oracle *o, const uint8_t *data, size_t size)
{
	struct pp_opts opts;
	uintptr_t lo, hi;

	*o = (struct oracle){.in = data, .end = data + size};
	opts = take_opts(o);
	MUST(!pp_heap_new(&opts, &o->heap));
	pp_heap_range(o->heap, &lo, &hi);
	o->base = (uint8_t *)lo;
	o->packs = (hi - lo) / PACK;
	o->stats = (struct pp_stats){
		.size = sizeof(o->stats),
		.writer = opts.writer,
		.reserved = hi - lo,
		.limit = opts.limit,
	};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct oracle o;

	start(&o, data, size);
	while (o.in < o.end)
		step(&o);
	check_all(&o);
	pp_heap_free(o.heap);
	for (size_t i = 0; i < BLOCKS; i++)
		free(o.block[i].want);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* mem.c - a heap as the JIT's memory */
#include "jit/jit.h"

static int heap_alloc(void *ctx, size_t size, struct pp_code *code)
{
	return pp_alloc(ctx, size, code);
}

static int heap_finalize(void *ctx, struct pp_code *code, size_t used)
{
	return pp_finalize(ctx, code, used);
}

static int heap_abort(void *ctx, struct pp_code *code)
{
	return pp_abort(ctx, code);
}

static int heap_free(void *ctx, const void *rx)
{
	return pp_free(ctx, rx);
}

static int heap_free_batch(void *ctx, const void *const *rx, size_t n)
{
	return pp_free_batch(ctx, rx, n);
}

static int heap_lookup(const void *ctx, const void *pc, struct pp_block *block)
{
	return pp_lookup(ctx, pc, block);
}

struct jit_mem jit_mem_heap(struct pp_heap *heap)
{
	struct jit_mem mem = {
		.ctx = heap,
		.alloc = heap_alloc,
		.finalize = heap_finalize,
		.abort = heap_abort,
		.free = heap_free,
		.free_batch = heap_free_batch,
		.lookup = heap_lookup,
	};

	pp_heap_range(heap, &mem.lo, &mem.hi);
	return mem;
}

/* SPDX-License-Identifier: MIT */
/* pack.h - packs of a heap's memory: growing them, alone and in runs, and what is done to whole
 * ones */
#ifndef HEAP_PACK_H
#define HEAP_PACK_H

#include "heap/index.h"
#include "heap/writer.h"

/* What a pack starts with; it grows by doubling. No smaller than a page of any arch. */
#define PACK_STEP ((size_t)64 << 10)
#define PACK_STEP_CHUNKS (PACK_STEP / PP_CHUNK)

static inline uint8_t *pack_rx(const struct memory *mem, size_t p)
{
	return mem->base + p * PACK_SIZE;
}

/*
 * pack_grow - give a pack memory for its first @chunks
 * @ix: only asked what it has; the caller publishes the rest there
 */
int pack_grow(struct memory *mem, const struct index *ix, size_t p, size_t chunks);

/*
 * pack_grow_run - make the packs @from .. @to - 1 whole, of which one at most has grown half-way
 *
 * All or nothing: 0, or the writer's error.
 */
int pack_grow_run(struct memory *mem, const struct index *ix, size_t from, size_t to);

/* pack_make_huge - collapse a whole pack into one huge page: 0, or -errno and no harm */
int pack_make_huge(struct memory *mem, size_t p);

/* pack_fill_sealed - make those traps that will stay after the end of a heap */
void pack_fill_sealed(struct memory *mem, const struct index *ix);

/* pack_unmap_all - the mapped ones, at the end of a heap; sealed ones stay */
void pack_unmap_all(struct memory *mem, const struct index *ix);

#endif

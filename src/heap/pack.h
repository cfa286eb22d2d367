/* SPDX-License-Identifier: MIT */
/* pack.h - packs of a heap's memory: mapping runs of them, and unmapping all */
#ifndef HEAP_PACK_H
#define HEAP_PACK_H

#include "heap/index.h"
#include "heap/writer.h"

static inline uint8_t *pack_rx(const struct memory *mem, size_t p)
{
	return mem->base + p * PACK_SIZE;
}

/*
 * pack_map_run - map those of the packs @from .. @to - 1 that are not
 * @ix: only asked which are; the caller publishes them there
 *
 * All or nothing: 0, or the writer's error.
 */
int pack_map_run(struct memory *mem, const struct index *ix, size_t from, size_t to);

/* pack_unmap_all - the mapped ones, at the end of a heap */
void pack_unmap_all(struct memory *mem, const struct index *ix);

#endif

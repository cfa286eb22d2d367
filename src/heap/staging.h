/* SPDX-License-Identifier: MIT */
/*
 * staging.h - the private buffers that code is emitted into
 *
 *	| struct staging | code.size bytes | 64 bytes |
 *	                 ^ code.rw          ^ guard, traps
 *
 * The buffers of all open blocks are in a table by chunk. A buffer is claimed only if both its
 * chunk and its address are as told: an old copy of a struct pp_code claims nothing, unless a
 * new block has got both the chunk and the buffer.
 *
 * Lock: the heap's, for the table. A buffer taken out of it is its taker's.
 */
#ifndef HEAP_STAGING_H
#define HEAP_STAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAGING_ALIGN 64u
#define STAGING_LISTS 256u

struct staging {
	struct staging *next;
	size_t chunk; /* the block's first */
	size_t size;
	_Alignas(STAGING_ALIGN) uint8_t rw[];
};

struct staging_table {
	struct staging *list[STAGING_LISTS];
};

/* staging_new - a buffer, not written yet; NULL without memory */
struct staging *staging_new(size_t size);
void staging_free(struct staging *staging);

/* staging_fill - make buffer and guard traps */
void staging_fill(struct staging *staging);

/* staging_is_intact - nobody wrote past the buffer */
bool staging_is_intact(const struct staging *staging);

void staging_put(struct staging_table *table, struct staging *staging);
struct staging *staging_claim(struct staging_table *table, size_t chunk, const void *rw);

void staging_free_all(struct staging_table *table);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * staging.h - the private buffers that code is emitted into
 *
 *	| struct staging | code.size bytes | 64 bytes | rest of the room |
 *	                 ^ code.rw          ^ guard, traps
 *
 * The buffers of all open blocks are in a table by chunk. A buffer is claimed only if both its
 * chunk and its address are as told: an old copy of a struct pp_code claims nothing, unless a
 * new block has got both the chunk and the buffer. Of the buffers that have ended, a few of each
 * size are kept for the next blocks.
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
#define STAGING_KINDS 9u /* rooms of 128 B, 256 B, .. 32 KiB */
#define STAGING_KEPT 4u  /* of each */

struct name;

struct staging {
	struct staging *next;
	struct name *name; /* of the block, until it is open */
	size_t chunk;      /* the block's first */
	size_t size;
	size_t room; /* bytes, guard included: a kind's, or just enough */
	_Alignas(STAGING_ALIGN) uint8_t rw[];
};

struct staging_table {
	struct staging *list[STAGING_LISTS];
	struct staging *kept[STAGING_KINDS];
	unsigned int nkept[STAGING_KINDS];
};

/* staging_new - a buffer, not written yet; NULL without memory */
struct staging *staging_new(size_t size);
void staging_free(struct staging *staging);

/* staging_reuse - the same, of the kept ones; NULL if none fits */
struct staging *staging_reuse(struct staging_table *table, size_t size);

/* staging_keep - keep a buffer that has ended; false if there are enough: free it */
bool staging_keep(struct staging_table *table, struct staging *staging);

/* staging_fill - make buffer and guard traps */
void staging_fill(struct staging *staging);

/* staging_is_intact - nobody wrote past the buffer */
bool staging_is_intact(const struct staging *staging);

void staging_put(struct staging_table *table, struct staging *staging);
struct staging *staging_claim(struct staging_table *table, size_t chunk, const void *rw);

void staging_free_all(struct staging_table *table);

#endif

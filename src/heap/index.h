/* SPDX-License-Identifier: MIT */
/*
 * index.h - which chunks are free: four bits a chunk, kept beside the packs, never inside them
 *
 *	used[i]		chunk i belongs to a block
 *	first[i]	it starts one; means nothing where used[i] is clear
 *	open[i]		the block that starts at i is not finalized yet
 *	dying[i]	the block that starts at i is being freed
 *
 * So a block ends before the next chunk that is unused or a first, its size follows from its
 * address, and a free of anything that is not a live block is refused without touching state.
 *
 * Lock: callers hold the heap's lock, but for index_block(), which takes none. That works since
 * take() sets `first` before `used`, and give() clears `used` only: a reader that loads `used`
 * before `first` never runs from one block into the next, whenever it comes.
 *
 * Each pack has upper bounds, so that searches skip the full ones. A pack that is not mapped has
 * no free chunks. A block of up to a pack lies within one: it never takes a second TLB entry.
 */
#ifndef HEAP_INDEX_H
#define HEAP_INDEX_H

#include "base/bitmap.h"

#include <progpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_SIZE ((size_t)2 << 20)
#define PACK_CHUNKS (PACK_SIZE / PP_CHUNK)

#define INDEX_NONE BITMAP_NONE

/*
 * struct index_pack - what is known of one pack's chunks
 * @free: how many are free
 * @longest: no free run is longer
 * @lowest: no free chunk is below this one, counted from the pack's first
 */
struct index_pack {
	bool mapped;
	uint32_t free;
	uint32_t longest;
	uint32_t lowest;
};

struct index {
	size_t packs; /* in the reservation, mapped or not */
	uint64_t *used, *first, *open, *dying;
	struct index_pack *pack;
	void *memory; /* all of the above: zero pages until they are needed */
	size_t size;
};

int index_init(struct index *ix, size_t packs);
void index_fini(struct index *ix);

/* index_find - the lowest @chunks free ones in a row in mapped packs, or INDEX_NONE */
size_t index_find(struct index *ix, size_t chunks);

/* index_find_room - the same, in packs that are mapped and empty, or may be mapped */
size_t index_find_room(const struct index *ix, size_t chunks);

void index_add_pack(struct index *ix, size_t p);

/* index_take - make a block of free chunks; index_give - free a block's last chunks, or all */
void index_take(struct index *ix, size_t at, size_t chunks);
void index_give(struct index *ix, size_t at, size_t chunks);

static inline size_t index_chunks(const struct index *ix)
{
	return ix->packs * PACK_CHUNKS;
}

/* index_size - chunks of the block that starts at @at */
size_t index_size(const struct index *ix, size_t at);

/* index_block - the first chunk of the block that @at is in, or INDEX_NONE; lock-free */
size_t index_block(const struct index *ix, size_t at);

/* index_largest - chunks of the largest block that index_find() would find room for */
size_t index_largest(const struct index *ix);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * names.h - the names of blocks that have one
 *
 * Each NAMES_SPAN chunks have a list, in which are the names of the blocks that start there. So it
 * takes as many steps at most to find one, however many there are; and what is known of a pack's
 * names is one page, which is zero, and takes no memory, before it has any.
 *
 * Lock: that of the shard whose pack the chunk is in; each shard counts its own. A name that is in
 * no list is its owner's, so that it is made before the lock is taken, and freed after.
 */
#ifndef HEAP_NAMES_H
#define HEAP_NAMES_H

#include <stddef.h>

#define NAMES_SPAN 64u

struct name {
	struct name *next;
	size_t chunk; /* the block's first */
	char text[];
};

struct names {
	struct name **list;
	size_t lists;
	size_t count; /* of the shard's; none: nobody looks at a list */
};

/* names_init - for a heap of @chunks chunks: 0, or -ENOMEM; names_fini - and all names in it */
int names_init(struct names *names, size_t chunks);
void names_fini(struct names *names);

/* names_share - the same lists, and no name yet: for one more shard; needs no end */
struct names names_share(const struct names *names);

/* name_new - a copy of @text; NULL without memory. name_free(NULL) is fine. */
struct name *name_new(const char *text);
void name_free(struct name *name);

/* names_put - the block that starts at @chunk, which has no name, is called so */
void names_put(struct names *names, size_t chunk, struct name *name);

/* names_take - the block has no name any more: the one it had, or NULL */
struct name *names_take(struct names *names, size_t chunk);

/* names_get - the block's name, or NULL; valid while the lock is held */
const char *names_get(const struct names *names, size_t chunk);

#endif

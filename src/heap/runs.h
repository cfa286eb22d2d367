/* SPDX-License-Identifier: MIT */
/*
 * runs.h - free runs by length: finds the shortest that is long enough, the lowest of its kind
 *
 * A run's kind is its length in chunks up to RUNS_EXACT; of longer ones each doubling has eight
 * kinds, so that a longer run never is of a lower kind. Each RUNS_LEAF chunks have a leaf: one bit
 * a kind, set if a run of that kind starts there. Above the leaves, for 64 kinds at a time (a
 * plane), stands a tree whose nodes are the OR of their eight children:
 *
 *	root          0110                 which kinds there are at all
 *	           /       \
 *	       0100         0110           children lie side by side: one cache line
 *	      /    \       /    \
 *	leaf 0000  0100  0010  0100        chunks 0-255, 256-511, ...
 *
 * So a search looks at one line a level, and a change stops where a node stays the same.
 *
 * Lock: the heap's.
 */
#ifndef HEAP_RUNS_H
#define HEAP_RUNS_H

#include <stddef.h>
#include <stdint.h>

#define RUNS_LEAF 256u
#define RUNS_EXACT 256u
#define RUNS_PLANES 5u
#define RUNS_LEVELS 20u /* enough for 8^19 leaves: more than there are addresses */

#define RUNS_NONE SIZE_MAX

/* Levels count from the root; the last one is the leaves. */
struct runs {
	uint64_t *plane[RUNS_PLANES];
	size_t start[RUNS_LEVELS]; /* of a level within its plane, in words */
	size_t nodes[RUNS_LEVELS];
	size_t levels;
};

/* runs_bytes - memory for @leaves leaves; runs_init - use @memory, which is zero */
size_t runs_bytes(size_t leaves);
void runs_init(struct runs *runs, size_t leaves, void *memory);

/* runs_kind - of a run of @chunks, 1 .. 32768; kinds below RUNS_EXACT have one length each */
size_t runs_kind(size_t chunks);

/* runs_set - the kinds of the runs that start in a leaf */
void runs_set(struct runs *runs, size_t leaf, const uint64_t kinds[RUNS_PLANES]);

/* runs_expect - this leaf is set soon: fetch it */
void runs_expect(const struct runs *runs, size_t leaf);

/* runs_lowest_kind - the lowest kind there is from @kind on, or RUNS_NONE */
size_t runs_lowest_kind(const struct runs *runs, size_t kind);

/* runs_highest_kind - the highest kind there is, or RUNS_NONE */
size_t runs_highest_kind(const struct runs *runs);

/* runs_first_leaf - the first leaf where a run of this kind starts, or RUNS_NONE */
size_t runs_first_leaf(const struct runs *runs, size_t kind);

/* runs_next_leaf - the first such leaf from @leaf on, or RUNS_NONE */
size_t runs_next_leaf(const struct runs *runs, size_t kind, size_t leaf);

#endif

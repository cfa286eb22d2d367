/* SPDX-License-Identifier: MIT */
/*
 * runs.c - the tree of one plane over 10 leaves: three levels, the last one with unused nodes
 *
 * By induction: a tree whose nodes are the OR of their children, and of whatever leaves, is so
 * after a change too, and in such a tree the searches find what a look at each leaf finds. The
 * empty tree is one.
 */
#include "prove.h"

#include "heap/runs.c"

#define LEAVES 10u
#define WORDS 32u

static uint64_t memory[RUNS_PLANES * WORDS];
static struct runs runs;

/* Nodes beyond the last of a level stay zero. */
static bool is_consistent(size_t plane)
{
	for (size_t l = 0; l < runs.levels; l++) {
		size_t nodes = runs.nodes[l], room = (nodes + FANOUT - 1) / FANOUT * FANOUT;

		for (size_t i = 0; i < room; i++) {
			uint64_t node = level(&runs, plane, l)[i];

			if (i >= nodes ? node != 0
				       : l + 1 < runs.levels &&
						 node != or_of_line(level(&runs, plane, l + 1) +
								    i * FANOUT))
				return false;
		}
	}
	return true;
}

/* Only bits of @mask: searches for a kind look at its bit alone, and two show that. */
static void any_tree(size_t plane, uint64_t mask)
{
	PROVE(runs_bytes(LEAVES) == sizeof(memory));
	runs_init(&runs, LEAVES, memory);
	PROVE(is_consistent(plane));
	for (size_t i = 0; i < WORDS; i++)
		memory[plane * WORDS + i] = any_word() & mask;
	ASSUME(is_consistent(plane));
}

static uint64_t leaf_bits(size_t plane, size_t leaf)
{
	return level(&runs, plane, runs.levels - 1)[leaf];
}

/* prove: --unwind 6 --unwindset any_tree.0:33,is_consistent.0:17,next_sibling.0:9,or_of_line.0:9 */
void prove_set(void)
{
	size_t leaf = any_below(LEAVES), other = any_below(LEAVES);
	uint64_t bits = any_word(), old;

	any_tree(1, ~UINT64_C(0));
	old = leaf_bits(1, other);
	set_in_plane(&runs, 1, leaf, bits);
	PROVE(is_consistent(1));
	PROVE(leaf_bits(1, other) == (other == leaf ? bits : old));
}

/* prove: --unwind 6 --unwindset any_tree.0:33,is_consistent.0:17,next_sibling.0:9,or_of_line.0:9 */
void prove_first(void)
{
	size_t kind = 64 + any_below(2), i = any_below(LEAVES), leaf;

	any_tree(1, 3);
	leaf = runs_first_leaf(&runs, kind);
	PROVE(leaf == RUNS_NONE || (leaf < LEAVES && leaf_bits(1, leaf) & kind_bit(kind)));
	if (leaf == RUNS_NONE || i < leaf)
		PROVE(!(leaf_bits(1, i) & kind_bit(kind)));
}

/* prove: --unwind 6 --unwindset any_tree.0:33,is_consistent.0:17,next_sibling.0:9,or_of_line.0:9 */
void prove_next(void)
{
	size_t kind = 64 + any_below(2), i = any_below(LEAVES), from = any_below(LEAVES + 1);
	size_t leaf;

	any_tree(1, 3);
	leaf = runs_next_leaf(&runs, kind, from);
	PROVE(leaf == RUNS_NONE || (leaf >= from && leaf < LEAVES));
	PROVE(leaf == RUNS_NONE || leaf_bits(1, leaf) & kind_bit(kind));
	if (i >= from && (leaf == RUNS_NONE || i < leaf))
		PROVE(!(leaf_bits(1, i) & kind_bit(kind)));
}

static bool has_kind(size_t kind)
{
	return *level(&runs, kind / 64, 0) & kind_bit(kind);
}

/* A tree of one leaf is its root. */
static void any_roots(void)
{
	runs_init(&runs, 1, memory);
	for (size_t plane = 0; plane < RUNS_PLANES; plane++)
		*level(&runs, plane, 0) = any_word();
}

/* prove: --unwind 6 */
void prove_lowest_kind(void)
{
	size_t from = any_below(KINDS + 1), i = any_below(KINDS), kind;

	any_roots();
	kind = runs_lowest_kind(&runs, from);
	PROVE(kind == RUNS_NONE || (kind >= from && kind < KINDS && has_kind(kind)));
	if (i >= from && (kind == RUNS_NONE || i < kind))
		PROVE(!has_kind(i));
}

/* prove: --unwind 6 */
void prove_highest_kind(void)
{
	size_t i = any_below(KINDS), kind;

	any_roots();
	kind = runs_highest_kind(&runs);
	PROVE(kind == RUNS_NONE || (kind < KINDS && has_kind(kind)));
	if (kind == RUNS_NONE || i > kind)
		PROVE(!has_kind(i));
}

/* All lengths there are: a longer run never is of a lower kind. prove: --unwind 2 */
void prove_kind(void)
{
	size_t a = any_below(32768) + 1, b = any_below(32768) + 1;

	PROVE(runs_kind(a) < KINDS);
	PROVE(a > b || runs_kind(a) <= runs_kind(b));
	PROVE(a > RUNS_EXACT || a == b || runs_kind(a) != runs_kind(b));
}

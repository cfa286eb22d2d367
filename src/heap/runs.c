/* SPDX-License-Identifier: MIT */
#include "heap/runs.h"

#define FANOUT 8u
#define KINDS (RUNS_PLANES * 64u)

/* Nodes of each level, leaves in nodes[levels - 1]; whole lines, so that siblings share one. */
static size_t shape(struct runs *runs, size_t leaves)
{
	size_t words = 0, count = leaves, up[RUNS_LEVELS] = {0};

	for (runs->levels = 1; count > 1; count = (count + FANOUT - 1) / FANOUT)
		up[runs->levels++] = count;
	runs->nodes[0] = 1;
	for (size_t i = 1; i < runs->levels; i++)
		runs->nodes[i] = up[runs->levels - i];
	for (size_t i = 0; i < runs->levels; i++) {
		runs->start[i] = words;
		words += (runs->nodes[i] + FANOUT - 1) / FANOUT * FANOUT;
	}
	return words;
}

size_t runs_bytes(size_t leaves)
{
	struct runs runs;

	return shape(&runs, leaves) * RUNS_PLANES * sizeof(uint64_t);
}

void runs_init(struct runs *runs, size_t leaves, void *memory)
{
	size_t words = shape(runs, leaves);

	for (size_t i = 0; i < RUNS_PLANES; i++)
		runs->plane[i] = (uint64_t *)memory + i * words;
}

/* Kind k < 256: k + 1 chunks. From 257 on: the length's power of two, and its next three bits. */
size_t runs_kind(size_t chunks)
{
	size_t power;

	if (chunks <= RUNS_EXACT)
		return chunks - 1;
	power = 63 - (size_t)__builtin_clzll(chunks);
	return RUNS_EXACT + (power - 8) * 8 + (chunks >> (power - 3) & 7);
}

static uint64_t *level(const struct runs *runs, size_t plane, size_t l)
{
	return runs->plane[plane] + runs->start[l];
}

static uint64_t or_of_line(const uint64_t *line)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < FANOUT; i++)
		bits |= line[i];
	return bits;
}

static void set_in_plane(struct runs *runs, size_t plane, size_t node, uint64_t bits)
{
	for (size_t l = runs->levels - 1;; l--) {
		uint64_t *nodes = level(runs, plane, l);

		if (nodes[node] == bits)
			return;
		nodes[node] = bits;
		if (!l)
			return;
		bits = or_of_line(nodes + node / FANOUT * FANOUT);
		node /= FANOUT;
	}
}

void runs_set(struct runs *runs, size_t leaf, const uint64_t kinds[RUNS_PLANES])
{
	for (size_t i = 0; i < RUNS_PLANES; i++)
		set_in_plane(runs, i, leaf, kinds[i]);
}

void runs_expect(const struct runs *runs, size_t leaf)
{
	for (size_t i = 0; i < RUNS_PLANES; i++)
		__builtin_prefetch(level(runs, i, runs->levels - 1) + leaf, 1);
}

size_t runs_lowest_kind(const struct runs *runs, size_t kind)
{
	uint64_t from = ~UINT64_C(0) << kind % 64;

	for (size_t plane = kind / 64; plane < RUNS_PLANES; plane++) {
		uint64_t bits = *level(runs, plane, 0) & from;

		if (bits)
			return plane * 64 + (size_t)__builtin_ctzll(bits);
		from = ~UINT64_C(0);
	}
	return RUNS_NONE;
}

size_t runs_highest_kind(const struct runs *runs)
{
	for (size_t plane = RUNS_PLANES; plane--;) {
		uint64_t bits = *level(runs, plane, 0);

		if (bits)
			return plane * 64 + 63 - (size_t)__builtin_clzll(bits);
	}
	return RUNS_NONE;
}

static uint64_t kind_bit(size_t kind)
{
	return UINT64_C(1) << kind % 64;
}

/* The first node from @node on, among its siblings, that has the bit; RUNS_NONE. */
static size_t next_sibling(const uint64_t *nodes, size_t node, uint64_t bit)
{
	for (size_t end = (node / FANOUT + 1) * FANOUT; node < end; node++) {
		if (nodes[node] & bit)
			return node;
	}
	return RUNS_NONE;
}

/* The leftmost way down to a leaf from a node that has the bit. */
static size_t descend(const struct runs *runs, size_t kind, size_t l, size_t node)
{
	while (++l < runs->levels)
		node = next_sibling(level(runs, kind / 64, l), node * FANOUT, kind_bit(kind));
	return node;
}

size_t runs_first_leaf(const struct runs *runs, size_t kind)
{
	return *level(runs, kind / 64, 0) & kind_bit(kind) ? descend(runs, kind, 0, 0) : RUNS_NONE;
}

/* Climb until a sibling to the right has the bit. */
size_t runs_next_leaf(const struct runs *runs, size_t kind, size_t leaf)
{
	size_t l = runs->levels - 1, node = leaf, found;

	while (node >= runs->nodes[l] || (found = next_sibling(level(runs, kind / 64, l), node,
							       kind_bit(kind))) == RUNS_NONE) {
		if (!l--)
			return RUNS_NONE;
		node = node / FANOUT + 1;
	}
	return descend(runs, kind, l, found);
}

_Static_assert(RUNS_EXACT + 7 * 8 < KINDS, "a run of a whole pack has a kind");

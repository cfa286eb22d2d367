/* SPDX-License-Identifier: MIT */
/*
 * calls.c - who calls whom: no recursion, and no chain deeper than the frames there are
 *
 * A depth-first walk of the call graph from every function, on a stack of its own: chains
 * are as long as a hostile unit likes. Every insn is looked at once, and a call that leads
 * to something new once more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/insn.h"

#define ON_PATH UINT32_MAX /* as a depth: its calls are being walked */

/*
 * struct node - a function in the walk
 * @depth: 0 new, ON_PATH, or the functions active in the deepest chain from here
 * @next: the insn to look on at
 * @call: the insn that begins the deepest chain found; none while below is 0
 * @below: that chain's depth, this function not counted
 */
struct node {
	uint32_t depth, next, call, below;
};

struct walk {
	const struct unit *unit;
	const struct log *log;
	struct node *nodes; /* by function */
	uint32_t *path;     /* functions, each called by the one before */
	uint32_t len;
};

/* A chain of names in one line, cut where there is no more room. */
struct chain {
	char text[160];
	size_t len;
};

static void chain_add(struct chain *chain, const struct func *func)
{
	size_t room = sizeof(chain->text) - chain->len;
	int len = snprintf(chain->text + chain->len, room, "%s%s", chain->len ? " -> " : "",
			   func->name);

	chain->len += (size_t)len < room ? (size_t)len : room - 1;
}

/* Insn @at, of the path's last function, calls one that is on the path. */
static int refuse_recursion(const struct walk *walk, uint32_t at)
{
	const struct unit *unit = walk->unit;
	uint32_t callee = unit->ins[at].target, i = 0;
	struct chain chain = {.len = 0};

	while (walk->path[i] != callee)
		i++;
	for (; i < walk->len; i++)
		chain_add(&chain, &unit->funcs[walk->path[i]]);
	chain_add(&chain, &unit->funcs[callee]);
	return unit_error(unit, at, walk->log, -ELOOP, "recursion: %s", chain.text);
}

static int refuse_depth(const struct walk *walk, uint32_t func)
{
	const struct unit *unit = walk->unit;
	const struct node *node = &walk->nodes[func];
	struct chain chain = {.len = 0};
	uint32_t f = func;

	chain_add(&chain, &unit->funcs[f]);
	while (walk->nodes[f].below) {
		f = unit->ins[walk->nodes[f].call].target;
		chain_add(&chain, &unit->funcs[f]);
	}
	return unit_error(unit, node->call, walk->log, -ELOOP, "calls nest more than %d deep: %s",
			  BPF_MAX_DEPTH, chain.text);
}

static void push(struct walk *walk, uint32_t func)
{
	walk->path[walk->len++] = func;
	walk->nodes[func] = (struct node){.depth = ON_PATH, .next = walk->unit->funcs[func].start};
}

/* All calls of @func are walked. */
static int pop(struct walk *walk, uint32_t func)
{
	struct node *node = &walk->nodes[func];

	walk->len--;
	node->depth = node->below + 1;
	return node->depth > BPF_MAX_DEPTH ? refuse_depth(walk, func) : 0;
}

/*
 * Look on in the path's last function. A call to a new function pushes that, and is met
 * again, with the callee's depth known, when the walk is back.
 */
static int step(struct walk *walk)
{
	uint32_t func = walk->path[walk->len - 1], end = walk->unit->funcs[func].end;
	struct node *node = &walk->nodes[func];

	for (; node->next < end; node->next++) {
		const struct insn *in = &walk->unit->ins[node->next];
		uint32_t depth;

		if (in->kind != INSN_CALL)
			continue;
		depth = walk->nodes[in->target].depth;
		if (depth == ON_PATH)
			return refuse_recursion(walk, node->next);
		if (!depth) {
			push(walk, in->target);
			return 0;
		}
		if (depth > node->below) {
			node->below = depth;
			node->call = node->next;
		}
	}
	return pop(walk, func);
}

int calls_check(const struct unit *unit, const struct log *log)
{
	struct walk walk = {.unit = unit, .log = log};
	int err = -ENOMEM;

	walk.nodes = calloc(unit->nfuncs, sizeof(*walk.nodes));
	walk.path = calloc(unit->nfuncs, sizeof(*walk.path));
	if (!walk.nodes || !walk.path)
		goto free_walk;
	err = 0;
	for (uint32_t f = 0; f < unit->nfuncs && !err; f++) {
		if (walk.nodes[f].depth)
			continue;
		push(&walk, f);
		while (walk.len && !err)
			err = step(&walk);
	}
free_walk:
	free(walk.nodes);
	free(walk.path);
	return err;
}

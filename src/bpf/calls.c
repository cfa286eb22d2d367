/* SPDX-License-Identifier: MIT */
/*
 * calls.c - who calls whom: no recursion, and no chain deeper than the frames there are
 *
 * A depth-first walk of the call graph from every function, on a stack of its own: chains
 * are as long as a hostile unit likes. Every insn is looked at once, and a call that leads
 * to something new once more.
 *
 * A call by register is a call of a node of its own, behind those of functions: it calls all
 * functions whose address is taken, and is itself no frame.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/calls.h"

#define ON_PATH UINT32_MAX /* as a depth: its calls are being walked */
#define NO_CALL UINT32_MAX

/*
 * struct node - a function in the walk
 * @depth: 0 new, ON_PATH, or the functions active in the deepest chain from here
 * @next: the insn to look on at, or the function
 * @call: the insn that begins the deepest chain found; none while below is 0
 * @callee: the node that it calls
 * @below: that chain's depth, this function not counted
 */
struct node {
	uint32_t depth, next, call, callee, below;
};

struct walk {
	const struct unit *unit;
	const struct log *log;
	struct node *nodes; /* by function, and that of calls by register */
	uint32_t *path;     /* functions, each called by the one before */
	uint32_t len;
	bool any_taken; /* has any function its address taken? */
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

static const char *const any_taken = "(any whose address is taken)";

static void chain_add_node(struct chain *chain, const struct walk *walk, uint32_t node)
{
	static const struct func any = {.name = any_taken};

	chain_add(chain, node < walk->unit->nfuncs ? &walk->unit->funcs[node] : &any);
}

/* The insn that calls from the last function on the path: no other node has one. */
static uint32_t last_call(const struct walk *walk)
{
	uint32_t last = walk->path[walk->len - 1];

	if (last == walk->unit->nfuncs)
		last = walk->path[walk->len - 2];
	return walk->nodes[last].next;
}

/* The path's last node calls one that is on the path. */
static int refuse_recursion(const struct walk *walk, uint32_t callee)
{
	struct chain chain = {.len = 0};
	uint32_t i = 0;

	while (walk->path[i] != callee)
		i++;
	for (; i < walk->len; i++)
		chain_add_node(&chain, walk, walk->path[i]);
	chain_add_node(&chain, walk, callee);
	return unit_error(walk->unit, last_call(walk), walk->log, -ELOOP, "recursion: %s",
			  chain.text);
}

static int refuse_depth(const struct walk *walk, uint32_t node)
{
	uint32_t call = walk->nodes[node].call;
	struct chain chain = {.len = 0};

	chain_add_node(&chain, walk, node);
	while (walk->nodes[node].below) {
		node = walk->nodes[node].callee;
		chain_add_node(&chain, walk, node);
	}
	return unit_error(walk->unit, call, walk->log, -ELOOP, "calls nest more than %d deep: %s",
			  BPF_MAX_DEPTH, chain.text);
}

static void push(struct walk *walk, uint32_t node)
{
	uint32_t next = node < walk->unit->nfuncs ? walk->unit->funcs[node].start : 0;

	walk->path[walk->len++] = node;
	walk->nodes[node] = (struct node){.depth = ON_PATH, .next = next};
}

/* All calls of @node are walked. */
static int pop(struct walk *walk, uint32_t at)
{
	struct node *node = &walk->nodes[at];

	walk->len--;
	if (at == walk->unit->nfuncs) {
		node->depth = node->below;
		return 0;
	}
	node->depth = node->below + 1;
	return node->depth > BPF_MAX_DEPTH ? refuse_depth(walk, at) : 0;
}

/* The node that the insn or function at @next calls, or NO_CALL. */
static uint32_t callee_at(const struct walk *walk, uint32_t node, uint32_t next)
{
	const struct unit *unit = walk->unit;

	if (node == unit->nfuncs)
		return unit->funcs[next].taken ? next : NO_CALL;
	switch (unit->ins[next].kind) {
	case INSN_CALL: return unit->ins[next].target;
	case INSN_CALLX: return walk->any_taken ? unit->nfuncs : NO_CALL;
	default: return NO_CALL;
	}
}

/*
 * Look on in the path's last node. A call to a new one pushes that, and is met again, with the
 * callee's depth known, when the walk is back.
 */
static int step(struct walk *walk)
{
	uint32_t at = walk->path[walk->len - 1], nfuncs = walk->unit->nfuncs;
	uint32_t end = at < nfuncs ? walk->unit->funcs[at].end : nfuncs;
	struct node *node = &walk->nodes[at];

	for (; node->next < end; node->next++) {
		uint32_t callee = callee_at(walk, at, node->next), depth;

		if (callee == NO_CALL)
			continue;
		depth = walk->nodes[callee].depth;
		if (depth == ON_PATH)
			return refuse_recursion(walk, callee);
		if (!depth) {
			push(walk, callee);
			return 0;
		}
		if (depth > node->below) {
			node->below = depth;
			node->call = node->next;
			node->callee = callee;
		}
	}
	return pop(walk, at);
}

static bool has_taken(const struct unit *unit)
{
	for (uint32_t f = 0; f < unit->nfuncs; f++) {
		if (unit->funcs[f].taken)
			return true;
	}
	return false;
}

int calls_check(struct unit *unit, const struct log *log)
{
	struct walk walk = {.unit = unit, .log = log, .any_taken = has_taken(unit)};
	int err = -ENOMEM;

	walk.nodes = calloc(unit->nfuncs + (size_t)1, sizeof(*walk.nodes));
	walk.path = calloc(unit->nfuncs + (size_t)1, sizeof(*walk.path));
	if (!walk.nodes || !walk.path)
		goto free_walk;
	err = 0;
	for (uint32_t f = 0; f < unit->nfuncs && !err; f++) {
		if (walk.nodes[f].depth)
			continue;
		push(&walk, f);
		while (walk.len && !err)
			err = step(&walk);
		if (!err && walk.nodes[f].depth > unit->depth)
			unit->depth = walk.nodes[f].depth;
	}
free_walk:
	free(walk.nodes);
	free(walk.path);
	return err;
}

/* ---- tail calls ---- */

/* The insn by which the function comes to a tail call, as far as is known; its end if by none. */
static uint32_t find_tail(const struct unit *unit, const struct func *func)
{
	uint32_t i = func->start;

	for (; i < func->end; i++) {
		const struct insn *in = &unit->ins[i];

		if (in->kind == INSN_TAIL ||
		    (in->kind == INSN_CALL && unit->funcs[in->target].tails))
			break;
	}
	return i;
}

static int refuse_taken(const struct unit *unit, const struct log *log)
{
	for (uint32_t f = 0; f < unit->nfuncs; f++) {
		const struct func *func = &unit->funcs[f];

		if (func->tails && func->taken)
			return unit_error(unit, find_tail(unit, func), log, -EINVAL,
					  "tail call in '%s', whose address is taken", func->name);
	}
	return 0;
}

/* As often as chains of calls are long, plus one. */
int calls_tails(const struct unit *unit, const struct log *log)
{
	bool grew;

	do {
		grew = false;
		for (uint32_t f = 0; f < unit->nfuncs; f++) {
			struct func *func = &unit->funcs[f];

			if (func->tails || find_tail(unit, func) == func->end)
				continue;
			func->tails = grew = true;
		}
	} while (grew);
	return refuse_taken(unit, log);
}

/* ---- at run time ---- */

const struct func *calls_func(const struct unit *unit, uint64_t value)
{
	uint64_t off = value - (uintptr_t)unit->funcs, f = off / sizeof(struct func);

	if (off % sizeof(struct func) || f >= unit->nfuncs || !unit->funcs[f].taken)
		return NULL;
	return &unit->funcs[f];
}

const struct helper *calls_helper(const struct unit *unit, uint64_t value)
{
	for (uint32_t i = 0; i < unit->nhelpers; i++) {
		if (unit->helpers[i].id == value && !unit->helpers[i].tail)
			return &unit->helpers[i];
	}
	return NULL;
}

uint64_t calls_none(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint64_t)(int64_t)-EINVAL;
}

uint64_t calls_native(uint64_t unit, uint64_t value)
{
	const struct unit *of = (const void *)(uintptr_t)unit;
	const struct func *func = calls_func(of, value);
	const struct helper *helper;

	if (func)
		return (uintptr_t)func->native;
	helper = calls_helper(of, value);
	return (uintptr_t)(helper ? helper->fn : calls_none);
}

/* SPDX-License-Identifier: MIT */
#include "bpf/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <progpack_bpf.h>

#include "bpf/calls.h"
#include "os/fault.h"

/* Accesses of one width and direction share slots: room depends on the width. */
#define KINDS 8u

/* ---- at load ---- */

static unsigned int kind_of(const struct insn *in)
{
	return (unsigned int)__builtin_ctz(in->bytes) * 2 + (in->kind != INSN_LOAD);
}

/*
 * struct deal - slots 0 .. KINDS-1 are one for each kind; the others go to whom asks first
 * @kind: of each slot; @turn: of each kind: the slot given last
 */
struct deal {
	unsigned int kind[GUARD_SLOTS], turn[KINDS], n;
};

/* The next slot of that kind, in a circle. */
static unsigned int deal_again(struct deal *deal, unsigned int kind)
{
	unsigned int slot = deal->turn[kind];

	do
		slot = (slot + 1) % deal->n;
	while (deal->kind[slot] != kind);
	return deal->turn[kind] = slot;
}

static unsigned int deal_slot(struct deal *deal, unsigned int kind)
{
	if (deal->turn[kind] == GUARD_SLOTS)
		return deal->turn[kind] = kind;
	if (deal->n == GUARD_SLOTS)
		return deal_again(deal, kind);
	deal->kind[deal->n] = kind;
	return deal->turn[kind] = deal->n++;
}

static unsigned int base_of(const struct insn *in)
{
	return in->kind == INSN_LOAD ? in->src : in->dst;
}

static int refuse_outside(const struct unit *unit, uint32_t at, const struct log *log)
{
	return unit_error(unit, at, log, -EINVAL, "r10 %+d, %u bytes: outside the frame of %d",
			  unit->ins[at].off, unit->ins[at].bytes, BPF_FRAME);
}

static int check_accesses(struct unit *unit, const struct log *log)
{
	struct deal deal = {.n = KINDS};

	for (unsigned int kind = 0; kind < KINDS; kind++) {
		deal.kind[kind] = kind;
		deal.turn[kind] = GUARD_SLOTS;
	}
	unit_may_fault(unit, INSN_GUARD);
	for (uint32_t i = 0; i < unit->nins; i++) {
		struct insn *in = &unit->ins[i];

		if (!(in->flags & INSN_GUARD))
			continue;
		if (base_of(in) == 10)
			return refuse_outside(unit, i, log);
		in->target = deal_slot(&deal, kind_of(in));
		if (in->target >= unit->slots)
			unit->slots = in->target + 1;
	}
	return 0;
}

/* Does what follows an insn begin a line, wherever it is jumped to from? */
static bool ends_line(const struct insn *in)
{
	return insn_jumps(in) || in->kind == INSN_EXIT || in->kind == INSN_PACKET ||
	       in->kind == INSN_TAIL;
}

static void mark_lines(const struct unit *unit, bool *begins)
{
	for (uint32_t f = 0; f < unit->nfuncs; f++)
		begins[unit->funcs[f].start] = true;
	for (uint32_t i = 0; i < unit->nins; i++) {
		if (insn_jumps(&unit->ins[i]))
			begins[unit->ins[i].target] = true;
		if (ends_line(&unit->ins[i]))
			begins[i + 1] = true;
	}
}

/* What stands for a call (inline.h) is one instruction, whatever it takes. */
static bool is_one(const struct unit *unit, uint32_t i)
{
	return !i || unit->ins[i].pc != unit->ins[i - 1].pc;
}

static int charge_lines(struct unit *unit)
{
	bool *begins = calloc(unit->nins + (size_t)1, sizeof(*begins));
	uint32_t start = 0;

	if (!begins)
		return -ENOMEM;
	mark_lines(unit, begins);
	for (uint32_t i = 0; i < unit->nins; i++) {
		if (begins[i])
			start = i;
		unit->ins[i].charge = 0;
		unit->ins[start].charge += is_one(unit, i);
	}
	free(begins);
	return 0;
}

static bool names_frame(const struct insn *in)
{
	return in->dst == 10 || in->src == 10;
}

static void look_at(struct unit *unit)
{
	bool frames = false;

	for (uint32_t i = 0; i < unit->nins; i++) {
		frames |= names_frame(&unit->ins[i]);
		unit->packets |= unit->ins[i].kind == INSN_PACKET;
	}
	if (!frames)
		unit->depth = 0;
}

int guard_unit(struct unit *unit, unsigned int what, const struct log *log)
{
	int err = 0;

	look_at(unit);
	unit->guarded = what;
	unit->checked = what & GUARD_CHECK;
	unit->counted = what & GUARD_CHARGE;
	if (unit->checked)
		err = check_accesses(unit, log);
	return !err && what & GUARD_CHARGE ? charge_lines(unit) : err;
}

/* ---- a run ---- */

static _Thread_local struct guard *running;

struct guard *guard_enter(struct guard *guard)
{
	struct guard *before = running;

	running = guard;
	return before;
}

struct guard *guard_of(const struct func *func)
{
	const struct unit *unit = running ? running->unit : NULL;

	return unit && func >= unit->funcs && func < unit->funcs + unit->nfuncs ? running : NULL;
}

static struct guard_span span_of(const void *at, size_t size)
{
	return (struct guard_span){(uintptr_t)at, (uintptr_t)at + (at ? size : 0), false};
}

static void take_packet(struct guard *guard, const void *data, size_t len)
{
	struct pp_bpf_packet packet;

	if (!guard->unit->packets || !data || len < sizeof(packet))
		return;
	memcpy(&packet, data, sizeof(packet));
	guard->extra = span_of(packet.data, packet.len);
}

static void init_memory(struct guard *guard)
{
	/* cppcheck-suppress ctuuninitvar ; set by who made the guard */
	size_t used = (size_t)guard->unit->depth * BPF_FRAME;

	memset(guard->stack + GUARD_STACK - used, 0, used);
	memset(guard->slots, 0, guard->unit->slots * sizeof(guard->slots[0]));
	memset(guard->args, 0, sizeof(guard->args));
	guard->frame = (uintptr_t)(guard->stack + GUARD_STACK);
}

void guard_init(struct guard *guard, void *data, size_t len)
{
	init_memory(guard);
	guard->outer = NULL;
	guard->depth = 0;
	guard->root = guard;
	guard->tails = BPF_MAX_TAILS;
	guard->at = guard->owner;
	guard->args[0] = (uintptr_t)data;
	guard->args[1] = len;
	guard->data = span_of(data, len);
	guard->extra = span_of(NULL, 0);
	take_packet(guard, data, len);
}

void guard_init_inner(struct guard *guard, struct guard *outer, const uint64_t args[4],
		      struct guard_span extra)
{
	guard->unit = outer->unit;
	guard->ops = outer->ops;
	guard->owner = outer->owner;
	guard->left = outer->left;
	init_memory(guard);
	guard->outer = outer;
	guard->depth = outer->depth + 1;
	guard->root = outer->root;
	memcpy(guard->args, args, 4 * sizeof(*args));
	guard->data = span_of(NULL, 0);
	guard->extra = extra;
}

void guard_init_tail(struct guard *guard, struct guard *outer, uint64_t r1)
{
	guard->ops = outer->ops;
	guard->left = outer->left;
	init_memory(guard);
	guard->outer = outer;
	guard->depth = outer->depth;
	guard->root = outer->root;
	guard->args[0] = r1;
	guard->data = guard->extra = span_of(NULL, 0);
}

static bool holds(const struct guard_span *span, uint64_t addr, uint64_t size)
{
	return addr >= span->lo && addr <= span->hi && size <= span->hi - addr;
}

/* Of this guard alone. */
static bool find_own(const struct guard *guard, uint64_t addr, uint64_t size, bool write,
		     struct guard_span *span)
{
	*span = span_of(guard->stack, GUARD_STACK);
	if (holds(span, addr, size))
		return true;
	*span = guard->data;
	if (holds(span, addr, size))
		return true;
	*span = guard->extra;
	return !write && holds(span, addr, size);
}

/* The span with all of size bytes at addr; size is not 0. */
static bool find(const struct guard *guard, uint64_t addr, uint64_t size, bool write,
		 struct guard_span *span)
{
	for (const struct guard *at = guard; at; at = at->outer) {
		if (find_own(at, addr, size, write, span))
			return true;
	}
	return guard->ops->find(guard, addr, write, span) && holds(span, addr, size);
}

bool guard_readable(const struct guard *guard, uint64_t addr, uint64_t size)
{
	struct guard_span span;

	return !size || find(guard, addr, size, false, &span);
}

bool guard_writable(const struct guard *guard, uint64_t addr, uint64_t size)
{
	struct guard_span span;

	return !size || find(guard, addr, size, true, &span);
}

bool guard_string(const struct guard *guard, uint64_t addr)
{
	struct guard_span span;

	if (guard_writable(guard, addr, 1) || !find(guard, addr, 1, false, &span))
		return false;
	return memchr((const void *)(uintptr_t)addr, 0, span.hi - addr);
}

/* Of all that an access may be in, its slot now has this. */
static bool passes(struct guard *guard, const struct insn *in, uint64_t addr)
{
	struct guard_span span;

	if (!find(guard, addr, in->bytes, in->kind != INSN_LOAD, &span))
		return false;
	if (!span.passes)
		guard->slots[in->target] =
			(struct guard_slot){span.lo, span.hi - span.lo - in->bytes};
	return true;
}

/* What it says now, even if it says something else than at the start of the run. */
static bool packet_passes(const struct guard *guard, uint64_t addr)
{
	struct pp_bpf_packet packet;

	if (!guard_readable(guard, addr, sizeof(packet)))
		return false;
	memcpy(&packet, (const void *)(uintptr_t)addr, sizeof(packet));
	return guard_readable(guard, (uintptr_t)packet.data, packet.len);
}

static const struct helper *helper_of(const struct unit *unit, const struct insn *in, uint64_t addr)
{
	if (in->kind == INSN_HELPER || in->kind == INSN_TAIL)
		return &unit->helpers[in->target];
	return calls_func(unit, addr) ? NULL : calls_helper(unit, addr);
}

/* *bad: the address to blame */
static bool call_passes(const struct guard *guard, const struct insn *in, const uint64_t *r,
			uint64_t *bad)
{
	const struct helper *helper = helper_of(guard->unit, in, *bad);

	return !helper || !guard->ops->refuse(guard, helper, r, bad);
}

void guard_slow(struct guard *guard, uint64_t addr, uint64_t at, const uint64_t *r)
{
	const struct insn *in = &guard->unit->ins[at];
	bool good;

	if (guard->left < 0)
		fault_end(-ETIME, (uint32_t)at, 0);
	switch (in->kind) {
	case INSN_HELPER:
	case INSN_TAIL:
	case INSN_CALLX: good = call_passes(guard, in, r, &addr); break;
	case INSN_PACKET: good = packet_passes(guard, addr); break;
	default: good = passes(guard, in, addr);
	}
	if (!good)
		fault_end(-EFAULT, (uint32_t)at, addr);
}

void guard_step(struct guard *guard, const struct insn *in, const uint64_t *r)
{
	uint64_t at = (uint64_t)(in - guard->unit->ins);

	guard->left -= in->charge;
	if (guard_asks(guard->unit, in))
		guard_slow(guard, r[in->kind == INSN_PACKET ? 6 : in->dst], at, r);
	else if (guard->left < 0)
		guard_slow(guard, 0, at, r);
}

/* SPDX-License-Identifier: MIT */
/*
 * flow.c - backward liveness over a unit
 *
 *	live_in[i] = reads(i) | (union of live_in[successors of i] & ~sets(i))
 *
 * The least solution: all sets start empty and only grow, by at most 2 * BPF_NREGS bits. One
 * sweep from the last insn to the first solves all but the sources of backward jumps and of calls
 * to functions further up. Where there are any, they are what a list of insns to look at again
 * begins with; another one goes there only when a set that its own depends on has grown, so the
 * work is linear in the insns, whatever a hostile unit does.
 */
#include "bpf/flow.h"

#include <errno.h>
#include <stdlib.h>

/* Of registers, in unsigned ints; HALVES() has them and their upper halves, as live_in does. */
#define BIT(r) (1u << (r))
#define HALVES(set) ((set) | (set) << 16)
#define R0 BIT(0)
#define R1_R5 0x003eu
#define R3_R5 0x0038u
#define R6_R9 0x03c0u
#define NONE UINT32_MAX

/*
 * struct solver - the insns whose sets may have to grow
 *
 * Those that depend on insn i: the one before it, which may run into it, and a list of
 * jumps to i and calls of the function that starts at i:
 * first[i], next[first[i]], .. NONE.
 */
struct solver {
	const struct unit *unit;
	uint32_t *live_in;
	uint32_t *first, *next;
	uint32_t *again; /* a stack; an insn is on it once at most */
	uint32_t nagain;
	bool *queued; /* by insn: it is on the stack */
};

static unsigned int operand(const struct insn *in)
{
	return in->flags & INSN_IMM ? 0 : BIT(in->src);
}

/* A helper that is not known yet may read every argument. */
static unsigned int helper_reads(const struct unit *unit, const struct insn *in)
{
	uint32_t nargs = in->target < unit->nhelpers ? unit->helpers[in->target].nargs : 5;

	return (BIT(nargs) - 1) << 1;
}

/* Registers insn @in reads; of a call's none but the helper's arguments. */
static unsigned int reads(const struct unit *unit, const struct insn *in)
{
	switch ((enum insn_kind)in->kind) {
	case INSN_ALU: return in->op == ALU_MOV ? operand(in) : BIT(in->dst) | operand(in);
	case INSN_NEG:
	case INSN_SWAP: return BIT(in->dst);
	case INSN_MOVSX:
	case INSN_LOAD: return BIT(in->src);
	case INSN_STORE:
	case INSN_BRANCH: return BIT(in->dst) | operand(in);
	case INSN_ATOMIC: return BIT(in->dst) | BIT(in->src) | (in->op == ATOMIC_CMPXCHG ? R0 : 0);
	case INSN_TAIL:
	case INSN_HELPER: return helper_reads(unit, in);
	case INSN_CALLX: return BIT(in->dst) | R1_R5;
	case INSN_PACKET: return BIT(6) | operand(in);
	case INSN_EXIT: return R0;
	case INSN_MAYGOTO:
	case INSN_IMM64:
	case INSN_JUMP:
	case INSN_CALL:
	case INSN_KINDS: break;
	}
	return 0;
}

/* Registers whose value from before is gone behind @in. */
static unsigned int sets(const struct insn *in)
{
	switch ((enum insn_kind)in->kind) {
	case INSN_ALU:
	case INSN_NEG:
	case INSN_MOVSX:
	case INSN_SWAP:
	case INSN_IMM64:
	case INSN_LOAD: return BIT(in->dst);
	case INSN_ATOMIC:
		if (!(in->flags & INSN_FETCH))
			return 0;
		return in->op == ATOMIC_CMPXCHG ? R0 : BIT(in->src);
	case INSN_PACKET:
	case INSN_CALL:
	case INSN_CALLX:
	case INSN_HELPER:
	case INSN_TAIL: return R0 | R1_R5;
	case INSN_STORE:
	case INSN_JUMP:
	case INSN_BRANCH:
	case INSN_MAYGOTO:
	case INSN_EXIT:
	case INSN_KINDS: break;
	}
	return 0;
}

/*
 * Of 64 bits: the low half of most results follows from the low halves of the operands, and @wanted
 * says whether the upper half of this one matters. A shift's count is in the lowest bits.
 */
static unsigned int alu_reads_upper(const struct insn *in, bool wanted)
{
	switch (in->op) {
	case ALU_MOV: return wanted ? operand(in) : 0;
	case ALU_AND:
		if ((in->flags & INSN_IMM) && in->imm >= 0)
			return 0;
		return wanted ? BIT(in->dst) | operand(in) : 0;
	case ALU_ADD:
	case ALU_SUB:
	case ALU_MUL:
	case ALU_OR:
	case ALU_XOR: return wanted ? BIT(in->dst) | operand(in) : 0;
	case ALU_LSH: return wanted ? BIT(in->dst) : 0;
	case ALU_RSH:
	case ALU_ARSH: return BIT(in->dst);
	default: return BIT(in->dst) | operand(in);
	}
}

/* Memory operands: the whole of the address, and of what goes to eight bytes. */
static unsigned int memory_reads_upper(const struct insn *in)
{
	if (in->kind == INSN_LOAD)
		return BIT(in->src);
	if (in->bytes < 8)
		return BIT(in->dst);
	if (in->kind == INSN_STORE)
		return BIT(in->dst) | operand(in);
	return BIT(in->dst) | BIT(in->src) | (in->op == ATOMIC_CMPXCHG ? R0 : 0);
}

/* Which of what @in reads it reads to the upper end. @behind: what is live after it. */
static unsigned int reads_upper(const struct unit *unit, const struct insn *in, uint32_t behind)
{
	bool wanted = flow_upper(behind) & BIT(in->dst);

	switch ((enum insn_kind)in->kind) {
	case INSN_ALU: return in->flags & INSN_W64 ? alu_reads_upper(in, wanted) : 0;
	case INSN_NEG: return (in->flags & INSN_W64) && wanted ? BIT(in->dst) : 0;
	case INSN_MOVSX: return 0;
	case INSN_SWAP: return in->bytes == 8 ? BIT(in->dst) : 0;
	case INSN_LOAD:
	case INSN_STORE:
	case INSN_ATOMIC: return memory_reads_upper(in);
	case INSN_BRANCH: return in->flags & INSN_W64 ? reads(unit, in) : 0;
	default: return reads(unit, in);
	}
}

static bool falls_through(const struct insn *in)
{
	return in->kind != INSN_JUMP && in->kind != INSN_EXIT;
}

/* The insn besides the next one whose live_in that of @in depends on, or NONE. */
static uint32_t far_of(const struct unit *unit, const struct insn *in)
{
	switch (in->kind) {
	case INSN_JUMP:
	case INSN_MAYGOTO:
	case INSN_BRANCH: return in->target;
	case INSN_CALL: return unit->funcs[in->target].start;
	default: return NONE;
	}
}

static uint32_t solve(const struct solver *s, uint32_t i)
{
	const struct insn *in = &s->unit->ins[i];
	uint32_t behind = falls_through(in) ? s->live_in[i + 1] : 0;
	uint32_t here = reads(s->unit, in);

	if (insn_jumps(in))
		behind |= s->live_in[in->target];
	here |= reads_upper(s->unit, in, behind) << 16;
	if (in->kind == INSN_CALL)
		here |= s->live_in[far_of(s->unit, in)] & HALVES(R1_R5);
	return here | (behind & ~HALVES(sets(in)));
}

static void queue(struct solver *s, uint32_t i)
{
	if (s->queued[i])
		return;
	s->queued[i] = true;
	s->again[s->nagain++] = i;
}

/* Look at insn @i; if its set grows, those that depend on it from afar are to be looked at. */
static bool grow(struct solver *s, uint32_t i)
{
	uint32_t live = solve(s, i);

	if (live == s->live_in[i])
		return false;
	s->live_in[i] = live;
	for (uint32_t from = s->first[i]; from != NONE; from = s->next[from])
		queue(s, from);
	return true;
}

static void link_far(struct solver *s)
{
	for (uint32_t i = 0; i < s->unit->nins; i++)
		s->first[i] = NONE;
	for (uint32_t i = 0; i < s->unit->nins; i++) {
		uint32_t far = far_of(s->unit, &s->unit->ins[i]);

		if (far == NONE)
			continue;
		s->next[i] = s->first[far];
		s->first[far] = i;
	}
}

static bool is_backward(const struct solver *s, uint32_t i)
{
	return far_of(s->unit, &s->unit->ins[i]) <= i;
}

/* Return: is there anything that this may not have solved? */
static bool sweep(const struct solver *s)
{
	bool backward = false;

	for (uint32_t i = s->unit->nins; i-- > 0;) {
		s->live_in[i] = solve(s, i);
		backward |= is_backward(s, i);
	}
	return backward;
}

static void solve_rest(struct solver *s)
{
	link_far(s);
	for (uint32_t i = 0; i < s->unit->nins; i++) {
		if (is_backward(s, i))
			queue(s, i);
	}
	while (s->nagain) {
		uint32_t i = s->again[--s->nagain];

		s->queued[i] = false;
		while (grow(s, i) && i > 0 && falls_through(&s->unit->ins[i - 1]))
			i--;
	}
}

static int find_live(struct flow *flow, const struct unit *unit)
{
	struct solver s = {.unit = unit, .live_in = flow->live_in};
	int err = -ENOMEM;

	if (!sweep(&s))
		return 0;
	s.first = malloc(unit->nins * sizeof(*s.first));
	s.next = malloc(unit->nins * sizeof(*s.next));
	s.again = malloc(unit->nins * sizeof(*s.again));
	s.queued = calloc(unit->nins, sizeof(*s.queued));
	if (s.first && s.next && s.again && s.queued) {
		solve_rest(&s);
		err = 0;
	}
	free(s.first);
	free(s.next);
	free(s.again);
	free(s.queued);
	return err;
}

/* Does r10 go anywhere but into the address of a memory operand? */
static bool frame_escapes(const struct unit *unit, const struct insn *in)
{
	if (in->kind == INSN_LOAD)
		return false;
	if (in->kind == INSN_STORE || in->kind == INSN_ATOMIC)
		return !(in->flags & INSN_IMM) && in->src == 10;
	return reads(unit, in) & BIT(10);
}

static bool frame_accessed(const struct insn *in)
{
	if (in->kind == INSN_LOAD)
		return in->src == 10;
	return (in->kind == INSN_STORE || in->kind == INSN_ATOMIC) && in->dst == 10;
}

/* Bytes of the frame that @in may touch, from r10 down; all of it if that cannot be told. */
static uint16_t frame_depth(const struct unit *unit, const struct insn *in)
{
	if (in->dst != 10 && in->src != 10)
		return 0;
	if (frame_escapes(unit, in))
		return BPF_FRAME;
	if (!frame_accessed(in))
		return 0;
	if (in->off < -BPF_FRAME || in->off + in->bytes > 0)
		return BPF_FRAME;
	return (uint16_t)((-in->off + 7) & ~7);
}

static void sum_up(struct flow *flow, const struct unit *unit, uint32_t f)
{
	const struct func *func = &unit->funcs[f];
	struct func_flow *sum = &flow->funcs[f];

	sum->live_in = (uint16_t)flow->live_in[func->start];
	sum->writes = flow_entry_undefined(flow, unit, f);
	for (uint32_t i = func->start; i < func->end; i++) {
		uint16_t depth = frame_depth(unit, &unit->ins[i]);

		sum->writes |= (uint16_t)sets(&unit->ins[i]);
		sum->loops |= unit->ins[i].kind == INSN_MAYGOTO;
		if (depth > sum->stack)
			sum->stack = depth;
	}
}

int flow_init(struct flow *flow, const struct unit *unit)
{
	struct flow made = {
		.live_in = calloc(unit->nins, sizeof(*made.live_in)),
		.funcs = calloc(unit->nfuncs, sizeof(*made.funcs)),
	};

	if (!made.live_in || !made.funcs || find_live(&made, unit)) {
		flow_fini(&made);
		return -ENOMEM;
	}
	for (uint32_t f = 0; f < unit->nfuncs; f++)
		sum_up(&made, unit, f);
	*flow = made;
	return 0;
}

void flow_fini(struct flow *flow)
{
	free(flow->live_in);
	free(flow->funcs);
	*flow = (struct flow){0};
}

uint16_t flow_undefined(const struct flow *flow, const struct unit *unit, uint32_t at)
{
	if (!insn_calls(&unit->ins[at]))
		return 0;
	return flow->live_in[at + 1] & R1_R5;
}

uint16_t flow_entry_undefined(const struct flow *flow, const struct unit *unit, uint32_t func)
{
	return flow->live_in[unit->funcs[func].start] & (R0 | R6_R9);
}

uint16_t flow_outside_undefined(const struct flow *flow, const struct unit *unit, uint32_t func)
{
	if (!unit->funcs[func].entry)
		return 0;
	return flow->live_in[unit->funcs[func].start] & R3_R5;
}

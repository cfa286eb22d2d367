/* SPDX-License-Identifier: MIT */
/*
 * guard.h - a guarded run: what it may touch, how far it may go, and the memory of its frames
 *
 *	access --> its slot: the span where it last was	(inline in native code)
 *		   \--> guard_slow(): another span, or the end of the run
 *
 * An access that is not within its function's frame anyhow is checked first against a slot, which
 * accesses of its kind share: addr - lo <= room. Slots hold spans that last as long as the run.
 *
 * A function that a helper calls has a guard of its own, within that of the run.
 *
 * Frames are apart from the C stack, so that nothing else is near them: 512 bytes for each call,
 * downwards, alike on every engine. What a function needs beside its frame that programs must not
 * see lies GUARD_SHADOW bytes above r10: no program reaches that.
 */
#ifndef BPF_GUARD_H
#define BPF_GUARD_H

#include "bpf/insn.h"

#define GUARD_SLOTS 32u
#define GUARD_STACK (BPF_MAX_DEPTH * BPF_FRAME)
#define GUARD_SHADOW GUARD_STACK

/* struct guard_span - memory: lo .. hi-1; @passes: it may be other memory before the run ends */
struct guard_span {
	uint64_t lo, hi;
	bool passes;
};

/* struct guard_slot - lets addr pass if addr - @lo <= @room. {0, 0}: nothing but a null pointer */
struct guard_slot {
	uint64_t lo, room;
};

struct guard;

/*
 * struct guard_ops - what an object knows beyond instructions
 * @find: the span that memory of the object and its maps around addr is; false: it is none
 * @refuse: does a helper's argument point where it must not? Then *bad is it. r: r0 .. r5
 */
struct guard_ops {
	bool (*find)(const struct guard *guard, uint64_t addr, bool write, struct guard_span *span);
	bool (*refuse)(const struct guard *guard, const struct helper *helper, const uint64_t *r,
		       uint64_t *bad);
};

/*
 * struct guard - one run of one thread; native code has its address in a register
 * @left: instructions of the budget; below 0: it is used up
 * @frame, @args: r10, r1 .. r5 of the function to enter
 * @outer: of the run, if a helper of it called this function; its frames are within reach
 * @root: the run's first; of that: @tails: tail calls that are left; @at: the owner of what runs
 *now
 * @data: r1's memory; @extra: what else may be read: what a packet in data tells of, or the key
 *	that a helper gave to this function; each empty if there is none
 * @stack: zero at first, as far as @unit reaches
 */
struct guard {
	int64_t left;
	uint64_t frame;
	uint64_t args[5];
	struct guard_slot slots[GUARD_SLOTS];
	const struct unit *unit;
	const struct guard_ops *ops;
	const void *owner; /* of the ops */
	struct guard *outer;
	uint32_t depth; /* guards outside of it, those of tail calls aside */
	struct guard *root;
	uint64_t tails;
	const void *at;
	struct guard_span data, extra;
	_Alignas(16) uint8_t stack[GUARD_STACK + GUARD_SHADOW];
};

/* What of a run is guarded. */
enum {
	GUARD_CHECK = 1,  /* accesses: INSN_GUARD, and their slots as targets */
	GUARD_CHARGE = 2, /* instructions are counted: insn.charge, where a straight line begins */
};

/*
 * guard_unit - prepare a unit, after calls_check() and before interp_prepare()
 *
 * Return: 0, -EINVAL (log: which access from r10 is outside its frame), -ENOMEM.
 *
 * A line is charged for as a whole: a run ends before the first one that the rest of its budget
 * does not cover. A call does not end a line.
 */
int guard_unit(struct unit *unit, unsigned int what, const struct log *log);

/*
 * guard_init - a run of @guard->unit that begins; unit, ops, owner and left are set
 * @data, @len: r1 and r2
 */
void guard_init(struct guard *guard, void *data, size_t len);

/*
 * guard_init_inner - a function of the run that @outer is of, called by a helper
 * @args: r1 .. r4; @extra: what it may read besides
 */
#define GUARD_DEPTH 8u /* how deep such functions may nest; above that the run ends */
void guard_init_inner(struct guard *guard, struct guard *outer, const uint64_t args[4],
		      struct guard_span extra);

/*
 * guard_init_tail - a program that a tail call of @outer goes on in, within it; unit and owner are
 * set. What was r1's memory is so for good.
 */
void guard_init_tail(struct guard *guard, struct guard *outer, uint64_t r1);

/* guard_enter - whose run this thread is in from now on; returns whose it was */
struct guard *guard_enter(struct guard *guard);

/* guard_of - this thread's, if @func is a function of what it runs guarded; or NULL */
struct guard *guard_of(const struct func *func);

/*
 * guard_slow - may insn @at go on? Returns if so, else ends the run (fault_end())
 * @addr: of an access; what a CALLX calls; the packet
 * @r: r0 .. r5
 *
 * For insns with INSN_GUARD whose slot does not let them pass, for calls of helpers, and when the
 * budget is used up. Native code calls this, with all in registers.
 */
void guard_slow(struct guard *guard, uint64_t addr, uint64_t at, const uint64_t *r);

/* guard_passes - does its slot let an access pass? */
static inline bool guard_passes(const struct guard *guard, const struct insn *in, uint64_t addr)
{
	const struct guard_slot *slot = &guard->slots[in->target];

	return addr - slot->lo <= slot->room;
}

/* guard_asks - must guard_slow() see this insn each time? */
static inline bool guard_asks(const struct unit *unit, const struct insn *in)
{
	return unit->checked && (in->kind == INSN_HELPER || in->kind == INSN_CALLX ||
				 in->kind == INSN_PACKET || in->kind == INSN_TAIL);
}

/*
 * guard_step - what comes before an insn that is charged for or asks, when interpreted
 * @r: r0 .. r10
 */
void guard_step(struct guard *guard, const struct insn *in, const uint64_t *r);

/* guard_readable, guard_writable - is all of this memory the run's? None always is. */
bool guard_readable(const struct guard *guard, uint64_t addr, uint64_t size);
bool guard_writable(const struct guard *guard, uint64_t addr, uint64_t size);

/* guard_string - is a string there that no program can write, so that it will still end? */
bool guard_string(const struct guard *guard, uint64_t addr);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * flow.h - which registers an instruction may read before they are written
 *
 * Backward liveness over a whole unit, calls included. JITs use it to zero just the
 * registers that a program reads undefined (so that it sees what the interpreter gives it,
 * never a host value) and to save just those that a function changes.
 */
#ifndef BPF_FLOW_H
#define BPF_FLOW_H

#include "bpf/insn.h"

struct flow {
	/*
	 * By insn: bit r is set if r may be read before it is written, bit 16 + r if its upper
	 * half may: if it changes what the program does. A 32-bit operation reads none.
	 */
	uint32_t *live_in;
	struct func_flow {
		uint16_t live_in; /* at entry: of insn start */
		uint16_t writes;  /* registers that it changes, flow_entry_undefined() too */
		uint16_t stack;   /* bytes of frame it may touch, 0 .. BPF_FRAME, multiple of 8 */
		bool loops;       /* it has may_gotos to count */
	} * funcs;
};

/* flow_upper - of a set of live_in, the registers whose upper halves are live */
static inline uint32_t flow_upper(uint32_t live)
{
	return live >> 16;
}

/* flow_init - 0 or -ENOMEM; flow_fini() frees */
int flow_init(struct flow *flow, const struct unit *unit);
void flow_fini(struct flow *flow);

/*
 * flow_undefined - registers that are undefined right behind insn @at, and read later
 *
 * Only calls leave any: r1 .. r5. A mask of registers to zero.
 */
uint16_t flow_undefined(const struct flow *flow, const struct unit *unit, uint32_t at);

/*
 * flow_entry_undefined - the same at the entry of function @func, however it is entered: of r0
 * and r6 .. r9
 */
uint16_t flow_entry_undefined(const struct flow *flow, const struct unit *unit, uint32_t func);

/*
 * flow_outside_undefined - of r3 .. r5, which those who run a program from outside do not set
 *
 * A local call of the same function may pass arguments in them.
 */
uint16_t flow_outside_undefined(const struct flow *flow, const struct unit *unit, uint32_t func);

#endif

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
	uint16_t *live_in;	  /* by insn: bit r set if r may be read before it is written */
	struct func_flow {
		uint16_t live_in; /* at entry: of insn start */
		uint16_t writes;  /* registers that it changes, flow_entry_undefined() too */
		uint16_t stack;	  /* bytes of frame it may touch, 0 .. BPF_FRAME, multiple of 8 */
		bool called;	  /* by a function of the unit */
	} *funcs;
};

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
 * flow_entry_undefined - the same at the entry of function @func
 *
 * r0 and r6 .. r9; of an entry also r3 .. r5, unless it is called locally as well: then they
 * may hold a caller's arguments. Whoever runs such a function from outside passes zeros for
 * them, which is what interp_run() does.
 */
uint16_t flow_entry_undefined(const struct flow *flow, const struct unit *unit, uint32_t func);

#endif

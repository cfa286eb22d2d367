/* SPDX-License-Identifier: MIT */
/*
 * jit_trial.h - one insn, tried out on registers
 *
 * Two programs a trial. The full one loads all ten registers from memory, operates, and stores
 * all ten: nothing but the destination may change. The lean one reads nothing but its operands
 * and returns the destination: what is dead may be clobbered, and is.
 */
#ifndef TESTS_JIT_TRIAL_H
#define TESTS_JIT_TRIAL_H

#include "jit_fixture.h"

#define NREGS 10 /* r0 .. r9 */

/* What a full program gets as r1. */
struct machine {
	uint64_t in[NREGS];
	uint64_t out[NREGS];
};

/* Operands worth trying. */
#define NEDGES 21
extern const uint64_t edges[NEDGES];

struct trial {
	struct prog full, lean;
	struct native full_native, lean_native;
};

void trial_init(struct trial *t, struct insn in, unsigned int features);
void trial_fini(struct trial *t);

/* Every register another value. */
void machine_init(struct machine *m);

/* trial_check - run both: @dst shall become @expect, and nothing else change */
void trial_check(const struct trial *t, const struct machine *m, unsigned int dst, uint64_t expect);

/*
 * trial_check_memory - run the full program alone: the registers shall become @expect, and
 * @cell change from @before to @after
 */
void trial_check_memory(const struct trial *t, const struct machine *m,
			const uint64_t expect[NREGS], uint64_t *cell, const uint64_t change[2]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * program.h - a case's program, decoded and checked, with the suite's helpers bound to it
 *
 * Helpers, by number:
 *	5	nonzero(): not 0, as in the public conformance suite (Linux: ktime_get_ns)
 *	1001	mix(r1 .. r5): r1 + 3 r2 + 5 r3 + 7 r4 + 11 r5, so that order matters
 *	1002	trash(r1): r1, after changing every register that a called C function may
 *	1003	high(): 0xfedcba9876543210
 *	1004	fill(r1, r2, r3): r2 bytes at r1 become r3; returns r2
 *	1005	aligned(): whether the stack is aligned as the host's ABI wants it
 */
#ifndef CASES_PROGRAM_H
#define CASES_PROGRAM_H

#include "bpf/insn.h"
#include "case.h"

struct program {
	struct unit unit;
	struct func *funcs;
};

/* The suite's helpers, in order of number. */
extern const struct helper program_helpers[];
extern const uint32_t program_nhelpers;

/* program_load - 0, or what decode(), calls_check() and the binding of helpers returned */
int program_load(const struct test_case *tc, const struct log *log, struct program *program);
void program_free(struct program *program);

/* program_text - all of it as disasm() writes it, a line each; allocated, NULL without memory */
char *program_text(const struct program *program);

#endif

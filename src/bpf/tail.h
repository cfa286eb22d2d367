/* SPDX-License-Identifier: MIT */
/*
 * tail.h - bpf_tail_call(ctx, map, index): another program in the place of the calling function
 *
 * The program runs with r1 = ctx, and what it returns the function returns: of a program its
 * result, of a function that a program called what its caller gets. A run makes BPF_MAX_TAILS of
 * them, in whatever functions. One that fails goes on behind the call with an error in r0, as any
 * helper, and is not counted:
 *
 *	-EINVAL		no array of programs
 *	-E2BIG		index past its end
 *	-ENOENT		nothing there
 *	-ELOOP		no more tail calls in this run
 *	-ENOTSUP	one of the programs is guarded, or has a budget, and the other not; or is
 *			native code that is not guarded and the other one has none
 */
#ifndef BPF_TAIL_H
#define BPF_TAIL_H

#include <stdbool.h>
#include <stdint.h>

struct guard;

/* tail_native, tail_guarded, tail_interpret - struct helper's fn and tail of bpf_tail_call() */
uint64_t tail_native(uint64_t left, uint64_t map, uint64_t index, uint64_t r4, uint64_t r5);
uint64_t tail_guarded(uint64_t guard, uint64_t ctx, uint64_t map, uint64_t index, uint64_t r5);
bool tail_interpret(const uint64_t *r, struct guard *guard, uint64_t *left, uint64_t *result);

#endif

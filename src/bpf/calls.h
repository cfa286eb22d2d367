/* SPDX-License-Identifier: MIT */
/* calls.h - what calls call: refused at load where it nests too deep, found at run time */
#ifndef BPF_CALLS_H
#define BPF_CALLS_H

#include "bpf/insn.h"

/*
 * calls_check - refuse recursion and calls nested more than BPF_MAX_DEPTH deep
 *
 * A call by register may be one of any function whose address is taken. Sets unit->depth.
 * Return: 0, -ELOOP (log: the chain), -ENOMEM.
 */
int calls_check(struct unit *unit, const struct log *log);

/*
 * calls_tails - set tails of the unit's functions; calls_check() comes before
 *
 * None whose address is taken may have it: helpers call such a function, and it would be another
 * program that they called. Return: 0, -EINVAL.
 */
int calls_tails(const struct unit *unit, const struct log *log);

/* calls_func, calls_helper - what a register holds, of the unit: a function, a helper; or NULL */
const struct func *calls_func(const struct unit *unit, uint64_t value);
const struct helper *calls_helper(const struct unit *unit, uint64_t value);

/*
 * calls_native - the same as native code; for what is neither a function that only gives -EINVAL
 * @unit: a struct unit; native code calls this
 */
uint64_t calls_native(uint64_t unit, uint64_t value);

/* calls_none - called in the place of what is neither helper nor function: -EINVAL */
uint64_t calls_none(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

#endif

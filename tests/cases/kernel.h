/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the running kernel as an oracle: its verifier loads a case, its JIT runs it
 *
 * For the fixed programs of this directory only. Never feed it generated ones: a verifier
 * bug takes the machine with it.
 */
#ifndef CASES_KERNEL_H
#define CASES_KERNEL_H

#include "case.h"
#include "verdict.h"

/*
 * kernel_available - whether bpf() lets us load and run programs here
 * @how: what runs them, or why not, for people
 */
bool kernel_available(struct verdict *how);

/*
 * kernel_run - run a case
 * @mem: as tc->mem before, what the program made of it afterwards
 * @verdict: set unless it ran: refused by the verifier is a skip, anything else a failure
 *
 * Return: whether it ran.
 */
bool kernel_run(const struct test_case *tc, uint8_t *mem, uint64_t *r0, struct verdict *verdict);

#endif

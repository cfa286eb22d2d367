/* SPDX-License-Identifier: MIT */
/*
 * prove.h - what the proofs share; scripts/prove finds and runs them
 *
 * A proof is a function prove_*() behind a line "prove: OPTIONS": cbmc's, which state the bound.
 * The checker tries every value that any_*() may give: it knows nondet_*() functions without a
 * body. It also proves that all loops end within their bound, and that no index, pointer or shift
 * is bad.
 */
#ifndef PROVE_PROVE_H
#define PROVE_PROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t nondet_word(void);

static inline uint64_t any_word(void)
{
	return nondet_word();
}

static inline bool any_bool(void)
{
	return nondet_word() & 1;
}

/* Only cases where @what holds are looked at. */
#define ASSUME(what) __CPROVER_assume(what)

/* It holds in all of them. */
#define PROVE(what) __CPROVER_assert(what, #what)

/* Some number below @n: what is proved of it is proved of all. */
static inline size_t any_below(size_t n)
{
	size_t i = nondet_word();

	ASSUME(i < n);
	return i;
}

#endif

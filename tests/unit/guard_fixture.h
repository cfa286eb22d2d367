/* SPDX-License-Identifier: MIT */
/* guard_fixture.h - objects of a text, and what became of a run, for the tests of guarded runs */
#ifndef GUARD_FIXTURE_H
#define GUARD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <progpack_bpf.h>

/* The flags that choose an engine. */
extern const unsigned int engines[];
#define NENGINES 2u

/* The last reason that a library function logged. */
extern char guard_reason[256];

#define UNTOUCHED 0xdead0badu

/* What became of a run; @result is UNTOUCHED where it gave none. */
struct ran {
	int err;
	uint64_t result;
	struct pp_bpf_stop stop;
};

/* guard_open, guard_open_budget - an object with the one program main, not loaded yet */
struct pp_bpf_object *guard_open(const char *text, unsigned int flags);
struct pp_bpf_object *guard_open_budget(const char *text, unsigned int flags, uint64_t budget);

/* guard_run - its program main */
struct ran guard_run(struct pp_bpf_object *object, void *data, size_t len);

/* guard_text - open, load, run, close; the strings of stop last until the next one */
struct ran guard_text(const char *text, unsigned int flags, void *data, size_t len);

#endif

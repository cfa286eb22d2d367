/* SPDX-License-Identifier: MIT */
/*
 * helper_fixture.h - programs of helpers.bpf.c on every engine, the running kernel among them
 *
 * What a test expects, it expects of each: so the kernel says what is right. Where it does not let
 * us call bpf(), that is said, and ours are tested alone.
 */
#ifndef HELPER_FIXTURE_H
#define HELPER_FIXTURE_H

#include "object_fixture.h"

#include "../objects/helpers.h"

enum helper_engine { INTERPRETER, NATIVE, KERNEL, HELPER_ENGINES };

/* helper_engines - how many there are here: KERNEL is the last */
int helper_engines(void);

/*
 * helper_run - run a program that must return 0
 * @format: what the object's variable of that name is; NULL: empty
 * @shared: its variable of that name, before and after
 */
void helper_run(enum helper_engine engine, const char *prog, const char *format,
		struct helpers_shared *shared);

#endif

/* SPDX-License-Identifier: MIT */
/* engine.h - what a case is tried on: each engine is a name and a function */
#ifndef CASES_ENGINE_H
#define CASES_ENGINE_H

#include "case.h"
#include "verdict.h"

/*
 * struct engine - one way to try a case
 * @try: called in a child process that may crash; fills the verdict
 * @refusals: for cases that must be refused, not for those that run
 */
struct engine {
	const char *name;
	bool refusals;
	void (*try)(const struct test_case *tc, struct verdict *verdict);
};

extern const struct engine engines[];
extern const unsigned int nengines;

#endif

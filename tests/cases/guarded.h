/* SPDX-License-Identifier: MIT */
/* guarded.h - cases through the public interface: guarded, and with every budget that matters */
#ifndef CASES_GUARDED_H
#define CASES_GUARDED_H

#include "case.h"
#include "verdict.h"

/* guarded_interp, guarded_jit - the program's own memory is all it needs: struct engine's try */
void guarded_interp(const struct test_case *tc, struct verdict *verdict);
void guarded_jit(const struct test_case *tc, struct verdict *verdict);

/*
 * guarded_budget - with too small a budget it stops at the same place on both engines, with the
 * same memory; with one that is just enough, and guarded or trusted, it does not stop
 */
void guarded_budget(const struct test_case *tc, struct verdict *verdict);

#endif

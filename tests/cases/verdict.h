/* SPDX-License-Identifier: MIT */
/* verdict.h - what became of a case on one engine; small enough for one write to a pipe */
#ifndef CASES_VERDICT_H
#define CASES_VERDICT_H

enum outcome { PASSED, FAILED, SKIPPED };

struct verdict {
	enum outcome outcome;
	char why[508]; /* one line; empty if passed */
};

/* verdict_set - a verdict with its reason, cut to one line */
__attribute__((format(printf, 3, 4))) void
verdict_set(struct verdict *verdict, enum outcome outcome, const char *format, ...);

#endif

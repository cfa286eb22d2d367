/* SPDX-License-Identifier: MIT */
/* progress.h - the clock, and how far a long job is: only after two seconds, only on a terminal */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* clock_ns - CLOCK_MONOTONIC in nanoseconds */
uint64_t clock_ns(void);

struct progress {
	const char *what;
	uint64_t total;
	uint64_t next; /* when to show it again */
	bool wanted, shown;
};

void progress_start(struct progress *progress, const char *what, uint64_t total);
void progress_show(struct progress *progress, uint64_t done); /* cheap: reads the clock once */
void progress_end(struct progress *progress);                 /* leaves a clean line */

#endif

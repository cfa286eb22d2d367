/* SPDX-License-Identifier: MIT */
/* progress.c - how far a long job is, on standard error; see progress.h */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 2000000000u
#define INTERVAL_NS 200000000u

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_start(struct progress *progress, const char *what, uint64_t total)
{
	*progress = (struct progress){.what = what, .total = total};
	progress->next = clock_ns() + PATIENCE_NS;
	progress->wanted = isatty(STDERR_FILENO);
}

void progress_show(struct progress *progress, uint64_t done)
{
	uint64_t now;

	if (!progress->wanted)
		return;
	now = clock_ns();
	if (now < progress->next)
		return;
	progress->next = now + INTERVAL_NS;
	progress->shown = true;
	fprintf(stderr, "\r%s: %.0f %%\033[K", progress->what,
		100.0 * (double)done / (double)progress->total);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}

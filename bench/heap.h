/* SPDX-License-Identifier: MIT */
/*
 * heap.h - progpack bench heap: what it costs to keep many pieces of code, arm by arm
 *
 *	plan (heap.c): runs x numbers of threads x arms, which take turns
 *	trial (heap_load.c): open -> fill -> churn -> look -> call -> drain -> close
 *	look (heap_look.c): density, mappings, resident memory, as /proc has them
 *	report (heap_report.c, heap_plot.c): lines, JSON, a picture
 */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"
#include "bench/heap_arm.h"

enum heap_phase { HEAP_FILL, HEAP_CHURN, HEAP_DRAIN, HEAP_CALL, HEAP_PHASES };
extern const char *const heap_phase_names[HEAP_PHASES];

/* What /proc says of the process, or of an arm in it. */
struct heap_look {
	uint64_t exec_bytes;
	long mappings;
};

/* What a trial does; sizes and choices are the same in every trial of as many threads. */
struct heap_load {
	const struct heap_image *image;
	uint32_t live, threads;
	uint64_t churns;        /* operations, if there is time */
	uint64_t churn_ns;      /* longest churn; arms of 100 us an operation exist */
	struct heap_look *kept; /* what the arm did not give back in trials before: added to */
};

/*
 * struct heap_trial - what one found
 * @live: blocks that could be had: fewer than wanted where mappings ran out
 * @ns: wall time over the operations of all threads; 0: not measured
 * @percent: live bytes of executable ones, after the churn; 0: has no meaning
 */
struct heap_trial {
	uint32_t live;
	double ns[HEAP_PHASES];
	double percent;
	double mappings;
};

/* heap_run_trial - 0, or -errno of the first operation that failed */
int heap_run_trial(const struct heap_arm_kind *arm, const struct heap_load *load,
		   struct heap_trial *trial);

/* look - at all mappings of this process: 0, or -errno */
int look(struct heap_look *look);

/*
 * look_resident - anonymous and shared memory that an arm with one small block takes
 *
 * Measured in a child, so that nothing that was freed before hides it. Proportional: two views of
 * one page count once.
 */
int look_resident(const struct heap_arm_kind *arm, const struct heap_image *image, uint64_t *bytes);

struct heap_settings {
	uint64_t runs, live, threads; /* 0: all there are */
	const char *arm, *plot;
	bool quick, json;
};

/* An arm with a number of live blocks and of threads: a trial for each run. */
struct heap_row {
	const struct heap_arm_kind *arm;
	uint32_t wanted, live, threads;
	uint32_t runs;
	struct heap_trial *trials;
	int err; /* why there are no figures */
	struct spread ns[HEAP_PHASES];
	/* Of the first run: they do not depend on time, and some arms never give memory back. */
	double percent, mappings;
};

struct heap_bench {
	struct heap_settings settings;
	uint64_t began;
	struct heap_image image;
	struct heap_row *rows;
	unsigned int nrows;
	uint64_t *resident; /* of each arm; 0: not measured */
	struct heap_look *kept;
};

/* heap_row_of - the row, or NULL if it was not measured or failed */
const struct heap_row *heap_row_of(const struct heap_bench *bench, const char *arm, uint32_t wanted,
				   uint32_t threads);

/* The numbers of live blocks that rows want, in order; 0 ends them. */
#define HEAP_LIVES 2
extern const uint32_t heap_lives[HEAP_LIVES];

void heap_report(const struct heap_bench *bench);

/* plot_check - say what is missing, before anything is measured; the file is created */
int plot_check(const char *path);

/* plot_write - draw the churns: 0, or -errno after an error message */
int plot_write(const struct heap_bench *bench, const char *path);

#endif

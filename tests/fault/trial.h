/* SPDX-License-Identifier: MIT */
/*
 * trial.h - a heap that a call is tried on, and all that can be seen of it from outside
 *
 * The code of a block follows from its address: a function that returns its first chunk's number,
 * then a pattern. So what a heap holds can be checked without knowing how it came to be.
 */
#ifndef FAULT_TRIAL_H
#define FAULT_TRIAL_H

#include "heap_test.h"

#define TRIAL_BLOCKS 4u
#define TRIAL_RUNS 32u

/*
 * struct trial - a heap; blocks that are live or open, as a scenario needs
 * @allocs: made again since a call consumed what it failed with
 * @at, @size: what the tried call gave: the block's offset in the heap
 * @may_stay: unmapping may have failed too: more may be executable than the heap knows of
 * @victim: a block of @victim_size bytes whose fill or copy failed: it may hold code by part
 */
struct trial {
	struct pp_heap *heap;
	uint8_t *base;
	void *live[TRIAL_BLOCKS];
	struct pp_code code[TRIAL_BLOCKS];
	size_t used[TRIAL_BLOCKS];
	uint64_t allocs;
	size_t at, size;
	bool may_stay;
	const uint8_t *victim;
	size_t victim_size;
};

struct trial_run {
	size_t at, size;
	enum pp_run_state state;
	char name[16];
};

struct view {
	struct pp_stats stats;
	struct trial_run run[TRIAL_RUNS];
	size_t runs;
};

/* trial_start - a new heap of four packs, as a trial's */
void trial_start(struct trial *trial, enum pp_writer writer, unsigned int flags);
void trial_end(struct trial *trial);

/* trial_block - a new live block of whole chunks; trial_open - an open one with its code emitted */
void *trial_block(struct trial *trial, size_t size);
void trial_open(struct trial *trial, struct pp_code *code, size_t size);

/*
 * trial_look - all that can be seen. Fails the test where a free or open chunk is no trap, or a
 * live block does not hold its code or does not run.
 */
struct view trial_look(struct trial *trial);

/* trial_check - the contents only; false if they are wrong */
bool trial_check(struct trial *trial);

/* trial_count_failures - all of the stats' fail_* */
uint64_t trial_count_failures(const struct pp_stats *stats);

/* trial_compare - the figures but for failures and huge pages, and the runs, are the same */
void trial_compare(const struct view *a, const struct view *b);

#endif

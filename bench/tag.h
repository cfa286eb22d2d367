/* SPDX-License-Identifier: MIT */
/* tag.h - bench tag: what it measures (tag.c), and how that is shown (tag_report.c) */
#ifndef BENCH_TAG_H
#define BENCH_TAG_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"
#include "bpf/prog.h"

#define TAG_LEN_MAX 4096u /* instructions */

struct tag_settings {
	uint64_t rounds;
	bool quick, per_word, json;
};

/*
 * What frees of one arm cost: sums over all, by the heap's counts; and the most that a single one
 * took, of those that were looked at one by one: asking a heap for its counts takes longer than
 * freeing does, as it reads /proc/self/smaps.
 */
struct tag_cost {
	uint64_t frees, syncs, writes, bytes, ns;
	uint64_t syncs_max, writes_max, bytes_max, ns_max;
};

/*
 * struct tag_arm - a way of freeing
 * @mem: the heap's, with our free in the place of its own
 * @word_syncs: those of sync_each_word()
 * @len: of the program at hand; @longest: of those that were tried
 */
struct tag_arm {
	const char *name;
	enum pp_writer writer;
	bool per_word, poke;
	struct pp_heap *heap;
	struct jit_mem heap_mem, mem;
	struct tag_cost cost;
	uint64_t cycles, wall_ns, word_syncs;
	uint32_t len, longest;
	double user, sys;
	int err; /* why there is no such heap here */
};

struct tag {
	struct tag_settings settings;
	uint64_t random;
	uint8_t slots[TAG_LEN_MAX * BPF_SLOT];
};

/* tag_report - lines or JSON, as the settings say */
void tag_report(const struct tag *tag, const struct tag_arm *arms, unsigned int narms);

#endif

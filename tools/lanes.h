/* SPDX-License-Identifier: MIT */
/* lanes.h - a program's runs in one thread or several, each with its own copy of the input */
#ifndef TOOLS_LANES_H
#define TOOLS_LANES_H

#include <stdbool.h>

#include <progpack_bpf.h>

#include "input.h"

/*
 * struct lane - one thread's runs
 * @data, @ctx: its copies; they stay where they are
 * @result, @err, @stop: of the last run; one that ended early is the last
 * @ns: per run
 */
struct lane {
	struct bytes data, ctx;
	uint64_t result;
	int err;
	struct pp_bpf_stop stop;
	double ns;
};

/*
 * struct lanes - all threads of an engine
 * @data, @ctx: what the copies are of. With a context it is what r1 points to, and its first bytes,
 *	a struct pp_bpf_packet, say where the data are; else r1 points to the data.
 */
struct lanes {
	const struct bytes *data, *ctx;
	struct lane *lane;
	unsigned int count;
};

/* lanes_init - make the copies: 0, or -1 after an error message; lanes_fini() in any case */
int lanes_init(struct lanes *lanes, unsigned int count, const struct bytes *data,
	       const struct bytes *ctx);
void lanes_fini(struct lanes *lanes);

/* lanes_allow - let guarded programs use data that a context leads to: 0 or -errno */
int lanes_allow(const struct lanes *lanes, struct pp_bpf_object *object);

/*
 * lanes_run - fresh copies, then @runs runs in each thread: 0, or -1 after an error message
 *
 * Returns the first lane whose runs ended early, else the first: what there is to report.
 */
int lanes_run(struct lanes *lanes, const struct pp_bpf_prog *prog, uint64_t runs,
	      const struct lane **first);

#endif

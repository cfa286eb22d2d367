/* SPDX-License-Identifier: MIT */
/*
 * cross.h - native code of any arch, in plain memory: to be looked at, never to be run
 *
 * It is made as if it lay near a program's helpers, as code of the heap does, so that calls have
 * the form that they have there. All addresses are the same on every run.
 */
#ifndef TOOLS_CROSS_H
#define TOOLS_CROSS_H

#include "bpf/prog.h"

/* struct cross - one image; @bytes: NULL before it is made; @stand_in: for struct native_for */
struct cross {
	struct jit_mem mem;
	uint8_t *bytes;
	size_t size;
	uintptr_t stand_in;
};

/* cross_init - memory for one image; cross_fini - when what was loaded into it is closed */
void cross_init(struct cross *cross);
void cross_fini(struct cross *cross);

/*
 * cross_features - bits from "zba,zbb", "none" or "all"; NULL is the host's own for its own arch,
 * else all. 0, or -EINVAL after an error message.
 */
int cross_features(const struct jit_arch *arch, const char *list, unsigned int *features);

#endif

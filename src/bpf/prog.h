/* SPDX-License-Identifier: MIT */
/* prog.h - what the tools need of objects beyond the public header */
#ifndef BPF_PROG_H
#define BPF_PROG_H

#include <progpack_bpf.h>

#include "jit/jit.h"

/*
 * object_load_into - pp_bpf_load(), with native code in @mem instead of a heap
 * @mem: copied; what it refers to must outlive the object
 */
int object_load_into(struct pp_bpf_object *object, const struct jit_mem *mem);

/*
 * struct native_for - which native code to make, and where it goes
 * @mem: copied
 * @stand_in: 0, or where helpers, maps and data are said to lie (stand_in.h). Such code is there
 *	to be looked at: pp_bpf_run() interprets.
 */
struct native_for {
	const struct jit_arch *arch;
	unsigned int features;
	const struct jit_mem *mem;
	uintptr_t stand_in;
};

/* object_load_for - the same for any arch; with a stand-in, if it is not this machine's */
int object_load_for(struct pp_bpf_object *object, const struct native_for *native);

#endif

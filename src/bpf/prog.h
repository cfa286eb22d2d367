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

/* struct native_for - which native code to make, and where it goes: @mem is copied */
struct native_for {
	const struct jit_arch *arch;
	unsigned int features;
	const struct jit_mem *mem;
};

/* object_load_for - the same for any arch: where it is not this machine's, pp_bpf_run() interprets
 */
int object_load_for(struct pp_bpf_object *object, const struct native_for *native);

#endif

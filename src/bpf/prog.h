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

#endif

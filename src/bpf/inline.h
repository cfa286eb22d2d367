/* SPDX-License-Identifier: MIT */
/* inline.h - helpers that need no call */
#ifndef BPF_INLINE_H
#define BPF_INLINE_H

#include "bpf/object.h"

/*
 * inline_lookups - put lookups in arrays in the place of their calls, where r1 is known
 *
 * After references are resolved, and before anything else keeps indices of insns. 0 or -ENOMEM:
 * the unit is as it was.
 */
int inline_lookups(struct pp_bpf_object *object);

#endif

/* SPDX-License-Identifier: MIT */
/* regions.h - the memory that guarded programs of an object may touch: its maps' and the host's */
#ifndef BPF_REGIONS_H
#define BPF_REGIONS_H

#include "bpf/guard.h"
#include "bpf/object.h"

/* struct region - memory that the host lets programs use: pp_bpf_allow() */
struct region {
	struct guard_span span;
	bool writable;
};

/* The owner is the object. */
extern const struct guard_ops region_ops;

#endif

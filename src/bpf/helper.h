/* SPDX-License-Identifier: MIT */
/* helper.h - the helpers that every object has, and where those that print find their object */
#ifndef BPF_HELPER_H
#define BPF_HELPER_H

#include "bpf/helper_list.h"
#include "bpf/object.h"

/* helper_by_id, helper_by_name - the object's own, then the built-in ones; NULL: none */
const struct helper *helper_by_id(const struct pp_bpf_object *object, uint32_t id);
const struct helper *helper_by_name(const struct pp_bpf_object *object, const char *name);

/*
 * helper_next - the one behind @prev, NULL for the first; NULL behind the last. The object's own
 * come first: of several with one number, the first is meant.
 */
const struct helper *helper_next(const struct pp_bpf_object *object, const struct helper *prev);

/*
 * trace_add - let native code of a loaded object be known to those that print: 0 or -ENOMEM
 * trace_remove - before its image is freed; fine if it was not added
 */
int trace_add(struct pp_bpf_object *object);
void trace_remove(struct pp_bpf_object *object);

/* trace_enter - whose program this thread interprets from now on; returns whose it did before */
const struct pp_bpf_object *trace_enter(const struct pp_bpf_object *object);

/* trace_interpreted - that one */
const struct pp_bpf_object *trace_interpreted(void);

#endif

/* SPDX-License-Identifier: MIT */
/* helper.h - the helpers that every object has, and where bpf_trace_printk() finds its object */
#ifndef BPF_HELPER_H
#define BPF_HELPER_H

#include "bpf/object.h"

/* Linux's number of bpf_trace_printk(). */
#define HELPER_TRACE_PRINTK 6u

/* helper_by_id, helper_by_name - the object's own, then the built-in ones; NULL: none */
const struct helper *helper_by_id(const struct pp_bpf_object *object, uint32_t id);
const struct helper *helper_by_name(const struct pp_bpf_object *object, const char *name);

/*
 * helper_next - the one behind @prev, NULL for the first; NULL behind the last. The object's own
 * come first: of several with one number, the first is meant.
 */
const struct helper *helper_next(const struct pp_bpf_object *object, const struct helper *prev);

/* trace_printk - bpf_trace_printk(fmt, fmt_size, ...): bytes printed, or -EINVAL */
uint64_t trace_printk(uint64_t fmt, uint64_t fmt_size, uint64_t a1, uint64_t a2, uint64_t a3);

/*
 * probe_read - bpf_probe_read(to, size, from) and its two kin: 0, or -EFAULT and @to all zero
 * Between fault_hold() and fault_drop(): load.c looks for it.
 */
uint64_t probe_read(uint64_t to, uint64_t size, uint64_t from, uint64_t r4, uint64_t r5);

/*
 * trace_add - let native code of a loaded object print: 0 or -ENOMEM
 * trace_remove - before its image is freed; fine if it was not added
 */
int trace_add(struct pp_bpf_object *object);
void trace_remove(struct pp_bpf_object *object);

/* trace_enter - whose program this thread interprets from now on; returns whose it did before */
const struct pp_bpf_object *trace_enter(const struct pp_bpf_object *object);

/* trace_interpreted - that one */
const struct pp_bpf_object *trace_interpreted(void);

#endif

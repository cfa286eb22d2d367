/* SPDX-License-Identifier: MIT */
/* helper.c - the built-in helpers: Linux's numbers, names, arguments and results */
#include "bpf/helper.h"
#include "bpf/helper_map.h"
#include "bpf/tail.h"

#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "os/fault.h"

/* Arguments that are pointers in the program, and pointers here: the same address space. */
static void *pointer(uint64_t reg)
{
	return (void *)(uintptr_t)reg;
}

static uint64_t ktime_get_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct timespec now;

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* xorshift64*: each thread its own, seeded at its first use. Not for secrets, as in the kernel. */
static uint64_t get_prandom_u32(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	static _Thread_local uint64_t state;

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	if (!state && (getrandom(&state, sizeof(state), GRND_NONBLOCK) < 0 || !state))
		state = (uintptr_t)&state | 1;
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

static uint64_t get_smp_processor_id(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	int cpu = sched_getcpu();

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return cpu < 0 ? 0 : (uint64_t)cpu;
}

static uint64_t get_current_pid_tgid(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint64_t)getpid() << 32 | (uint32_t)gettid();
}

uint64_t probe_read(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	int err;

	(void)r4, (void)r5;
	err = fault_copy(pointer(r1), pointer(r3), (uint32_t)r2);
	if (err)
		memset(pointer(r1), 0, (uint32_t)r2);
	return (uint64_t)(int64_t)err;
}

static const struct helper builtin[] = {
	{HELPER_MAP_LOOKUP, 2, "bpf_map_lookup_elem", map_lookup_elem, {ARG_MAP, ARG_KEY}, NULL},
	{HELPER_MAP_UPDATE,
	 4,
	 "bpf_map_update_elem",
	 map_update_elem,
	 {ARG_MAP, ARG_KEY, ARG_VALUE},
	 NULL},
	{HELPER_MAP_DELETE, 2, "bpf_map_delete_elem", map_delete_elem, {ARG_MAP, ARG_KEY}, NULL},
	{4, 3, "bpf_probe_read", probe_read, {ARG_OUT}, NULL},
	{5, 0, "bpf_ktime_get_ns", ktime_get_ns, {0}, NULL},
	{HELPER_TRACE_PRINTK, 5, "bpf_trace_printk", trace_printk, {ARG_IN}, NULL},
	{7, 0, "bpf_get_prandom_u32", get_prandom_u32, {0}, NULL},
	{8, 0, "bpf_get_smp_processor_id", get_smp_processor_id, {0}, NULL},
	{12, 3, "bpf_tail_call", tail_native, {ARG_ANY, ARG_MAP}, tail_interpret},
	{14, 0, "bpf_get_current_pid_tgid", get_current_pid_tgid, {0}, NULL},
	{HELPER_MAP_PUSH, 3, "bpf_map_push_elem", map_push_elem, {ARG_MAP, ARG_VALUE}, NULL},
	{HELPER_MAP_POP, 2, "bpf_map_pop_elem", map_pop_elem, {ARG_MAP, ARG_VALUE_OUT}, NULL},
	{HELPER_MAP_PEEK, 2, "bpf_map_peek_elem", map_peek_elem, {ARG_MAP, ARG_PEEK}, NULL},
	{112, 3, "bpf_probe_read_user", probe_read, {ARG_OUT}, NULL},
	{113, 3, "bpf_probe_read_kernel", probe_read, {ARG_OUT}, NULL},
	{HELPER_RINGBUF_OUTPUT, 4, "bpf_ringbuf_output", ringbuf_output, {ARG_MAP, ARG_IN}, NULL},
	{HELPER_RINGBUF_RESERVE, 3, "bpf_ringbuf_reserve", ringbuf_reserve, {ARG_MAP}, NULL},
	{HELPER_RINGBUF_SUBMIT, 2, "bpf_ringbuf_submit", ringbuf_submit, {ARG_RECORD}, NULL},
	{HELPER_RINGBUF_DISCARD, 2, "bpf_ringbuf_discard", ringbuf_discard, {ARG_RECORD}, NULL},
	{HELPER_RINGBUF_QUERY, 2, "bpf_ringbuf_query", ringbuf_query, {ARG_MAP}, NULL},
	{HELPER_FOR_EACH_MAP,
	 4,
	 "bpf_for_each_map_elem",
	 for_each_map_elem,
	 {ARG_MAP, ARG_FUNC},
	 NULL},
	{HELPER_MAP_LOOKUP_PERCPU,
	 3,
	 "bpf_map_lookup_percpu_elem",
	 map_lookup_percpu_elem,
	 {ARG_MAP, ARG_KEY},
	 NULL},
};
#define NBUILTIN (sizeof(builtin) / sizeof(builtin[0]))

static const struct helper *by_id(const struct helper *helpers, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++) {
		if (helpers[i].id == id)
			return &helpers[i];
	}
	return NULL;
}

static const struct helper *by_name(const struct helper *helpers, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(helpers[i].name, name))
			return &helpers[i];
	}
	return NULL;
}

const struct helper *helper_by_id(const struct pp_bpf_object *object, uint32_t id)
{
	const struct helper *own = by_id(object->registered, object->nregistered, id);

	return own ? own : by_id(builtin, NBUILTIN, id);
}

const struct helper *helper_by_name(const struct pp_bpf_object *object, const char *name)
{
	const struct helper *own = by_name(object->registered, object->nregistered, name);

	return own ? own : by_name(builtin, NBUILTIN, name);
}

const struct helper *helper_next(const struct pp_bpf_object *object, const struct helper *prev)
{
	const struct helper *own = object->registered, *end = own + object->nregistered;

	if (!prev && own != end)
		return own;
	if (!prev || (own != end && prev == end - 1))
		return builtin;
	if (prev == &builtin[NBUILTIN - 1])
		return NULL;
	return prev + 1;
}

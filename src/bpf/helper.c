/* SPDX-License-Identifier: MIT */
/* helper.c - the built-in helpers: Linux's numbers, names, arguments and results */
#include "bpf/helper.h"
#include "bpf/helper_map.h"
#include "bpf/tail.h"

#include <string.h>

/* By number. docs/helpers.md is this table in words. */
/* clang-format off */
static const struct helper builtin[] = {
	{HELPER_MAP_LOOKUP, 2, "bpf_map_lookup_elem", map_lookup_elem, {ARG_MAP, ARG_KEY}, 0, NULL},
	{HELPER_MAP_UPDATE, 4, "bpf_map_update_elem", map_update_elem, {ARG_MAP, ARG_KEY, ARG_VALUE}, 0, NULL},
	{HELPER_MAP_DELETE, 2, "bpf_map_delete_elem", map_delete_elem, {ARG_MAP, ARG_KEY}, 0, NULL},
	{4, 3, "bpf_probe_read", probe_read, {ARG_OUT}, HELPER_PROBES, NULL},
	{5, 0, "bpf_ktime_get_ns", ktime_get_ns, {0}, 0, NULL},
	{HELPER_TRACE_PRINTK, 5, "bpf_trace_printk", trace_printk, {ARG_IN}, HELPER_PROBES | HELPER_PRINTS, NULL},
	{7, 0, "bpf_get_prandom_u32", get_prandom_u32, {0}, 0, NULL},
	{8, 0, "bpf_get_smp_processor_id", get_smp_processor_id, {0}, 0, NULL},
	{12, 3, "bpf_tail_call", tail_native, {ARG_ANY, ARG_MAP}, 0, tail_interpret},
	{14, 0, "bpf_get_current_pid_tgid", get_current_pid_tgid, {0}, 0, NULL},
	{15, 0, "bpf_get_current_uid_gid", get_current_uid_gid, {0}, 0, NULL},
	{16, 2, "bpf_get_current_comm", get_current_comm, {ARG_OUT}, 0, NULL},
	{28, 5, "bpf_csum_diff", csum_diff, {ARG_IN, 0, ARG_IN}, 0, NULL},
	{42, 0, "bpf_get_numa_node_id", get_numa_node_id, {0}, 0, NULL},
	{45, 3, "bpf_probe_read_str", probe_read_str, {ARG_OUT}, HELPER_PROBES, NULL},
	{HELPER_MAP_PUSH, 3, "bpf_map_push_elem", map_push_elem, {ARG_MAP, ARG_VALUE}, 0, NULL},
	{HELPER_MAP_POP, 2, "bpf_map_pop_elem", map_pop_elem, {ARG_MAP, ARG_VALUE_OUT}, 0, NULL},
	{HELPER_MAP_PEEK, 2, "bpf_map_peek_elem", map_peek_elem, {ARG_MAP, ARG_PEEK}, 0, NULL},
	{93, 1, "bpf_spin_lock", spin_lock, {ARG_INT_OUT}, 0, NULL},
	{94, 1, "bpf_spin_unlock", spin_unlock, {ARG_INT_OUT}, 0, NULL},
	{105, 4, "bpf_strtol", strtol_helper, {ARG_IN, 0, 0, ARG_LONG_OUT}, 0, NULL},
	{106, 4, "bpf_strtoul", strtoul_helper, {ARG_IN, 0, 0, ARG_LONG_OUT}, 0, NULL},
	{112, 3, "bpf_probe_read_user", probe_read, {ARG_OUT}, HELPER_PROBES, NULL},
	{113, 3, "bpf_probe_read_kernel", probe_read, {ARG_OUT}, HELPER_PROBES, NULL},
	{114, 3, "bpf_probe_read_user_str", probe_read_str, {ARG_OUT}, HELPER_PROBES, NULL},
	{115, 3, "bpf_probe_read_kernel_str", probe_read_str, {ARG_OUT}, HELPER_PROBES, NULL},
	{118, 0, "bpf_jiffies64", jiffies64, {0}, 0, NULL},
	{125, 0, "bpf_ktime_get_boot_ns", ktime_get_boot_ns, {0}, 0, NULL},
	{HELPER_RINGBUF_OUTPUT, 4, "bpf_ringbuf_output", ringbuf_output, {ARG_MAP, ARG_IN}, 0, NULL},
	{HELPER_RINGBUF_RESERVE, 3, "bpf_ringbuf_reserve", ringbuf_reserve, {ARG_MAP}, 0, NULL},
	{HELPER_RINGBUF_SUBMIT, 2, "bpf_ringbuf_submit", ringbuf_submit, {ARG_RECORD}, 0, NULL},
	{HELPER_RINGBUF_DISCARD, 2, "bpf_ringbuf_discard", ringbuf_discard, {ARG_RECORD}, 0, NULL},
	{HELPER_RINGBUF_QUERY, 2, "bpf_ringbuf_query", ringbuf_query, {ARG_MAP}, 0, NULL},
	{160, 0, "bpf_ktime_get_coarse_ns", ktime_get_coarse_ns, {0}, 0, NULL},
	{HELPER_FOR_EACH_MAP, 4, "bpf_for_each_map_elem", for_each_map_elem, {ARG_MAP, ARG_FUNC}, 0, NULL},
	{165, 5, "bpf_snprintf", snprintf_helper, {ARG_OUT, 0, ARG_STRING, ARG_IN}, HELPER_PROBES, NULL},
	{177, 4, "bpf_trace_vprintk", trace_vprintk, {ARG_IN, 0, ARG_IN}, HELPER_PROBES | HELPER_PRINTS, NULL},
	{181, 4, "bpf_loop", loop, {0, ARG_FUNC}, 0, NULL},
	{182, 3, "bpf_strncmp", strncmp_helper, {ARG_IN, 0, ARG_STRING}, 0, NULL},
	{HELPER_MAP_LOOKUP_PERCPU, 3, "bpf_map_lookup_percpu_elem", map_lookup_percpu_elem, {ARG_MAP, ARG_KEY}, 0, NULL},
	{208, 0, "bpf_ktime_get_tai_ns", ktime_get_tai_ns, {0}, 0, NULL},
};
/* clang-format on */
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

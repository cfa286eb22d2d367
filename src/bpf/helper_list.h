/* SPDX-License-Identifier: MIT */
/*
 * helper_list.h - the built-in helpers that are not maps' (helper_map.h), by file
 *
 * Named as Linux's, without the bpf_; docs/helpers.md has what they do and where they differ.
 */
#ifndef BPF_HELPER_LIST_H
#define BPF_HELPER_LIST_H

#include <stddef.h>
#include <stdint.h>

/* What every helper is: r1 .. r5 in, r0 out. */
typedef uint64_t helper_fn(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

/* Linux's number of bpf_trace_printk(). */
#define HELPER_TRACE_PRINTK 6u

/* helper_task.c: who runs, where and when */
helper_fn ktime_get_ns, ktime_get_boot_ns, ktime_get_coarse_ns, ktime_get_tai_ns, jiffies64,
	get_prandom_u32, get_smp_processor_id, get_numa_node_id, get_current_pid_tgid,
	get_current_uid_gid, get_current_comm;

/* helper_text.c: strings and sums over bytes */
helper_fn strtol_helper, strtoul_helper, strncmp_helper, snprintf_helper, csum_diff;

/* helper_loop.c: bpf_loop(), locks in values */
helper_fn loop, spin_lock, spin_unlock;

/* spin_release - give back what this thread's run has not: a guarded one may have had to end */
void spin_release(void);

/* helper_probe.c: memory that may be none; between fault_hold() and fault_drop() */
helper_fn probe_read, probe_read_str;

/* trace.c: to the print function of the object whose program calls */
helper_fn trace_printk, trace_vprintk;

/*
 * probe_string - copy a string from memory that may be none
 * @to: good memory; what is behind the NUL stays as it was
 *
 * Cut to @size - 1 bytes. Return: its size, NUL included; 0 if @size is; -EFAULT.
 */
int64_t probe_string(char *to, size_t size, uint64_t from);

#endif

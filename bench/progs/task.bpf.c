/* SPDX-License-Identifier: MIT */
/* task - remember which task an event came from, as the lineage's stress programs do */
#include "progs.h"

__u64 own, others;
__u32 wanted, last;

SEC("tracepoint/syscalls/sys_enter_getpgid")
int task(struct event *e, __u64 len)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 pid = (__u32)(id >> 32);

	if (wanted && pid != wanted) {
		others++;
		return PASS;
	}
	own++;
	if (pid != last) {
		last = pid;
		bpf_printk("pid %d", pid);
	}
	return PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

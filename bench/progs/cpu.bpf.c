/* SPDX-License-Identifier: MIT */
/* cpu - where events are handled: counts for each CPU, and how often that changed */
#include "progs.h"

#define CPUS 16

__u64 handled[CPUS], moved;
__u32 last;

SEC("tracepoint/cpu")
int cpu(struct event *e, __u64 len)
{
	__u32 here = bpf_get_smp_processor_id();

	if (here != last) {
		if (handled[last & (CPUS - 1)])
			moved++;
		last = here;
	}
	if (here >= CPUS) {
		bpf_printk("CPU %d has no counter", here);
		return PASS;
	}
	handled[here & (CPUS - 1)]++;
	return PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

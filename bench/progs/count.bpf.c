/* SPDX-License-Identifier: MIT */
/* count - the smallest useful program: how many events, how many bytes */
#include "progs.h"

__u64 events, bytes;

SEC("tracepoint/count")
int count(struct event *e, __u64 len)
{
	events++;
	bytes += len;
	return PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

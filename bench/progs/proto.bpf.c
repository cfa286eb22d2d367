/* SPDX-License-Identifier: MIT */
/* proto - a counter per transport protocol */
#include "progs.h"

__u64 seen[4];

SEC("xdp/proto")
int proto(struct event *e, __u64 len)
{
	__u32 slot = 3;

	if (len < 34 || e->ethertype != ETHERTYPE_IPV4)
		return PASS;
	if (e->protocol == PROTO_TCP)
		slot = 0;
	else if (e->protocol == PROTO_UDP)
		slot = 1;
	else if (e->protocol == 1)
		slot = 2;
	seen[slot]++;
	return PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* SPDX-License-Identifier: MIT */
/* ports - drop what goes to a port that nobody should reach */
#include "progs.h"

__u64 dropped;

static __always_inline int is_closed(__u16 port)
{
	switch (swap16(port)) {
	case 23:
	case 135:
	case 139:
	case 445:
	case 1433:
	case 3389:
	case 5900: return 1;
	default: return 0;
	}
}

SEC("xdp/ports")
int ports(struct event *e, __u64 len)
{
	if (len < 42 || e->ethertype != ETHERTYPE_IPV4)
		return PASS;
	if (e->protocol != PROTO_TCP && e->protocol != PROTO_UDP)
		return PASS;
	if (!is_closed(e->dport))
		return PASS;
	dropped++;
	return DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

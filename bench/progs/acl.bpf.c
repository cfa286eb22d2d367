/* SPDX-License-Identifier: MIT */
/* acl - an access list of prefixes, compiled in as generators of filters do */
#include "progs.h"

__u64 hits[16];

#define RULE(n, net, mask, lo, hi)                                                                 \
	do {                                                                                       \
		if ((addr & (mask)) == (net) && port >= (lo) && port <= (hi)) {                    \
			__sync_fetch_and_add(&hits[n], 1);                                         \
			return DROP;                                                               \
		}                                                                                  \
	} while (0)

SEC("xdp/acl")
int acl(struct event *e, __u64 len)
{
	__u32 addr;
	__u16 port;

	if (len < 42 || e->ethertype != ETHERTYPE_IPV4 || e->protocol != PROTO_TCP)
		return PASS;
	addr = __builtin_bswap32(e->saddr);
	port = swap16(e->dport);
	RULE(0, 0x0a000000, 0xff000000, 22, 22);
	RULE(1, 0xac100000, 0xfff00000, 22, 23);
	RULE(2, 0xc0a80000, 0xffff0000, 137, 139);
	RULE(3, 0xc6336400, 0xffffff00, 0, 1023);
	RULE(4, 0xcb007100, 0xffffff00, 0, 65535);
	RULE(5, 0x64400000, 0xffc00000, 8000, 8999);
	RULE(6, 0xa9fe0000, 0xffff0000, 80, 80);
	RULE(7, 0xc0000200, 0xffffff00, 443, 444);
	RULE(8, 0xc6120000, 0xfffe0000, 5000, 5001);
	RULE(9, 0xe0000000, 0xf0000000, 0, 65535);
	RULE(10, 0xf0000000, 0xf0000000, 0, 65535);
	RULE(11, 0x7f000000, 0xff000000, 0, 65535);
	return PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

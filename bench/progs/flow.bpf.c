/* SPDX-License-Identifier: MIT */
/* flow - SipHash-2-4 of TCP flows and their first bytes into a table; others pass */
#include "progs.h"

__u64 key0 = 0x0706050403020100, key1 = 0x0f0e0d0c0b0a0908;
__u64 flows[64];

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

#define ROUND                                                                                      \
	do {                                                                                       \
		v0 += v1;                                                                          \
		v1 = ROTL(v1, 13) ^ v0;                                                            \
		v0 = ROTL(v0, 32);                                                                 \
		v2 += v3;                                                                          \
		v3 = ROTL(v3, 16) ^ v2;                                                            \
		v0 += v3;                                                                          \
		v3 = ROTL(v3, 21) ^ v0;                                                            \
		v2 += v1;                                                                          \
		v1 = ROTL(v1, 17) ^ v2;                                                            \
		v2 = ROTL(v2, 32);                                                                 \
	} while (0)

#define WORD(m)                                                                                    \
	do {                                                                                       \
		v3 ^= (m);                                                                         \
		ROUND;                                                                             \
		ROUND;                                                                             \
		v0 ^= (m);                                                                         \
	} while (0)

SEC("xdp/flow")
int flow(struct event *e, __u64 len)
{
	__u64 v0, v1, v2, v3, addrs, ports;

	if (len < 80 || e->ethertype != ETHERTYPE_IPV4)
		return PASS;
	if (e->protocol != PROTO_TCP)
		return PASS;
	addrs = (__u64)e->saddr << 32 | e->daddr;
	ports = (__u64)e->sport << 16 | e->dport | (__u64)e->protocol << 56;
	v0 = key0 ^ 0x736f6d6570736575;
	v1 = key1 ^ 0x646f72616e646f6d;
	v2 = key0 ^ 0x6c7967656e657261;
	v3 = key1 ^ 0x7465646279746573;
	WORD(addrs);
	WORD(ports);
	WORD(*(__u64 *)(e->payload + 12));
	WORD(*(__u64 *)(e->payload + 20));
	WORD(*(__u64 *)(e->payload + 28));
	WORD((__u64)40 << 56);
	v2 ^= 0xff;
	ROUND;
	ROUND;
	ROUND;
	ROUND;
	flows[(v0 ^ v1 ^ v2 ^ v3) & 63] += len;
	return PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

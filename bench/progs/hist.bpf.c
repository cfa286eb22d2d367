/* SPDX-License-Identifier: MIT */
/* hist - log2 histograms of packet sizes, one for each direction and class of service */
#include "progs.h"

__u64 slots[2][4][16];

static __always_inline __u32 log2_of(__u32 v)
{
	__u32 r, shift;

	r = (v > 0xffff) << 4;
	v >>= r;
	shift = (v > 0xff) << 3;
	v >>= shift;
	r |= shift;
	shift = (v > 0xf) << 2;
	v >>= shift;
	r |= shift;
	shift = (v > 0x3) << 1;
	v >>= shift;
	return r | shift | (v >> 1);
}

static __always_inline __u32 class_of(__u8 tos)
{
	__u32 dscp = tos >> 2;

	if (dscp == 46)
		return 3;
	if (dscp >= 32)
		return 2;
	return dscp >= 8;
}

SEC("tc/hist")
int hist(struct event *e, __u64 len)
{
	__u32 outward, class, size;

	if (len < 34 || e->ethertype != ETHERTYPE_IPV4)
		return PASS;
	size = swap16(e->total);
	outward = (e->saddr & 0xff) == 10;
	class = class_of(e->tos);
	slots[outward][class][log2_of(size) & 15]++;
	if (e->fragment & swap16(0x3fff))
		slots[outward][class][log2_of(size + 20) & 15]++;
	if (e->ttl < 2 || (e->ttl > 64 && e->ttl < 70))
		slots[outward][0][log2_of(e->ttl) & 15]++;
	return PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

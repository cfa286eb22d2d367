/* SPDX-License-Identifier: MIT */
/* filter.bpf.c - the program that examples/filter.c runs: counts, and drops short packets */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

__u64 dropped;

SEC("xdp")
int filter(const __u8 *packet, __u64 len)
{
	if (len < 14 || packet[12] != 0x08) {
		dropped++;
		return XDP_DROP;
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

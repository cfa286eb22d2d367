/* SPDX-License-Identifier: MIT */
/* random - programs that no two runs agree on, and one that all do */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

SEC("tc/result")
__u64 result(const __u8 *data, __u64 len)
{
	return (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
}

SEC("tc/data")
__u64 data(__u32 *data, __u64 len)
{
	for (__u64 i = 0; i < len / sizeof(*data); i++)
		data[i] = bpf_get_prandom_u32();
	return 0;
}

SEC("tc/steady")
__u64 steady(const __u8 *data, __u64 len)
{
	return len;
}

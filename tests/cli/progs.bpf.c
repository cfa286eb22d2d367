/* SPDX-License-Identifier: MIT */
/* progs - what the command's tests run: r1 is the data, r2 its length */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

static __u64 counter;

/* A function of its own in .text, called by programs of another section. */
__attribute__((noinline)) static __u64 total(const __u8 *data, __u64 len)
{
	__u64 sum = 0;

	for (__u64 i = 0; i < len; i++)
		sum += data[i];
	return sum;
}

SEC("tc/sum")
__u64 sum(const __u8 *data, __u64 len)
{
	return total(data, len);
}

SEC("tc/sum")
__u64 twice(const __u8 *data, __u64 len)
{
	return 2 * total(data, len);
}

SEC("tc/bump")
__u64 bump(__u8 *data, __u64 len)
{
	__u64 sum = 0;

	for (__u64 i = 0; i < len; i++) {
		data[i]++;
		sum += data[i];
	}
	return sum;
}

SEC("tc/count")
__u64 count(const __u8 *data, __u64 len)
{
	return ++counter;
}

SEC("tc/say")
__u64 say(const __u8 *data, __u64 len)
{
	static const char format[] = "length %llu\n";

	bpf_trace_printk(format, sizeof(format), len);
	return 0;
}

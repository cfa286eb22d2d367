/* SPDX-License-Identifier: MIT */
/* alias - functions and programs with more than one name, and data aligned to a page */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

__attribute__((aligned(4096))) volatile __u64 page[4] = {1, 2, 3, 4};
__attribute__((aligned(256))) volatile __u64 zeros[4];

static __attribute__((noinline)) __u64 inner(__u64 x)
{
	return x * 3;
}
__u64 outer(__u64 x) __attribute__((alias("inner")));

__u64 lonely(__u64 x) /* nobody calls it */
{
	return x;
}

SEC("tc")
__u64 prog(void *data, __u64 len)
{
	return inner(len) + outer(len + 1) + page[1];
}
__u64 also_prog(void *data, __u64 len) __attribute__((alias("prog")));
__attribute__((weak)) __u64 third_name(void *data, __u64 len) __attribute__((alias("prog")));
static __u64 hidden(void *data, __u64 len) __attribute__((alias("prog"), used));

SEC("tc")
__u64 misaligned(void *data, __u64 len)
{
	return ((__u64)page & 4095) + ((__u64)zeros & 255) + zeros[0];
}

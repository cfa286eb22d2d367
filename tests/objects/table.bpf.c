/* SPDX-License-Identifier: MIT */
/* table - functions by address: in tables of data, as values, called by register */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define NOINLINE __attribute__((noinline))

typedef __u64 (*step_fn)(__u64 x);

static NOINLINE __u64 twice(__u64 x)
{
	return x * 2;
}

static NOINLINE __u64 next(__u64 x)
{
	return x + 1;
}

NOINLINE __u64 squared(__u64 x)
{
	return x * x;
}

/* .data.rel.ro or .data: relocated against functions of .text */
static step_fn volatile steps[3] = {twice, next, squared};

SEC("tc")
__u64 by_table(void *data, __u64 len)
{
	return steps[len % 3](len);
}

SEC("tc")
__u64 by_value(void *data, __u64 len)
{
	step_fn volatile chosen = len & 1 ? twice : squared;

	return chosen(len);
}

/* What is no function must be an error, not a jump. */
SEC("tc")
__u64 by_number(void *data, __u64 len)
{
	step_fn volatile wrong = (step_fn)(0x100000000 + len);

	return wrong(len);
}

SEC("tc")
__u64 same(void *data, __u64 len)
{
	step_fn volatile chosen = twice;

	return chosen == steps[0];
}

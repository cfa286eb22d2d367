/* SPDX-License-Identifier: MIT */
/* host - calls what only the host has: by name, by number, and a built-in one by name */
typedef unsigned int u32;
typedef unsigned long long u64;

extern u64 host_sum(u64 a, u64 b, u64 c, u64 d, u64 e);
extern u64 bpf_ktime_get_ns(void);
static u64 (*by_number)(u64 a) = (void *)70000;

__attribute__((section("a"))) u64 by_name(void *data, u64 len)
{
	return host_sum(len, 1, 2, 3, 4) + (bpf_ktime_get_ns() > 0);
}

__attribute__((section("b"))) u64 by_id(void *data, u64 len)
{
	return by_number(len);
}

/* r2: where the host's sum is to write, counted from a local variable. */
__attribute__((section("c"))) u64 typed(void *data, u64 len)
{
	u64 in[2] = {40, 2}, out = 0;

	host_sum((u64)in, sizeof(in), (u64)&out + len, 0, 0);
	return out + (bpf_ktime_get_ns() > 0) - 1;
}

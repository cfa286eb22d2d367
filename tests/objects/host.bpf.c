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

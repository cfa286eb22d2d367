/* SPDX-License-Identifier: MIT */
/* text - no section but .text: its global functions are the programs */
typedef unsigned long long u64;

static __attribute__((noinline)) u64 inner(u64 x)
{
	return x * 3;
}

u64 first(void *data, u64 len)
{
	return inner(len) + 1;
}

u64 second(void *data, u64 len)
{
	return inner(len) + first(data, len);
}

/* SPDX-License-Identifier: MIT */
/* helpers - each helper from a program; the host and the program talk through one variable */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "helpers.h"

struct helpers_shared shared; /* .bss */

/* The test puts formats here before it opens the object: the kernel wants them read-only. */
const char format[HELPERS_FORMAT] = HELPERS_MAGIC;

struct locked {
	struct bpf_spin_lock lock;
	__u32 count, twice;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct locked);
	__uint(max_entries, 1);
} locked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 5);
} numbers SEC(".maps");

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* 1 .. most, where the compiler cannot see through it and the verifier can */
#define SIZE(var, most)                                                                            \
	__u64 var = shared.size;                                                                   \
	asm volatile("" : "+r"(var));                                                              \
	if (var < 1 || var > (most))                                                               \
	return 1

/* What programs of one type may not call, those of the other may. */
SEC("tc")
int clocks(void *ctx)
{
	shared.number[0] = bpf_ktime_get_ns();
	shared.number[1] = bpf_ktime_get_boot_ns();
	shared.number[2] = bpf_ktime_get_coarse_ns();
	shared.number[3] = bpf_ktime_get_tai_ns();
	shared.number[4] = bpf_jiffies64();
	shared.number[5] = bpf_get_prandom_u32();
	return 0;
}

SEC("syscall")
int who(void *ctx)
{
	shared.number[0] = bpf_get_current_pid_tgid();
	shared.number[1] = bpf_get_current_uid_gid();
	shared.number[2] = bpf_get_smp_processor_id();
	shared.number[3] = bpf_get_numa_node_id();
	return 0;
}

SEC("syscall")
int comm(void *ctx)
{
	SIZE(size, sizeof(shared.out));
	shared.result = bpf_get_current_comm(shared.out, size);
	return 0;
}

SEC("syscall")
int to_long(void *ctx)
{
	SIZE(size, sizeof(shared.in));
	shared.result = bpf_strtol(shared.in, size, shared.flags, (long *)&shared.number[0]);
	return 0;
}

SEC("syscall")
int to_unsigned(void *ctx)
{
	SIZE(size, sizeof(shared.in));
	shared.result =
		bpf_strtoul(shared.in, size, shared.flags, (unsigned long *)&shared.number[0]);
	return 0;
}

SEC("syscall")
int compare(void *ctx)
{
	SIZE(size, sizeof(shared.in));
	shared.result = bpf_strncmp(shared.in, size, format);
	return 0;
}

SEC("syscall")
int print_into(void *ctx)
{
	SIZE(size, sizeof(shared.out));
	shared.result = bpf_snprintf(shared.out, size, format, shared.number, 4 * sizeof(__u64));
	return 0;
}

SEC("syscall")
int measure(void *ctx)
{
	shared.result = bpf_snprintf(0, 0, format, shared.number, 4 * sizeof(__u64));
	return 0;
}

SEC("syscall")
int odd_arguments(void *ctx)
{
	shared.result = bpf_trace_vprintk(format, sizeof(format), shared.number, 12);
	return 0;
}

SEC("syscall")
int trace(void *ctx)
{
	shared.result = bpf_trace_vprintk(format, sizeof(format), shared.number, 5 * sizeof(__u64));
	return 0;
}

SEC("syscall")
int probe_string(void *ctx)
{
	SIZE(size, sizeof(shared.out));
	shared.result =
		bpf_probe_read_user_str(shared.out, size, (void *)(unsigned long)shared.number[0]);
	return 0;
}

/* Sums are of 0, 4, .. bytes. */
SEC("tc")
int sum(void *ctx)
{
	__u64 from = shared.number[0], to = shared.number[1];

	asm volatile("" : "+r"(from), "+r"(to));
	if (from > sizeof(shared.in) || to > sizeof(shared.out))
		return 1;
	shared.result =
		bpf_csum_diff((__be32 *)shared.in, from, (__be32 *)shared.out, to, shared.flags);
	return 0;
}

static int add(__u32 i, void *ctx)
{
	__u64 *sum = ctx;

	*sum += i;
	return i == shared.number[1];
}

SEC("syscall")
int loop(void *ctx)
{
	__u64 total = 0;

	shared.result = bpf_loop(shared.number[0], add, &total, shared.flags);
	shared.number[2] = total;
	return 0;
}

static int inner(__u32 i, void *ctx)
{
	__u64 *sum = ctx;

	*sum += 1;
	return 0;
}

static int outer(__u32 i, void *ctx)
{
	return bpf_loop(i, inner, ctx, 0) != i;
}

SEC("syscall")
int nested(void *ctx)
{
	__u64 total = 0;

	shared.result = bpf_loop(5, outer, &total, 0);
	shared.number[0] = total;
	return 0;
}

static int each(void *map, __u32 *key, __u64 *value, void *ctx)
{
	__u64 *sum = ctx;

	*value = *key * 10;
	*sum += *value;
	return *key == 3;
}

SEC("syscall")
int for_each(void *ctx)
{
	__u64 total = 0;

	shared.result = bpf_for_each_map_elem(&numbers, each, &total, 0);
	shared.number[0] = total;
	return 0;
}

SEC("tc")
int lock(void *ctx)
{
	__u32 zero = 0;
	struct locked *value = bpf_map_lookup_elem(&locked, &zero);

	if (!value)
		return 1;
	bpf_spin_lock(&value->lock);
	value->count++;
	value->twice += 2;
	shared.result = value->twice - value->count;
	bpf_spin_unlock(&value->lock);
	return 0;
}

/* What the kernel's verifier refuses. */

static int again(__u32 i, void *ctx)
{
	__u64 *deep = ctx;

	*deep += 1;
	shared.result = bpf_loop(1, again, ctx, 0);
	return 0;
}

SEC("syscall")
int endless(void *ctx)
{
	__u64 deep = 0;

	bpf_loop(1, again, &deep, 0);
	return deep;
}

SEC("tc")
int keep_lock(void *ctx)
{
	__u32 zero = 0;
	struct locked *value = bpf_map_lookup_elem(&locked, &zero);

	if (!value)
		return 1;
	bpf_spin_lock(&value->lock);
	bpf_spin_lock(&value->lock);
	*(volatile __u32 *)(unsigned long)shared.number[0] = 1;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * tail - tail calls: chains, from subprograms, and what is left where they fail
 *
 * The host puts programs into jumps, says in struct step where they go, and reads what they did.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define NOINLINE __attribute__((noinline))

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 40);
	__type(key, __u32);
	__type(value, __u32);
} jumps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 40);
	__type(key, __u32);
	__type(value, __u32);
} numbers SEC(".maps");

/* The helpers' header has 32 bits for the index; programs have more. */
static long (*const tail_call)(void *ctx, void *map, __u64 index) = (void *)BPF_FUNC_tail_call;

struct step {
	__u64 index; /* to go on at */
	__u64 steps; /* programs that have run */
	__s64 error; /* of the last tail call that failed */
};

volatile __u64 version = 1;

SEC("tail")
__u64 loop(struct step *step)
{
	step->steps++;
	step->error = tail_call(step, &jumps, step->index);
	return step->steps;
}

SEC("tail")
__u64 wrong(struct step *step)
{
	step->error = tail_call(step, &numbers, step->index);
	return step->steps;
}

/* What nobody has set is zero. */
SEC("tail")
__u64 leaf(struct step *step, __u64 r2, __u64 r3, __u64 r4, __u64 r5)
{
	step->steps++;
	return 7 + (r2 | r3 | r4 | r5);
}

/* Changes r6 .. r9, has a frame, and comes to no tail call. */
SEC("tail")
__u64 busy(struct step *step)
{
	volatile __u64 frame[8];
	__u64 sum = 0;

	for (int i = 0; i < 8; i++)
		frame[i] = bpf_get_prandom_u32() | 1;
	for (int i = 0; i < 8; i++)
		sum += frame[i] != 0;
	asm volatile("r6 = -1; r7 = -1; r8 = -1; r9 = -1" ::: "r6", "r7", "r8", "r9");
	step->steps++;
	return sum;
}

/* What a guarded program must not do. */
SEC("tail")
__u64 bad(struct step *step)
{
	return *(volatile __u64 *)64;
}

static NOINLINE __u64 sub(struct step *step)
{
	volatile __u64 own = 5;

	step->error = tail_call(step, &jumps, step->index);
	return own;
}

/* Of the subprogram another program's result, here as if that were its own. */
SEC("tail")
__u64 by_sub(struct step *step)
{
	volatile __u64 frame = 0x1000;
	__u64 *steps = &step->steps;
	__u64 result = sub(step);

	++*steps;
	return frame + result;
}

/* A chain of subprograms' callers: each waits for what the next one returns. */
SEC("tail")
__u64 nest(struct step *step)
{
	step->steps++;
	return sub(step) + 1;
}

/* One run: the second subprogram has what the first one left. */
SEC("tail")
__u64 twice(struct step *step)
{
	__u64 first = sub(step);

	return first * 0x1000 + sub(step);
}

SEC("tail")
__u64 which(struct step *step)
{
	return version;
}

/* A helper that runs a program: that is a run of its own. */
extern __u64 host_sum(struct step *step, __u64 b, __u64 c, __u64 d, __u64 e);

SEC("tail")
__u64 outer(struct step *step)
{
	host_sum(step, 0, 0, 0, 0);
	step->error = tail_call(step, &jumps, step->index);
	return step->steps;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

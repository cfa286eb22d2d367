/* SPDX-License-Identifier: MIT */
/* plain - what needs no BTF: compiled with and without -g, for every instruction set */
#define SEC(name) __attribute__((section(name), used))

typedef unsigned int u32;
typedef unsigned long long u64;

/* The definition that old programs declare themselves. */
struct bpf_map_def {
	u32 type, key_size, value_size, max_entries, map_flags;
};

struct old_bpf_map_def {
	u32 type, key_size, value_size, max_entries, map_flags, inner, numa;
};

struct bpf_map_def SEC("maps") slots = {2, 4, 8, 8, 0};
struct old_bpf_map_def SEC("maps") words = {1, 8, 8, 16, 1, 0, 0};

static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;

u64 total;
int sign = -1;

static __attribute__((noinline)) int halve(int x)
{
	return (x >> 1) * sign;
}

SEC("tc")
u64 run(void *data, u64 len)
{
	u32 index = 5;
	u64 *slot = lookup(&slots, &index);

	if (!slot || update(&words, &len, &len, 0))
		return 0;
	*slot += len;
	for (u32 i = 0; i < len; i++)
		total += i * *slot;
	return total + (u32)halve((int)len < -7 ? 1 : 20);
}

/* SPDX-License-Identifier: MIT */
/*
 * map - what bench map times: 512 operations a run, on keys in an order that the caches see
 * through as little as they would through real ones
 *
 * Each CPU has keys of its own, in one map.
 */
#include "progs.h"

#define ENTRIES 4096
#define OPS 512

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENTRIES);
	__type(key, __u32);
	__type(value, __u64);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENTRIES);
	__type(key, __u32);
	__type(value, __u64);
} array SEC(".maps");

/* All of a CPU's 512 keys come once; 157 is odd. */
static __always_inline __u32 key_of(__u32 base, __u32 i)
{
	return base + (i * 157 & (OPS - 1));
}

static __always_inline __u32 base_of_cpu(void)
{
	return (bpf_get_smp_processor_id() * OPS) & (ENTRIES - 1);
}

#define LOOKUPS(map)                                                                               \
	__u32 base = base_of_cpu(), i, found = 0;                                                  \
	for (i = 0; i < OPS; i++) {                                                                \
		__u32 key = key_of(base, i);                                                       \
		__u64 *value = bpf_map_lookup_elem(&map, &key);                                    \
		if (value)                                                                         \
			found += (__u32)*value;                                                    \
	}                                                                                          \
	return found

#define UPDATES(map)                                                                               \
	__u32 base = base_of_cpu(), i, failed = 0;                                                 \
	__u64 value = 1;                                                                           \
	for (i = 0; i < OPS; i++) {                                                                \
		__u32 key = key_of(base, i);                                                       \
		failed += bpf_map_update_elem(&map, &key, &value, BPF_ANY) != 0;                   \
	}                                                                                          \
	return OPS - failed

SEC("socket")
int hash_lookup(void *ctx)
{
	LOOKUPS(hash);
}

SEC("socket")
int hash_update(void *ctx)
{
	UPDATES(hash);
}

SEC("socket")
int array_lookup(void *ctx)
{
	LOOKUPS(array);
}

SEC("socket")
int array_update(void *ctx)
{
	UPDATES(array);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* SPDX-License-Identifier: MIT */
/* guard - programs that touch maps as they may and as they must not; r2 says where */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define NOINLINE __attribute__((noinline))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 8);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 8);
} percpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 8);
} trie SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__type(value, __u64);
	__uint(max_entries, 8);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

/* Of arrays of two; the host makes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 2);
	__uint(value_size, 4);
} outer SEC(".maps");

const volatile __u64 constant = 3;
__u64 variable = 4;

/* What a map's value is, @off bytes from it; -1: there is none. */
static __attribute__((always_inline)) __u64 touch(void *map, const void *key, __u64 off)
{
	volatile __u64 *value = bpf_map_lookup_elem(map, key);

	if (!value)
		return -1;
	value = (volatile __u64 *)((volatile char *)value + off);
	*value += 1;
	return *value;
}

SEC("t/array")
__u64 in_array(void *ctx, __u64 off)
{
	__u32 key = 1;

	return touch(&array, &key, off);
}

SEC("t/hash")
__u64 in_hash(void *ctx, __u64 off)
{
	__u64 key = 1, value = 6;

	bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	return touch(&hash, &key, off);
}

SEC("t/percpu")
__u64 in_percpu(void *ctx, __u64 off)
{
	__u64 key = 1, value = 6;

	bpf_map_update_elem(&percpu, &key, &value, BPF_ANY);
	return touch(&percpu, &key, off);
}

SEC("t/trie")
__u64 in_trie(void *ctx, __u64 off)
{
	__u64 key = 32, value = 6;

	bpf_map_update_elem(&trie, &key, &value, BPF_ANY);
	return touch(&trie, &key, off);
}

SEC("t/inner")
__u64 in_inner(void *ctx, __u64 off)
{
	__u32 key = 1;
	void *map = bpf_map_lookup_elem(&outer, &key);

	return map ? touch(map, &key, off) : -1;
}

SEC("t/write")
__u64 write_constant(void *ctx, __u64 off)
{
	volatile __u64 *at = (volatile __u64 *)&constant;

	*at = 5;
	return constant;
}

SEC("t/data")
__u64 write_variable(void *ctx, __u64 off)
{
	*(volatile __u64 *)((volatile char *)&variable + off) = 5;
	return variable;
}

/* ---- arguments of helpers; each of them is bad if r2 is 1 ---- */

SEC("a/map")
__u64 bad_map(void *ctx, __u64 bad)
{
	__u64 fake[16] = {0}, key = 1;

	return bpf_map_lookup_elem(bad ? (void *)fake : (void *)&hash, &key) != 0;
}

SEC("a/handle")
__u64 bad_inner(void *ctx, __u64 bad)
{
	__u32 key = 1;
	char *map = bpf_map_lookup_elem(&outer, &key);

	return bpf_map_lookup_elem(map + (bad ? 8 : 0), &key) != 0;
}

SEC("a/key")
__u64 bad_key(void *ctx, __u64 bad)
{
	__u64 key = 1;

	return bpf_map_delete_elem(&hash, bad ? (void *)64 : (void *)&key) == 0;
}

SEC("a/value")
__u64 bad_value(void *ctx, __u64 bad)
{
	__u64 key = 2;

	return bpf_map_update_elem(&hash, &key, bad ? (void *)-4 : (void *)&key, BPF_ANY);
}

SEC("a/pop")
__u64 bad_pop(void *ctx, __u64 bad)
{
	__u64 value = 9;

	bpf_map_push_elem(&queue, &value, 0);
	return bpf_map_pop_elem(&queue, bad ? (void *)&constant : (void *)&value);
}

SEC("a/probe")
__u64 bad_probe(void *ctx, __u64 bad)
{
	__u64 value[2] = {0};

	return bpf_probe_read(bad ? (char *)value + 9 : (char *)value, 8, (void *)8) == 0;
}

SEC("a/print")
__u64 bad_print(void *ctx, __u64 bad)
{
	static const char text[] = "text";

	return bpf_trace_printk(bad ? (void *)64 : text, sizeof(text)) != 4;
}

SEC("a/string")
__u64 string_of_nowhere(void *ctx, __u64 at)
{
	static const char text[] = "<%s>";

	return bpf_trace_printk(text, sizeof(text), at);
}

SEC("a/output")
__u64 bad_output(void *ctx, __u64 bad)
{
	__u64 value = 9;

	return bpf_ringbuf_output(&ring, &value, bad ? 4096 * 2 : 8, 0);
}

SEC("a/submit")
__u64 bad_submit(void *ctx, __u64 bad)
{
	char *record = bpf_ringbuf_reserve(&ring, 16, 0);

	if (!record)
		return 7;
	bpf_ringbuf_submit(record + (bad ? 8 : 0), 0);
	return 0;
}

SEC("a/twice")
__u64 bad_twice(void *ctx, __u64 bad)
{
	char *record = bpf_ringbuf_reserve(&ring, 16, 0);

	if (!record)
		return 7;
	bpf_ringbuf_discard(record, 0);
	if (bad)
		bpf_ringbuf_discard(record, 0);
	return 0;
}

SEC("a/late")
__u64 bad_late(void *ctx, __u64 bad)
{
	volatile __u64 *record = bpf_ringbuf_reserve(&ring, 16, 0);

	if (!record)
		return 7;
	record[bad ? 0 : 1] = 1;
	record[0] = 1;
	bpf_ringbuf_discard((void *)record, 0);
	if (bad)
		record[0] = 2;
	return 0;
}

SEC("a/header")
__u64 bad_header(void *ctx, __u64 bad)
{
	volatile __u64 *record = bpf_ringbuf_reserve(&ring, 16, 0);

	if (!record)
		return 7;
	record[bad ? -1 : 0] = 1;
	bpf_ringbuf_discard((void *)record, 0);
	return 0;
}

/* ---- functions that helpers call ---- */

struct sum {
	__u64 keys, values, off;
};

static NOINLINE __u64 add(void *map, const __u64 *key, const __u64 *value, struct sum *sum)
{
	sum->keys += *key;
	sum->values += *(const __u64 *)((const char *)value + sum->off);
	return 0;
}

SEC("c/each")
__u64 each(void *ctx, __u64 off)
{
	__u64 key = 1, value = 6;
	struct sum sum = {.off = off};

	bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	key = 2;
	bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	bpf_for_each_map_elem(&hash, add, &sum, 0);
	return sum.keys * 100 + sum.values;
}

static NOINLINE __u64 write_key(void *map, __u64 *key, const __u64 *value, struct sum *sum)
{
	*key = 9;
	return 0;
}

SEC("c/key")
__u64 each_key(void *ctx, __u64 off)
{
	__u64 key = 1;
	struct sum sum = {0};

	bpf_map_update_elem(&hash, &key, &key, BPF_ANY);
	return bpf_for_each_map_elem(&hash, write_key, &sum, 0);
}

SEC("c/none")
__u64 each_none(void *ctx, __u64 off)
{
	return bpf_for_each_map_elem(&hash, (void *)off, &off, 0);
}

static NOINLINE __u64 again(void *map, const void *key, const void *value, void *ctx)
{
	void *volatile self = again;

	return bpf_for_each_map_elem(&array, self, ctx, 0);
}

SEC("c/again")
__u64 each_again(void *ctx, __u64 off)
{
	return bpf_for_each_map_elem(&array, again, &off, 0);
}

char LICENSE[] SEC("license") = "MIT";

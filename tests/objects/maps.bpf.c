/* SPDX-License-Identifier: MIT */
/* maps - every kind of map, from programs; each program gives a number that says that it worked */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define MAP(name, kind, entries, key_type, value_type)                                             \
	struct {                                                                                   \
		__uint(type, kind);                                                                \
		__uint(max_entries, entries);                                                      \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

#define BAG(name, kind, entries, value_type)                                                       \
	struct {                                                                                   \
		__uint(type, kind);                                                                \
		__uint(max_entries, entries);                                                      \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

MAP(hash, BPF_MAP_TYPE_HASH, 8, __u32, __u64);
MAP(lru, BPF_MAP_TYPE_LRU_HASH, 8, __u32, __u64);
MAP(array, BPF_MAP_TYPE_ARRAY, 8, __u32, __u64);
MAP(percpu_array, BPF_MAP_TYPE_PERCPU_ARRAY, 2, __u32, __u64);
MAP(percpu_hash, BPF_MAP_TYPE_PERCPU_HASH, 4, __u32, __u64);
BAG(queue, BPF_MAP_TYPE_QUEUE, 3, __u64);
BAG(stack, BPF_MAP_TYPE_STACK, 3, __u64);

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 100);
	__uint(map_extra, 3);
	__type(value, __u64);
} bloom SEC(".maps");

struct prefix {
	__u32 bits;
	__u8 address[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps"), second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner);
} outer_array SEC(".maps") = {.values = {&first, 0, &second}};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner);
} outer_hash SEC(".maps") = {.values = {[1] = &second}};

int leaf(void *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} jumps SEC(".maps") = {.values = {[1] = (void *)&leaf}};

SEC("test")
int leaf(void *ctx)
{
	return 77;
}

/* 1: a new element is seen; 2: changed; 4: gone; 8: NOEXIST and EXIST keep their word. */
#define ELEMENTS(map)                                                                              \
	__u32 key = 3, done = 0;                                                                   \
	__u64 value = 5, *found;                                                                   \
	done |= !bpf_map_update_elem(&map, &key, &value, BPF_NOEXIST) &&                           \
				bpf_map_update_elem(&map, &key, &value, BPF_NOEXIST)               \
			? 8                                                                        \
			: 0;                                                                       \
	found = bpf_map_lookup_elem(&map, &key);                                                   \
	done |= found && *found == 5 ? 1 : 0;                                                      \
	value = 6;                                                                                 \
	bpf_map_update_elem(&map, &key, &value, BPF_EXIST);                                        \
	found = bpf_map_lookup_elem(&map, &key);                                                   \
	done |= found && *found == 6 ? 2 : 0;                                                      \
	done |= !bpf_map_delete_elem(&map, &key) && !bpf_map_lookup_elem(&map, &key) ? 4 : 0;      \
	return done

SEC("test")
int use_hash(void *ctx)
{
	ELEMENTS(hash);
}

SEC("test")
int use_lru(void *ctx)
{
	ELEMENTS(lru);
}

SEC("test")
int use_percpu_hash(void *ctx)
{
	ELEMENTS(percpu_hash);
}

SEC("test")
int use_array(void *ctx)
{
	__u32 key = 7, past = 8;
	__u64 value = 40, *found;

	bpf_map_update_elem(&array, &key, &value, BPF_ANY);
	found = bpf_map_lookup_elem(&array, &key);
	if (!found || bpf_map_lookup_elem(&array, &past))
		return -1;
	*found += 2;
	return *found;
}

struct odd {
	__u32 words[5];
};

MAP(odds, BPF_MAP_TYPE_ARRAY, 3, __u32, struct odd);

/* Values of 20 bytes: each found where it was put, and none past the last. */
SEC("test")
int use_odds(void *ctx)
{
	volatile __u32 keys[5] = {0, 1, 2, 3, 0xffffffff};
	int digits = 0;

	for (int i = 0; i < 5; i++) {
		__u32 key = keys[i];
		struct odd *odd = bpf_map_lookup_elem(&odds, &key);

		if (odd)
			odd->words[4] = key + 1;
		digits += !odd * 1000;
	}
	for (int i = 0; i < 3; i++) {
		__u32 key = keys[i];
		struct odd *odd = bpf_map_lookup_elem(&odds, &key);

		digits += odd ? (int)odd->words[4] << 2 * i : -1;
	}
	return digits;
}

/* Which map it is, is not known at load. */
SEC("test")
int use_either(void *ctx, __u64 len)
{
	void *map = len > 4 ? (void *)&first : (void *)&second;
	__u32 key = 1;
	__u64 *value = bpf_map_lookup_elem(map, &key);

	return value ? *value + 1 : -1;
}

SEC("test")
int use_percpu_array(void *ctx)
{
	__u32 key = 1, cpu = bpf_get_smp_processor_id();
	__u64 *mine = bpf_map_lookup_elem(&percpu_array, &key), *same;

	if (!mine)
		return -1;
	*mine = 9;
	same = bpf_map_lookup_percpu_elem(&percpu_array, &key, cpu);
	if (!same || bpf_map_lookup_percpu_elem(&percpu_array, &key, 1 << 20))
		return -2;
	return *same;
}

static __u64 pop3(void *map)
{
	__u64 value, digits = 0;

	for (int i = 0; i < 3; i++) {
		if (bpf_map_pop_elem(map, &value))
			return -1;
		digits = digits * 10 + value;
	}
	return bpf_map_pop_elem(map, &value) ? digits : -2;
}

static void push3(void *map)
{
	for (__u64 value = 1; value <= 3; value++)
		bpf_map_push_elem(map, &value, BPF_ANY);
}

SEC("test")
int use_queue(void *ctx)
{
	__u64 value = 4;

	push3(&queue);
	if (!bpf_map_push_elem(&queue, &value, BPF_ANY) || bpf_map_peek_elem(&queue, &value) ||
	    value != 1)
		return -1;
	return pop3(&queue);
}

SEC("test")
int use_stack(void *ctx)
{
	push3(&stack);
	return pop3(&stack);
}

SEC("test")
int use_bloom(void *ctx)
{
	__u64 in = 17, out = 18;

	if (bpf_map_push_elem(&bloom, &in, BPF_ANY))
		return -1;
	return !bpf_map_peek_elem(&bloom, &in) + 2 * !!bpf_map_peek_elem(&bloom, &out);
}

SEC("test")
int use_routes(void *ctx)
{
	struct prefix wide = {8, {10}}, narrow = {24, {10, 1, 2}}, address = {32, {10, 1, 2, 3}};
	struct prefix other = {32, {10, 9, 9, 9}};
	__u64 eight = 8, twenty_four = 24, *a, *b;

	bpf_map_update_elem(&routes, &wide, &eight, BPF_ANY);
	bpf_map_update_elem(&routes, &narrow, &twenty_four, BPF_ANY);
	a = bpf_map_lookup_elem(&routes, &address);
	b = bpf_map_lookup_elem(&routes, &other);
	return a && b ? *a * 100 + *b : -1;
}

SEC("test")
int use_outer_array(void *ctx)
{
	__u32 outer = 2, none = 1, key = 1;
	void *inner = bpf_map_lookup_elem(&outer_array, &outer);
	__u64 *value;

	if (!inner || bpf_map_lookup_elem(&outer_array, &none))
		return -1;
	value = bpf_map_lookup_elem(inner, &key);
	return value ? (*value)++ : -2;
}

SEC("test")
int use_outer_hash(void *ctx)
{
	__u32 outer = 1, none = 0, key = 1;
	void *inner = bpf_map_lookup_elem(&outer_hash, &outer);
	__u64 *value;

	if (!inner || bpf_map_lookup_elem(&outer_hash, &none))
		return -1;
	value = bpf_map_lookup_elem(inner, &key);
	return value ? *value : -2;
}

struct event {
	__u64 number, twice;
};

SEC("test")
int use_ring(void *ctx)
{
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0), own = {2, 4};

	if (!event)
		return -1;
	event->number = 1;
	event->twice = 2;
	bpf_ringbuf_submit(event, 0);
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (event)
		bpf_ringbuf_discard(event, 0);
	if (bpf_ringbuf_output(&ring, &own, sizeof(own), 0))
		return -2;
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
}

struct sum {
	__u64 of, visited;
};

static long add(void *map, __u32 *key, __u64 *value, struct sum *sum)
{
	sum->of += *value;
	return ++sum->visited == 5; /* 1 ends the walk */
}

SEC("test")
int use_for_each(void *ctx)
{
	struct sum sum = {0, 0};
	__u64 value;
	long visited;

	for (__u32 key = 0; key < 8; key++) {
		value = 1;
		bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	}
	visited = bpf_for_each_map_elem(&hash, add, &sum, 0);
	for (__u32 key = 0; key < 8; key++)
		bpf_map_delete_elem(&hash, &key);
	return visited * 100 + sum.of * 10 + (visited == sum.visited);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

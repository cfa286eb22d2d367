/* SPDX-License-Identifier: MIT */
/* whole - a bit of everything that the loader knows, as programs are written */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define NOINLINE __attribute__((noinline))

/* No padding: keys are compared byte by byte. */
struct pair {
	__u64 a;
	__u64 b;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(key_size, sizeof(struct pair));
	__uint(value_size, sizeof(struct pair));
	__uint(max_entries, 3);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} pairs SEC(".maps");

static struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct pair);
	__uint(max_entries, 1);
} hidden SEC(".maps");

__u64 hits;              /* .bss */
static __u64 quiet_hits; /* the same, by section and offset */
__u32 level = 7;         /* .data */
__u32 table[4] = {10, 20, 30, 40};
__u32 *third = &table[2]; /* relocated data */
static __u32 *volatile own = &level;
const volatile __u32 factor = 3; /* .rodata */
static const char *const names[] = {"zero", "one", "two"};
const char *volatile chosen = "chosen";

static NOINLINE __u64 scaled(__u64 x)
{
	return x * factor;
}

NOINLINE __u64 shared(__u64 x)
{
	return scaled(x) + level;
}

SEC("xdp")
__u64 count(void *data, __u64 len)
{
	hits++;
	__sync_fetch_and_add(&quiet_hits, 2);
	return shared(hits) + quiet_hits;
}

/* Same section as its caller: no relocation is left for such calls. */
SEC("xdp")
static NOINLINE __u64 beside(__u64 x)
{
	return x ^ 0xff;
}

SEC("xdp")
__u64 neighbour(void *data, __u64 len)
{
	return beside(len) + scaled(len);
}

SEC("tc/pointers")
__u64 pointers(void *data, __u64 len)
{
	return *third * 1000 + *own;
}

SEC("tc/strings")
__u64 strings(const char *data, __u64 len)
{
	const char *name = names[len % 3];

	return (__u64)(__u8)name[0] << 16 | (__u64)(__u8)name[2] << 8 | (__u8)chosen[1];
}

SEC("maps_of_all_kinds")
__u64 maps(void *data, __u64 len)
{
	struct pair key = {1, len}, value = {2, len * 2};
	struct pair *found;
	__u64 *counter;
	__u32 index = len & 3;

	counter = bpf_map_lookup_elem(&counts, &index);
	if (!counter)
		return -1;
	__sync_fetch_and_add(counter, 1);
	index = 0;
	found = bpf_map_lookup_elem(&hidden, &index);
	if (!found)
		return -2;
	found->b = len;
	if (bpf_map_update_elem(&pairs, &key, &value, BPF_ANY))
		return -3;
	found = bpf_map_lookup_elem(&pairs, &key);
	return found ? found->a * 100 + found->b : -4;
}

SEC("full")
__u64 fill(void *data, __u64 len)
{
	struct pair key = {1, len};

	return bpf_map_update_elem(&pairs, &key, &key, BPF_NOEXIST);
}

SEC("full")
__u64 drop(void *data, __u64 len)
{
	struct pair key = {1, len};

	return bpf_map_delete_elem(&pairs, &key);
}

SEC("tp/print")
__u64 print(void *data, __u64 len)
{
	return bpf_printk("%d of %s: %llx\n", (int)len, "them", 0xabcdef0123456789ull);
}

SEC("tp/misc")
__u64 misc(void *data, __u64 len)
{
	__u64 now = bpf_ktime_get_ns();

	if (bpf_get_smp_processor_id() > 4096)
		return 1;
	if (bpf_get_prandom_u32() == bpf_get_prandom_u32() &&
	    bpf_get_prandom_u32() == bpf_get_prandom_u32())
		return 2;
	if (bpf_ktime_get_ns() < now)
		return 3;
	return bpf_get_current_pid_tgid();
}

char _license[] SEC("license") = "GPL";
__u32 _version SEC("version") = 0x010203;
__u32 unknown SEC("of_no_known_kind") = 1;

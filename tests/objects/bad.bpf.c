/* SPDX-License-Identifier: MIT */
/* bad - objects that must be refused, one for each -D */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#if defined(MAP_TYPE)
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} traces SEC(".maps");
#define BODY return (__u64)&traces
#elif defined(MAP_SIZES)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 4);
} wide SEC(".maps");
#define BODY return (__u64)&wide
#elif defined(MAP_CONFLICT)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__uint(key_size, 8);
} twofold SEC(".maps");
#define BODY return (__u64)&twofold
#elif defined(MAP_VALUES)
static __attribute__((noinline)) int callee(void *data)
{
	return 1;
}
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, int(void *));
} jumps SEC(".maps") = {.values = {[0] = (void *)&callee}};
#define BODY return (__u64)&jumps
#elif defined(NO_HELPER_NAME)
extern __u64 nobody_has_this(__u64 x);
#define BODY return nobody_has_this(len)
#elif defined(NO_HELPER_ID)
static __u64 (*missing)(__u64 x) = (void *)9999;
#define BODY return missing(len)
#elif defined(EXTERN_VARIABLE)
extern int elsewhere;
#define BODY return elsewhere
#elif defined(UNKNOWN_SECTION)
int stray SEC("odd") = 5;
#define BODY return stray
#elif defined(RECURSION)
__attribute__((noinline)) __u64 again(volatile __u64 *x)
{
	return *x ? again(x + 1) ^ (again(x + 2) * 3) : 0;
}
#define BODY return again(data)
#elif defined(HUGE_BSS)
char space[300u << 20];
#define BODY return (__u64)space
#elif defined(ALIGNED)
__attribute__((aligned(8192))) char page[8192] = {1};
#define BODY return (__u64)page
#elif defined(COMMON) /* built with -fcommon */
__u64 nowhere;
#define BODY return nowhere += len
#elif defined(TAIL_TAKEN)
static __attribute__((noinline)) int jump(void *data)
{
	bpf_tail_call(data, data, 0);
	return 1;
}
static int (*volatile table[1])(void *) = {jump};
#define BODY return (__u64)table[0]
#elif defined(WEAK_FUNCTION)
extern __attribute__((weak)) __u64 perhaps(__u64 x);
#define BODY return perhaps ? perhaps(len) : 7
#endif

SEC("tc")
__u64 prog(void *data, __u64 len)
{
	BODY;
}

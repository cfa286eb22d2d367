/* SPDX-License-Identifier: MIT */
/*
 * test_guard.c - guarded runs: what they may touch, where they end otherwise, and that nothing else
 * is harmed; on both engines
 */
#include "guard_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t secret = 0x5ec4e7;

/* ---- the memory of a run ---- */

/*
 * struct access - a program that is given @len bytes of zeros: all its accesses are good (@pc 0),
 * or it ends at slot @pc
 */
struct access {
	const char *text;
	size_t len;
	uint32_t pc;
};

static const struct access accesses[] = {
	/* the context, to its last byte */
	{"r0 = *(u8 *)(r1 +0)\n exit", 1, 0},
	{"r0 = *(u8 *)(r1 +12)\n exit", 13, 0},
	{"r0 = *(u64 *)(r1 +5)\n exit", 13, 0},
	{"r0 = 0\n *(u16 *)(r1 +11) = 0\n exit", 13, 0},
	{"r0 = 0\n r0 = *(u8 *)(r1 +13)\n exit", 13, 1},
	{"r0 = 0\n r0 = *(u8 *)(r1 -1)\n exit", 13, 1},
	{"r0 = 0\n r0 = *(u64 *)(r1 +6)\n exit", 13, 1},
	{"r0 = 0\n r0 = *(s32 *)(r1 +10)\n exit", 13, 1},
	{"r0 = 0\n *(u16 *)(r1 +12) = 0\n exit", 13, 1},
	{"r0 = 0\n *(u32 *)(r1 -3) = r0\n exit", 13, 1},
	{"r0 = 0\n lock *(u64 *)(r1 +8) += r0\n exit", 13, 1},
	{"r0 = 0\n r2 = 1\n r0 = atomic64_cmpxchg((u64 *)(r1 +8), r0, r2)\n exit", 8, 2},
	{"r0 = 0\n r0 = *(u8 *)(r1 +0)\n exit", 0, 1},
	/* sizes do not share what they learn */
	{"r0 = *(u8 *)(r1 +7)\n r0 = *(u16 *)(r1 +7)\n exit", 8, 1},
	{"r0 = *(u64 *)(r1 +0)\n r0 = *(u64 *)(r1 +1)\n exit", 8, 1},
	/* null, all ones, where address and size overflow */
	{"r6 = 0\n r0 = *(u64 *)(r6 +0)\n exit", 8, 1},
	{"r6 = -1\n *(u64 *)(r6 +0) = 0\n r0 = 0\n exit", 8, 1},
	{"r6 = -8\n *(u64 *)(r6 +0) = 0\n r0 = 0\n exit", 8, 1},
	{"r6 = -8\n *(u64 *)(r6 +32) = 0\n r0 = 0\n exit", 8, 1},
	/* frames: this one, those that calls would have; not what is above */
	{"r2 = r10\n r0 = *(u64 *)(r2 -8)\n exit", 0, 0},
	{"r2 = r10\n *(u64 *)(r2 -512) = 0\n r0 = 0\n exit", 0, 0},
	{"r2 = r10\n *(u64 *)(r2 -4096) = 0\n r0 = 0\n exit", 0, 0},
	{"r2 = r10\n *(u64 *)(r2 -4097) = 0\n r0 = 0\n exit", 0, 1},
	{"r2 = r10\n *(u8 *)(r2 +0) = 0\n r0 = 0\n exit", 0, 1},
	{"r2 = r10\n *(u64 *)(r2 -7) = 0\n r0 = 0\n exit", 0, 1},
	{"r2 = r10\n r2 += 4088\n *(u64 *)(r2 +0) = 0\n r0 = 0\n exit", 0, 2},
	/* a caller's frame, through a pointer; the end of a called function */
	{"r1 = r10\n r1 += -8\n call f\n r0 = *(u64 *)(r10 -8)\n exit\n f: *(u64 *)(r1 +0) = 7\n exit",
	 0, 0},
	{"call f\n exit\n f: r0 = r10\n *(u64 *)(r0 +504) = 0\n r0 = 0\n exit", 0, 0},
	{"call f\n exit\n f: r0 = r10\n *(u64 *)(r0 +512) = 0\n r0 = 0\n exit", 0, 3},
	/* what nobody gave it */
	{"r2 = *(u64 *)(r1 +0)\n r0 = *(u64 *)(r2 +0)\n exit", 8, 1},
};

static void ends_where_the_access_is_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		const struct access *access = &accesses[i];

		for (size_t engine = 0; engine < NENGINES; engine++) {
			uint8_t mem[64] = {0};
			struct ran ran;

			ran = guard_text(access->text, engines[engine], mem, access->len);
			if (ran.err != (access->pc ? -EFAULT : 0))
				fail_msg("%s (%zu bytes): %d", access->text, access->len, ran.err);
			if (access->pc && ran.stop.pc != access->pc)
				fail_msg("%s: ends at %u", access->text, ran.stop.pc);
			assert_int_equal(ran.result, access->pc ? UNTOUCHED : ran.result);
		}
	}
}

static void tells_the_address_and_the_function(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct ran ran = guard_text("call f\n exit\n f: r6 = -1\n"
					    "*(u64 *)(r6 +0) = 0\n r0 = 0\n exit",
					    engines[engine], NULL, 0);

		assert_int_equal(ran.err, -EFAULT);
		assert_int_equal(ran.stop.pc, 3);
		assert_int_equal(ran.stop.address, UINT64_MAX);
		assert_string_equal(ran.stop.function, "sub_2");
	}
}

/* What can be seen at load is refused there, unless nobody wants to know. */
static void accesses_outside_the_frame_are_refused(void **state)
{
	static const char *const texts[] = {
		"r0 = 0\n *(u64 *)(r10 +8) = 0\n exit",
		"r0 = 0\n *(u64 *)(r10 -4) = 0\n exit",
		"r0 = *(u8 *)(r10 +0)\n exit",
		"r0 = *(u8 *)(r10 -513)\n exit",
		"r0 = 0\n lock *(u64 *)(r10 -516) += r0\n exit",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pp_bpf_object *object = guard_open(texts[i], 0);

		assert_int_equal(pp_bpf_load(object), -EINVAL);
		assert_non_null(strstr(guard_reason, "outside the frame of 512"));
		pp_bpf_close(object);
		object = guard_open(texts[i], PP_BPF_TRUSTED);
		assert_int_equal(pp_bpf_load(object), 0);
		pp_bpf_close(object);
	}
}

/* ---- what the host allows ---- */

static const char *const load_secret = "r2 = *(u64 *)(r1 +0)\n r0 = *(u64 *)(r2 +0)\n exit";
static const char *const store_secret =
	"r2 = *(u64 *)(r1 +0)\n r0 = 1\n *(u64 *)(r2 +0) = 9\n exit";

static struct ran run_on(const char *text, unsigned int flags, const void *at, int rights)
{
	struct pp_bpf_object *object = guard_open(text, flags);
	uint64_t data = (uintptr_t)at;
	struct ran ran;

	if (rights >= 0)
		assert_int_equal(pp_bpf_allow(object, at, 8, (unsigned int)rights), 0);
	assert_int_equal(pp_bpf_load(object), 0);
	ran = guard_run(object, &data, sizeof(data));
	pp_bpf_close(object);
	return ran;
}

static void memory_of_the_host_is_there_if_it_says_so(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		unsigned int flags = engines[engine];

		secret = 0x5ec4e7;
		assert_int_equal(run_on(load_secret, flags, &secret, -1).err, -EFAULT);
		assert_int_equal(run_on(load_secret, flags, &secret, -1).stop.address,
				 (uintptr_t)&secret);
		assert_int_equal(run_on(load_secret, flags, &secret, 0).result, secret);
		assert_int_equal(run_on(store_secret, flags, &secret, 0).err, -EFAULT);
		assert_int_equal(secret, 0x5ec4e7);
		assert_int_equal(run_on(store_secret, flags, &secret, PP_BPF_WRITABLE).err, 0);
		assert_int_equal(secret, 9);
	}
}

static void trusted_programs_are_not_checked(void **state)
{
	(void)state;
	secret = 77;
	for (size_t engine = 0; engine < NENGINES; engine++)
		assert_int_equal(
			run_on(load_secret, engines[engine] | PP_BPF_TRUSTED, &secret, -1).result,
			77);
}

static void allow_refuses_nonsense(void **state)
{
	struct pp_bpf_object *object = guard_open("r0 = 0\n exit", 0);

	(void)state;
	assert_int_equal(pp_bpf_allow(object, NULL, 8, 0), -EINVAL);
	assert_int_equal(pp_bpf_allow(object, &secret, 0, 0), -EINVAL);
	assert_int_equal(pp_bpf_allow(object, &secret, SIZE_MAX, 0), -EINVAL);
	assert_int_equal(pp_bpf_allow(object, &secret, 8, 2), -EINVAL);
	assert_int_equal(pp_bpf_load(object), 0);
	assert_int_equal(pp_bpf_allow(object, &secret, 8, 0), -EBUSY);
	pp_bpf_close(object);
}

/* The check lets it pass, the machine does not: of the run, the fault ends only that. */
static void memory_that_has_gone_ends_the_run(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		size_t page = (size_t)sysconf(_SC_PAGESIZE);
		struct pp_bpf_object *object = guard_open(load_secret, engines[engine]);
		uint64_t *gone = mmap(NULL, page, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t data = (uintptr_t)gone;
		struct ran ran;

		assert_ptr_not_equal(gone, MAP_FAILED);
		*gone = 5;
		assert_int_equal(pp_bpf_allow(object, gone, page, 0), 0);
		assert_int_equal(pp_bpf_load(object), 0);
		assert_int_equal(guard_run(object, &data, sizeof(data)).result, 5);
		munmap(gone, page);
		ran = guard_run(object, &data, sizeof(data));
		assert_int_equal(ran.err, -EFAULT);
		assert_int_equal(ran.stop.pc, 1);
		assert_int_equal(ran.stop.address, data);
		data = (uintptr_t)&data;
		assert_int_equal(guard_run(object, &data, sizeof(data)).result, data);
		pp_bpf_close(object);
	}
}

/* What a run learned is forgotten: the next one has other memory. */
static void runs_do_not_inherit_memory(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object = guard_open(load_secret, engines[engine]);
		uint64_t first[2] = {0, 3}, second = (uintptr_t)&first[1];

		first[0] = (uintptr_t)&first[1];
		assert_int_equal(pp_bpf_load(object), 0);
		assert_int_equal(guard_run(object, first, sizeof(first)).result, 3);
		assert_int_equal(guard_run(object, &second, sizeof(second)).err, -EFAULT);
		pp_bpf_close(object);
	}
}

/* ---- packets ---- */

static struct ran load_packet(unsigned int flags, struct pp_bpf_packet *packet, const char *before)
{
	char text[256];

	snprintf(text, sizeof(text), "r6 = r1\n %s\n r0 = *(u8 *)skb[1]\n exit", before);
	return guard_text(text, flags, packet, sizeof(*packet));
}

static void packets_are_those_of_the_start(void **state)
{
	static const uint8_t bytes[4] = {1, 2, 3, 4};

	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		unsigned int flags = engines[engine];
		struct pp_bpf_packet packet = {bytes, sizeof(bytes)};

		assert_int_equal(load_packet(flags, &packet, "r0 = 0").result, 2);
		assert_int_equal(load_packet(flags, &packet, "*(u64 *)(r6 +8) = 2").result, 2);
		packet.len = 4;
		assert_int_equal(load_packet(flags, &packet, "*(u64 *)(r6 +8) = 5").err, -EFAULT);
		packet.len = 4;
		assert_int_equal(load_packet(flags, &packet, "*(u64 *)(r6 +0) = 64").err, -EFAULT);
		packet.data = bytes;
		assert_int_equal(load_packet(flags, &packet, "r6 += 8").err, -EFAULT);
	}
}

/* ---- nothing else is harmed ---- */

static struct pp_bpf_object *inner_object;

static uint64_t run_inner(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint64_t data = r1;
	struct ran ran = guard_run(inner_object, &data, sizeof(data));

	(void)r2, (void)r3, (void)r4, (void)r5;
	return ran.err ? (uint64_t)ran.err : ran.result;
}

/* A run in a helper of a run: each ends by itself, and the outer one still has its own memory. */
static void runs_nest(void **state)
{
	static const char *const outer =
		"r6 = r1\n r7 = *(u64 *)(r6 +0)\n r1 = r7\n call 99\n r8 = *(u64 *)(r6 +0)\n"
		"*(u64 *)(r6 +0) = r0\n r0 = 0\n r1 = *(u64 *)(r8 +0)\n exit";

	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object = guard_open(outer, engines[engine]);
		uint64_t data = 64;
		struct ran ran;

		inner_object = guard_open(load_secret, engines[engine]);
		assert_int_equal(pp_bpf_load(inner_object), 0);
		assert_int_equal(pp_bpf_register(object, 99, "run_inner", 1, run_inner), 0);
		assert_int_equal(pp_bpf_load(object), 0);
		ran = guard_run(object, &data, sizeof(data));
		assert_int_equal((int64_t)data, -EFAULT);
		assert_int_equal(ran.err, -EFAULT);
		assert_int_equal(ran.stop.pc, 7);
		assert_int_equal(ran.stop.address, 64);
		pp_bpf_close(object);
		pp_bpf_close(inner_object);
	}
}

#define THREADS 4
#define RUNS 3000

/* Good runs and bad ones, of one object, in turn. */
static void *run_both(void *arg)
{
	struct pp_bpf_object *object = arg;
	uint64_t good = (uintptr_t)&good, bad = 64, wrong = 0;

	for (int i = 0; i < RUNS; i++) {
		wrong += guard_run(object, &good, sizeof(good)).result != good;
		wrong += guard_run(object, &bad, sizeof(bad)).stop.address != 64;
	}
	return (void *)(uintptr_t)wrong;
}

static void threads_end_their_own_runs(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object = guard_open(load_secret, engines[engine]);
		pthread_t threads[THREADS];
		void *wrong;

		assert_int_equal(pp_bpf_load(object), 0);
		for (size_t i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, run_both, object), 0);
		for (size_t i = 0; i < THREADS; i++) {
			pthread_join(threads[i], &wrong);
			assert_null(wrong);
		}
		pp_bpf_close(object);
	}
}

/* A section that a run had begun has ended with it: nobody waits for it for ever. */
static void runs_that_end_leave_their_section(void **state)
{
	(void)state;
	for (size_t engine = 0; engine < NENGINES; engine++) {
		struct pp_bpf_object *object = guard_open(load_secret, engines[engine]);
		uint64_t bad = 64;

		assert_int_equal(pp_bpf_load(object), 0);
		assert_int_equal(guard_run(object, &bad, sizeof(bad)).err, -EFAULT);
		pp_bpf_close(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_where_the_access_is_bad),
		cmocka_unit_test(accesses_outside_the_frame_are_refused),
		cmocka_unit_test(tells_the_address_and_the_function),
		cmocka_unit_test(memory_of_the_host_is_there_if_it_says_so),
		cmocka_unit_test(trusted_programs_are_not_checked),
		cmocka_unit_test(allow_refuses_nonsense),
		cmocka_unit_test(memory_that_has_gone_ends_the_run),
		cmocka_unit_test(runs_do_not_inherit_memory),
		cmocka_unit_test(packets_are_those_of_the_start),
		cmocka_unit_test(runs_nest),
		cmocka_unit_test(threads_end_their_own_runs),
		cmocka_unit_test(runs_that_end_leave_their_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

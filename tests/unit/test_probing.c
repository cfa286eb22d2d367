/* SPDX-License-Identifier: MIT */
/* test_probing.c - objects whose pointers may be bad, and bpf_probe_read(), by the public interface
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "child.h"
#include "object_fixture.h"

#define NELEMS(array) (sizeof(array) / sizeof((array)[0]))
#define TIMES 500
#define THREADS 3

/* r0 = *(u64 *)(r1 +0); exit */
static const uint8_t load_r1[] = {
	0x79, 0x10, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0,
};

/*
 * *(u64 *)(r10 -8) = -1; r3 = r1; r2 = 8; r1 = r10; r1 += -8; call HELPER;
 * r1 = *(u64 *)(r10 -8); r0 += r1; exit
 */
static const uint8_t probe_r1[] = {
	0x7a, 0x0a, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, /* */
	0xbf, 0x13, 0,    0,    0,    0,    0,    0,    /* */
	0xb7, 0x02, 0,    0,    8,    0,    0,    0,    /* */
	0xbf, 0xa1, 0,    0,    0,    0,    0,    0,    /* */
	0x07, 0x01, 0,    0,    0xf8, 0xff, 0xff, 0xff, /* */
	0x85, 0,    0,    0,    4,    0,    0,    0,    /* */
	0x79, 0xa1, 0xf8, 0xff, 0,    0,    0,    0,    /* */
	0x0f, 0x10, 0,    0,    0,    0,    0,    0,    /* */
	0x95, 0,    0,    0,    0,    0,    0,    0,
};
#define HELPER_AT 44

static struct pp_bpf_object *loaded(const uint8_t *code, size_t size, unsigned int flags)
{
	const struct pp_bpf_opts opts = {.size = sizeof(opts), .flags = flags};
	struct pp_bpf_object *object;

	CHECK(!pp_bpf_open_raw(code, size, &opts, &object));
	CHECK(!pp_bpf_load(object));
	return object;
}

static uint64_t run(struct pp_bpf_object *object, const void *data)
{
	struct pp_bpf_prog *prog = pp_bpf_prog_by_name(object, "main");
	uint64_t result, again;

	CHECK(!pp_bpf_run(prog, (void *)(uintptr_t)data, 0, &result));
	CHECK(!pp_bpf_interpret(prog, (void *)(uintptr_t)data, 0, &again));
	CHECK(result == again);
	return result;
}

static bool is_ours(void)
{
	struct sigaction now;

	sigaction(SIGSEGV, NULL, &now);
	return now.sa_handler != SIG_DFL;
}

static void goes_on(void *arg)
{
	const unsigned int *flags = arg;
	struct pp_bpf_object *object = loaded(load_r1, sizeof(load_r1), *flags), *other;
	uint64_t nine = 9;

	CHECK(run(object, NULL) == 0 && run(object, &nine) == 9);
	other = loaded(load_r1, sizeof(load_r1), *flags);
	pp_bpf_close(object);
	CHECK(run(other, NULL) == 0 && is_ours());
	pp_bpf_close(other);
	CHECK(!is_ours());
}

static void dies_without(void *arg)
{
	const unsigned int *flags = arg;
	struct pp_bpf_object *probing = loaded(load_r1, sizeof(load_r1), PP_BPF_PROBE);
	unsigned int trusted = (*flags & ~PP_BPF_PROBE) | PP_BPF_TRUSTED;
	struct pp_bpf_object *object = loaded(load_r1, sizeof(load_r1), trusted);

	CHECK(run(probing, NULL) == 0);
	run(object, NULL);
}

/* A sanitizer reports a null pointer before the CPU does, and exits. */
static bool died(int status)
{
	if (getenv("PROGPACK_SANITIZER"))
		return status != 0;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void test_loads(void **state)
{
	static unsigned int flags[] = {PP_BPF_PROBE, PP_BPF_PROBE | PP_BPF_NO_JIT,
				       PP_BPF_PROBE | PP_BPF_KEEP_LINES};

	(void)state;
	for (size_t i = 0; i < NELEMS(flags); i++) {
		int status = run_child(dies_without, &flags[i]);

		assert_int_equal(run_child(goes_on, &flags[i]), 0);
		assert_true(died(status));
	}
}

/* No option is needed: who has a helper that may fault has the handler. */
static void helper_probes(void *arg)
{
	static const uint64_t number = 0x123456789;
	struct pp_bpf_object *object;
	uint8_t code[sizeof(probe_r1)];

	memcpy(code, probe_r1, sizeof(code));
	code[HELPER_AT] = *(uint8_t *)arg;
	object = loaded(code, sizeof(code), 0);
	CHECK(is_ours());
	CHECK(run(object, &number) == number);
	CHECK(run(object, NULL) == (uint64_t)-EFAULT); /* and the buffer is 0 */
	CHECK(run(object, (void *)(UINT64_MAX - 3)) == (uint64_t)-EFAULT);
	pp_bpf_close(object);
	CHECK(!is_ours());
}

static void test_helpers(void **state)
{
	static uint8_t numbers[] = {4, 112, 113};

	(void)state;
	for (size_t i = 0; i < NELEMS(numbers); i++)
		assert_int_equal(run_child(helper_probes, &numbers[i]), 0);
}

static void *run_often(void *arg)
{
	for (int i = 0; i < TIMES; i++)
		CHECK(run(arg, NULL) == 0);
	return NULL;
}

/* Others come and go meanwhile, with the same heap. */
static void in_threads(void *arg)
{
	struct pp_bpf_object *object = loaded(load_r1, sizeof(load_r1), PP_BPF_PROBE);
	pthread_t thread[THREADS];

	(void)arg;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, run_often, object));
	for (int i = 0; i < TIMES; i++)
		pp_bpf_close(loaded(load_r1, sizeof(load_r1), PP_BPF_PROBE));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	pp_bpf_close(object);
	CHECK(!is_ours());
}

static void test_threads(void **state)
{
	(void)state;
	assert_int_equal(run_child(in_threads, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("probing", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_confined.c - a heap where the system says no: to each system call, with each errno that
 * seccomp filters use; without /proc; at each vm.memfd_noexec; with little memory; sealed
 *
 * Wanted each time: the other mechanism, or an error with the reason; never a crash, and what
 * fails changes nothing.
 */
#include "heap_test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP(test, k, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, k, yes, no)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

static void install(struct sock_filter *code, unsigned short length)
{
	struct sock_fprog filter = {.len = length, .filter = code};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static void deny(long number, int error)
{
	struct sock_filter code[] = {
		LOAD(nr),
		JUMP(BPF_JEQ, (unsigned int)number, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | (unsigned int)error),
		RETURN(SECCOMP_RET_ALLOW),
	};

	install(code, sizeof(code) / sizeof(*code));
}

/* Executable mappings, which is what sandboxes against injected code deny. */
static void deny_executable(int error)
{
	struct sock_filter code[] = {
		LOAD(nr),
		JUMP(BPF_JEQ, SYS_mmap, 0, 3),
		LOAD(args[2]),
		JUMP(BPF_JSET, PROT_EXEC, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | (unsigned int)error),
		RETURN(SECCOMP_RET_ALLOW),
	};

	install(code, sizeof(code) / sizeof(*code));
}

/* The figures, or why there are none, as where smaps must not be opened: then zeros. */
static struct pp_stats figures(const struct pp_heap *heap)
{
	struct pp_stats stats = {.size = sizeof(stats)};

	test_log[0] = 0;
	CHECK(!pp_stats(heap, &stats) || test_log[0]);
	return stats;
}

/* Every call; each works or says why not. What works is right. */
static void use(struct pp_heap *heap)
{
	struct pp_stats before, after;
	struct pp_code code;
	uint8_t byte;
	int err;

	for (size_t size = 64; size < 6 * MIB; size *= 5) {
		before = figures(heap);
		test_log[0] = 0;
		err = pp_alloc(heap, size, &code);
		if (err) {
			CHECK(err < 0 && test_log[0]);
			after = figures(heap);
			CHECK(is_same_state(&before, &after));
			continue;
		}
		emit_return(code.rw, 5);
		err = pp_finalize(heap, &code, size);
		CHECK(!err || test_log[0]);
		if (err)
			continue;
		CHECK(call(code.rx) == 5);
		byte = *(uint8_t *)code.rx;
		err = pp_patch(heap, code.rx, &byte, 1);
		CHECK(!err || test_log[0]);
		CHECK(call(code.rx) == 5);
		err = pp_free(heap, code.rx);
		CHECK(!err || (test_log[0] && call(code.rx) == 5));
	}
	CHECK(pp_heap_tidy(heap) <= 0);
}

static const struct denial {
	const char *name;
	long number;
	bool poke, alias; /* does a heap with that writer work all the same? */
} denials[] = {
	{"memfd_create", SYS_memfd_create, true, false},
	{"ftruncate", SYS_ftruncate, true, false},
	{"fallocate", SYS_fallocate, true, false},
	{"fcntl", SYS_fcntl, true, false},
	{"openat", SYS_openat, false, true},
	{"pwrite64", SYS_pwrite64, false, true},
	{"pwritev", SYS_pwritev, false, true},
	{"madvise", SYS_madvise, true, true},
	{"membarrier", SYS_membarrier, true, true},
	{"getrandom", SYS_getrandom, true, true},
	{"mseal", SYS_mseal, true, true},
	{"mremap", SYS_mremap, true, true},
	{"mprotect", SYS_mprotect, true, true},
	{"prlimit64", SYS_prlimit64, true, true},
	{"getpid", SYS_getpid, true, true},
};

#define DENIALS (sizeof(denials) / sizeof(*denials))

static const int errors[] = {EPERM, ENOSYS, EACCES};

struct attempt {
	const struct denial *denial;
	int error;
	enum pp_writer writer;
};

static bool works(const struct attempt *attempt)
{
	switch (attempt->writer) {
	case PP_WRITER_POKE: return attempt->denial->poke;
	case PP_WRITER_ALIAS: return attempt->denial->alias;
	default: return true;
	}
}

static void start_denied(void *arg)
{
	const struct attempt *attempt = arg;
	struct pp_opts opts = test_opts(attempt->writer, 8);
	struct pp_heap *heap = NULL;
	int err;

	deny(attempt->denial->number, attempt->error);
	err = pp_heap_new(&opts, &heap);
	if (!works(attempt)) {
		CHECK(err == -attempt->error);
		CHECK(strstr(test_log, "does not work here: "));
		return;
	}
	CHECK(!err);
	use(heap);
	CHECK(call(test_block(heap, 64, 6)) == 6);
	pp_heap_free(heap);
}

static void go_on_denied(void *arg)
{
	const struct attempt *attempt = arg;
	struct pp_heap *heap = test_heap(attempt->writer, 8);
	void *rx = test_block(heap, 64, 6);

	deny(attempt->denial->number, attempt->error);
	use(heap);
	CHECK(call(rx) == 6);
	pp_heap_free(heap);
}

static void each_denial(enum pp_writer writer, void (*body)(void *arg))
{
	for (size_t i = 0; i < DENIALS; i++) {
		for (size_t k = 0; k < sizeof(errors) / sizeof(*errors); k++) {
			struct attempt attempt = {&denials[i], errors[k], writer};

			if (getenv("PROGPACK_TEST_EVERY") && (i + k) % 3)
				continue; /* in an emulator: one of the three */
			if (run_child(body, &attempt))
				fail_msg("%s denied with %s", denials[i].name, strerror(errors[k]));
		}
	}
}

static enum pp_writer test_auto = PP_WRITER_AUTO;

static void starts_or_says_why_not(void **state)
{
	each_denial(WRITER(state), start_denied);
}

static void goes_on_or_says_why_not(void **state)
{
	each_denial(WRITER(state), go_on_denied);
}

static void start_without_exec(void *arg)
{
	struct pp_opts opts = test_opts(PP_WRITER_AUTO, 2);
	struct pp_heap *heap = arg;

	deny_executable(EACCES);
	CHECK(pp_heap_new(&opts, &heap) == -EACCES);
	CHECK(heap == arg);
	CHECK(strstr(test_log, "writer poke does not work here: Permission denied"));
	CHECK(strstr(test_log, "writer alias does not work here: Permission denied"));
}

static void executable_memory_denied(void **state)
{
	assert_int_equal(run_child(start_without_exec, state), 0);
}

static void patch_unsynced(void *writer)
{
	struct pp_heap *heap = test_heap(*(enum pp_writer *)writer, 1);
	void *rx = test_block(heap, 64, 6);
	uint8_t byte = *(uint8_t *)rx;

	deny(SYS_membarrier, EPERM);
	CHECK(pp_patch(heap, rx, &byte, 1) == -EPERM);
	CHECK(strstr(test_log, "membarrier"));
	CHECK(test_stats(heap).fail_write == 1);
	CHECK(call(rx) == 6);
}

/* Rather no patch than one that a core does not see. */
static void patch_needs_a_sync(void **state)
{
#if defined(__riscv)
	print_message("skipped: RISC-V synchronises by riscv_flush_icache\n");
	skip();
#endif
	assert_int_equal(run_child(patch_unsynced, *state), 0);
}

/* 77: not permitted here. */
#define SKIPPED (77 << 8)

static void assert_done(int status, const char *what)
{
	if (status == SKIPPED) {
		print_message("skipped: not permitted: %s\n", what);
		skip();
	}
	assert_int_equal(status, 0);
}

static void run_without_proc(void *arg)
{
	struct pp_opts opts = test_opts(PP_WRITER_AUTO, 4);
	struct pp_heap *heap = arg;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/proc", "tmpfs", 0, NULL))
		_exit(77);
	CHECK(!pp_heap_new(&opts, &heap));
	CHECK(test_stats(heap).writer == PP_WRITER_ALIAS);
	CHECK(strstr(test_log, "writer poke does not work here: No such file or directory"));
	use(heap);
	CHECK(test_stats(heap).huge == 0);
	pp_heap_free(heap);
	opts = test_opts(PP_WRITER_POKE, 4);
	CHECK(pp_heap_new(&opts, &heap) == -ENOENT);
}

static void works_without_proc(void **state)
{
	assert_done(run_child(run_without_proc, state), "a private mount namespace");
}

static void run_life_at(const char *level)
{
	int fd = open("/proc/sys/vm/memfd_noexec", O_WRONLY | O_CLOEXEC);
	struct pp_heap *heap;

	if (fd < 0 || write(fd, level, 1) != 1)
		_exit(77);
	close(fd);
	heap = test_heap(PP_WRITER_ALIAS, 8);
	CHECK(heap);
	use(heap);
	CHECK(call(test_block(heap, 3 * MIB, 6)) == 6);
	pp_heap_free(heap);
}

/* The setting is a pid namespace's, and its first process is a child of whoever made it. */
static void run_noexec(void *level)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		_exit(77);
	pid = fork();
	if (!pid) {
		run_life_at(level);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void works_at_each_memfd_noexec(void **state)
{
	static char levels[] = {'0', '1', '2'};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_done(run_child(run_noexec, &levels[i]), "vm.memfd_noexec of a namespace");
}

static void grow_without_addresses(void *writer)
{
	struct pp_heap *heap = test_heap(*(enum pp_writer *)writer, 8);
	struct rlimit limit = {.rlim_cur = MIB, .rlim_max = RLIM_INFINITY};
	void *rx = test_block(heap, 64, 6);

	CHECK(!setrlimit(RLIMIT_AS, &limit));
	use(heap);
	CHECK(call(rx) == 6);
	CHECK(!pp_free(heap, rx));
	pp_heap_free(heap);
}

static void address_limit_is_an_error(void **state)
{
	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers need terabytes of addresses\n");
		skip();
	}
	assert_int_equal(run_child(grow_without_addresses, *state), 0);
}

static void start_without_descriptors(void *arg)
{
	struct rlimit limit = {.rlim_cur = 0, .rlim_max = 0};
	struct pp_opts opts = test_opts(PP_WRITER_AUTO, 8);
	struct pp_heap *heap = arg;

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(pp_heap_new(&opts, &heap) == -EMFILE);
	CHECK(strstr(test_log, "writer poke does not work here: Too many open files"));
	CHECK(strstr(test_log, "writer alias does not work here: Too many open files"));
}

/* As of a tmpfs that is full. It is no lack of addresses, which -ENOSPC would be. */
static void grow_without_room(void *arg)
{
	struct pp_heap *heap = test_heap(PP_WRITER_ALIAS, 4);
	struct pp_code code;

	(void)arg;
	deny(SYS_fallocate, ENOSPC);
	test_log[0] = 0;
	CHECK(pp_alloc(heap, MIB, &code) == -ENOMEM);
	CHECK(strstr(test_log, "memory for a memfd"));
	CHECK(!strstr(test_log, "reservation"));
	CHECK(figures(heap).fail_memory == 1);
	CHECK(figures(heap).fail_space == 0);
	CHECK(pp_alloc(heap, 64, &code) == 0);
}

static void full_tmpfs_is_no_memory(void **state)
{
	assert_int_equal(run_child(grow_without_room, state), 0);
}

static void descriptor_limit_is_an_error(void **state)
{
	assert_int_equal(run_child(start_without_descriptors, state), 0);
}

static bool has_mseal(void)
{
	return !syscall(SYS_mseal, 0, 0, 0);
}

static void seal_and_pry(void *writer)
{
	struct pp_opts opts = test_opts(*(enum pp_writer *)writer, 4);
	struct pp_heap *heap;
	struct pp_code code;
	uint8_t *rx, *small;

	opts.flags = PP_SEAL;
	CHECK(!pp_heap_new(&opts, &heap));
	small = test_block(heap, 64, 1);
	rx = test_block(heap, 3 * MIB, 6);
	CHECK(!mprotect(small, 4096, PROT_READ | PROT_EXEC));
	CHECK(mprotect(rx, 4096, PROT_READ) && errno == EPERM);
	CHECK(munmap(rx, 4096) && errno == EPERM);
	CHECK(mmap(rx, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      MAP_FAILED);
	CHECK(call(rx) == 6);
	CHECK(!pp_free(heap, rx));
	CHECK(test_stats(heap).packs == 3);
	for (int i = 0; i < 2000; i++)
		CHECK(!pp_free(heap, test_block(heap, 1000, 1)));
	CHECK(test_stats(heap).packs == 3);
	CHECK(!pp_alloc(heap, 4 * MIB, &code));
	CHECK(code.rx == rx);
	CHECK(!pp_finalize(heap, &code, 3 * MIB));
	CHECK(pp_heap_tidy(heap) <= 0);
	pp_heap_free(heap);
	CHECK(is_traps(rx, 4 * MIB));
	CHECK(munmap(rx, 4096) && errno == EPERM);
}

static void sealed_packs_cannot_be_changed(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 4);
	struct pp_heap *heap = NULL;

	if (!has_mseal()) {
		opts.flags = PP_SEAL;
		assert_int_equal(pp_heap_new(&opts, &heap), -ENOSYS);
		print_message("skipped: this kernel has no mseal (Linux 6.10)\n");
		skip();
	}
	assert_int_equal(run_child(seal_and_pry, *state), 0);
}

static void seal_denied(void *arg)
{
	struct pp_opts opts = test_opts(PP_WRITER_AUTO, 4);
	struct pp_heap *heap = arg;

	opts.flags = PP_SEAL;
	deny(SYS_mseal, ENOSYS);
	CHECK(pp_heap_new(&opts, &heap) == -ENOSYS);
	CHECK(strstr(test_log, "PP_SEAL"));
}

static void seal_is_refused_where_it_cannot_be(void **state)
{
	assert_int_equal(run_child(seal_denied, state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{"starts_or_says_why_not/auto", starts_or_says_why_not, NULL, NULL, &test_auto},
		EACH_WRITER(starts_or_says_why_not),
		EACH_WRITER(goes_on_or_says_why_not),
		cmocka_unit_test(executable_memory_denied),
		EACH_WRITER(patch_needs_a_sync),
		cmocka_unit_test(works_without_proc),
		cmocka_unit_test(works_at_each_memfd_noexec),
		EACH_WRITER(address_limit_is_an_error),
		cmocka_unit_test(full_tmpfs_is_no_memory),
		cmocka_unit_test(descriptor_limit_is_an_error),
		EACH_WRITER(sealed_packs_cannot_be_changed),
		cmocka_unit_test(seal_is_refused_where_it_cannot_be),
	};

	return cmocka_run_group_tests_name("confined", tests, NULL, NULL);
}

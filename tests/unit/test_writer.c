/* SPDX-License-Identifier: MIT */
/* test_writer.c - the choice of a writer, small limits, and huge pages */
#include "heap_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void auto_takes_poke(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_AUTO, 1);

	(void)state;
	assert_int_equal(test_stats(heap).writer, PP_WRITER_POKE);
	assert_string_equal(test_log, "");
	pp_heap_free(heap);
}

/* As a daemon that has dropped its privileges: /proc/self/mem is root's. */
static void become_undumpable_nobody(void)
{
	CHECK(!setgid(65534) || getgid());
	CHECK(!setuid(65534) || getuid());
	CHECK(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

static void use_heap(struct pp_heap *heap)
{
	void *rx = test_block(heap, 64, 11);

	CHECK(call(rx) == 11);
	CHECK(!pp_free(heap, rx));
	CHECK(is_traps(rx, 64));
	pp_heap_free(heap);
}

static void undumpable(void *arg)
{
	struct pp_heap *heap = arg;
	struct pp_opts opts = test_opts(PP_WRITER_AUTO, 2);

	become_undumpable_nobody();
	CHECK(!pp_heap_new(&opts, &heap));
	CHECK(test_stats(heap).writer == PP_WRITER_ALIAS);
	CHECK(!strcmp(test_log, "/proc/self/mem cannot be opened for writing\n"
				"writer poke does not work here: Permission denied\n"));
	use_heap(heap);
	opts = test_opts(PP_WRITER_POKE, 2);
	heap = arg;
	CHECK(pp_heap_new(&opts, &heap) == -EACCES);
	CHECK(heap == arg);
}

static void auto_takes_alias_where_poke_fails(void **state)
{
	assert_int_equal(run_child(undumpable, state), 0);
}

static void limit_files(size_t size)
{
	struct rlimit limit = {.rlim_cur = size, .rlim_max = RLIM_INFINITY};

	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

static void small_files(void *arg)
{
	struct pp_opts opts = test_opts(PP_WRITER_ALIAS, 2);
	struct pp_heap *heap = arg;

	limit_files(MIB);
	CHECK(pp_heap_new(&opts, &heap) == -EFBIG);
	CHECK(strstr(test_log, "writer alias does not work here: File too large"));
	opts = test_opts(PP_WRITER_AUTO, 2);
	CHECK(!pp_heap_new(&opts, &heap));
	use_heap(heap);
}

static void alias_respects_file_limit(void **state)
{
	assert_int_equal(run_child(small_files, state), 0);
}

static void neither(void *arg)
{
	struct pp_opts opts = test_opts(PP_WRITER_AUTO, 2);
	struct pp_heap *heap = arg;

	become_undumpable_nobody();
	limit_files(MIB);
	CHECK(pp_heap_new(&opts, &heap) == -EFBIG);
	CHECK(heap == arg);
	CHECK(strstr(test_log, "writer poke does not work here: "));
	CHECK(strstr(test_log, "writer alias does not work here: "));
}

static void no_writer_is_an_error(void **state)
{
	assert_int_equal(run_child(neither, state), 0);
}

/* The second pack cannot be had: an error, nothing changed, and it works once it can. */
static void grow_under_file_limit(void *arg)
{
	struct pp_heap *heap = test_heap(PP_WRITER_ALIAS, 4);
	struct pp_stats before, after;
	struct pp_code code;

	(void)arg;
	test_block(heap, 2 * MIB, 1);
	before = test_stats(heap);
	limit_files(MIB);
	CHECK(pp_alloc(heap, 64, &code) == -EFBIG);
	CHECK(pp_alloc(heap, 5 * MIB, &code) == -EFBIG);
	after = test_stats(heap);
	CHECK(is_same_state(&before, &after));
	CHECK(after.fail_memory == 2);
	limit_files(RLIM_INFINITY);
	CHECK(!pp_alloc(heap, 5 * MIB, &code));
	CHECK(!pp_finalize(heap, &code, 1));
}

static void grow_under_descriptor_limit(void *arg)
{
	struct pp_heap *heap = test_heap(*(enum pp_writer *)arg, 4);
	struct rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
	struct pp_code code;
	int err;

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	err = pp_alloc(heap, 5 * MIB, &code);
	CHECK(err == (*(enum pp_writer *)arg == PP_WRITER_ALIAS ? -EMFILE : 0));
	if (!err)
		CHECK(!pp_abort(heap, &code));
	use_heap(heap);
}

static void failed_growth_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(run_child(grow_under_file_limit, NULL), 0);
}

static void needs_no_descriptor_after_start(void **state)
{
	assert_int_equal(run_child(grow_under_descriptor_limit, *state), 0);
}

static size_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	CHECK(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_addresses(size_t more)
{
	struct rlimit limit = {.rlim_cur = address_space() + more, .rlim_max = RLIM_INFINITY};

	CHECK(!setrlimit(RLIMIT_AS, &limit));
}

static void halve(void *writer)
{
	struct pp_opts opts = test_opts(*(enum pp_writer *)writer, 256);
	struct pp_heap *heap = NULL;

	limit_addresses(40 * MIB);
	CHECK(!pp_heap_new(&opts, &heap));
	CHECK(test_stats(heap).reserved == 32 * MIB);
	CHECK(!strcmp(test_log, "no 536870912 bytes of addresses: Cannot allocate memory\n"
				"trying a reservation of 268435456 bytes\n"
				"no 268435456 bytes of addresses: Cannot allocate memory\n"
				"trying a reservation of 134217728 bytes\n"
				"no 134217728 bytes of addresses: Cannot allocate memory\n"
				"trying a reservation of 67108864 bytes\n"
				"no 67108864 bytes of addresses: Cannot allocate memory\n"
				"trying a reservation of 33554432 bytes\n"));
	use_heap(heap);
	limit_addresses(MIB);
	CHECK(pp_heap_new(&opts, &heap) == -ENOMEM);
	CHECK(strstr(test_log, "no 2097152 bytes of addresses"));
}

static void reservation_is_halved(void **state)
{
	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers need terabytes of addresses\n");
		skip();
	}
	assert_int_equal(run_child(halve, *state), 0);
}

/* Somewhere in here is a limit that the reservation fits, and then nothing else. */
static void leave_little(void *writer)
{
	bool was_for_the_writer = false;

	for (size_t more = 512 * MIB; more < 530 * MIB; more += MIB) {
		struct pp_opts opts = test_opts(*(enum pp_writer *)writer, 256);
		struct pp_heap *heap = NULL;

		limit_addresses(more);
		CHECK(!pp_heap_new(&opts, &heap));
		CHECK(test_stats(heap).reserved >= 256 * MIB);
		was_for_the_writer |= !!strstr(test_log, "mapping a memfd writable");
		use_heap(heap);
	}
	CHECK(was_for_the_writer == (*(enum pp_writer *)writer == PP_WRITER_ALIAS));
}

static void reservation_leaves_the_writer_room(void **state)
{
	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers need terabytes of addresses\n");
		skip();
	}
	assert_int_equal(run_child(leave_little, *state), 0);
}

static bool file_has(const char *path, const char *word)
{
	char text[128] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && strstr(text, word);
}

#ifndef MADV_COLLAPSE /* of Linux 6.1 */
#define MADV_COLLAPSE 25
#endif
#define THP "/sys/kernel/mm/transparent_hugepage/"

/* Linux before 6.18 does not make one page of what is nowhere writable. */
static bool collapses_read_only(void)
{
	char *at = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *huge = (uint8_t *)(((uintptr_t)at + 2 * MIB - 1) & ~(2 * MIB - 1));
	bool can;

	madvise(at, 4 * MIB, MADV_NOHUGEPAGE);
	memset(at, 1, 4 * MIB);
	mprotect(at, 4 * MIB, PROT_READ);
	madvise(at, 4 * MIB, MADV_HUGEPAGE);
	can = !madvise(huge, 2 * MIB, MADV_COLLAPSE);
	munmap(at, 4 * MIB);
	return can;
}

static bool gives_huge(enum pp_writer writer)
{
	if (!gives_anonymous_huge())
		return false;
	if (writer == PP_WRITER_POKE)
		return collapses_read_only();
	return !file_has(THP "shmem_enabled", "[deny]");
}

static uint64_t smaps_huge(const struct pp_heap *heap)
{
	uintptr_t lo, hi;

	pp_heap_range(heap, &lo, &hi);
	return (smaps_kb(lo, hi, "AnonHugePages") + smaps_kb(lo, hi, "ShmemPmdMapped")) << 10;
}

static void packs_are_huge_pages(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	struct pp_stats stats;

	test_block(heap, 3 * MIB, 1);
	test_block(heap, MIB + 1, 1);
	test_block(heap, MIB - 64, 1);
	stats = test_stats(heap);
	assert_int_equal(stats.huge, smaps_huge(heap));
	if (!gives_huge(WRITER(state))) {
		print_message("skipped: the kernel gives no huge pages here\n");
		pp_heap_free(heap);
		skip();
	}
	assert_int_equal(stats.huge, stats.committed);
	pp_heap_free(heap);
}

/* Heaps side by side are one range of alike mappings, but for the guard page between them. */
static void neighbours_are_told_apart(void **state)
{
	struct pp_heap *heap[6];

	for (size_t i = 0; i < 6; i++)
		heap[i] = test_heap(WRITER(state), 1);
	for (size_t i = 0; i < 6; i++) {
		struct pp_stats stats;

		test_block(heap[i], 2 * MIB, 1);
		stats = test_stats(heap[i]);
		assert_int_equal(stats.huge, smaps_huge(heap[i]));
		if (gives_huge(WRITER(state)))
			assert_int_equal(stats.huge, 2 * MIB);
	}
	for (size_t i = 0; i < 6; i++)
		pp_heap_free(heap[i]);
}

static void count_without_descriptors(void *arg)
{
	struct pp_heap *heap = test_heap(*(enum pp_writer *)arg, 1);
	struct pp_stats stats = {.size = sizeof(stats), .huge = 42};
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 3;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(pp_stats(heap, &stats) == -EMFILE);
	CHECK(stats.huge == 42);
	CHECK(!strcmp(test_log, "pp_stats: /proc/self/smaps: Too many open files\n"));
	limit.rlim_cur = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(!pp_stats(heap, &stats));
}

static void figures_need_a_descriptor(void **state)
{
	assert_int_equal(run_child(count_without_descriptors, *state), 0);
}

#define CANNOT 77

static struct {
	enum pp_writer writer;
	char empty[32];
} jail;

static void count_without_proc(void *arg)
{
	struct pp_heap *heap = test_heap(jail.writer, 1);
	struct pp_stats stats = {.size = sizeof(stats), .huge = 42};

	(void)arg;
	if (chroot(jail.empty) && (unshare(CLONE_NEWUSER) || chroot(jail.empty)))
		_exit(CANNOT);
	CHECK(!pp_stats(heap, &stats));
	CHECK(stats.huge == 0);
	CHECK(!strcmp(test_log, ""));
}

static void figures_without_proc_know_no_huge_pages(void **state)
{
	int status;

	jail.writer = WRITER(state);
	strcpy(jail.empty, "/tmp/progpack-XXXXXX");
	assert_non_null(mkdtemp(jail.empty));
	status = run_child(count_without_proc, NULL);
	rmdir(jail.empty);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
		print_message("skipped: chroot() is not allowed here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void small_pages_are_an_option(void **state)
{
	struct pp_opts opts = test_opts(WRITER(state), 2);
	struct pp_heap *heap = NULL;

	opts.flags = PP_SMALL_PAGES;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	assert_int_equal(call(test_block(heap, 64, 3)), 3);
	assert_int_equal(test_stats(heap).huge, 0);
	assert_int_equal(smaps_huge(heap), 0);
	pp_heap_free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auto_takes_poke),
		cmocka_unit_test(auto_takes_alias_where_poke_fails),
		cmocka_unit_test(alias_respects_file_limit),
		cmocka_unit_test(no_writer_is_an_error),
		cmocka_unit_test(failed_growth_changes_nothing),
		EACH_WRITER(needs_no_descriptor_after_start),
		EACH_WRITER(reservation_is_halved),
		EACH_WRITER(reservation_leaves_the_writer_room),
		EACH_WRITER(figures_need_a_descriptor),
		EACH_WRITER(figures_without_proc_know_no_huge_pages),
		EACH_WRITER(packs_are_huge_pages),
		EACH_WRITER(neighbours_are_told_apart),
		EACH_WRITER(small_pages_are_an_option),
	};

	return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_scarce.c - where memory is scarce: no huge pages for the process, a limit of locked memory,
 * and a small memory cgroup around it
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "heap_test.h"

/* Blocks that fill more than a pack; all run, and all are gone in the end. */
static void fill_a_pack(struct pp_heap *heap)
{
	enum { SIZE = 4096, COUNT = 700 };
	void *blocks[COUNT];

	for (unsigned int i = 0; i < COUNT; i++)
		blocks[i] = test_block(heap, SIZE, i);
	CHECK(test_stats(heap).committed > 2 * MIB);
	for (unsigned int i = 0; i < COUNT; i++)
		CHECK(call(blocks[i]) == i);
	for (unsigned int i = 0; i < COUNT; i++)
		CHECK(!pp_free(heap, blocks[i]));
}

static void run_without_huge_pages(void *writer)
{
	struct pp_heap *heap;

	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		_exit(77);
	heap = test_heap(*(enum pp_writer *)writer, 4);
	CHECK(heap);
	fill_a_pack(heap);
	CHECK(test_stats(heap).huge == 0);
	CHECK(pp_heap_tidy(heap) <= 0);
	fill_a_pack(heap);
	CHECK(test_stats(heap).huge == 0);
	pp_heap_free(heap);
}

static void works_where_huge_pages_are_off(void **state)
{
	int status = run_child(run_without_huge_pages, *state);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: this kernel has no PR_SET_THP_DISABLE\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* Whatever is mapped, a reservation too, counts as locked memory. Root may lock any amount. */
static void run_locked(void *writer)
{
	const struct rlimit limit = {.rlim_cur = 7 * MIB, .rlim_max = 7 * MIB};
	struct pp_opts opts = test_opts(*(enum pp_writer *)writer, 256);
	struct pp_heap *heap = NULL;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || (!getuid() && setuid(65534)) ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) || mlockall(MCL_FUTURE))
		_exit(77);
	CHECK(!pp_heap_new(&opts, &heap));
	CHECK(test_stats(heap).reserved <= 4 * MIB);
	CHECK(call(test_block(heap, 64, 5)) == 5);
	pp_heap_free(heap);
}

static void locked_memory_halves_the_reservation(void **state)
{
	int status;

	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers lock no memory\n");
		skip();
	}
	status = run_child(run_locked, *state);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: this process may not lock memory\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A memory cgroup of version 1 or 2, and the name of its limit there. */
static const struct hierarchy {
	const char *root, *limit;
} hierarchies[] = {
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	{"/sys/fs/cgroup", "memory.max"},
};

static bool write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* Make a cgroup with a limit: its folder, or false and there is none. */
static bool make_cgroup(char *folder, size_t size, const char *limit)
{
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(*hierarchies); i++) {
		snprintf(folder, size, "%s/progpack-test-%d", hierarchies[i].root, (int)getpid());
		if (mkdir(folder, 0700))
			continue;
		if (write_file(folder, hierarchies[i].limit, limit))
			return true;
		rmdir(folder);
	}
	return false;
}

struct confined {
	enum pp_writer writer;
	char folder[128];
};

/* Collapsing a pack takes a second one of memory for a moment. */
static void run_in_cgroup(void *arg)
{
	const struct confined *confined = arg;
	struct pp_heap *heap;

	if (!write_file(confined->folder, "cgroup.procs", "0"))
		_exit(77);
	heap = test_heap(confined->writer, 4);
	CHECK(heap);
	fill_a_pack(heap);
	CHECK(pp_heap_tidy(heap) <= 0);
	fill_a_pack(heap);
	pp_heap_free(heap);
}

static void works_in_a_small_cgroup(void **state)
{
	struct confined confined = {.writer = WRITER(state)};
	int status;

	if (UNDER_SANITIZER) {
		print_message("skipped: sanitizers need more memory than the cgroup has\n");
		skip();
	}
	if (!make_cgroup(confined.folder, sizeof(confined.folder), "16777216")) {
		print_message("skipped: memory cgroups cannot be made here\n");
		skip();
	}
	status = run_child(run_in_cgroup, &confined);
	rmdir(confined.folder);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: a process cannot be put into a memory cgroup here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(works_where_huge_pages_are_off),
		EACH_WRITER(locked_memory_halves_the_reservation),
		EACH_WRITER(works_in_a_small_cgroup),
	};

	return cmocka_run_group_tests_name("scarce", tests, NULL, NULL);
}

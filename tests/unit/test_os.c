/* SPDX-License-Identifier: MIT */
/* test_os.c - the contract of os.h, function by function */
#include "heap_test.h"
#include "os/cpu.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int anchor(void)
{
	return 0;
}

static bool find_mapping(const struct mapping *m, void *arg)
{
	struct mapping *wanted = arg;

	if (wanted->lo < m->lo || wanted->lo >= m->hi)
		return true;
	*wanted = *m;
	return false;
}

static struct mapping mapping_at(const void *at)
{
	struct mapping found = {.lo = (uintptr_t)at};

	each_mapping(find_mapping, &found);
	return found;
}

static void reservation_is_aligned_and_faults(void **state)
{
	void *base;

	(void)state;
	assert_int_equal(os_reserve(6 * MIB, NULL, &base), 0);
	assert_int_equal((uintptr_t)base % OS_HUGE, 0);
	assert_string_equal(mapping_at(base).perms, "---p");
	assert_string_equal(mapping_at((char *)base + 6 * MIB - 1).perms, "---p");
	os_unmap(base, 6 * MIB);
	assert_string_not_equal(mapping_at(base).perms, "---p");
}

static void reservation_too_large_is_enomem(void **state)
{
	void *base = state;

	assert_int_equal(os_reserve(SIZE_MAX & ~(OS_HUGE - 1), NULL, &base), -ENOMEM);
	assert_int_equal(os_reserve((size_t)1 << 60, NULL, &base), -ENOMEM);
	assert_ptr_equal(base, state);
}

static bool is_within_reach(uintptr_t lo, size_t size)
{
	uintptr_t here = (uintptr_t)anchor;
	uintptr_t far = here > lo ? here - lo : lo - here;
	uintptr_t end = lo + size, far_end = here > end ? here - end : end - here;

	return far <= cpu_reach() && far_end <= cpu_reach();
}

static void *anchor_address(void)
{
	int (*function)(void) = anchor;
	void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

static void reservation_near_is_within_reach(void **state)
{
	size_t size = cpu_reach() / 8;
	void *base;

	(void)state;
	assert_int_equal(os_reserve(size, anchor_address(), &base), 0);
	assert_int_equal((uintptr_t)base % OS_HUGE, 0);
	assert_true(is_within_reach((uintptr_t)base, size));
	os_unmap(base, size);
}

/* A full neighbourhood is no error: the next one comes from farther away. */
static void reservation_near_falls_back(void **state)
{
	size_t size = cpu_reach() / 16, taken = 0;
	void *base[64];

	(void)state;
	do {
		assert_true(taken < 64);
		assert_int_equal(os_reserve(size, anchor_address(), &base[taken]), 0);
	} while (is_within_reach((uintptr_t)base[taken++], size));
	while (taken)
		os_unmap(base[--taken], size);
}

static void code_is_private_and_poked(void **state)
{
	uint8_t pattern[64], bytes[1000];
	void *base;
	uint8_t *code;
	int fd = os_poke_open();

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(os_reserve(OS_HUGE, NULL, &base), 0);
	code = base;
	assert_int_equal(os_map_code(code, OS_HUGE), 0);
	assert_string_equal(mapping_at(code).perms, "r-xp");
	memset(bytes, 7, sizeof(bytes));
	memset(pattern, 9, sizeof(pattern));
	assert_int_equal(os_poke(fd, code + 4000, bytes, sizeof(bytes)), 0);
	assert_memory_equal(code + 4000, bytes, sizeof(bytes));
	assert_int_equal(code[3999], 0);
	assert_int_equal(code[5000], 0);
	assert_int_equal(os_poke_fill(fd, code + 8192, 128 * 1024, pattern, sizeof(pattern)), 0);
	for (size_t i = 0; i < 128 * 1024; i++)
		assert_int_equal(code[8192 + i], 9);
	assert_int_equal(code[8192 + 128 * 1024], 0);
	assert_int_equal(os_unmap_code(code, OS_HUGE), 0);
	assert_string_equal(mapping_at(code).perms, "---p");
	os_unmap(base, OS_HUGE);
	os_close(fd);
}

/* Writes that this process has asked the kernel for, see proc(5): 0 where it does not count. */
static uint64_t write_calls(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	uint64_t calls = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "syscw: ", 7))
			calls = strtoull(line + 7, NULL, 10);
	}
	if (file)
		fclose(file);
	return calls;
}

#define POKED ((size_t)64 << 10)

/* Within a page, over several, with an end or a start at a page's, and those next to them. */
static const size_t poke_offsets[] = {64, 4032, 4096, 4160, 8192 - 64};
static const size_t poke_sizes[] = {64, 4032, 4096, 8192, 8256, 12288, 16384, 40000};

static void check_poked(const uint8_t *code, size_t at, size_t size, uint8_t value, uint8_t before)
{
	for (size_t i = 0; i < POKED; i++)
		assert_int_equal(code[i], i >= at && i < at + size ? value : before);
}

static void poke_each_size(int fd, uint8_t *code, const uint8_t *bytes, size_t at)
{
	for (size_t i = 0; i < sizeof(poke_sizes) / sizeof(*poke_sizes); i++) {
		size_t size = poke_sizes[i];
		uint64_t calls = write_calls();

		assert_int_equal(os_poke(fd, code + at, bytes, size), 0);
		assert_memory_equal(code + at, bytes, size);
		assert_int_equal(code[at - 1], 9);
		assert_int_equal(code[at + size], 9);
		assert_int_equal(os_poke_fill(fd, code + at, size, bytes + POKED, 8192), 0);
		check_poked(code, at, size, 7, 9);
		assert_int_equal(os_poke_fill(fd, code, POKED, bytes + POKED + 8192, 8192), 0);
		check_poked(code, at, size, 9, 9);
		assert_true(!calls || write_calls() - calls == 3);
	}
}

static void poke_is_one_call_whatever_the_size(void **state)
{
	uint8_t *bytes = malloc(POKED + 2 * 8192);
	int fd = os_poke_open();
	void *code;

	(void)state;
	assert_true(fd >= 0 && bytes);
	for (size_t i = 0; i < POKED; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	memset(bytes + POKED, 7, 8192);
	memset(bytes + POKED + 8192, 9, 8192);
	assert_int_equal(os_reserve(OS_HUGE, NULL, &code), 0);
	assert_int_equal(os_map_code(code, POKED), 0);
	assert_int_equal(os_poke_fill(fd, code, POKED, bytes + POKED + 8192, 8192), 0);
	for (size_t i = 0; i < sizeof(poke_offsets) / sizeof(*poke_offsets); i++)
		poke_each_size(fd, code, bytes, poke_offsets[i]);
	if (!write_calls())
		fprintf(stderr, "# calls not counted: /proc/self/io does not\n");
	os_unmap(code, OS_HUGE);
	os_close(fd);
	free(bytes);
}

/* What was written before is the caller's to mend. */
static void poke_that_ends_early_is_an_error(void **state)
{
	static uint8_t bytes[8 * 4096];
	int fd = os_poke_open();
	uint8_t *code;
	void *base;

	(void)state;
	assert_true(fd >= 0);
	memset(bytes, 7, sizeof(bytes));
	assert_int_equal(os_reserve(OS_HUGE, NULL, &base), 0);
	code = base;
	assert_int_equal(os_map_code(code, POKED), 0);
	assert_int_equal(munmap(code + POKED, OS_HUGE - POKED), 0);
	assert_int_equal(os_poke(fd, code + POKED - 20000, bytes, sizeof(bytes)), -EIO);
	assert_int_equal(code[POKED - 20001], 0);
	assert_memory_equal(code + POKED - 20000, bytes, 20000);
	assert_int_equal(os_poke_fill(fd, code + POKED - 40000, sizeof(bytes) * 2, bytes, 64),
			 -EIO);
	assert_memory_equal(code + POKED - 40000, bytes, 32768);
	assert_int_equal(code[POKED - 40001], 0);
	os_unmap(code, POKED);
	os_close(fd);
}

static void poke_of_nothing_mapped_is_an_error(void **state)
{
	uint8_t bytes[64] = {0};
	void *base;
	int fd = os_poke_open();

	(void)state;
	assert_int_equal(os_reserve(2 * OS_HUGE, NULL, &base), 0);
	os_unmap(base, 2 * OS_HUGE);
	assert_int_equal(os_poke(fd, base, bytes, sizeof(bytes)), -EIO);
	assert_int_equal(os_poke_fill(fd, base, 64, bytes, sizeof(bytes)), -EIO);
	os_close(fd);
	assert_int_equal(os_poke(fd, base, bytes, sizeof(bytes)), -EBADF);
}

static void sealed_file_has_no_new_writers(void **state)
{
	void *base, *rw, *again;
	int fd = os_memfd("test", OS_HUGE);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(os_reserve(OS_HUGE, NULL, &base), 0);
	assert_int_equal(os_map_file_rw(fd, OS_HUGE, &rw), 0);
	assert_int_equal(os_seal_file(fd), 0);
	assert_int_equal(os_map_file_code(fd, 0, base, OS_HUGE), 0);
	assert_string_equal(mapping_at(base).perms, "r-xs");
	assert_string_equal(mapping_at(rw).perms, "rw-s");
	memset(rw, 5, 64);
	assert_int_equal(*(uint8_t *)base, 5);
	assert_int_equal(os_map_file_rw(fd, OS_HUGE, &again), -EPERM);
	assert_int_equal(mprotect(base, OS_HUGE, PROT_READ | PROT_WRITE) ? errno : 0, EACCES);
	assert_int_equal(pwrite(fd, "x", 1, 0) < 0 ? errno : 0, EPERM);
	assert_int_equal(ftruncate(fd, 0) ? errno : 0, EPERM);
	assert_int_equal(os_seal_file(fd), -EPERM);
	os_unmap(rw, OS_HUGE);
	os_unmap(base, OS_HUGE);
	os_close(fd);
}

static void small_file_limit(void *arg)
{
	struct rlimit limit = {.rlim_cur = MIB, .rlim_max = RLIM_INFINITY};

	(void)arg;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(os_memfd("test", OS_HUGE) == -EFBIG);
	CHECK(os_memfd("test", MIB) >= 0);
}

static void file_limit_is_no_signal(void **state)
{
	(void)state;
	assert_int_equal(run_child(small_file_limit, NULL), 0);
}

static void huge_bytes_are_those_of_smaps(void **state)
{
	void *base;
	uint64_t bytes = 1;
	uintptr_t lo;

	(void)state;
	assert_int_equal(os_reserve(2 * OS_HUGE, NULL, &base), 0);
	lo = (uintptr_t)base;
	os_unmap(base, OS_HUGE);
	assert_int_equal(os_huge_bytes(lo, lo + 2 * OS_HUGE, &bytes), 0);
	assert_int_equal(bytes, 0);
	base = (char *)base + OS_HUGE;
	assert_int_equal(mprotect(base, OS_HUGE, PROT_READ | PROT_WRITE), 0);
	os_want_huge(base, OS_HUGE);
	memset(base, 1, OS_HUGE);
	assert_int_equal(os_huge_bytes(lo, lo + 2 * OS_HUGE, &bytes), 0);
	assert_int_equal(bytes, smaps_kb(lo, lo + 2 * OS_HUGE, "AnonHugePages") << 10);
	os_unmap(base, OS_HUGE);
}

static void mappings_are_counted(void **state)
{
	long before = os_count_maps();
	void *at;

	(void)state;
	assert_true(before > 0);
	assert_int_equal(os_map_rw(3 * os_page_size(), &at), 0);
	assert_int_equal(os_protect_rx((char *)at + os_page_size(), os_page_size()), 0);
	assert_in_range(os_count_maps() - before, 2, 3);
	os_unmap(at, 3 * os_page_size());
	assert_int_equal(os_count_maps(), before);
}

static void benchmark_pages_run(void **state)
{
	void *at;

	(void)state;
	assert_int_equal(os_map_rw(os_page_size(), &at), 0);
	emit_return(at, 0x1234567);
	assert_int_equal(os_protect_rx(at, os_page_size()), 0);
	cpu_sync(at, os_page_size());
	assert_string_equal(mapping_at(at).perms, "r-xp");
	assert_int_equal(call(at), 0x1234567);
	os_unmap(at, os_page_size());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reservation_is_aligned_and_faults),
		cmocka_unit_test(reservation_too_large_is_enomem),
		cmocka_unit_test(reservation_near_is_within_reach),
		cmocka_unit_test(reservation_near_falls_back),
		cmocka_unit_test(code_is_private_and_poked),
		cmocka_unit_test(poke_is_one_call_whatever_the_size),
		cmocka_unit_test(poke_that_ends_early_is_an_error),
		cmocka_unit_test(poke_of_nothing_mapped_is_an_error),
		cmocka_unit_test(sealed_file_has_no_new_writers),
		cmocka_unit_test(file_limit_is_no_signal),
		cmocka_unit_test(huge_bytes_are_those_of_smaps),
		cmocka_unit_test(mappings_are_counted),
		cmocka_unit_test(benchmark_pages_run),
	};

	return cmocka_run_group_tests_name("os", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include "heap_test.h"
#include "os/cpu.h"
#include "os/os.h"

#include <dirent.h>
#include <malloc.h>

struct fault fault;

void fault_arm(unsigned int nth, int err, bool all_later)
{
	fault = (struct fault){.nth = nth, .err = err, .all_later = all_later};
}

void fault_arm_only(const char *function, int err)
{
	fault = (struct fault){.only = function, .err = err};
}

unsigned int fault_disarm(void)
{
	fault.nth = 0;
	fault.only = NULL;
	return fault.injected;
}

static bool is_due(const char *function)
{
	if (fault.only)
		return !strcmp(fault.only, function);
	if (!fault.nth)
		return false;
	fault.calls++;
	return fault.calls == fault.nth || (fault.all_later && fault.calls > fault.nth);
}

static bool fails(const char *function)
{
	if (!is_due(function))
		return false;
	if (!__atomic_fetch_add(&fault.injected, 1, __ATOMIC_RELAXED))
		fault.first = function;
	return true;
}

/* Functions that give 0, or a descriptor, or -errno: name, parameters, arguments. */
#define WRAPPED(W)                                                                                 \
	W(os_reserve, (size_t size, const void *near, void **base), (size, near, base))            \
	W(os_map_code, (void *at, size_t size), (at, size))                                        \
	W(os_unmap_code, (void *at, size_t size), (at, size))                                      \
	W(os_poke_open, (void), ())                                                                \
	W(os_memfd, (const char *name, size_t size), (name, size))                                 \
	W(os_file_alloc, (int fd, size_t from, size_t size), (fd, from, size))                     \
	W(os_map_file_rw, (int fd, size_t size, void **rw), (fd, size, rw))                        \
	W(os_seal_file, (int fd), (fd))                                                            \
	W(os_map_file_code, (int fd, size_t from, void *at, size_t size), (fd, from, at, size))    \
	W(os_map_wiped, (void **page), (page))                                                     \
	W(os_dont_fork, (void *at, size_t size), (at, size))                                       \
	W(os_seal_code, (void *at, size_t size), (at, size))                                       \
	W(os_huge_bytes, (uintptr_t lo, uintptr_t hi, uint64_t * bytes), (lo, hi, bytes))          \
	W(os_map_rw, (size_t size, void **at), (size, at))                                         \
	W(cpu_can_sync_live, (void), ())

#define WRAP(name, parameters, arguments)                                                          \
	int __real_##name parameters;                                                              \
	int __wrap_##name parameters;                                                              \
	int __wrap_##name parameters                                                               \
	{                                                                                          \
		return fails(#name) ? -fault.err : __real_##name arguments;                        \
	}

#define NAME(name, parameters, arguments) #name,

WRAPPED(WRAP)

const char *const fault_wrapped[] = {WRAPPED(NAME) "os_poke", "os_poke_fill", "os_collapse", NULL};

int __wrap_os_collapse(void *at, size_t size);

/* Whether there are huge pages depends on the host, and the heap cannot tell: none is made. */
int __wrap_os_collapse(void *at, size_t size)
{
	(void)at;
	(void)size;
	return fails("os_collapse") ? -fault.err : 0;
}

int __real_os_poke(int fd, void *at, const void *from, size_t size);
int __wrap_os_poke(int fd, void *at, const void *from, size_t size);

int __wrap_os_poke(int fd, void *at, const void *from, size_t size)
{
	if (!fails("os_poke"))
		return __real_os_poke(fd, at, from, size);
	(void)__real_os_poke(fd, at, from, size / 2);
	return -fault.err;
}

int __real_os_poke_fill(int fd, void *at, size_t size, const void *pattern, size_t unit);
int __wrap_os_poke_fill(int fd, void *at, size_t size, const void *pattern, size_t unit);

int __wrap_os_poke_fill(int fd, void *at, size_t size, const void *pattern, size_t unit)
{
	if (!fails("os_poke_fill"))
		return __real_os_poke_fill(fd, at, size, pattern, unit);
	(void)__real_os_poke_fill(fd, at, size / 2 / 64 * 64, pattern, unit);
	return -fault.err;
}

/* Memory that came from here: libc's own, which code under test frees too, is not in the table. */
static struct {
	void *at[4096];
	size_t n;
} taken;

static void *remember(void *at)
{
	if (at && taken.n == sizeof(taken.at) / sizeof(*taken.at))
		abort();
	if (at)
		taken.at[taken.n++] = at;
	return at;
}

static void forget(const void *at)
{
	for (size_t i = taken.n; i--;) {
		if (taken.at[i] == at) {
			taken.at[i] = taken.at[--taken.n];
			return;
		}
	}
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void __real_free(void *at);
void __wrap_free(void *at);

void *__wrap_malloc(size_t size)
{
	return fails("malloc") ? NULL : remember(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails("calloc") ? NULL : remember(__real_calloc(n, size));
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails("aligned_alloc") ? NULL : remember(__real_aligned_alloc(align, size));
}

void *__wrap_realloc(void *at, size_t size)
{
	if (fails("realloc"))
		return NULL;
	forget(at);
	return remember(__real_realloc(at, size));
}

void __wrap_free(void *at)
{
	forget(at);
	__real_free(at);
}

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	if (!dir)
		abort();
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool add_size(const struct mapping *mapping, void *arg)
{
	size_t *sum = arg;

	if (!strstr(mapping->path, "[heap]") && !strstr(mapping->path, "[stack]"))
		*sum += mapping->hi - mapping->lo;
	return true;
}

struct balance fault_balance(void)
{
	struct balance balance = {.fds = count_fds(), .mallocs = taken.n};

	if (!UNDER_SANITIZER)
		each_mapping(add_size, &balance.mapped);
	for (size_t i = 0; i < taken.n; i++)
		balance.bytes += malloc_usable_size(taken.at[i]);
	return balance;
}

bool fault_keeps_but_memory(const struct balance *then)
{
	struct balance now = fault_balance();

	return now.fds == then->fds && now.mapped == then->mapped && now.mallocs >= then->mallocs;
}

bool fault_is_balanced(const struct balance *then)
{
	struct balance now = fault_balance();

	if (now.fds == then->fds && now.mapped == then->mapped && now.mallocs == then->mallocs &&
	    now.bytes == then->bytes)
		return true;
	fprintf(stderr, "descriptors %+zd, mapped %+zd, allocations %+zd of %+zd bytes\n",
		(ssize_t)(now.fds - then->fds), (ssize_t)(now.mapped - then->mapped),
		(ssize_t)(now.mallocs - then->mallocs), (ssize_t)(now.bytes - then->bytes));
	return false;
}

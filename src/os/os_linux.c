/* SPDX-License-Identifier: MIT */
/* os_linux.c - os.h on Linux: address space, files and writes; os_proc.c reads /proc */
#include "os/os.h"

#include "os/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of Linux 6.1 and older; Debian 12's libc does not know all of them. */
#ifndef SYS_mseal /* of Linux 6.10; the same number on every arch */
#define SYS_mseal 462
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

size_t os_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

unsigned int os_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? UINT_MAX : (unsigned int)CPU_COUNT(&set);
}

/* Over RLIMIT_MEMLOCK after mlockall(MCL_FUTURE) is -EAGAIN: less would do, as of other memory. */
static int map_file(void **at, size_t size, int prot, int flags, int fd, size_t from)
{
	void *got = mmap(*at, size, prot, flags, fd, (off_t)from);

	if (got == MAP_FAILED)
		return errno == EAGAIN ? -ENOMEM : -errno;
	*at = got;
	return 0;
}

static int map(void **at, size_t size, int prot, int flags)
{
	return map_file(at, size, prot, flags, -1, 0);
}

void os_unmap(void *at, size_t size)
{
	if (at && size)
		munmap(at, size);
}

/* Not of the dynamic linker, which runs first, nor of the library that this is in. */
const void *os_program_text(void)
{
	return (const void *)(uintptr_t)getauxval(AT_ENTRY);
}

#define RESERVED (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static uintptr_t align_up(uintptr_t addr)
{
	return (addr + OS_HUGE - 1) & ~(uintptr_t)(OS_HUGE - 1);
}

/* Take one huge page more than wanted, and give back what is unaligned at both ends. */
static int reserve_anywhere(size_t size, void **base)
{
	void *got = NULL;
	uintptr_t lo, start;
	int err;

	if (size > SIZE_MAX - OS_HUGE)
		return -ENOMEM;
	err = map(&got, size + OS_HUGE, PROT_NONE, RESERVED);
	if (err)
		return err;
	lo = (uintptr_t)got;
	start = align_up(lo);
	os_unmap(got, start - lo);
	os_unmap((void *)(start + size), lo + OS_HUGE - start);
	*base = (void *)start;
	return 0;
}

/* Kernels before 4.17 take MAP_FIXED_NOREPLACE for a hint: check where we landed. */
static bool reserve_at(size_t size, uintptr_t start, void **base)
{
	void *got = (void *)start;

	if (map(&got, size, PROT_NONE, RESERVED | MAP_FIXED_NOREPLACE))
		return false;
	if (got != (void *)start) {
		os_unmap(got, size);
		return false;
	}
	*base = got;
	return true;
}

#define NEAR_TRIES 64

/*
 * Below the anchor first, nearest first, as the anchor is mostly program text and brk grows
 * above it; above it the farthest first, for the same reason. Bounded: 2 * NEAR_TRIES calls.
 */
static bool reserve_near(size_t size, uintptr_t near, void **base)
{
	size_t reach = cpu_reach(), room, step;

	if (size >= reach)
		return false;
	room = reach - size;
	step = room / NEAR_TRIES;
	for (size_t i = 0; i < NEAR_TRIES; i++) {
		uintptr_t below = near - size - i * step;

		if (below > near || below < OS_HUGE)
			break;
		if (reserve_at(size, below & ~(uintptr_t)(OS_HUGE - 1), base))
			return true;
	}
	for (size_t i = 0; i < NEAR_TRIES; i++) {
		uintptr_t above = near + room - i * step;

		if (above > near && reserve_at(size, above & ~(uintptr_t)(OS_HUGE - 1), base))
			return true;
	}
	return false;
}

int os_reserve(size_t size, const void *near, void **base)
{
	if (near && reserve_near(size, (uintptr_t)near, base))
		return 0;
	return reserve_anywhere(size, base);
}

int os_map_code(void *at, size_t size)
{
	return map(&at, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
}

int os_unmap_code(void *at, size_t size)
{
	return map(&at, size, PROT_NONE, RESERVED | MAP_FIXED);
}

int os_map_rw(size_t size, void **at)
{
	void *got = NULL;
	int err = map(&got, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);

	if (!err)
		*at = got;
	return err;
}

int os_protect_rx(void *at, size_t size)
{
	return mprotect(at, size, PROT_READ | PROT_EXEC) ? -errno : 0;
}

int os_poke_open(void)
{
	int fd = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* One write: the bytes taken, or -errno; nothing taken is an error too. */
static ssize_t poke_some(int fd, const struct iovec *parts, int nparts, const uint8_t *at)
{
	off_t to = (off_t)(uintptr_t)at;
	ssize_t n;

	do {
		n = nparts == 1 ? pwrite(fd, parts->iov_base, parts->iov_len, to)
				: pwritev(fd, parts, nparts, to);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? n : -EIO;
}

/*
 * The kernel goes through a part in steps of a page from where the part begins, and looks up each
 * page that a step touches: two of them unless the part begins with one. A first part that ends
 * with its page spares that, but costs about a step itself: it pays from three pages on.
 */
static size_t first_part(const uint8_t *at, size_t size)
{
	size_t page = os_page_size(), over = (uintptr_t)at % page;

	return over && size > 2 * page ? page - over : size;
}

int os_poke(int fd, void *at, const void *from, size_t size)
{
	uint8_t *to = at, *next = (uint8_t *)(uintptr_t)from;

	while (size) {
		size_t first = first_part(to, size);
		struct iovec parts[] = {{next, first}, {next + first, size - first}};
		ssize_t n = poke_some(fd, parts, first < size ? 2 : 1, to);

		if (n < 0)
			return (int)n;
		next += n;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

#define FILL_PARTS 512

/* @first: bytes of the first part, if the pattern is as long. */
static int repeat(struct iovec *parts, const void *pattern, size_t unit, size_t first, size_t size)
{
	size_t part = first < unit ? first : unit;
	int nparts = 0;

	while (size && nparts < FILL_PARTS) {
		parts[nparts].iov_base = (void *)(uintptr_t)pattern;
		parts[nparts++].iov_len = part;
		size -= part;
		part = size < unit ? size : unit;
	}
	return nparts;
}

int os_poke_fill(int fd, void *at, size_t size, const void *pattern, size_t unit)
{
	struct iovec parts[FILL_PARTS];
	uint8_t *to = at;

	while (size) {
		int nparts = repeat(parts, pattern, unit, first_part(to, size), size);
		ssize_t n = poke_some(fd, parts, nparts, to);

		if (n < 0)
			return (int)n;
		n -= n % 64; /* a pattern cut short is written again from its start */
		if (!n)
			return -EIO;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

/*
 * A hint: the kernel takes another address if this one is in use. Below the stack, which is near
 * the end of what the CPU has: 39 bits on most RISC-V ones. Whole huge pages, so that the view
 * takes no page table of its own.
 */
static void *random_hint(void)
{
	uint64_t bits = 0, stack = getauxval(AT_RANDOM);

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits))
		return NULL;
	bits >>= 18;
	if (stack)
		bits %= stack;
	return (void *)(uintptr_t)(bits & ~(uint64_t)(OS_HUGE - 1));
}

int os_map_file_rw(int fd, size_t size, void **rw)
{
	void *got = random_hint();
	int err = map_file(&got, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (!err)
		*rw = got;
	return err;
}

int os_seal_file(int fd)
{
	const int seals = F_SEAL_FUTURE_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

	return fcntl(fd, F_ADD_SEALS, seals) ? -errno : 0;
}

int os_map_file_code(int fd, size_t from, void *at, size_t size)
{
	return map_file(&at, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, from);
}

void os_drop_view(void *at, size_t size)
{
	(void)madvise(at, size, MADV_DONTNEED);
}

void os_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void os_want_huge(void *at, size_t size)
{
	(void)madvise(at, size, MADV_HUGEPAGE);
}

void os_want_small(void *at, size_t size)
{
	(void)madvise(at, size, MADV_NOHUGEPAGE);
}

void os_name_mapping(void *at, size_t size, const char *name)
{
	(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, size, name);
}

int os_collapse(void *at, size_t size)
{
	if (!madvise(at, size, MADV_COLLAPSE))
		return 0;
	return errno == EINVAL ? -ENOTSUP : -errno;
}

int os_seal_code(void *at, size_t size)
{
	return syscall(SYS_mseal, at, size, 0ul) ? -errno : 0;
}

int os_map_wiped(void **page)
{
	void *got;
	int err = os_map_rw(os_page_size(), &got);

	if (err)
		return err;
	if (!madvise(got, os_page_size(), MADV_WIPEONFORK)) {
		*page = got;
		return 0;
	}
	err = -errno;
	os_unmap(got, os_page_size());
	return err;
}

int os_dont_fork(void *at, size_t size)
{
	return madvise(at, size, MADV_DONTFORK) ? -errno : 0;
}

/* Not libc's getpid(), which once kept a copy that a raw fork does not change. */
pid_t os_process(void)
{
	return (pid_t)syscall(SYS_getpid);
}

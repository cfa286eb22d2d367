/* SPDX-License-Identifier: MIT */
/*
 * os.h - the operating system as progpack uses it: every system call of the heap is behind
 * one of these functions, so that a test can make the nth one fail
 *
 * Contract of all: sizes and addresses of mappings are multiples of the page size; 0 or
 * -errno (or a value where the comment says so); on failure nothing is mapped, opened or
 * changed, and no signal is raised. No mapping made here is ever writable and executable,
 * nor turns from one into the other but by os_protect_rx(), which only the benchmarks use.
 */
#ifndef OS_OS_H
#define OS_OS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/memfd.h"

#define OS_HUGE ((size_t)2 << 20)

size_t os_page_size(void);

/* os_cpus - how many this process may run on; UINT_MAX if the kernel does not say */
unsigned int os_cpus(void);

/*
 * os_reserve - take @size bytes of addresses, aligned to OS_HUGE, that fault on any access
 * @near: wanted within branch reach of it; NULL for anywhere. Only a wish.
 */
int os_reserve(size_t size, const void *near, void **base);

/* os_program_text - an address in the main program's code; NULL if the kernel does not say */
const void *os_program_text(void);

/* os_unmap - give back any mapping or reservation made here */
void os_unmap(void *at, size_t size);

/* os_map_code - private R-X memory, zero-filled, over a part of a reservation */
int os_map_code(void *at, size_t size);

/* os_unmap_code - turn a part of a reservation that was mapped back into faulting addresses */
int os_unmap_code(void *at, size_t size);

/*
 * os_poke_open - an fd that os_poke() writes this process's memory through
 * Return: the fd, or -errno (-EACCES: not dumpable; -ENOENT: no /proc).
 */
int os_poke_open(void);

/*
 * os_poke - write to private memory of this process, whatever its protection
 * All or -errno: short writes are continued, EINTR retried.
 */
int os_poke(int fd, void *at, const void *from, size_t size);

/*
 * os_poke_fill - the same with what repeats every 64 bytes in @unit bytes of @pattern; one system
 * call per few hundred units. @at, @size and @unit are multiples of 64.
 */
int os_poke_fill(int fd, void *at, size_t size, const void *pattern, size_t unit);

/* os_map_file_rw - a shared read-write view of @fd at a random address */
int os_map_file_rw(int fd, size_t size, void **rw);

/* os_seal_file - forbid resizing, new writable views and further seals; views made before stay */
int os_seal_file(int fd);

/* os_map_file_code - a shared R-X view of a part of a sealed file, over a part of a reservation */
int os_map_file_code(int fd, size_t from, void *at, size_t size);

/* os_drop_view - a shared view's pages count as resident no more until they are touched; best
 * effort */
void os_drop_view(void *at, size_t size);

void os_close(int fd);

/* os_map_wiped - a private page that is zero, and is zero again in a child of fork() */
int os_map_wiped(void **page);

/* os_dont_fork - a child of fork() has nothing at these addresses: 0, or -errno */
int os_dont_fork(void *at, size_t size);

/* os_process - this process's id, by a system call */
pid_t os_process(void);

/* os_want_huge, os_want_small - advise the kernel before memory is first touched; best effort */
void os_want_huge(void *at, size_t size);
void os_want_small(void *at, size_t size);

/*
 * os_name_mapping - have private memory called "[anon:NAME]" in /proc/PID/maps; best effort
 * @name: below 80 bytes, printable, none of \ ` $ [ ]
 */
void os_name_mapping(void *at, size_t size, const char *name);

/*
 * os_collapse - turn mapped, touched 2 MiB ranges into huge pages now: 0, or -errno and no harm
 * -ENOTSUP: the kernel cannot. Before Linux 6.1 there is no such call, and before 6.18 it takes
 * no private memory that is nowhere writable.
 */
int os_collapse(void *at, size_t size);

/* os_seal_code - nobody can unmap it or change its protection any more (mseal): 0, or -ENOSYS */
int os_seal_code(void *at, size_t size);

/*
 * os_huge_bytes - bytes of lo .. hi-1 on huge pages, by /proc/self/smaps
 * Counts AnonHugePages, ShmemPmdMapped and FilePmdMapped of mappings that lie within.
 * Return: 0, or -errno (-ENOENT: no /proc, or a kernel without smaps).
 */
int os_huge_bytes(uintptr_t lo, uintptr_t hi, uint64_t *bytes);

/* os_count_maps - mappings of this process, by /proc/self/maps: the count, or -errno */
long os_count_maps(void);

/*
 * The page-per-program way, for the benchmarks that compare with it: map read-write, write,
 * then os_protect_rx(). Works neither under PR_SET_MDWE nor under SELinux's execmem denial.
 */
int os_map_rw(size_t size, void **at);
int os_protect_rx(void *at, size_t size);

#endif

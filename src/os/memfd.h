/* SPDX-License-Identifier: MIT */
/* memfd.h - memory that has a file descriptor, so that it can be mapped twice */
#ifndef OS_MEMFD_H
#define OS_MEMFD_H

#include <stddef.h>

/*
 * os_memfd - a sealable anonymous file of @size bytes, sparse: it takes no memory yet
 * Never executable by exec; may be mapped executable also at vm.memfd_noexec=2. Checks
 * RLIMIT_FSIZE first (SIGXFSZ kills). Return: the fd, or -errno.
 */
int os_memfd(const char *name, size_t size);

/*
 * os_file_alloc - take memory for a part of a file, sealed or not
 * A full tmpfs or memory cgroup is an error here, not a SIGBUS at the first touch: -ENOMEM, as
 * -ENOSPC is said of a heap's addresses.
 */
int os_file_alloc(int fd, size_t from, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#include "os/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Of Linux 6.3; Debian 12's libc does not know them. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif
/*
 * A file that exec refuses may still be mapped executable, and it is the only kind there is at
 * vm.memfd_noexec=2; kernels before 6.3 know neither flag. See memfd_create(2).
 */
static int memfd_open(const char *name)
{
	static const unsigned int kinds[] = {MFD_NOEXEC_SEAL, MFD_EXEC, 0};
	int fd = -1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && fd < 0; i++)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kinds[i]);
	return fd < 0 ? -errno : fd;
}

static bool fits_file_limit(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       size <= limit.rlim_cur;
}

int os_memfd(const char *name, size_t size)
{
	int fd, err;

	if (!fits_file_limit(size))
		return -EFBIG;
	fd = memfd_open(name);
	if (fd < 0)
		return fd;
	if (!ftruncate(fd, (off_t)size))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int os_file_alloc(int fd, size_t from, size_t size)
{
	int err;

	do {
		err = fallocate(fd, 0, (off_t)from, (off_t)size) ? -errno : 0;
	} while (err == -EINTR);
	return err == -ENOSPC ? -ENOMEM : err;
}

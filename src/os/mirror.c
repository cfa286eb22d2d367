/* SPDX-License-Identifier: MIT */
#include "os/mirror.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/memfd.h"

size_t mirror_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* All of it is taken now: what a program writes to later must not end in a SIGBUS. */
static int open_file(size_t size)
{
	int fd = os_memfd("progpack-ring", size), err;

	if (fd < 0)
		return fd;
	err = os_file_alloc(fd, 0, size);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int map_part(void *at, size_t size, int fd, size_t from)
{
	void *got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)from);

	return got == MAP_FAILED ? -errno : 0;
}

int mirror_map(size_t head, size_t body, void **base)
{
	size_t size = head + 2 * body;
	int fd = open_file(head + body), err;
	uint8_t *at;

	if (fd < 0)
		return fd;
	at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	err = at == MAP_FAILED ? -errno : 0;
	if (err)
		goto close_fd;
	err = map_part(at, head + body, fd, 0);
	if (!err)
		err = map_part(at + head + body, body, fd, head);
	if (err)
		munmap(at, size);
	else
		*base = at;
close_fd:
	close(fd); /* the mappings keep the memory */
	return err;
}

void mirror_unmap(void *base, size_t head, size_t body)
{
	munmap(base, head + 2 * body);
}

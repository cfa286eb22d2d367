/* SPDX-License-Identifier: MIT */
/*
 * writer_poke.c - private memory, R-X from birth, written through /proc/self/mem
 *
 * The kernel lets a process write its own memory there whatever the mapping says, as it lets a
 * debugger; see proc(5). So there is no writable view, at no address, at no time.
 */
#include "heap/pack.h"
#include "heap/writer.h"
#include "os/os.h"

#include <string.h>

static int poke_open(struct memory *mem)
{
	int fd = os_poke_open();

	if (fd < 0)
		return log_error(&mem->log, fd, "/proc/self/mem cannot be opened for writing");
	mem->fd = fd;
	return 0;
}

static void poke_close(struct memory *mem)
{
	os_close(mem->fd);
	mem->fd = -1;
}

static int poke_copy(struct memory *mem, uint8_t *rx, const uint8_t *from, size_t size)
{
	int err = os_poke(mem->fd, rx, from, size);

	if (err)
		return log_error(&mem->log, err, "writing %zu bytes through /proc/self/mem: %s",
				 size, strerror(-err));
	return 0;
}

static int poke_fill(struct memory *mem, uint8_t *rx, size_t size)
{
	int err = os_poke_fill(mem->fd, rx, size, mem->traps, TRAP_UNIT);

	if (err)
		return log_error(&mem->log, err,
				 "writing %zu bytes of traps through /proc/self/mem", size);
	return 0;
}

static void poke_unmap(struct memory *mem, size_t p)
{
	os_unmap_code(pack_rx(mem, p), PACK_SIZE);
}

/* Whether it becomes a huge page is decided by the first touch: the fill. */
static int poke_map(struct memory *mem, size_t p)
{
	uint8_t *rx = pack_rx(mem, p);
	int err = os_map_code(rx, PACK_SIZE);

	if (err)
		return log_error(&mem->log, err, "mapping private executable memory");
	if (mem->flags & PP_SMALL_PAGES)
		os_want_small(rx, PACK_SIZE);
	else
		os_want_huge(rx, PACK_SIZE);
	err = poke_fill(mem, rx, PACK_SIZE);
	if (err)
		poke_unmap(mem, p);
	return err;
}

const struct writer writer_poke = {
	.id = PP_WRITER_POKE,
	.name = "poke",
	.open = poke_open,
	.close = poke_close,
	.map = poke_map,
	.unmap = poke_unmap,
	.copy = poke_copy,
	.fill = poke_fill,
};

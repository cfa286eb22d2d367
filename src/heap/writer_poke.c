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

#include <errno.h>
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

/* The descriptor that was inherited addresses the parent. */
static int poke_reopen(struct memory *mem)
{
	poke_close(mem);
	return poke_open(mem);
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

/*
 * The kernel copies by memcpy(), which on x86-64 may be REP MOVSB: nobody promises that more than
 * a byte arrives at once. (8 aligned bytes never were seen torn, in 5 * 10^9 looks; 2 bytes are
 * two stores where the CPU has no fast short REP MOVSB.) So one byte may change.
 */
static int poke_patch(struct memory *mem, uint8_t *rx, const uint8_t *bytes, size_t size)
{
	while (size && *rx == *bytes) {
		rx++;
		bytes++;
		size--;
	}
	while (size && rx[size - 1] == bytes[size - 1])
		size--;
	if (size > 1)
		return log_error(&mem->log, -ENOTSUP,
				 "pp_patch: /proc/self/mem changes one byte at once, not %zu",
				 size);
	return size ? poke_copy(mem, rx, bytes, size) : 0;
}

static int poke_unmap(struct memory *mem, size_t p)
{
	return os_unmap_code(pack_rx(mem, p), PACK_SIZE);
}

/* Whether memory becomes a huge page is decided by the first touch: the fill. */
static void advise(const struct memory *mem, uint8_t *rx, size_t size)
{
	if (mem->flags & PP_SMALL_PAGES)
		os_want_small(rx, size);
	else if (size == PACK_SIZE)
		os_want_huge(rx, size);
}

static int poke_grow(struct memory *mem, size_t p, size_t from, size_t to)
{
	uint8_t *rx = pack_rx(mem, p) + from;
	int err = os_map_code(rx, to - from);

	if (err)
		return log_error(&mem->log, err, "mapping private executable memory");
	os_name_mapping(rx, to - from, mem->name);
	advise(mem, rx, to - from);
	err = poke_fill(mem, rx, to - from);
	if (err)
		(void)os_unmap_code(rx, to - from);
	return err;
}

const struct writer writer_poke = {
	.id = PP_WRITER_POKE,
	.name = "poke",
	.huge_at_birth = true,
	.open = poke_open,
	.close = poke_close,
	.reopen = poke_reopen,
	.grow = poke_grow,
	.unmap = poke_unmap,
	.copy = poke_copy,
	.fill = poke_fill,
	.patch = poke_patch,
};

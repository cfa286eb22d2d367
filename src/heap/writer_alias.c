/* SPDX-License-Identifier: MIT */
/*
 * writer_alias.c - a sealed memfd for each pack: an R-X view in the heap, and a read-write view
 * at a random address
 *
 * Order is all: write view, traps, seal, then the R-X view. What is executable was filled
 * before, and as the seal forbids new writable views, mprotect() cannot turn the R-X view
 * writable, nor can a child that inherits it.
 */
#include "heap/pack.h"
#include "heap/writer.h"
#include "os/cpu.h"
#include "os/os.h"

#include <string.h>

static int alias_open(struct memory *mem)
{
	mem->fd = -1;
	return 0;
}

static void alias_close(struct memory *mem)
{
	(void)mem;
}

static void alias_unmap(struct memory *mem, size_t p)
{
	os_unmap(mem->pack[p].rw, PACK_SIZE);
	mem->pack[p].rw = NULL;
	os_unmap_code(pack_rx(mem, p), PACK_SIZE);
}

/* Both views of a file of traps; on failure there is none. */
static int map_views(struct memory *mem, int fd, uint8_t *rx, uint8_t **rw)
{
	void *view;
	int err = os_map_file_rw(fd, PACK_SIZE, &view);

	if (err)
		return log_error(&mem->log, err, "mapping a memfd writable");
	cpu_fill_traps(view, PACK_SIZE);
	err = os_seal_file(fd);
	if (err) {
		log_error(&mem->log, err, "sealing a memfd");
		goto unmap_view;
	}
	err = os_map_file_code(fd, rx, PACK_SIZE);
	if (err) {
		log_error(&mem->log, err, "mapping a memfd executable");
		goto unmap_view;
	}
	*rw = view;
	return 0;
unmap_view:
	os_unmap(view, PACK_SIZE);
	return err;
}

/* tmpfs gives huge pages only on demand, whatever the advice: see shmem_enabled. */
static int alias_map(struct memory *mem, size_t p)
{
	uint8_t *rx = pack_rx(mem, p);
	int fd = os_memfd("progpack", PACK_SIZE);
	int err;

	if (fd < 0)
		return log_error(&mem->log, fd, "creating a memfd of %zu bytes", PACK_SIZE);
	err = map_views(mem, fd, rx, &mem->pack[p].rw);
	os_close(fd);
	if (!err && !(mem->flags & PP_SMALL_PAGES))
		os_collapse(rx, PACK_SIZE);
	return err;
}

/* Bytes from @rx to the end of its pack, at most @size; *rw is where they are written. */
static size_t view(struct memory *mem, const uint8_t *rx, size_t size, uint8_t **rw)
{
	size_t at = (size_t)(rx - mem->base), in = at % PACK_SIZE;

	*rw = mem->pack[at / PACK_SIZE].rw + in;
	return size < PACK_SIZE - in ? size : PACK_SIZE - in;
}

static int alias_copy(struct memory *mem, uint8_t *rx, const uint8_t *from, size_t size)
{
	while (size) {
		uint8_t *rw;
		size_t here = view(mem, rx, size, &rw);

		memcpy(rw, from, here);
		rx += here;
		from += here;
		size -= here;
	}
	return 0;
}

static int alias_fill(struct memory *mem, uint8_t *rx, size_t size)
{
	while (size) {
		uint8_t *rw;
		size_t here = view(mem, rx, size, &rw);

		cpu_fill_traps(rw, here);
		rx += here;
		size -= here;
	}
	return 0;
}

const struct writer writer_alias = {
	.id = PP_WRITER_ALIAS,
	.name = "alias",
	.open = alias_open,
	.close = alias_close,
	.map = alias_map,
	.unmap = alias_unmap,
	.copy = alias_copy,
	.fill = alias_fill,
};

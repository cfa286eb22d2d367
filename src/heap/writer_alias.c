/* SPDX-License-Identifier: MIT */
/*
 * writer_alias.c - a sealed memfd for each pack: an R-X view in the heap, and a read-write view
 * at a random address
 *
 * Order is all: write view, seal, traps, then the R-X view. As the seal forbids new writable
 * views, mprotect() cannot turn the R-X view writable, nor can a child that inherits it. The
 * write view is of the whole file from the start; R-X views are added as the pack grows, each
 * after its fill, and become one mapping. A view made later needs the file's descriptor, since
 * PR_SET_MDWE lets no mapping turn executable: a pack that grows keeps it open, and there is
 * at most one (grow.c).
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

static void drop_writer(struct pack *pack)
{
	if (!pack->rw)
		return;
	os_unmap(pack->rw, PACK_SIZE);
	os_close(pack->fd);
	*pack = (struct pack){0};
}

/* What packs still have that cannot be unmapped. */
static void alias_close(struct memory *mem)
{
	for (size_t p = 0; p < mem->size / PACK_SIZE; p++)
		drop_writer(&mem->pack[p]);
}

static int alias_unmap(struct memory *mem, size_t p)
{
	int err = os_unmap_code(pack_rx(mem, p), PACK_SIZE);

	if (!err)
		drop_writer(&mem->pack[p]);
	return err;
}

/* The write view of a sealed file; on failure there is none. */
static int map_sealed(struct memory *mem, int fd, void **view)
{
	int err = os_map_file_rw(fd, PACK_SIZE, view);

	if (err)
		return log_error(&mem->log, err, "mapping a memfd writable");
	err = os_seal_file(fd);
	if (!err)
		return 0;
	os_unmap(*view, PACK_SIZE);
	return log_error(&mem->log, err, "sealing a memfd");
}

static int start_pack(struct memory *mem, struct pack *pack)
{
	int err, fd = os_memfd(mem->name, PACK_SIZE);
	void *view;

	drop_writer(pack); /* of a pack that once could not be unmapped */
	if (fd < 0)
		return log_error(&mem->log, fd, "creating a memfd of %zu bytes", PACK_SIZE);
	err = map_sealed(mem, fd, &view);
	if (err)
		os_close(fd);
	else
		*pack = (struct pack){.rw = view, .fd = fd};
	return err;
}

/*
 * @bytes: NULL for traps. What they touch is dropped from the write view: it would count as
 * resident twice.
 */
static int add_view(struct memory *mem, size_t p, size_t from, size_t size, const uint8_t *bytes)
{
	const struct pack *pack = &mem->pack[p];
	int err = os_file_alloc(pack->fd, from, size);

	if (err)
		return log_error(&mem->log, err, "taking %zu bytes of memory for a memfd", size);
	if (bytes)
		memcpy(pack->rw + from, bytes, size);
	else
		cpu_fill_traps(pack->rw + from, size);
	os_drop_view(pack->rw + from, size);
	err = os_map_file_code(pack->fd, from, pack_rx(mem, p) + from, size);
	if (err)
		return log_error(&mem->log, err, "mapping a memfd executable");
	return 0;
}

/* Nothing more will be mapped from the file. */
static void end_growth(struct pack *pack)
{
	os_close(pack->fd);
	pack->fd = -1;
}

static int alias_grow(struct memory *mem, size_t p, size_t from, size_t to)
{
	struct pack *pack = &mem->pack[p];
	int err = from ? 0 : start_pack(mem, pack);

	if (err)
		return err;
	err = add_view(mem, p, from, to - from, NULL);
	if (err && !from)
		drop_writer(pack);
	if (!err && to == PACK_SIZE)
		end_growth(pack);
	return err;
}

int writer_alias_replace(struct memory *mem, size_t p, const uint8_t *bytes, size_t size)
{
	struct pack *pack = &mem->pack[p], shared = *pack;
	int err;

	*pack = (struct pack){0};
	err = start_pack(mem, pack);
	if (!err)
		err = add_view(mem, p, 0, size, bytes);
	if (err) {
		drop_writer(pack);
		*pack = shared;
		return err;
	}
	cpu_sync(pack_rx(mem, p), size);
	drop_writer(&shared);
	if (size == PACK_SIZE)
		end_growth(pack);
	return 0;
}

/* Bytes from @rx to the end of its pack, at most @size; *rw is where they are written. */
static size_t view(const struct memory *mem, const uint8_t *rx, size_t size, uint8_t **rw)
{
	size_t at = (size_t)(rx - mem->base), in = at % PACK_SIZE;

	*rw = mem->pack[at / PACK_SIZE].rw + in;
	return size < PACK_SIZE - in ? size : PACK_SIZE - in;
}

#define LINE 64u
#define LINES 64u /* as many as a core can well have under way */

/* What was freed a while ago is in no near cache; emitting takes longer than fetching it. */
static void alias_expect(const struct memory *mem, const uint8_t *rx, size_t size)
{
	uint8_t *rw;
	size_t here = view(mem, rx, size, &rw);

	for (size_t at = 0; at < here && at < LINE * LINES; at += LINE)
		__builtin_prefetch(rw + at, 1);
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

/* One store of the word that the bytes are in: single-copy atomic, as it is aligned. */
static int alias_patch(struct memory *mem, uint8_t *rx, const uint8_t *bytes, size_t size)
{
	size_t in = (uintptr_t)rx % sizeof(uint64_t);
	uint64_t word;
	uint8_t *rw;

	view(mem, rx - in, sizeof(word), &rw);
	memcpy(&word, rw, sizeof(word));
	memcpy((uint8_t *)&word + in, bytes, size);
	__atomic_store_n((uint64_t *)(void *)rw, word, __ATOMIC_RELEASE);
	return 0;
}

const struct writer writer_alias = {
	.id = PP_WRITER_ALIAS,
	.name = "alias",
	.open = alias_open,
	.close = alias_close,
	.grow = alias_grow,
	.unmap = alias_unmap,
	.expect = alias_expect,
	.copy = alias_copy,
	.fill = alias_fill,
	.patch = alias_patch,
};

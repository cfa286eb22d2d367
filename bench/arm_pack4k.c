/* SPDX-License-Identifier: MIT */
/*
 * arm_pack4k.c - packs of one small page: packing without the arena
 *
 * What Linux had where huge pages were off (lineage.md S2): the pages are read-execute from
 * their filling on, each mapped by itself with a hole behind it, as vmalloc does; a program
 * larger than a page has a run of pages to itself. Written through /proc/self/mem.
 */
#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bench/arms.h"
#include "os/cpu.h"
#include "os/os.h"

#define PACK_BYTES 4096u
#define PACK_CHUNKS (PACK_BYTES / PP_CHUNK)

/* used bit i: chunk i is taken; a run of pages for one program has all bits set. */
struct pack_4k {
	uint8_t *at;
	size_t size;
	uint64_t used;
};

struct packs_4k {
	int mem_fd;
	struct pack_4k *packs;
	size_t count, room;
	uint64_t bytes;
	void *blocks; /* tree of struct block_4k */
};

struct block_4k {
	uint8_t *rx;
	size_t size;
	uint8_t *pack;
};

static int by_rx(const void *a, const void *b)
{
	const struct block_4k *x = a, *y = b;

	return (x->rx > y->rx) - (x->rx < y->rx);
}

static uint64_t run_mask(size_t chunks)
{
	return chunks >= PACK_CHUNKS ? UINT64_MAX : ((uint64_t)1 << chunks) - 1;
}

/* First free run of @chunks, or PACK_CHUNKS. */
static size_t find_run(uint64_t used, size_t chunks)
{
	uint64_t mask = run_mask(chunks);

	for (size_t at = 0; at + chunks <= PACK_CHUNKS; at++) {
		if (!(used & mask << at))
			return at;
	}
	return PACK_CHUNKS;
}

static struct pack_4k *pack_of(struct packs_4k *packs, const uint8_t *at)
{
	for (size_t i = 0; i < packs->count; i++) {
		if (packs->packs[i].at == at)
			return &packs->packs[i];
	}
	return NULL;
}

static int map_pack(size_t size, uint8_t **at)
{
	void *start;
	int err = os_map_rw(size + PACK_BYTES, &start);

	if (err)
		return err;
	os_unmap((uint8_t *)start + size, PACK_BYTES);
	cpu_fill_traps(start, size);
	err = os_protect_rx(start, size);
	if (err)
		os_unmap(start, size);
	else
		*at = start;
	return err;
}

static int add_pack(struct packs_4k *packs, size_t size, struct pack_4k **pack)
{
	uint8_t *at;
	int err;

	if (packs->count == packs->room) {
		size_t room = packs->room ? packs->room * 2 : 64;
		struct pack_4k *more = realloc(packs->packs, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		packs->packs = more;
		packs->room = room;
	}
	err = map_pack(size, &at);
	if (err)
		return err;
	*pack = &packs->packs[packs->count++];
	**pack = (struct pack_4k){.at = at, .size = size};
	packs->bytes += size;
	return 0;
}

static void drop_pack(struct packs_4k *packs, struct pack_4k *pack)
{
	packs->bytes -= pack->size;
	os_unmap(pack->at, pack->size);
	*pack = packs->packs[--packs->count];
}

/* The first pack with room, as the kernel walks its list; a new one otherwise. */
static int find_room(struct packs_4k *packs, size_t size, struct pack_4k **pack, size_t *chunk)
{
	size_t chunks = size / PP_CHUNK;

	*chunk = 0;
	if (size > PACK_BYTES)
		return add_pack(packs, (size + PACK_BYTES - 1) & ~(size_t)(PACK_BYTES - 1), pack);
	for (size_t i = 0; i < packs->count; i++) {
		*chunk = find_run(packs->packs[i].used, chunks);
		if (*chunk < PACK_CHUNKS) {
			*pack = &packs->packs[i];
			return 0;
		}
	}
	*chunk = 0;
	return add_pack(packs, PACK_BYTES, pack);
}

static int packs_4k_alloc(void *ctx, size_t size, struct pp_code *code)
{
	struct packs_4k *packs = ctx;
	size_t whole = (size + PP_CHUNK - 1) & ~(size_t)(PP_CHUNK - 1), chunk;
	struct block_4k *block = malloc(sizeof(*block));
	uint8_t *rw = aligned_alloc(PP_CHUNK, whole);
	struct pack_4k *pack;
	int err = -ENOMEM;

	if (!block || !rw)
		goto out;
	err = find_room(packs, whole, &pack, &chunk);
	if (err)
		goto out;
	*block = (struct block_4k){pack->at + chunk * PP_CHUNK, whole, pack->at};
	err = -ENOMEM;
	if (!tsearch(block, &packs->blocks, by_rx))
		goto out; /* an empty pack that the next alloc finds is no harm */
	pack->used |= run_mask(whole / PP_CHUNK) << chunk;
	cpu_fill_traps(rw, whole);
	*code = (struct pp_code){.rx = block->rx, .rw = rw, .size = whole};
	return 0;
out:
	free(block);
	free(rw);
	return err;
}

static int release(struct packs_4k *packs, const void *rx, bool written)
{
	uintptr_t address = (uintptr_t)rx;
	struct block_4k key = {.rx = (uint8_t *)address}, *block;
	struct block_4k **found = tfind(&key, &packs->blocks, by_rx);
	uint8_t traps[PACK_BYTES];
	struct pack_4k *pack;
	int err = 0;

	if (!found)
		return -EINVAL;
	block = *found;
	if (written)
		cpu_fill_traps(traps, sizeof(traps));
	for (size_t at = 0; written && !err && at < block->size; at += sizeof(traps)) {
		size_t left = block->size - at;

		err = os_poke(packs->mem_fd, block->rx + at, traps,
			      left < sizeof(traps) ? left : sizeof(traps));
	}
	if (err)
		return err;
	pack = pack_of(packs, block->pack);
	pack->used &=
		~(run_mask(block->size / PP_CHUNK) << ((size_t)(block->rx - pack->at) / PP_CHUNK));
	if (!pack->used || pack->size > PACK_BYTES)
		drop_pack(packs, pack);
	tdelete(&key, &packs->blocks, by_rx);
	free(block);
	return 0;
}

static int packs_4k_free(void *ctx, const void *rx)
{
	return release(ctx, rx, true);
}

static int packs_4k_abort(void *ctx, struct pp_code *code)
{
	free(code->rw);
	code->rw = NULL;
	return release(ctx, code->rx, false);
}

static int packs_4k_finalize(void *ctx, struct pp_code *code, size_t used)
{
	struct packs_4k *packs = ctx;
	int err = os_poke(packs->mem_fd, code->rx, code->rw, used);

	if (err) {
		(void)packs_4k_abort(ctx, code);
		return err;
	}
	cpu_sync(code->rx, used);
	free(code->rw);
	code->rw = NULL;
	return 0;
}

int packs_4k_open(struct arm *arm)
{
	struct packs_4k *packs = calloc(1, sizeof(*packs));

	if (!packs)
		return -ENOMEM;
	packs->mem_fd = os_poke_open();
	if (packs->mem_fd < 0) {
		int err = packs->mem_fd;

		free(packs);
		return err;
	}
	arm->packs = packs;
	arm->mem = (struct jit_mem){
		.ctx = packs,
		.alloc = packs_4k_alloc,
		.finalize = packs_4k_finalize,
		.abort = packs_4k_abort,
		.free = packs_4k_free,
	};
	return 0;
}

void packs_4k_close(struct arm *arm)
{
	struct packs_4k *packs = arm->packs;

	while (packs->blocks)
		(void)release(packs, (*(struct block_4k **)packs->blocks)->rx, false);
	while (packs->count)
		drop_pack(packs, packs->packs);
	free(packs->packs);
	os_close(packs->mem_fd);
	free(packs);
}

uint64_t packs_4k_exec_bytes(const struct arm *arm)
{
	return arm->packs->bytes;
}

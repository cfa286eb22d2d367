/* SPDX-License-Identifier: MIT */
/*
 * writer.h - executable memory, and how bytes reach it although nobody may write it
 *
 *	| pack 0 | pack 1 | ...        | guard page |
 *	^ base     2 MiB, R-X or faulting
 *
 * Invariant: a mapped pack is R-X and holds code of blocks or traps, nothing else (but for the
 * poke writer's zeros while it is being mapped, when nobody knows its address); it never was
 * writable at its address. Nothing here takes a lock: callers see to it that no two calls
 * concern the same pack's mapping, or the same chunks, at the same time.
 */
#ifndef HEAP_WRITER_H
#define HEAP_WRITER_H

#include "base/log.h"

#include <progpack.h>
#include <stddef.h>
#include <stdint.h>

/* Traps to write from, also where most of a large area is to be filled. */
#define TRAP_UNIT 4096u

struct writer;

/* struct pack - @rw: where the alias writer sees it; NULL with the poke writer */
struct pack {
	uint8_t *rw;
};

struct memory {
	uint8_t *base;
	size_t size;
	struct pack *pack; /* one for each 2 MiB of the reservation */
	const struct writer *writer;
	unsigned int flags; /* PP_SMALL_PAGES */
	int fd;             /* the poke writer's */
	struct log log;
	uint8_t traps[TRAP_UNIT];
};

/*
 * struct writer - one way to write
 * @open: get what all packs need; undone by @close
 * @map: make pack @p R-X and full of traps, or leave it as it was; undone by @unmap
 * @copy: write code to chunks that hold traps, or -errno and any part of it written
 * @fill: write traps to whole chunks, or -errno and any part of it written
 *
 * All return 0 or -errno. What is written is visible to loads at once, to instruction fetch
 * after cpu_sync().
 */
struct writer {
	enum pp_writer id;
	const char *name;
	int (*open)(struct memory *mem);
	void (*close)(struct memory *mem);
	int (*map)(struct memory *mem, size_t p);
	void (*unmap)(struct memory *mem, size_t p);
	int (*copy)(struct memory *mem, uint8_t *rx, const uint8_t *from, size_t size);
	int (*fill)(struct memory *mem, uint8_t *rx, size_t size);
};

extern const struct writer writer_poke;
extern const struct writer writer_alias;

/*
 * writer_choose - the first of the wanted writers that works in this process
 *
 * "Works" is proven: code was written to pack 0 and run there. That pack stays mapped, full of
 * traps. mem->base, size, pack, flags and log are set before. On failure each writer's reason
 * has been logged, and nothing is mapped.
 */
int writer_choose(struct memory *mem, enum pp_writer wanted);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * writer.h - executable memory, and how bytes reach it although nobody may write it
 *
 *	| pack 0 | pack 1 |: faulting  | pack 2 ... | guard page |
 *	^ base     R-X    ^ grown so far
 *
 * Invariant: the grown part of a pack is R-X and holds code of blocks or traps, nothing else (but
 * for the poke writer's zeros while it is being mapped, when nobody knows its address); it never
 * was writable at its address. The rest of its 2 MiB faults. Nothing here takes a lock: callers
 * see to it that no two calls concern the same pack's mapping, or the same chunks, at the same
 * time.
 */
#ifndef HEAP_WRITER_H
#define HEAP_WRITER_H

#include "base/log.h"

#include <progpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Traps to write from: a large area is written in parts of so many, and each part takes time. */
#define TRAP_UNIT 8192u

struct writer;

/*
 * struct pack - what the alias writer needs of one; zero with the poke writer
 * @rw: all 2 MiB of it, also where it is not grown yet
 * @fd: its file while it grows, -1 afterwards; means nothing where @rw is NULL
 */
struct pack {
	uint8_t *rw;
	int fd;
};

struct memory {
	uint8_t *base;
	size_t size;
	struct pack *pack; /* one for each 2 MiB of the reservation */
	const struct writer *writer;
	unsigned int flags; /* PP_SMALL_PAGES */
	int fd;             /* the poke writer's */
	char name[80];      /* of its mappings: "progpack:NAME", the kernel's longest */
	struct log log;
	uint8_t traps[TRAP_UNIT];
};

/*
 * struct writer - one way to write
 * @open: get what all packs need; undone by @close
 * @reopen: what @open got, again, in a child of fork(); only the poke writer's needs it
 * @huge_at_birth: a pack that is whole from the start is huge already, if the kernel wants
 * @grow: make bytes @from .. @to - 1 of pack @p R-X and full of traps, or leave all as it was;
 *	@from is what it has already, or 0
 * @unmap: undo all of a pack's growth, or nothing; its addresses fault again
 * @expect: these chunks are copied to soon; NULL if knowing it is of no use
 * @copy: write code to chunks that hold traps, or -errno and any part of it written
 * @fill: write traps to whole chunks, or -errno and any part of it written
 *
 * @patch: change @size bytes of one aligned 8-byte word of code that may be running: an executing
 *	thread sees all of them or none. -ENOTSUP if that cannot be done.
 *
 * All return 0 or -errno. What is written is visible to loads at once, to instruction fetch
 * after cpu_sync().
 */
struct writer {
	enum pp_writer id;
	const char *name;
	bool huge_at_birth;
	int (*open)(struct memory *mem);
	void (*close)(struct memory *mem);
	int (*reopen)(struct memory *mem);
	int (*grow)(struct memory *mem, size_t p, size_t from, size_t to);
	int (*unmap)(struct memory *mem, size_t p);
	void (*expect)(const struct memory *mem, const uint8_t *rx, size_t size);
	int (*copy)(struct memory *mem, uint8_t *rx, const uint8_t *from, size_t size);
	int (*fill)(struct memory *mem, uint8_t *rx, size_t size);
	int (*patch)(struct memory *mem, uint8_t *rx, const uint8_t *bytes, size_t size);
};

extern const struct writer writer_poke;
extern const struct writer writer_alias;

/*
 * writer_alias_replace - a pack's memory is no longer shared with the process that forked
 *
 * Its first @size bytes, which are what has grown, become a copy of @bytes; its addresses stay. On
 * failure the pack is as before.
 */
int writer_alias_replace(struct memory *mem, size_t p, const uint8_t *bytes, size_t size);

/*
 * writer_choose - the first of the wanted writers that works in this process
 *
 * "Works" is proven: code was written to pack 0 and run there. PACK_STEP bytes of that pack stay
 * mapped, full of traps. mem->base, size, pack, flags and log are set before. On failure each
 * writer's reason has been logged, and nothing is mapped.
 */
int writer_choose(struct memory *mem, enum pp_writer wanted);

#endif

/* SPDX-License-Identifier: MIT */
/* arms.c - the table of arms, and those that are our heap */
#include "bench/arms.h"

#include <stdio.h>
#include <stdlib.h>

static void log_to_stderr(void *ctx, const char *message)
{
	const struct arm_kind *kind = ctx;

	fprintf(stderr, "progpack: bench: %s/%s: %s\n", kind->name, kind->writer_name, message);
}

static int arena_open(struct arm *arm)
{
	struct pp_opts opts = {
		.size = sizeof(opts),
		.writer = arm->kind->writer,
		.flags = arm->kind->flags,
		.log = log_to_stderr,
		.log_ctx = (void *)(uintptr_t)arm->kind,
	};
	int err;

	err = pp_heap_new(&opts, &arm->heap);
	if (!err)
		arm->mem = jit_mem_heap(arm->heap);
	return err;
}

static void arena_close(struct arm *arm)
{
	pp_heap_free(arm->heap);
}

static uint64_t arena_exec_bytes(const struct arm *arm)
{
	struct pp_stats stats = {.size = sizeof(stats)};

	return pp_stats(arm->heap, &stats) ? 0 : stats.used;
}

static int arena_huge_bytes(const struct arm *arm, uint64_t *bytes)
{
	struct pp_stats stats = {.size = sizeof(stats)};
	int err = pp_stats(arm->heap, &stats);

	if (!err)
		*bytes = stats.huge;
	return err;
}

/* Mappings of single pages cannot be huge: THP needs 2 MiB, and nobody advised it. */
static int no_huge_bytes(const struct arm *arm, uint64_t *bytes)
{
	(void)arm;
	*bytes = 0;
	return 0;
}

#define PAGE_ARM(name, open)                                                                       \
	{                                                                                          \
		name, "mprotect", PP_WRITER_AUTO, 0, open, pages_close, pages_exec_bytes,          \
			no_huge_bytes                                                              \
	}
#define ARENA_ARM(name, writer, id, flags)                                                         \
	{                                                                                          \
		name, writer, id, flags, arena_open, arena_close, arena_exec_bytes,                \
			arena_huge_bytes                                                           \
	}

const struct arm_kind arm_kinds[] = {
	PAGE_ARM("page", pages_open),
	PAGE_ARM("page-random", pages_open_random),
	{"pack-4k", "poke", PP_WRITER_AUTO, 0, packs_4k_open, packs_4k_close, packs_4k_exec_bytes,
	 no_huge_bytes},
	ARENA_ARM("arena-4k", "poke", PP_WRITER_POKE, PP_SMALL_PAGES),
	ARENA_ARM("arena-4k", "alias", PP_WRITER_ALIAS, PP_SMALL_PAGES),
	ARENA_ARM("arena-2m", "poke", PP_WRITER_POKE, PP_WHOLE_PACKS),
	ARENA_ARM("arena-2m", "alias", PP_WRITER_ALIAS, PP_WHOLE_PACKS),
};
const unsigned int arm_kinds_count = sizeof(arm_kinds) / sizeof(arm_kinds[0]);

int arm_open(struct arm *arm, const struct arm_kind *kind)
{
	struct arm opened = {.kind = kind};
	int err = kind->open(&opened);

	if (err)
		return err;
	/* Near calls would make the arms' code differ: page by page, code lands anywhere. */
	opened.mem.lo = 0;
	opened.mem.hi = UINTPTR_MAX;
	*arm = opened;
	return 0;
}

void arm_close(struct arm *arm)
{
	arm->kind->close(arm);
}

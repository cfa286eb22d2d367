/* SPDX-License-Identifier: MIT */
/*
 * arm_page.c - a page for each program: what progpack is compared with
 *
 * As most small JITs do it: map read-write, emit in place, mprotect, and munmap in the end.
 * page-random starts somewhere in the room that is left in the last page, 4-aligned, as the
 * kernel's bpf_jit_binary_alloc() does.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "bench/arms.h"
#include "os/cpu.h"
#include "os/os.h"

struct pages {
	void *by_start; /* tree of struct page_run */
	uint64_t bytes;
	uint64_t random; /* xorshift state; 0: start where the page starts */
};

struct page_run {
	const uint8_t *start;
	size_t size;
	uint8_t *rx; /* the code's start, somewhere in it */
};

static int by_start(const void *a, const void *b)
{
	const struct page_run *x = a, *y = b;

	return (x->rx > y->rx) - (x->rx < y->rx);
}

static size_t random_start(struct pages *pages, size_t room)
{
	if (!pages->random || room < 4)
		return 0;
	pages->random ^= pages->random << 13;
	pages->random ^= pages->random >> 7;
	pages->random ^= pages->random << 17;
	return pages->random % room & ~(size_t)3;
}

static int pages_alloc(void *ctx, size_t size, struct pp_code *code)
{
	struct pages *pages = ctx;
	size_t page = os_page_size(), whole = (size + page - 1) & ~(page - 1);
	struct page_run *run = malloc(sizeof(*run));
	void *at;
	int err;

	if (!run)
		return -ENOMEM;
	err = os_map_rw(whole, &at);
	if (err) {
		free(run);
		return err;
	}
	cpu_fill_traps(at, whole);
	run->start = at;
	run->size = whole;
	run->rx = (uint8_t *)at + random_start(pages, whole - size);
	if (!tsearch(run, &pages->by_start, by_start)) {
		os_unmap(at, whole);
		free(run);
		return -ENOMEM;
	}
	pages->bytes += whole;
	*code = (struct pp_code){.rx = run->rx, .rw = run->rx, .size = size};
	return 0;
}

static int pages_free(void *ctx, const void *rx)
{
	struct pages *pages = ctx;
	uintptr_t address = (uintptr_t)rx;
	struct page_run key = {.rx = (uint8_t *)address}, *run;
	struct page_run **found = tfind(&key, &pages->by_start, by_start);

	if (!found)
		return -EINVAL;
	run = *found;
	tdelete(&key, &pages->by_start, by_start);
	os_unmap((void *)(uintptr_t)run->start, run->size);
	pages->bytes -= run->size;
	free(run);
	return 0;
}

static int pages_abort(void *ctx, struct pp_code *code)
{
	code->rw = NULL;
	return pages_free(ctx, code->rx);
}

static int pages_finalize(void *ctx, struct pp_code *code, size_t used)
{
	struct pages *pages = ctx;
	struct page_run key = {.rx = code->rx}, **found;
	int err;

	(void)used;
	code->rw = NULL;
	found = tfind(&key, &pages->by_start, by_start);
	if (!found)
		return -ESTALE;
	err = os_protect_rx((void *)(uintptr_t)(*found)->start, (*found)->size);
	if (err)
		(void)pages_free(ctx, code->rx);
	else
		cpu_sync(code->rx, used);
	return err;
}

int pages_open(struct arm *arm)
{
	arm->pages = calloc(1, sizeof(*arm->pages));
	if (!arm->pages)
		return -ENOMEM;
	arm->mem = (struct jit_mem){
		.ctx = arm->pages,
		.alloc = pages_alloc,
		.finalize = pages_finalize,
		.abort = pages_abort,
		.free = pages_free,
	};
	return 0;
}

int pages_open_random(struct arm *arm)
{
	int err = pages_open(arm);

	if (!err)
		arm->pages->random = 0x2545f4914f6cdd1du;
	return err;
}

void pages_close(struct arm *arm)
{
	while (arm->pages->by_start)
		(void)pages_free(arm->pages, (*(struct page_run **)arm->pages->by_start)->rx);
	free(arm->pages);
}

uint64_t pages_exec_bytes(const struct arm *arm)
{
	return arm->pages->bytes;
}

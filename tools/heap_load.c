/* SPDX-License-Identifier: MIT */
/* heap_load.c - the load of the demonstration: as a JIT's day in seconds */
#include "heap_demo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "cli.h"
#include "os/cpu.h"

#define MIB ((double)(1 << 20))

/* Replacements a frame. */
#define CHURN 400u

/*
 * Bytes that are to live at each time: it fills up, goes on for a while, loses most of it, and
 * fills again. What is freed and filled again is what fragments.
 */
static const struct {
	double time, mib;
} course[] = {{0, 0.05}, {0.1, 0.3}, {0.4, 9.5}, {0.55, 10.5}, {0.66, 5}, {0.74, 4.5}, {1, 11.9}};
#define COURSE (sizeof(course) / sizeof(course[0]))

static uint64_t wanted_at(double time)
{
	size_t i = 1;

	while (i < COURSE - 1 && course[i].time < time)
		i++;
	if (time > course[i].time)
		time = course[i].time;
	return (uint64_t)(MIB * (course[i - 1].mib +
				 (course[i].mib - course[i - 1].mib) * (time - course[i - 1].time) /
					 (course[i].time - course[i - 1].time)));
}

static int make_room(struct demo *demo)
{
	size_t room = demo->room ? 2 * demo->room : 4096;
	const void **blocks = realloc(demo->blocks, room * sizeof(*blocks));
	size_t *sizes;

	if (!blocks)
		return -ENOMEM;
	demo->blocks = blocks;
	sizes = realloc(demo->sizes, room * sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	demo->sizes = sizes;
	demo->room = room;
	return 0;
}

static int add_block(struct demo *demo)
{
	uint32_t size = random_block_size(&demo->random);
	struct pp_code code;
	const uint8_t *function;
	size_t function_size;
	int err = demo->nblocks < demo->room ? 0 : make_room(demo);

	if (!err)
		err = pp_alloc(demo->heap, size, &code);
	if (err)
		return err;
	function = cpu_probe_code(&function_size);
	memcpy(code.rw, function, function_size);
	err = pp_finalize(demo->heap, &code, size);
	if (err)
		return err;
	demo->blocks[demo->nblocks] = code.rx;
	demo->sizes[demo->nblocks++] = size;
	demo->live += size;
	return 0;
}

static int free_one(struct demo *demo)
{
	size_t i = random_next(&demo->random) % demo->nblocks, last = demo->nblocks - 1;
	int err = pp_free(demo->heap, demo->blocks[i]);

	if (err)
		return err;
	demo->live -= demo->sizes[i];
	demo->blocks[i] = demo->blocks[last];
	demo->sizes[i] = demo->sizes[last];
	demo->nblocks--;
	return 0;
}

static int reach(struct demo *demo, uint64_t wanted)
{
	int err = 0;

	while (demo->live < wanted && !err)
		err = add_block(demo);
	while (demo->live > wanted && !err)
		err = free_one(demo);
	return err;
}

int demo_step(struct demo *demo, double time)
{
	uint64_t wanted = wanted_at(time);
	int err = reach(demo, wanted);

	for (unsigned int i = 0; i < CHURN && !err; i++) {
		err = free_one(demo);
		if (!err)
			err = reach(demo, wanted);
	}
	if (err)
		cli_error("the heap's load: %s", strerror(-err));
	return err;
}

static void log_reason(void *ctx, const char *message)
{
	(void)ctx;
	cli_error("%s", message);
}

int demo_init(struct demo *demo, enum pp_writer writer)
{
	struct pp_opts opts = {
		.size = sizeof(opts),
		.reserve = DEMO_PACKS * DEMO_PACK,
		.writer = writer,
		.log = log_reason,
		.name = "demo",
	};
	int err;

	*demo = (struct demo){.random = 0x9e3779b97f4a7c15u};
	err = pp_heap_new(&opts, &demo->heap);
	if (err)
		cli_error("no heap: %s", strerror(-err));
	return err;
}

void demo_fini(struct demo *demo)
{
	pp_heap_free(demo->heap);
	free(demo->blocks);
	free(demo->sizes);
}

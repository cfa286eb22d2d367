/* SPDX-License-Identifier: MIT */
/* stress_load.c - the programs of one arm: open, load, unload, each timed apart */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stress.h"
#include "os/os.h"
#include "tools/cli.h"
#include "tools/progress.h"

static void log_error_line(void *ctx, const char *message)
{
	(void)ctx;
	cli_error("%s", message);
}

static int open_objects(struct stress *stress, struct stress_arm *arm)
{
	for (uint32_t i = 0; i < stress->loaded; i++) {
		const struct stress_object *o = &stress_objects[i % GROUP_LOADED];
		struct pp_bpf_opts opts = {.size = sizeof(opts),
					   .name = o->name,
					   .log = log_error_line};
		int err = pp_bpf_open_mem(o->elf, o->size, &opts, &arm->objects[i]);

		if (err)
			return err;
	}
	return 0;
}

static int load_objects(struct stress *stress, struct stress_arm *arm)
{
	uint64_t start = clock_ns();

	for (uint32_t i = 0; i < stress->loaded; i++) {
		int err = object_load_into(arm->objects[i], &arm->arm.mem);

		if (err)
			return err;
	}
	arm->load_us = (double)(clock_ns() - start) / 1e3 / stress->loaded;
	return 0;
}

/* Every arm calls the same programs of the same groups, in the same order. */
static int list_calls(struct stress *stress, struct stress_arm *arm)
{
	uint32_t *order = malloc(stress->called * sizeof(*order)), n = 0;

	if (!order)
		return -ENOMEM;
	shuffle(order, stress->called);
	for (uint32_t i = 0; i < stress->loaded; i++) {
		struct pp_bpf_prog *prog = pp_bpf_prog_next(arm->objects[i], NULL);

		size_t native = pp_bpf_prog_native_size(prog);

		arm->native_bytes += native;
		arm->below_500 += native < 500;
		arm->below_2000 += native < 2000;
		if (stress_objects[i % GROUP_LOADED].called)
			arm->calls[order[n++]] = pp_bpf_prog_entry(prog);
	}
	free(order);
	return n == stress->called ? 0 : -EINVAL;
}

static int measure_memory(struct stress_arm *arm, long maps_before)
{
	long maps = os_count_maps();
	int err = arm->arm.kind->huge_bytes(&arm->arm, &arm->huge_bytes);

	if (err || maps < 0)
		return err ? err : (int)maps;
	arm->exec_bytes = arm->arm.kind->exec_bytes(&arm->arm);
	arm->maps = maps - maps_before;
	return 0;
}

/* Mappings are counted around the arm's own memory: the objects' data is there before. */
static int load(struct stress *stress, struct stress_arm *arm, const struct arm_kind *kind)
{
	long maps;
	int err = open_objects(stress, arm);

	if (err)
		return err;
	maps = os_count_maps();
	if (maps < 0)
		return (int)maps;
	err = arm_open(&arm->arm, kind);
	if (err)
		return err;
	err = load_objects(stress, arm);
	if (!err)
		err = measure_memory(arm, maps);
	if (!err)
		err = list_calls(stress, arm);
	return err;
}

int stress_load_arm(struct stress *stress, struct stress_arm *arm, const struct arm_kind *kind)
{
	int err = -ENOMEM;

	arm->objects = calloc(stress->loaded, sizeof(*arm->objects));
	arm->calls = calloc(stress->called, sizeof(*arm->calls));
	arm->ns = calloc(stress->settings.runs, sizeof(*arm->ns));
	arm->misses = calloc(stress->settings.runs, sizeof(*arm->misses));
	if (arm->objects && arm->calls && arm->ns && arm->misses)
		err = load(stress, arm, kind);
	if (err)
		cli_error("%s/%s: %s", kind->name, kind->writer_name, strerror(-err));
	return err;
}

void stress_unload_arm(struct stress *stress, struct stress_arm *arm)
{
	uint64_t start = clock_ns();

	for (uint32_t i = 0; arm->objects && i < stress->loaded; i++)
		pp_bpf_close(arm->objects[i]);
	arm->unload_us = (double)(clock_ns() - start) / 1e3 / stress->loaded;
	if (arm->arm.kind)
		arm_close(&arm->arm);
	free(arm->objects);
	free(arm->calls);
	free(arm->ns);
	free(arm->misses);
}

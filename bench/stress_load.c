/* SPDX-License-Identifier: MIT */
/* stress_load.c - the programs of one arm: opened, then loaded and unloaded, which is timed */
#include "bench/stress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		const struct stress_object *o = &stress_objects[i % stress->group];
		struct pp_bpf_opts opts = {.size = sizeof(opts),
					   .name = o->name,
					   .flags = PP_BPF_TRUSTED,
					   .log = log_error_line};
		int err = pp_bpf_open_mem(o->elf, o->size, &opts, &arm->objects[i]);

		if (err)
			return err;
	}
	return 0;
}

static int load_objects(struct stress *stress, struct stress_arm *arm, double *us)
{
	uint64_t start = clock_ns();

	for (uint32_t i = 0; i < stress->loaded; i++) {
		int err = object_load_into(arm->objects[i], &arm->arm.mem);

		if (err)
			return err;
	}
	*us = (double)(clock_ns() - start) / 1e3 / stress->loaded;
	return 0;
}

static void count_native(struct stress_arm *arm, size_t native)
{
	arm->native_bytes += native;
	arm->below_500 += native < 500;
	arm->below_2000 += native < 2000;
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

		count_native(arm, pp_bpf_prog_native_size(prog));
		if (stress->is_called(i))
			arm->calls[order[n++]] = pp_bpf_prog_entry(prog);
	}
	free(order);
	return n == stress->called ? 0 : -EINVAL;
}

/* The count, or -errno after an error message. */
static long count_maps(void)
{
	long maps = os_count_maps();

	if (maps < 0)
		cli_error("/proc/self/maps: %s", strerror((int)-maps));
	return maps;
}

static int measure_memory(struct stress_arm *arm, long maps_before)
{
	long maps = count_maps();
	int err = maps < 0 ? (int)maps : arm->kind->huge_bytes(&arm->arm, &arm->huge_bytes);

	if (err)
		return err;
	arm->exec_bytes = arm->kind->exec_bytes(&arm->arm);
	arm->maps = maps - maps_before;
	return 0;
}

/* Mappings are counted around the arm's own memory: the objects' data is there before. */
static int load_into_arm(struct stress *stress, struct stress_arm *arm, unsigned int round)
{
	long maps = count_maps();
	int err = maps < 0 ? (int)maps : arm_open(&arm->arm, arm->kind);

	if (!err)
		err = load_objects(stress, arm, &arm->load_us[round]);
	if (!err)
		err = measure_memory(arm, maps);
	return err ? err : list_calls(stress, arm);
}

/* The fence keeps the kernel from merging the arm's mappings with those of the arm before. */
static int load(struct stress *stress, struct stress_arm *arm, unsigned int round)
{
	int err = open_objects(stress, arm);

	if (!err)
		err = os_map_rw(os_page_size(), &arm->fence);
	return err ? err : load_into_arm(stress, arm, round);
}

int stress_load_arm(struct stress *stress, struct stress_arm *arm, unsigned int round)
{
	int err = -ENOMEM;

	arm->native_bytes = 0;
	arm->below_500 = 0;
	arm->below_2000 = 0;
	arm->objects = calloc(stress->loaded, sizeof(*arm->objects));
	arm->calls = calloc(stress->called, sizeof(*arm->calls));
	if (arm->objects && arm->calls)
		err = load(stress, arm, round);
	if (err)
		cli_error("%s/%s: %s", arm->kind->name, arm->kind->writer_name, strerror(-err));
	return err;
}

void stress_unload_arm(struct stress *stress, struct stress_arm *arm, unsigned int round)
{
	uint64_t start = clock_ns();

	for (uint32_t i = 0; arm->objects && i < stress->loaded; i++)
		pp_bpf_close(arm->objects[i]);
	arm->unload_us[round] = (double)(clock_ns() - start) / 1e3 / stress->loaded;
	if (arm->arm.kind)
		arm_close(&arm->arm);
	os_unmap(arm->fence, os_page_size());
	free(arm->objects);
	free(arm->calls);
	arm->arm = (struct arm){0};
	arm->fence = NULL;
	arm->objects = NULL;
	arm->calls = NULL;
}

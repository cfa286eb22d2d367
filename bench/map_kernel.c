/* SPDX-License-Identifier: MIT */
/* map_kernel.c - bench map's programs in the kernel: its JIT, its maps, BPF_PROG_TEST_RUN */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "bench/map.h"

struct map_kernel {
	struct bpf_object *object;
	int fds[MAP_WHATS];
};

static int be_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* What libbpf would say is what our caller says, from the error. */
static int load(struct map_kernel *kernel)
{
	libbpf_print_fn_t before = libbpf_set_print(be_silent);
	int err = 0;

	kernel->object = bpf_object__open_mem(map_elf, (size_t)(map_elf_end - map_elf), NULL);
	if (!kernel->object)
		err = -errno;
	if (!err)
		err = bpf_object__load(kernel->object);
	libbpf_set_print(before);
	return err;
}

int map_kernel_new(struct map_kernel **out)
{
	struct map_kernel *kernel = calloc(1, sizeof(*kernel));
	int err;

	if (!kernel)
		return -ENOMEM;
	err = load(kernel);
	if (err) {
		map_kernel_free(kernel);
		return err;
	}
	for (unsigned int i = 0; i < MAP_WHATS; i++)
		kernel->fds[i] = bpf_program__fd(
			bpf_object__find_program_by_name(kernel->object, map_programs[i]));
	*out = kernel;
	return 0;
}

void map_kernel_free(struct map_kernel *kernel)
{
	if (!kernel)
		return;
	bpf_object__close(kernel->object);
	free(kernel);
}

/* The kernel times the runs itself, without the system call, and gives the mean in whole ns. */
double map_kernel_run(const struct map_kernel *kernel, unsigned int what, uint32_t repeat,
		      uint32_t *result)
{
	uint8_t packet[64] = {0};
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = packet,
		.data_size_in = sizeof(packet),
		.repeat = (int)repeat,
	};
	int err = bpf_prog_test_run_opts(kernel->fds[what], &opts);

	if (err)
		return err;
	*result = opts.retval;
	return opts.duration;
}

/* SPDX-License-Identifier: MIT */
#include "helper_fixture.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

/* The object, with @format where it has a place for one. */
static struct file object_with(const char *format)
{
	struct file file = object_file("helpers");
	char *at = memmem(file.bytes, file.size, HELPERS_MAGIC, sizeof(HELPERS_MAGIC));

	assert_non_null(at);
	memset(at, 0, HELPERS_FORMAT);
	if (format) {
		assert_true(strlen(format) < HELPERS_FORMAT);
		memcpy(at, format, strlen(format));
	}
	return file;
}

static void run_ours(bool native, const char *prog, const struct file *file,
		     struct helpers_shared *shared)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct pp_bpf_map *bss;
	const uint32_t zero = 0;
	uint64_t result;

	assert_int_equal(pp_bpf_open_mem(file->bytes, file->size, &opts, &object), 0);
	object_load(object);
	bss = object_map(object, ".bss");
	assert_int_equal(pp_bpf_map_update(bss, &zero, shared, 0), 0);
	result = (native ? object_run : object_interpret)(object, prog, NULL, 0);
	assert_int_equal((uint32_t)result, 0);
	assert_int_equal(pp_bpf_map_lookup(bss, &zero, shared), 0);
	pp_bpf_close(object);
}

/* Only this program: of the others the verifier may refuse the format. */
static struct bpf_program *choose(struct bpf_object *object, const char *name)
{
	struct bpf_program *prog, *chosen = NULL;

	bpf_object__for_each_program(prog, object)
	{
		bool wanted = !strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, wanted);
		if (wanted)
			chosen = prog;
	}
	return chosen;
}

static int test_run(struct bpf_program *prog, uint32_t *result)
{
	uint8_t packet[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	if (bpf_program__type(prog) == BPF_PROG_TYPE_SCHED_CLS) {
		opts.data_in = packet;
		opts.data_size_in = sizeof(packet);
	}
	err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
	*result = opts.retval;
	return err;
}

/* 0 or -errno */
static int run_kernel(const char *name, const struct file *file, struct helpers_shared *shared)
{
	struct bpf_object *object = bpf_object__open_mem(file->bytes, file->size, NULL);
	struct bpf_program *prog;
	const uint32_t zero = 0;
	struct bpf_map *bss;
	uint32_t result = 1;
	int err;

	if (!object)
		return -errno;
	prog = choose(object, name);
	bss = bpf_object__find_map_by_name(object, ".bss");
	err = prog && bss ? bpf_object__load(object) : -ENOENT;
	if (!err)
		err = bpf_map_update_elem(bpf_map__fd(bss), &zero, shared, 0);
	if (!err)
		err = test_run(prog, &result);
	if (!err)
		err = bpf_map_lookup_elem(bpf_map__fd(bss), &zero, shared);
	if (!err && result)
		err = -EPROTO;
	bpf_object__close(object);
	return err;
}

int helper_engines(void)
{
	static int engines;
	struct helpers_shared shared = {0};
	struct file file;
	int err;

	if (engines)
		return engines;
	libbpf_set_print(NULL);
	file = object_with(NULL);
	err = run_kernel("who", &file, &shared);
	free(file.bytes);
	if (err)
		printf("# skipped: the kernel's helpers: no bpf() here: %s\n", strerror(-err));
	return engines = err ? KERNEL : HELPER_ENGINES;
}

void helper_run(enum helper_engine engine, const char *prog, const char *format,
		struct helpers_shared *shared)
{
	struct file file = object_with(format);
	int err = 0;

	if (engine == KERNEL)
		err = run_kernel(prog, &file, shared);
	else
		run_ours(engine == NATIVE, prog, &file, shared);
	free(file.bytes);
	if (err)
		fail_msg("%s in the kernel: error %d", prog, err);
}

/* SPDX-License-Identifier: MIT */
#include "object_fixture.h"

#include <stdio.h>

char last_reason[512];
char printed[4096];

static void keep_reason(void *ctx, const char *message)
{
	(void)ctx;
	snprintf(last_reason, sizeof(last_reason), "%s", message);
}

static void keep_text(void *ctx, const char *text, size_t len)
{
	size_t used = strlen(printed);

	(void)ctx;
	assert_true(len < sizeof(printed) - used);
	memcpy(printed + used, text, len);
	printed[used + len] = 0;
}

struct pp_bpf_opts object_options(void)
{
	last_reason[0] = printed[0] = 0;
	return (struct pp_bpf_opts){
		.size = sizeof(struct pp_bpf_opts),
		.log = keep_reason,
		.print = keep_text,
	};
}

static void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s.bpf.o", TEST_OBJECTS, name);
}

struct file object_file(const char *name)
{
	struct file file = {.bytes = malloc(1 << 20)};
	char path[512];
	FILE *stream;

	path_of(path, sizeof(path), name);
	stream = fopen(path, "rb");
	assert_non_null(stream);
	assert_non_null(file.bytes);
	file.size = fread(file.bytes, 1, 1 << 20, stream);
	assert_true(file.size && file.size < 1 << 20);
	fclose(stream);
	return file;
}

struct pp_bpf_object *object_open(const char *name, const struct pp_bpf_opts *opts)
{
	const struct pp_bpf_opts own = object_options();
	struct pp_bpf_object *object;
	char path[512];
	int err;

	path_of(path, sizeof(path), name);
	err = pp_bpf_open_file(path, opts ? opts : &own, &object);
	if (err)
		fail_msg("%s: error %d: %s", name, err, last_reason);
	return object;
}

void object_load(struct pp_bpf_object *object)
{
	int err = pp_bpf_load(object);

	if (err)
		fail_msg("error %d: %s", err, last_reason);
}

uint64_t object_run(struct pp_bpf_object *object, const char *name, void *data, size_t len)
{
	struct pp_bpf_prog *prog = pp_bpf_prog_by_name(object, name);
	uint64_t result;

	assert_non_null(prog);
	assert_int_equal(pp_bpf_run(prog, data, len, &result), 0);
	return result;
}

uint64_t object_interpret(struct pp_bpf_object *object, const char *name, void *data, size_t len)
{
	struct pp_bpf_prog *prog = pp_bpf_prog_by_name(object, name);
	uint64_t result;

	assert_non_null(prog);
	assert_int_equal(pp_bpf_interpret(prog, data, len, &result), 0);
	return result;
}

struct pp_bpf_map *object_map(struct pp_bpf_object *object, const char *name)
{
	struct pp_bpf_map *map = pp_bpf_map_by_name(object, name);

	assert_non_null(map);
	return map;
}

/* SPDX-License-Identifier: MIT */
/* object_fixture.h - what the tests of objects share: files, opening with a log, running */
#ifndef OBJECT_FIXTURE_H
#define OBJECT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <progpack_bpf.h>

struct file {
	uint8_t *bytes;
	size_t size;
};

/* The last reason that was logged; "" after object_options(). */
extern char last_reason[512];
/* All that programs printed since object_options(). */
extern char printed[4096];

/* object_options - with a log and a print function that fill the above */
struct pp_bpf_opts object_options(void);

/* object_file - a compiled test object, whole; failure fails the test */
struct file object_file(const char *name);

/* object_open, object_load - must succeed */
struct pp_bpf_object *object_open(const char *name, const struct pp_bpf_opts *opts);
void object_load(struct pp_bpf_object *object);

/* object_run, object_interpret - a program by name, with r1 = @data and r2 = @len */
uint64_t object_run(struct pp_bpf_object *object, const char *name, void *data, size_t len);
uint64_t object_interpret(struct pp_bpf_object *object, const char *name, void *data, size_t len);

struct pp_bpf_map *object_map(struct pp_bpf_object *object, const char *name);

#endif

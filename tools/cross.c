/* SPDX-License-Identifier: MIT */
/* cross.c - native code of any arch, in plain memory; see cross.h */
#include "cross.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Where Linux puts programs if it does not randomise. */
#define IMAGE ((uintptr_t)0x555550000000)
#define ROOM ((uintptr_t)64 << 20)

static int cross_alloc(void *ctx, size_t size, struct pp_code *code)
{
	struct cross *cross = ctx;

	if (size > ROOM)
		return -ENOSPC;
	cross->size = (size + PP_CHUNK - 1) / PP_CHUNK * PP_CHUNK;
	cross->bytes = calloc(1, cross->size);
	if (!cross->bytes)
		return -ENOMEM;
	*code = (struct pp_code){
		.rx = (void *)cross->mem.lo,
		.rw = cross->bytes,
		.size = cross->size,
	};
	return 0;
}

static int cross_finalize(void *ctx, struct pp_code *code, size_t used)
{
	(void)ctx, (void)code, (void)used;
	return 0;
}

static int cross_free(void *ctx, const void *rx)
{
	struct cross *cross = ctx;

	(void)rx;
	free(cross->bytes);
	cross->bytes = NULL;
	return 0;
}

static int cross_abort(void *ctx, struct pp_code *code)
{
	return cross_free(ctx, code->rx);
}

/* Nothing runs there, so nothing is ever looked up; but code that may fault wants to be found. */
static int cross_lookup(const void *ctx, const void *pc, struct pp_block *block)
{
	(void)ctx, (void)pc, (void)block;
	return -ENOENT;
}

void cross_init(struct cross *cross)
{
	*cross = (struct cross){
		.mem =
			{
				.ctx = cross,
				.lo = IMAGE,
				.hi = IMAGE + ROOM,
				.alloc = cross_alloc,
				.finalize = cross_finalize,
				.abort = cross_abort,
				.free = cross_free,
				.lookup = cross_lookup,
			},
		.stand_in = IMAGE + ROOM,
	};
}

void cross_fini(struct cross *cross)
{
	free(cross->bytes);
}

static unsigned int all_features(const struct jit_arch *arch)
{
	unsigned int count = 0;

	while (arch->feature_names[count])
		count++;
	return (1u << count) - 1;
}

/* The names that there are, for a message. */
static int refuse(const struct jit_arch *arch, const char *name, size_t len)
{
	char names[128] = "";

	for (size_t i = 0; arch->feature_names[i]; i++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, ", %s", arch->feature_names[i]);
	}
	cli_error("--features: %s has no '%.*s': there are none, all%s", arch->name, (int)len, name,
		  names);
	return -EINVAL;
}

static int add_feature(const struct jit_arch *arch, const char *name, size_t len,
		       unsigned int *features)
{
	for (unsigned int i = 0; arch->feature_names[i]; i++) {
		if (strlen(arch->feature_names[i]) != len ||
		    memcmp(arch->feature_names[i], name, len) != 0)
			continue;
		*features |= 1u << i;
		return 0;
	}
	return refuse(arch, name, len);
}

int cross_features(const struct jit_arch *arch, const char *list, unsigned int *features)
{
	int err = 0;

	if (!list)
		*features = arch == jit_host_arch() ? jit_host_features() : all_features(arch);
	else if (!strcmp(list, "all"))
		*features = all_features(arch);
	else
		*features = 0;
	if (!list || !strcmp(list, "all") || !strcmp(list, "none"))
		return 0;
	while (!err) {
		size_t len = strcspn(list, ",");

		err = add_feature(arch, list, len, features);
		if (!list[len])
			break;
		list += len + 1;
	}
	return err;
}

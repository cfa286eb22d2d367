/* SPDX-License-Identifier: MIT */
/* heap_arms.c - the table of bench heap's arms, and those that need no other library */
#include "bench/heap_arm.h"

#include <errno.h>
#include <progpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cpu.h"
#include "os/os.h"
#include "tools/cli.h"

static void log_reason(void *ctx, const char *message)
{
	cli_error("%s: %s", (const char *)ctx, message);
}

static int pack_open(int variant, void **state)
{
	struct pp_heap *heap;
	struct pp_opts opts = {
		.size = sizeof(opts),
		.writer = (enum pp_writer)variant,
		.log = log_reason,
		.log_ctx = (void *)(uintptr_t)pp_writer_name((enum pp_writer)variant),
	};
	int err = pp_heap_new(&opts, &heap);

	if (!err)
		*state = heap;
	return err;
}

static void pack_close(void *state)
{
	pp_heap_free(state);
}

static int pack_add(void *state, const struct heap_image *image, uint32_t size,
		    struct heap_block *block)
{
	struct pp_code code;
	int err = pp_alloc(state, size, &code);

	if (err)
		return err;
	memcpy(code.rw, image->code, size);
	err = pp_finalize(state, &code, size);
	if (!err)
		*block = (struct heap_block){.rx = code.rx, .own = code.rx, .size = size};
	return err;
}

static int pack_del(void *state, const struct heap_block *block)
{
	return pp_free(state, block->own);
}

static int stateless_open(int variant, void **state)
{
	(void)variant;
	*state = NULL;
	return 0;
}

static void stateless_close(void *state)
{
	(void)state;
}

static int plain_add(void *state, const struct heap_image *image, uint32_t size,
		     struct heap_block *block)
{
	void *at = malloc(size);

	(void)state;
	if (!at)
		return -ENOMEM;
	memcpy(at, image->code, size);
	*block = (struct heap_block){.own = at, .size = size};
	return 0;
}

static int plain_del(void *state, const struct heap_block *block)
{
	(void)state;
	free(block->own);
	return 0;
}

static size_t whole_pages(size_t size)
{
	size_t page = os_page_size();

	return (size + page - 1) / page * page;
}

static int mmap_add(void *state, const struct heap_image *image, uint32_t size,
		    struct heap_block *block)
{
	void *at;
	int err = os_map_rw(whole_pages(size), &at);

	(void)state;
	if (err)
		return err;
	memcpy(at, image->code, size);
	err = os_protect_rx(at, whole_pages(size));
	if (err) {
		os_unmap(at, whole_pages(size));
		return err;
	}
	cpu_sync(at, size);
	*block = (struct heap_block){.rx = at, .own = at, .size = size};
	return 0;
}

static int mmap_del(void *state, const struct heap_block *block)
{
	(void)state;
	os_unmap(block->own, whole_pages(block->size));
	return 0;
}

#define PACK_ARM(name, writer)                                                                     \
	{                                                                                          \
		name, writer, true, pack_open, pack_close, pack_add, pack_del                      \
	}
#define ASMJIT_ARM(name, variant)                                                                  \
	{                                                                                          \
		name, variant, true, asmjit_open, asmjit_close, asmjit_add, asmjit_del             \
	}

const struct heap_arm_kind heap_arms[] = {
	PACK_ARM("poke", PP_WRITER_POKE),
	PACK_ARM("alias", PP_WRITER_ALIAS),
	{"malloc", 0, false, stateless_open, stateless_close, plain_add, plain_del},
	{"mmap-per-block", 0, true, stateless_open, stateless_close, mmap_add, mmap_del},
#ifdef HAVE_ASMJIT
	ASMJIT_ARM("asmjit", 0),
	ASMJIT_ARM("asmjit-dual", ASMJIT_DUAL),
	ASMJIT_ARM("asmjit-dual-pools", ASMJIT_DUAL + ASMJIT_POOLS),
#endif
#ifdef HAVE_FFI
	{"ffi", 0, true, ffi_open, ffi_close, ffi_add, ffi_del},
#endif
};
const unsigned int heap_arms_count = sizeof(heap_arms) / sizeof(heap_arms[0]);

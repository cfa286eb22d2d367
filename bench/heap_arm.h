/* SPDX-License-Identifier: MIT */
/*
 * heap_arm.h - one way of keeping code, as bench heap drives it; also read by C++
 *
 *	poke, alias	our heap
 *	malloc		plain memory: what the bookkeeping around all arms costs
 *	mmap-per-block	map read-write, write, mprotect; munmap
 *	asmjit...	asmjit's JitAllocator, with one view or two, with pools by size
 *	ffi		libffi's closures of the same sizes
 */
#ifndef BENCH_HEAP_ARM_H
#define BENCH_HEAP_ARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is written to all blocks: a function, and traps up to the largest size. */
struct heap_image {
	const uint8_t *code;
	uint32_t result; /* of the function */
};

struct heap_block {
	void *rx;  /* call this; NULL: none */
	void *own; /* what the arm frees it by */
	uint32_t size;
};

/*
 * struct heap_arm_kind - an arm's functions; add and del are called by several threads at once
 * @variant: what tells arms of the same functions apart
 * @is_code: its blocks are executable memory, so that they can be called, and density has a meaning
 * @open: *state is passed to the others
 * @add: allocate, write @size bytes of the image, make executable
 *
 * All return 0 or -errno.
 */
struct heap_arm_kind {
	const char *name;
	int variant;
	bool is_code;
	int (*open)(int variant, void **state);
	void (*close)(void *state);
	int (*add)(void *state, const struct heap_image *image, uint32_t size,
		   struct heap_block *block);
	int (*del)(void *state, const struct heap_block *block);
};

extern const struct heap_arm_kind heap_arms[];
extern const unsigned int heap_arms_count;

/* heap_asmjit.cpp, where asmjit was found; variants of one are sums of these. */
#define ASMJIT_DUAL 1
#define ASMJIT_POOLS 2
int asmjit_open(int variant, void **state);
void asmjit_close(void *state);
int asmjit_add(void *state, const struct heap_image *image, uint32_t size,
	       struct heap_block *block);
int asmjit_del(void *state, const struct heap_block *block);

/* heap_ffi.c, where libffi was found */
int ffi_open(int variant, void **state);
void ffi_close(void *state);
int ffi_add(void *state, const struct heap_image *image, uint32_t size, struct heap_block *block);
int ffi_del(void *state, const struct heap_block *block);

#ifdef __cplusplus
}
#endif
#endif

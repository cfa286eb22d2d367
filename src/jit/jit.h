/* SPDX-License-Identifier: MIT */
/*
 * jit.h - from a decoded unit to native code: one driver, one constant table per arch
 *
 *	size (emit to nowhere until sizes stand) -> alloc -> emit into rw against rx -> finalize
 *
 * The size of the code never depends on where it lands: call forms follow the range that
 * the memory declares. Every function of the unit lies in one image, in order.
 */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include <progpack.h>

#include "base/log.h"
#include "bpf/flow.h"
#include "bpf/insn.h"

/*
 * struct jit_mem - where images go; a heap, or what a benchmark compares it with
 *
 * alloc, finalize, abort and free behave as pp_alloc() .. pp_free(). All code of it, now
 * and later, is in lo .. hi-1.
 */
struct jit_mem {
	void *ctx;
	uintptr_t lo, hi;
	int (*alloc)(void *ctx, size_t size, struct pp_code *code);
	int (*finalize)(void *ctx, struct pp_code *code, size_t used);
	int (*abort)(void *ctx, struct pp_code *code);
	int (*free)(void *ctx, const void *rx);
};

/* jit_mem_heap - the one for a heap; the heap must outlive it */
struct jit_mem jit_mem_heap(struct pp_heap *heap);

/*
 * struct jit_ctx - state of one pass over a unit
 *
 * at[] are offsets of this layout; guess[] those of the pass before, which choose the
 * forms of jumps. Layouts only shrink from pass to pass, so a form that fitted then fits
 * now. The passes stop when nothing shrank, or after JIT_PASSES: guess[] then stays, and one
 * more sizing pass makes at[] agree with it. There is nothing that could fail to converge.
 */
struct jit_ctx {
	const struct jit_arch *arch;
	const struct unit *unit;
	const struct flow *flow;
	const struct jit_mem *mem;
	unsigned int features; /* the arch's own bits */
	uint8_t *out;	       /* rw to emit into; NULL while sizing */
	uintptr_t rx;	       /* address of the image; meaningless while sizing */
	size_t len, cap;       /* bytes emitted; size of out */
	int err;	       /* sticky, checked once a pass */
	uint32_t func;	       /* the one being emitted */
	uint32_t *at, *guess;  /* nins + 1 offsets each */
	uint32_t *entry, *entry_guess; /* nfuncs + 1: where each prologue is; the end */
};

/* jit_put - append bytes: the only way code is emitted */
void jit_put(struct jit_ctx *jit, const void *bytes, size_t size);

/*
 * struct jit_arch - a back-end; all are compiled on every host
 * @max_ins: no insn, prologue or epilogue emits more bytes than this
 * @features: what this CPU can do, only called where the back-end is the host's
 * @prologue: of function jit->func
 * @emit: by kind; insn number @i. The driver zeroes flow_undefined() registers through @zero.
 * @zero: registers of a mask := 0
 */
struct jit_arch {
	const char *name;
	size_t max_ins;
	unsigned int (*features)(void);
	void (*prologue)(struct jit_ctx *jit);
	void (*zero)(struct jit_ctx *jit, uint16_t mask);
	void (*emit[INSN_KINDS])(struct jit_ctx *jit, const struct insn *in, uint32_t i);
};

extern const struct jit_arch jit_x86_64;

/* jit_host_arch - this machine's back-end, or NULL (host.c: the JIT's only #if by arch) */
const struct jit_arch *jit_host_arch(void);

/*
 * struct jit_image - finished code
 * @entry: nfuncs + 1 offsets: function f is rx + entry[f] .. rx + entry[f + 1] - 1
 * @at: nins + 1 offsets if wanted, else NULL; insn i's code ends where the next one's
 *	(or its function's end) begins
 */
struct jit_image {
	const uint8_t *rx;
	size_t size;
	uint32_t *entry;
	uint32_t *at;
};

/*
 * jit_compile - compile a unit and finalize it into @mem
 * @features: the arch's bits, jit_host_arch()->features() for the host's own
 * @lines: keep image->at
 *
 * A failure after allocation gives everything back. Return: 0, -E2BIG (code of 2 GiB),
 * -ENOMEM, or what @mem returned.
 */
int jit_compile(const struct jit_arch *arch, unsigned int features, const struct unit *unit,
		const struct jit_mem *mem, const struct log *log, bool lines,
		struct jit_image *image);

/* jit_image_fini - free the tables, and the code with mem->free() */
int jit_image_fini(struct jit_image *image, const struct jit_mem *mem);

#endif

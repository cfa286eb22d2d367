/* SPDX-License-Identifier: MIT */
/*
 * jit.h - from a decoded unit to native code: one driver, one constant table per arch
 *
 *	size (emit to nowhere until sizes stand) -> alloc -> emit into rw against rx -> finalize
 *
 * The size of the code never depends on where it lands: call forms follow the range that
 * the memory declares. Every function of the unit lies in one image, in order, and behind them
 * the table of accesses that may fault (os/fault.h), if there are any.
 */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include <endian.h>
#include <string.h>

#include <progpack.h>

#include "base/log.h"
#include "bpf/flow.h"
#include "bpf/insn.h"
#include "os/fault.h"

/*
 * struct jit_mem - where images go; a heap, or what a benchmark compares it with
 *
 * alloc, finalize, abort, free and lookup behave as pp_alloc() .. pp_lookup(). All code of it,
 * now and later, is in lo .. hi-1. Memory without lookup takes no code that may fault; without
 * free_batch it frees one by one.
 */
struct jit_mem {
	void *ctx;
	uintptr_t lo, hi;
	int (*alloc)(void *ctx, size_t size, struct pp_code *code);
	int (*finalize)(void *ctx, struct pp_code *code, size_t used);
	int (*abort)(void *ctx, struct pp_code *code);
	int (*free)(void *ctx, const void *rx);
	int (*free_batch)(void *ctx, const void *const *rx, size_t n);
	int (*lookup)(const void *ctx, const void *pc, struct pp_block *block);
};

/* jit_mem_heap - the one for a heap; the heap must outlive it */
struct jit_mem jit_mem_heap(struct pp_heap *heap);

/*
 * struct jit_outside - addresses in the code beyond the unit's numbers and helpers
 * @calls_native: called with @unit, by calls of registers
 * @guard_slow: bpf/guard.h
 */
struct jit_outside {
	uintptr_t unit, calls_native, packet_load, guard_slow;
};

/*
 * struct jit_frame - what a back-end's prologue set up, for its epilogue to undo
 * @saved: mask of eBPF registers whose host registers it saved
 * @stack: bytes it moved the stack pointer by, saved registers not counted
 */
struct jit_frame {
	uint32_t saved;
	uint32_t stack;
	bool has_fp, padded;
};

/*
 * struct jit_ctx - state of one pass over a unit
 *
 * A pass lays the image out: at[] and entry[] are its offsets. guess[] is the layout of the
 * pass before (NULL in the first pass: every jump is far), and chooses the forms of jumps.
 * Layouts only shrink from pass to pass, so a form that reaches in guess[] reaches in at[]. A
 * pass is a function of guess[] alone: the one that emits repeats the last one that sized, byte
 * for byte, whether or not anything could still have shrunk. Nothing can fail to converge.
 *
 * @start, @pos: the bytes of the insn being emitted are start .. pos-1; at each insn's start
 *	there is room for arch->max_ins. Where they go for good is the driver's affair.
 * @start_at: offset of start in the image
 * @exit: the insn of this function whose code is the shared way out, or JIT_NONE so far
 * @insn: the one being emitted
 * @slow: offset of arch->guard->slow's code
 * @faults: where its entries go, in rw; NULL while sizing, when they are only counted
 * @own: what arch->prepare() found out; one block from malloc(), that the driver frees
 */
struct jit_ctx {
	const struct jit_arch *arch;
	const struct unit *unit;
	const struct flow *flow;
	const struct jit_mem *mem;
	unsigned int features; /* the arch's own bits */
	uintptr_t rx;          /* address of the image; meaningless while sizing */
	struct jit_outside outside;
	uint8_t *pos, *start;
	size_t start_at;
	uint32_t *at, *guess; /* nins offsets each */
	uint32_t *entry;      /* nfuncs + 1: where each function is entered from outside; the end */
	uint32_t *inner;      /* nfuncs: where by local calls, whose r3 .. r5 are arguments */
	bool *has_calls;      /* by function: is there a call in it? */
	uint32_t func;        /* the one being emitted */
	struct jit_frame frame; /* its own, set by arch->prologue */
	uint32_t exit;
	uint32_t insn;
	uint32_t slow;
	uint8_t *faults;
	uint32_t nfaults;
	void *own;
};

#define JIT_NONE UINT32_MAX

/* A back-end's insn may store this many bytes past its end: see jit_put(). */
#define JIT_SLACK 8

/*
 * jit_put - append the low @n (0 .. 8) bytes of @bytes, lowest first: the only way code is
 * emitted
 *
 * Always stores eight, which is what makes it cheap.
 */
static inline void jit_put(struct jit_ctx *jit, uint64_t bytes, size_t n)
{
	bytes = htole64(bytes);
	memcpy(jit->pos, &bytes, sizeof(bytes));
	jit->pos += n;
}

/* jit_here - offset in the image of the next byte */
static inline size_t jit_here(const struct jit_ctx *jit)
{
	return jit->start_at + (size_t)(jit->pos - jit->start);
}

/*
 * jit_may_fault - the instruction at offset @at may fault; if it does, go on at jit_here()
 * @reg: to be zeroed then, by its number as the arch has it, or FAULT_NO_REG
 *
 * Call it for every access to memory of an insn, where the run is to go on: right behind a load,
 *
 *	at = jit_here(jit);
 *	load(jit, rd, rs, off);
 *	jit_may_fault(jit, at, rd);
 *
 * or behind the whole of a sequence, once for each of its accesses in their order; there the
 * registers must be what they would be if memory were 0 and could not be changed: a fetching
 * atomic has given 0, cmpxchg r0 = 0.
 *
 * Does nothing for an insn without INSN_FAULTS. An insn makes the same entries in every pass.
 */
void jit_may_fault(struct jit_ctx *jit, size_t at, unsigned int reg);

/* jit_func - the function being emitted */
static inline const struct func *jit_func(const struct jit_ctx *jit)
{
	return &jit->unit->funcs[jit->func];
}

/* Emits code of insn number @i. */
typedef void (*jit_emit_fn)(struct jit_ctx *jit, const struct insn *in, uint32_t i);

/*
 * jit_enter_fn - what a guarded unit's image begins with: calls one of its functions
 * @fn: its func.native; r1 .. r5 and r10 are guard->args and guard->frame
 */
struct guard;
typedef uint64_t (*jit_enter_fn)(struct guard *guard, const void *fn);

/*
 * struct jit_guard - a back-end's code of guarded units (bpf/guard.h)
 * @enter: a jit_enter_fn; keeps the guard in a register that nothing else uses
 * @slow: to be called from insns, keeping all that eBPF sees: calls guard_slow()
 * @check: what comes before insn @i, if it has INSN_GUARD or guard_asks()
 * @charge: the same for insn.charge
 * @tail: INSN_TAIL, instead of the arch's own: calls the fn of its helper
 *
 * In guarded units r10 has a register of its own; a call moves it down by a frame and back.
 */
struct jit_guard {
	void (*enter)(struct jit_ctx *jit);
	void (*slow)(struct jit_ctx *jit);
	jit_emit_fn check, charge, tail;
};

/*
 * struct jit_arch - a back-end; all are compiled on every host
 * @max_ins: no insn or prologue emits more bytes than this, JIT_SLACK included
 * @trap: four bytes, lowest first, that trap wherever an instruction may begin in them
 * @relaxes: mask of the kinds whose size follows from the layout; all others are sized once
 * @fixed: mask of kinds whose bytes follow from insn, flow and function alone, not from where they
 *	are or what is around them: they are emitted once, and copied; 0 is always right
 * @feature_names: what CPUs of the arch may or may not have, by bit of jit_ctx.features, then NULL
 * @prepare: NULL, or called before the first pass; 0 or -ENOMEM
 * @land: NULL, or a place for indirect calls to land on, where CPUs want one; the prologue has its
 *	own, if that is where they go
 * @begin_run: what comes before the prologue of a program that makes tail calls and is not guarded,
 *	where it is entered from outside: calls the program, with the address of a count of
 *	BPF_MAX_TAILS in a register that all of its functions, and C's, keep
 * @prologue: of function jit->func
 * @emit: by kind; insn number @i. The driver zeroes flow_undefined() registers through @zero.
 * @zero: registers of a mask := 0
 * @guard: NULL: guarded units are interpreted
 */
struct jit_arch {
	const char *name;
	size_t max_ins;
	uint32_t trap;
	uint32_t relaxes;
	uint32_t fixed;
	const char *const *feature_names;
	int (*prepare)(struct jit_ctx *jit);
	void (*land)(struct jit_ctx *jit);
	void (*begin_run)(struct jit_ctx *jit);
	void (*prologue)(struct jit_ctx *jit);
	void (*zero)(struct jit_ctx *jit, uint16_t mask);
	jit_emit_fn emit[INSN_KINDS];
	const struct jit_guard *guard;
};

extern const struct jit_arch jit_x86_64;
extern const struct jit_arch jit_arm64;
extern const struct jit_arch jit_riscv64;

/* All of them, then NULL. Those of other machines make code too, for whoever reads it. */
extern const struct jit_arch *const jit_arches[];

/* jit_arch_by_name - "x86-64" .. or NULL */
const struct jit_arch *jit_arch_by_name(const char *name);

/* jit_host_arch - this machine's back-end, or NULL (host.c: the JIT's only #if by arch) */
const struct jit_arch *jit_host_arch(void);

/* jit_host_features - what this machine's CPU can do, by that back-end's bits */
unsigned int jit_host_features(void);

/*
 * struct jit_image - finished code
 * @size: all of it; with fault entries, they and the traps before them too, to the block's end
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
 * struct jit_job - what jit_compile() is to do
 * @features: the arch's bits, jit_host_features() for the host's own
 * @outside: NULL for where these are; anything else makes code that is not to be run
 * @lines: keep image->at
 */
struct jit_job {
	const struct jit_arch *arch;
	unsigned int features;
	const struct unit *unit;
	const struct jit_mem *mem;
	const struct jit_outside *outside;
	const struct log *log;
	bool lines;
};

/*
 * jit_compile - compile a unit and finalize it into job->mem
 *
 * A failure after allocation gives everything back. Return: 0, -E2BIG (code of 2 GiB), -ENOTSUP
 * (accesses that may fault, in memory without lookup; a guarded unit, by an arch that has no such
 * code), -ENOMEM, or what the memory returned.
 */
int jit_compile(const struct jit_job *job, struct jit_image *image);

/* jit_image_enter - of a guarded unit's image */
jit_enter_fn jit_image_enter(const struct jit_image *image);

/* jit_image_forget - free the tables; the code is free */
void jit_image_forget(struct jit_image *image);

/* jit_image_fini - free the tables, and the code with mem->free() */
int jit_image_fini(struct jit_image *image, const struct jit_mem *mem);

#endif

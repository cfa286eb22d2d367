/* SPDX-License-Identifier: MIT */
/*
 * progpack.h - executable memory for JITs: packed, huge-page backed, never writable
 *
 *	struct pp_code code;
 *	pp_heap_new(NULL, &heap);
 *	pp_alloc(heap, size, &code);		traps at code.rx
 *	emit(code.rw, PC-relative to code.rx);	a private buffer
 *	pp_finalize(heap, &code, used);		one copy, one instruction sync
 *	((fn)code.rx)();
 *	pp_free(heap, code.rx);			traps again, then reusable
 *
 * Every function may be called from any thread, except that pp_heap_free() must be the last call on
 * its heap. Functions return 0 or -errno; what they give is written through pointers, on success
 * only. A failing call changes nothing, unless its comment says otherwise.
 *
 * After fork() parent and child both go on with the heap, and neither sees what the other does. A
 * child that was made without pthread_atfork() handlers (a raw system call) may run an alias heap's
 * code, but calls that write are -EPERM. Neither kind of heap uses libc's malloc() in such a child.
 */
#ifndef PROGPACK_H
#define PROGPACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PP_VERSION_MAJOR 0
#define PP_VERSION_MINOR 1

#define PP_MUST_USE __attribute__((warn_unused_result))

/* A block starts at a multiple of this many bytes and is a multiple of it long. */
#define PP_CHUNK 64u

struct pp_heap;

/* Told why a call failed, or which fallback was taken: one line. It may fork, or use the heap. */
typedef void (*pp_log_fn)(void *ctx, const char *message);

/* How bytes reach memory that nobody may write; docs/heap.md compares them. */
enum pp_writer {
	PP_WRITER_AUTO,  /* the first of the others that passes a probe */
	PP_WRITER_POKE,  /* private memory, written through /proc/self/mem: no writable view */
	PP_WRITER_ALIAS, /* sealed memfd, a read-write view at another address */
};

/* Keep the heap on small pages, also where huge ones could be had. */
#define PP_SMALL_PAGES 0x1u
/* A child of fork() gets no code: its heap refuses calls with -EPERM, and fork() costs nothing. */
#define PP_NOFORK 0x2u
/*
 * Seal packs once they are full-grown: nobody can unmap or re-protect them, not even
 * pp_heap_free(): they stay for the process's life, full of traps. With the alias writer a child of
 * fork() may then run the code and change nothing. -ENOSYS if the kernel has no mseal.
 */
#define PP_SEAL 0x4u
/*
 * Map each pack whole, the first in pp_heap_new(), as one huge page where there are any: 2 MiB for
 * one small program, and no growth later. For hosts that know they will have much code.
 */
#define PP_WHOLE_PACKS 0x8u

/*
 * struct pp_opts - what pp_heap_new() may be told; zero means the default
 * @size: sizeof(struct pp_opts), always
 * @reserve: bytes of address space, rounded up to 2 MiB; default 512 MiB (128 MiB
 *	on arm64, which one BL spans). Halved, down to 2 MiB, where there are no such addresses
 *	or the writer gets none besides (-ENOMEM); pp_stats.reserved is what it has become.
 * @limit: most bytes of blocks, whole chunks counted; default none
 * @anchor: an address that all code should be within reach of a direct call of (2 GiB; arm64
 *	128 MiB, so that the default reservation never is), where there is room, else anywhere;
 *	default: of the main program's code
 * @log: told why a call failed (but not a wrong @size here, nor what pp_lookup() found free),
 *	each writer that does not work, and each halving; @log_ctx is its first argument
 * @name: its mappings are called "progpack:NAME" in /proc/PID/maps, as far as the kernel names
 *	them and the name's characters allow; copied, cut short past 70 bytes
 */
struct pp_opts {
	size_t size;
	size_t reserve;
	size_t limit;
	const void *anchor;
	enum pp_writer writer;
	unsigned int flags;
	pp_log_fn log;
	void *log_ctx;
	const char *name;
};

/*
 * struct pp_code - a block between pp_alloc() and pp_finalize() or pp_abort()
 * @rx: where the code will run; compute PC-relative values from it
 * @rw: private buffer to emit into, full of traps; NULL once consumed
 * @size: bytes of both, the wish rounded up to whole chunks
 */
struct pp_code {
	void *rx;
	void *rw;
	size_t size;
};

/* A block found by pp_lookup(). */
struct pp_block {
	const void *rx;
	size_t size;
};

/*
 * struct pp_stats - a heap's figures; bytes unless named otherwise
 * @size: sizeof(struct pp_stats), set by the caller
 * @writer: the one in use, never PP_WRITER_AUTO
 * @reserved: address space
 * @committed: executable memory mapped in it
 * @huge: part of it on huge pages, as /proc/self/smaps says; 0 where there is no such file
 * @used: in blocks, whole chunks: what the limit counts
 * @largest_free: the largest block that fits into the packs mapped now
 * @packs, @blocks, @open: counts; open blocks are not finalized yet, and counted in @blocks too
 * @allocs .. @patches: calls that succeeded, each block of a batch being one
 * @copies, @fills: writes of code by finalize and of traps by free, one each whatever the size
 * @syncs: instruction syncs (on x86-64 nothing but for patches): one per call, also of a batch
 * @fail_args .. @fail_write: calls that failed, by cause: bad arguments (-EINVAL, -E2BIG, -EBUSY,
 *	-EOVERFLOW; of pp_patch() also -ENOENT and -ENOTSUP), -ESTALE, -EDQUOT, -ENOSPC, no memory
 *	(any other error of pp_alloc()), and writes or instruction syncs that the kernel refused.
 *	Not counted: what a child may not do (-EPERM), pp_lookup(), pp_stats(), pp_heap_tidy()
 */
struct pp_stats {
	size_t size;
	enum pp_writer writer;
	uint64_t reserved, committed, huge, used, limit, largest_free;
	uint64_t packs, blocks, open;
	uint64_t allocs, finalizes, aborts, frees, patches;
	uint64_t copies, fills, syncs;
	uint64_t fail_args, fail_stale, fail_limit, fail_space, fail_memory, fail_write;
};

/*
 * pp_heap_new - reserve a heap's address space and choose its writer
 * @opts: NULL for the defaults
 *
 * Executable memory is mapped and code is run here, so a heap that exists works.
 * Return: 0, -EINVAL (bad option), -E2BIG (a field of a later version is set), -ENOMEM, or why no
 * writer works (-EPERM, -EACCES, -ENOSYS, ...; each writer's reason goes to opts->log).
 */
PP_MUST_USE int pp_heap_new(const struct pp_opts *opts, struct pp_heap **heap);

/* Unmap everything, open and live blocks included. NULL is fine. */
void pp_heap_free(struct pp_heap *heap);

/*
 * pp_alloc - reserve a block of code memory
 * @size: bytes wanted, 1 .. the heap's reservation; rounded up to whole chunks
 * @code: filled on success, untouched on error
 *
 * End the block with exactly one of pp_finalize() or pp_abort().
 * Return: 0, -EINVAL (size 0), -E2BIG (larger than the reservation), -EDQUOT (over opts.limit),
 * -ENOSPC (reservation full), -ENOMEM, or why no more executable memory could be mapped (-EMFILE,
 * -EFBIG, ...). Mirrors bpf_jit_binary_pack_alloc() of kernel/bpf/core.c.
 */
PP_MUST_USE int pp_alloc(struct pp_heap *heap, size_t size, struct pp_code *code);

/*
 * struct pp_block_opts - what pp_alloc_with() may be told; zero means the default
 * @size: sizeof(struct pp_block_opts), always
 * @align: of code->rx, a power of two up to 4096; default PP_CHUNK
 * @name: for pp_walk() and listings; copied; default none
 */
struct pp_block_opts {
	size_t size;
	size_t align;
	const char *name;
};

/* pp_alloc_with - pp_alloc() with an alignment and a name; also -EINVAL for a bad alignment */
PP_MUST_USE int pp_alloc_with(struct pp_heap *heap, size_t size, const struct pp_block_opts *opts,
			      struct pp_code *code);

/*
 * pp_finalize - copy the emitted code to where it runs
 * @used: bytes emitted, 1 .. code->size; the chunks past them are given back
 *
 * Consumes code->rw (NULL afterwards) on success and on failure; a block that failed is given
 * back as by pp_abort(). But where the copy failed and the kernel refuses even the traps that are
 * to undo it, the block stays for good, so that nobody gets chunks with half a copy in them: it is
 * counted in stats.used and blocks, pp_lookup() finds it, pp_free() says -ESTALE. On success
 * code->size is what the block has kept, and the caller may publish code->rx.
 *
 * Return: 0, -EINVAL (@used out of range), -EOVERFLOW (bytes were emitted past the end of the
 * buffer), -ESTALE (no open block; nothing is consumed), or the writer's error. Mirrors
 * bpf_jit_binary_pack_finalize().
 */
PP_MUST_USE int pp_finalize(struct pp_heap *heap, struct pp_code *code, size_t used);

/* pp_abort - give an open block back: 0, or -ESTALE as pp_finalize(). */
int pp_abort(struct pp_heap *heap, struct pp_code *code);

/*
 * pp_free - fill a finalized block with traps, then let its chunks be used again
 * @rx: its first byte; nobody may be executing in the block
 * Return: 0, -ESTALE (no block there: free already, or never allocated), -EINVAL (within a block,
 * no multiple of PP_CHUNK, or not of this heap), -EBUSY (open: use pp_abort()), or the writer's
 * error, and the block stays. Mirrors bpf_jit_binary_pack_free().
 */
PP_MUST_USE int pp_free(struct pp_heap *heap, const void *rx);

/*
 * pp_finalize_batch, pp_free_batch - the same for @n blocks, with one instruction sync in all
 *
 * All or nothing: all are checked before any is touched; one given twice is -ESTALE. If one is no
 * open block, nothing is consumed; if one's @used or buffer is refused or a copy fails, all of the
 * batch are given back; if a fill fails, all stay (those filled already hold traps).
 */
PP_MUST_USE int pp_finalize_batch(struct pp_heap *heap, struct pp_code *codes, const size_t *used,
				  size_t n);
PP_MUST_USE int pp_free_batch(struct pp_heap *heap, const void *const *rx, size_t n);

/*
 * pp_patch - change bytes of a live block while threads may be running it
 * @at: where, in a finalized block
 * @size: 1 .. 8, not crossing an 8-byte boundary
 *
 * A thread that fetches the bytes sees the old ones or the new ones, never a mixture; when the
 * call returns every core sees the new ones. The alias writer changes all of them at once; poke one
 * byte only (others may be given, as they are already): who knows if the kernel writes more at
 * once.
 *
 * Return: 0, -EINVAL, -ENOENT (not in a finalized block), -ENOTSUP (this writer cannot write so
 * many bytes at once), the writer's error, or why cores cannot be synchronised (membarrier
 * denied). pp_free() of the block meanwhile is -EBUSY.
 */
PP_MUST_USE int pp_patch(struct pp_heap *heap, void *at, const void *bytes, size_t size);

/*
 * pp_heap_tidy - the slow work that is kept off the other calls: make packs that filled up huge,
 * return empty packs but one. Call it when idle; a heap that is never tidied works.
 * Return: 0, or the first error (-ENOMEM where the kernel found no huge page: later, maybe); what
 * can be done is done all the same. What a kernel never can is no error: stats.huge tells.
 */
PP_MUST_USE int pp_heap_tidy(struct pp_heap *heap);

/*
 * pp_lookup - the block that an address is in; async-signal-safe
 *
 * Exact for a block that stands meanwhile. If it is being made or freed by others, then -ENOENT or
 * bytes that contain @pc but may be no block any more. Return: 0, or -ENOENT (free, not of this
 * heap, or in a child that PP_NOFORK gives no code).
 */
PP_MUST_USE int pp_lookup(const struct pp_heap *heap, const void *pc, struct pp_block *block);

/*
 * pp_stats - the heap's figures; reads /proc/self/smaps, so not for hot paths
 * @stats: stats->size set by the caller; that many bytes are filled
 * Return: 0, -EINVAL (size below the first version's), or why /proc/self/smaps could not be read
 * although it is there (-EMFILE, -ENOMEM, ...).
 */
PP_MUST_USE int pp_stats(const struct pp_heap *heap, struct pp_stats *stats);

/* What pp_walk() shows: runs of the mapped packs, lowest address first, without gaps in a pack. */
enum pp_run_state {
	PP_RUN_FREE,   /* trap-filled, may be handed out */
	PP_RUN_OPEN,   /* allocated, not finalized */
	PP_RUN_LIVE,   /* code */
	PP_RUN_UNGROWN /* addresses of a pack that have no memory yet */
};

/* @huge: the pack is one huge page, as far as the heap knows; @name: NULL if it has none */
struct pp_run {
	const void *rx;
	size_t size;
	enum pp_run_state state;
	int huge;
	const char *name;
};

/*
 * pp_walk - show every run of a heap
 * @fn: gets each; non-zero stops the walk. Must not call the heap, whose locks are held.
 * Return: 0, or what @fn returned.
 */
PP_MUST_USE int pp_walk(const struct pp_heap *heap, int (*fn)(void *ctx, const struct pp_run *run),
			void *ctx);

/* All code of the heap is in *lo .. *hi - 1, now and later: choose call forms by it. */
void pp_heap_range(const struct pp_heap *heap, uintptr_t *lo, uintptr_t *hi);

/* "poke", "alias" or "auto"; NULL for anything else. */
const char *pp_writer_name(enum pp_writer writer);

/* The reverse: 0, or -EINVAL. */
PP_MUST_USE int pp_writer_by_name(const char *name, enum pp_writer *writer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * arms.h - the ways of keeping code that the benchmarks compare (lineage.md 5.4)
 *
 *	page		a page for each program: map read-write, write, mprotect
 *	page-random	the same, started somewhere in its page, as kernels did before packs
 *	pack-4k		64-byte chunks of single pages, each mapped by itself
 *	arena-4k	our heap, kept on small pages
 *	arena-2m	our heap, each pack one huge page from its first program on, as by default a
 *			pack becomes when it has filled up
 */
#ifndef BENCH_ARMS_H
#define BENCH_ARMS_H

#include "jit/jit.h"

struct arm;

struct arm_kind {
	const char *name, *writer_name;
	enum pp_writer writer;
	unsigned int flags;
	int (*open)(struct arm *arm);
	void (*close)(struct arm *arm);
	/* Bytes of executable memory that its programs take from everybody else. */
	uint64_t (*exec_bytes)(const struct arm *arm);
	/* Bytes of them on huge pages, by smaps. */
	int (*huge_bytes)(const struct arm *arm, uint64_t *bytes);
};

extern const struct arm_kind arm_kinds[];
extern const unsigned int arm_kinds_count;

/* An open arm; load programs into @mem. */
struct arm {
	const struct arm_kind *kind;
	struct jit_mem mem;
	struct pp_heap *heap;   /* the arena arms' */
	struct pages *pages;    /* the page arms' */
	struct packs_4k *packs; /* pack-4k's */
};

/* arm_open - 0, or -errno and *arm untouched; a heap's reasons are told on stderr */
int arm_open(struct arm *arm, const struct arm_kind *kind);
void arm_close(struct arm *arm);

/* The page arms' and pack-4k's functions, in arm_page.c and arm_pack4k.c. */
int pages_open(struct arm *arm);
int pages_open_random(struct arm *arm);
void pages_close(struct arm *arm);
uint64_t pages_exec_bytes(const struct arm *arm);
int packs_4k_open(struct arm *arm);
void packs_4k_close(struct arm *arm);
uint64_t packs_4k_exec_bytes(const struct arm *arm);

#endif

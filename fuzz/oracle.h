/* SPDX-License-Identifier: MIT */
/*
 * oracle.h - what a heap must do, as an array of blocks says
 *
 * It keeps a copy of what each block holds, and knows nothing of how chunks are found. It believes
 * the heap one thing that it cannot check: which addresses have memory, as pp_walk() shows.
 */
#ifndef FUZZ_ORACLE_H
#define FUZZ_ORACLE_H

#include <progpack.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define PACK ((size_t)2 << 20)
#define PACKS 3u
#define CHUNKS (PACK / PP_CHUNK)
#define BLOCKS 24u

enum state { NONE, OPEN, LIVE };

/* @want: what a live block holds. @code: as pp_alloc() gave it, also after the block's end. */
struct block {
	enum state state;
	struct pp_code code;
	uint8_t *rx;
	size_t size;
	uint8_t *want;
	const char *name;
};

struct oracle {
	struct pp_heap *heap;
	uint8_t *base;
	size_t packs;
	struct block block[BLOCKS];
	size_t grown[PACKS]; /* bytes */
	struct pp_stats stats;
	const uint8_t *in, *end;
};

bool is_traps(const uint8_t *at, size_t size);
size_t whole_chunks(size_t size);

/* at_address - the block that an address is in, or NULL */
struct block *at_address(struct oracle *o, const uint8_t *at);

/* claimed - the open block that a struct pp_code stands for, or NULL */
struct block *claimed(struct oracle *o, const struct pp_code *code);

/* is_grown - an address of the heap that has memory, as look() saw it last */
bool is_grown(const struct oracle *o, const uint8_t *at);

/* expect_alloc, expect_free - what the calls should give */
int expect_alloc(struct oracle *o, size_t size, size_t align);
int expect_free(struct oracle *o, const uint8_t *at);

/* failed - count a call's failure by its cause, if it is one, and give it */
int failed(struct oracle *o, int err);

/* forget - the block is no more */
void forget(struct oracle *o, struct block *b);

/* check_block - it holds its code, or traps if it is open */
void check_block(const struct block *b);

/* look - see what has memory; check_all - and that everything else is as it should be */
void look(struct oracle *o);
void check_all(struct oracle *o);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * heap_test.h - what the heap's tests share: heaps for each writer, code that returns a number,
 * children for what kills, and the test's own reading of /proc
 */
#ifndef HEAP_TEST_H
#define HEAP_TEST_H

#include <progpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* after the four headers that it needs */
#include <cmocka.h>

#include "child.h"

#define MIB ((size_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

/* Run @function once for each writer; inside, *state is an enum pp_writer. */
extern enum pp_writer test_poke, test_alias;
#define EACH_WRITER(function)                                                                      \
	{#function "/poke", function, NULL, NULL, &test_poke},                                     \
	{                                                                                          \
#function "/alias", function, NULL, NULL, &test_alias                              \
	}
#define WRITER(state) (*(enum pp_writer *)*(state))

/* Options with a reservation of some packs and a log that remembers. */
struct pp_opts test_opts(enum pp_writer writer, size_t packs);
struct pp_heap *test_heap(enum pp_writer writer, size_t packs);
extern char test_log[4096];

struct pp_stats test_stats(const struct pp_heap *heap);

/* Every figure but those of failed calls; by the second, from a child too. */
void assert_same_state(const struct pp_stats *a, const struct pp_stats *b);
bool is_same_state(const struct pp_stats *a, const struct pp_stats *b);

/* Emit a function that returns @value; its size. */
size_t emit_return(void *rw, uint32_t value);
uint32_t call(const void *rx);

/* A live block of @size bytes whose function returns @value. */
void *test_block(struct pp_heap *heap, size_t size, uint32_t value);

/* fork() by a system call that runs no handlers. */
pid_t raw_fork(void);

bool is_traps(const void *bytes, size_t size);

/* A line of /proc/self/maps. */
struct mapping {
	uintptr_t lo, hi;
	char perms[5];
	unsigned long inode;
	char path[256];
};

/* Call @see for each mapping; stops when it returns false. */
void each_mapping(bool (*see)(const struct mapping *mapping, void *arg), void *arg);

/* Kilobytes that smaps gives under @name for mappings within lo .. hi-1. */
unsigned long smaps_kb(uintptr_t lo, uintptr_t hi, const char *name);

/* Does the kernel give anybody who asks a huge page of anonymous memory now? */
bool gives_anonymous_huge(void);

#endif

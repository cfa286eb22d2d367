/* SPDX-License-Identifier: MIT */
/*
 * fork.h - a heap in a child of fork()
 *
 * Both processes go on with the heap as it was, and neither sees what the other does with it:
 *
 *	poke	memory is private: only the descriptor of /proc/self/mem, which addresses the parent
 *		for ever, is opened again
 *	alias	memory is shared: the child maps copies at the same addresses. They are taken
 *		before the fork, as the parent may free a block the moment fork() returns. Where
 *		the handlers of pthread_atfork() did not run (a raw system call) or a copy could not
 *		be had, the child may run its code but change nothing: -EPERM
 *	PP_NOFORK	the child has no code: -EPERM
 *
 * That this is a child is told by a page that fork() wipes, whoever called it; without one
 * (MADV_WIPEONFORK denied) by the process's id, a system call each time.
 */
#ifndef HEAP_FORK_H
#define HEAP_FORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pp_heap;

/*
 * struct fork_state - @alive: on the wiped page: FORK_ALIVE, or 0 in a child that has not entered
 * the heap yet, or FORK_ENTERING while a thread of it does; NULL without such a page, then @pid
 * tells: the id of the process whose heap it is, or minus the id of the one that is entering
 * @lost: no call may be made (PP_NOFORK); @frozen: none that writes
 */
struct fork_state {
	uint32_t *alive;
	pid_t pid;
	bool lost, frozen;
	uint8_t *snapshot; /* the packs' grown parts, one after the other, during a fork */
	size_t snapshot_size;
	struct pp_heap *next; /* all heaps, for the handlers */
};

#define FORK_ALIVE 1u
#define FORK_ENTERING 2u

/* fork_init - from now on the heap is looked after; fork_fini - no longer */
int fork_init(struct pp_heap *heap);
void fork_fini(struct pp_heap *heap);

/* fork_keep_out - what was just mapped in pack @p is not for children, if PP_NOFORK says so */
int fork_keep_out(struct pp_heap *heap, size_t p);

/*
 * fork_enter_child - the slow way of heap_enter(), once in a process
 * What the caller's log function is told, it is told when other calls may be made.
 */
void fork_enter_child(struct pp_heap *heap);

#endif

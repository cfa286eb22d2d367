/* SPDX-License-Identifier: MIT */
/*
 * room.h - memory for a heap's accounts: libc's, or where that may wait for ever, the kernel's
 *
 * A raw system call that makes a child runs no handlers. A thread that held a lock of malloc() is
 * not there in the child, and nobody gives it back. So such a child, and all that come from it, use
 * nothing of malloc()'s any more: what they make is mapped, and what their parent made is left.
 */
#ifndef HEAP_ROOM_H
#define HEAP_ROOM_H

#include <stddef.h>

#define ROOM_ALIGN 16u /* the least */

/*
 * room_new - @size bytes, not written yet, at a multiple of @align, a power of two from ROOM_ALIGN
 *	up to a page; NULL without memory
 * room_free - NULL is fine
 */
void *room_new(size_t align, size_t size);
void room_free(void *room);

/* room_trust_libc - this process runs handlers where it forks, or was made by a fork that did */
void room_trust_libc(void);

/* room_check_libc - see whether this process was made by a fork that ran none */
void room_check_libc(void);

#endif

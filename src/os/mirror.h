/* SPDX-License-Identifier: MIT */
/*
 * mirror.h - memory that lies twice in a row, so that what crosses the end of a ring is contiguous
 *
 *	base	[ head ][ body ][ the same body ]
 *
 * It is shared with children of fork(). Sizes are multiples of the page size.
 */
#ifndef OS_MIRROR_H
#define OS_MIRROR_H

#include <stddef.h>

/* mirror_map - zeroed; 0, or -errno: nothing is mapped then */
int mirror_map(size_t head, size_t body, void **base);
void mirror_unmap(void *base, size_t head, size_t body);

/* mirror_page - the page size */
size_t mirror_page(void);

#endif

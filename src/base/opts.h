/* SPDX-License-Identifier: MIT */
/* opts.h - sized option structs: callers of older and newer versions keep working */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include <stddef.h>

/*
 * opts_copy - take a caller's sized struct into ours, missing fields zero
 * @in: starts with a size_t: its own size; NULL means all defaults
 * @first: size of the first version of the struct; a smaller one is refused
 *
 * Return: 0, -EINVAL (size below @first), -E2BIG (non-zero bytes that we do not know).
 */
int opts_copy(void *out, size_t out_size, const void *in, size_t first);

#endif

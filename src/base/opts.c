/* SPDX-License-Identifier: MIT */
#include "base/opts.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static int tail_is_zero(const uint8_t *bytes, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (bytes[i])
			return 0;
	}
	return 1;
}

int opts_copy(void *out, size_t out_size, const void *in, size_t first)
{
	size_t size;

	if (!in) {
		memset(out, 0, out_size);
		return 0;
	}
	memcpy(&size, in, sizeof(size));
	if (size < first)
		return -EINVAL;
	if (size > out_size && !tail_is_zero(in, out_size, size))
		return -E2BIG;
	memset(out, 0, out_size);
	memcpy(out, in, size < out_size ? size : out_size);
	return 0;
}

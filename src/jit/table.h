/* SPDX-License-Identifier: MIT */
/* table.h - the fault table of an image, as the driver makes it */
#ifndef JIT_TABLE_H
#define JIT_TABLE_H

#include "jit/jit.h"

/* table_image_size - of @code bytes and @count entries: whole chunks if there are any */
size_t table_image_size(size_t code, uint32_t count);

/* table_begin - write all but the entries, which jit_may_fault() appends from now on */
void table_begin(struct jit_ctx *jit, uint8_t *image, size_t code);

#endif

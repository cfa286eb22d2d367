/* SPDX-License-Identifier: MIT */
/*
 * case.h - a test case: program, input and result in one file
 *
 *	# RFC 9669 section 4.1: what is tested, one or more lines
 *	-- asm				program as text, see asm.h
 *	-- raw				or as hex bytes, 8 per instruction
 *	-- mem				hex bytes; r1 is their address and r2 their number
 *	-- mem-after			what they are afterwards; as before if this is missing
 *	-- result			r0 in hex, all 64 bits
 *	-- error			or a part of the message that refuses the program
 *	-- probe			pointers may be bad; behind -- mem is no memory
 *	-- kernel skip: REASON		this kernel's verifier or JIT is no measure of the case
 *
 * Without -- mem, r1 and r2 are 0. Between sections, order does not matter.
 */
#ifndef CASES_CASE_H
#define CASES_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

struct test_case {
	uint8_t *slots; /* nslots * 8 bytes */
	uint32_t nslots;
	uint8_t *mem, *mem_after; /* mem_len bytes each, NULL without memory */
	size_t mem_len;
	uint64_t result;
	char *error; /* NULL: it must load, run and return result */
	bool probe;
	char *kernel_skip; /* NULL: the kernel must agree */
};

/*
 * case_read - read a case file
 * @log: told "FILE:LINE: reason"
 *
 * Return: 0, -EINVAL (malformed), -errno of reading, -ENOMEM. case_free() on success.
 */
int case_read(const char *path, const struct log *log, struct test_case *tc);
void case_free(struct test_case *tc);

#endif

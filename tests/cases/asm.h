/* SPDX-License-Identifier: MIT */
/*
 * asm.h - the tests' assembler: eBPF text in the form of the kernel's disassembler, to slots
 *
 * It accepts what src/bpf/disasm.c prints, and for people also:
 *	name:			a label; "goto name", "gotol name", "call name" go there
 *	.repeat N .. .end	what is between, N times; no labels in it
 *	; comment		to the end of the line
 * Blanks are free. Numbers are decimal or hexadecimal, with a sign or not. One that its
 * field cannot hold is an error; where the instruction sign-extends 32 bits, so is one that
 * changes by it, but for comparisons, whose operand the disassembler writes unsigned.
 * It knows nothing of src/bpf/decode.c: each checks the other.
 */
#ifndef CASES_ASM_H
#define CASES_ASM_H

#include <stdint.h>

#include "base/log.h"

/*
 * asm_text - assemble a program
 * @line: number of its first line in its file
 * @slots: allocated, *nslots * 8 bytes
 *
 * Return: 0, -EINVAL (log: "LINE: reason"), -ENOMEM.
 */
int asm_text(const char *text, unsigned int line, const struct log *log, uint8_t **slots,
	     uint32_t *nslots);

#endif

/* SPDX-License-Identifier: MIT */
/* native.h - native code as text, through capstone */
#ifndef TOOLS_NATIVE_H
#define TOOLS_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>

/* struct native - a disassembler of an image; offsets and local targets count from its start */
struct native {
	csh handle;
	cs_insn *insn;
	const uint8_t *image;
	size_t size;
};

/*
 * struct native_ins - one instruction; its texts are good until the next one
 * @target: of a call or jump within the image, as an offset, else SIZE_MAX
 */
struct native_ins {
	size_t at, size, target;
	const char *mnemonic, *operands;
};

/* native_init - for code of this machine's kind: 0, or -ENOTSUP */
int native_init(struct native *native, const void *image, size_t size);
void native_fini(struct native *native);

/*
 * native_next - decode the instruction at *at and move *at behind it
 * @end: no instruction reaches past it
 *
 * What cannot be decoded comes byte by byte, as ".byte". Return: 0 when *at was @end, else 1.
 */
int native_next(struct native *native, size_t *at, size_t end, struct native_ins *ins);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * native.h - native code as text
 *
 *	x86-64		capstone, then bytes
 *	arm64		capstone; what it does not know (4.0: atomics), LLVM; then words
 *	riscv64		LLVM; then words
 *
 * LLVM (native_llvm.c) is looked for when it is first needed; nothing breaks without it.
 */
#ifndef TOOLS_NATIVE_H
#define TOOLS_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>

/* struct native_code - an image: its bytes are at @bytes, and made for address @base */
struct native_code {
	const char *arch; /* jit_arch.name */
	bool words;       /* wanted, though there may be a disassembler */
	const uint8_t *bytes;
	uintptr_t base;
	size_t size;
};

/* struct native - a disassembler of an image; offsets and local targets count from its start */
struct native {
	struct native_code code;
	const struct native_isa *isa;
	csh handle;
	cs_insn *insn;
	struct llvm *llvm;
	bool asked_llvm; /* whether it is there; asked once */
	char text[160];  /* of LLVM's instruction */
};

/*
 * struct native_ins - one instruction; its texts are good until the next one
 * @target: of a call or jump within the image, as an offset, else SIZE_MAX
 * @calls: is it a call?
 */
struct native_ins {
	size_t at, size, target;
	bool calls;
	const char *mnemonic, *operands;
};

/* native_init - 0, or -ENOTSUP: nothing here disassembles that arch */
int native_init(struct native *native, const struct native_code *code);
void native_fini(struct native *native);

/* native_is_words - are words shown because nothing here disassembles this arch? */
int native_is_words(struct native *native);

/*
 * native_next - decode the instruction at *at and move *at behind it
 * @end: no instruction reaches past it
 *
 * What cannot be decoded comes as .4byte, .2byte or .byte. Return: 0 when *at was @end, else 1.
 */
int native_next(struct native *native, size_t *at, size_t end, struct native_ins *ins);

/* ---- native_llvm.c ---- */

/* struct llvm_target - "RISCV", as in LLVM's functions' names; what LLVMCreateDisasm*() takes */
struct llvm_target {
	const char *name, *triple, *cpu, *features;
};

/* llvm_new - the disassembler of whatever LLVM is installed, or NULL; llvm_free - NULL is fine */
struct llvm *llvm_new(const struct llvm_target *target);
void llvm_free(struct llvm *llvm);

/* llvm_decode - text of the instruction at @bytes: its size, or 0 */
size_t llvm_decode(const struct llvm *llvm, const uint8_t *bytes, size_t left, char *text,
		   size_t room);

#endif

/* SPDX-License-Identifier: MIT */
/* native.c - native code as text; see native.h */
#include "native.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- capstone ---- */

static int capstone_init(struct native *native, cs_arch arch, cs_mode mode)
{
	if (cs_open(arch, mode, &native->handle) != CS_ERR_OK)
		return -ENOTSUP;
	cs_option(native->handle, CS_OPT_DETAIL, CS_OPT_ON); /* for the groups */
	native->insn = cs_malloc(native->handle);
	if (native->insn)
		return 0;
	cs_close(&native->handle);
	return -ENOTSUP;
}

static int goes_elsewhere(const struct native *native)
{
	return cs_insn_group(native->handle, native->insn, CS_GRP_CALL) ||
	       cs_insn_group(native->handle, native->insn, CS_GRP_JUMP);
}

/*
 * Where a direct call or jump goes. The code is decoded as if the image began at 0, so that
 * targets within it are offsets; one outside of it gets its true address as text.
 */
static size_t direct_target(struct native *native)
{
	char *text = native->insn->op_str;
	char *digits = strrchr(text, '#'); /* arm64: cbz x0, #0x10 */
	char *end;
	uint64_t target;

	digits = digits ? digits + 1 : text;
	if (!goes_elsewhere(native))
		return SIZE_MAX;
	target = strtoull(digits, &end, 0);
	if (end == digits || *end)
		return SIZE_MAX;
	if (target < native->code.size)
		return target;
	snprintf(text, sizeof(native->insn->op_str), "0x%" PRIx64,
		 (uint64_t)native->code.base + target);
	return SIZE_MAX;
}

static int capstone_next(struct native *native, size_t at, size_t left, struct native_ins *ins)
{
	const uint8_t *code = native->code.bytes + at;
	uint64_t address = at;

	if (!cs_disasm_iter(native->handle, &code, &left, &address, native->insn))
		return 0;
	*ins = (struct native_ins){
		.at = at,
		.size = native->insn->size,
		.target = direct_target(native),
		.mnemonic = native->insn->mnemonic,
		.operands = native->insn->op_str,
	};
	return 1;
}

/* ---- RISC-V ---- */

/*
 * LLVM shows distances; those of jumps and branches come last, and become offsets of the image
 * here. jr and jalr have none.
 */
static size_t distant_target(const struct native *native, const struct native_ins *ins,
			     char *operands)
{
	char *last = strrchr(operands, ' '), *end;
	size_t target;

	if (*ins->mnemonic != 'b' && strcmp(ins->mnemonic, "j") && strcmp(ins->mnemonic, "jal"))
		return SIZE_MAX;
	last = last ? last + 1 : operands;
	target = ins->at + (size_t)strtol(last, &end, 0);
	if (end == last || *end || target >= native->code.size)
		return SIZE_MAX;
	snprintf(last, (size_t)(native->text + sizeof(native->text) - last), "0x%zx", target);
	return target;
}

/* "\taddi\ta0, a0, 1" */
static int llvm_next(struct native *native, size_t at, size_t left, struct native_ins *ins)
{
	size_t size = llvm_decode(native->llvm, native->code.bytes + at, left, native->text,
				  sizeof(native->text));
	char *name = native->text, *operands;

	if (!size)
		return 0;
	name += strspn(name, "\t");
	operands = name + strcspn(name, "\t");
	if (*operands)
		*operands++ = '\0';
	*ins = (struct native_ins){
		.at = at,
		.size = size,
		.mnemonic = name,
		.operands = operands,
	};
	ins->target = distant_target(native, ins, operands);
	return 1;
}

/* The lowest two bits tell the size (manual, chapter "Introduction", "Base Instruction-Length"). */
static int word_next(struct native *native, size_t at, size_t left, struct native_ins *ins)
{
	const uint8_t *bytes = native->code.bytes + at;
	size_t size = (bytes[0] & 3) == 3 ? 4 : 2;

	if (left < size)
		return 0;
	if (size == 2)
		snprintf(native->text, sizeof(native->text), "0x%02x%02x", bytes[1], bytes[0]);
	else
		snprintf(native->text, sizeof(native->text), "0x%02x%02x%02x%02x", bytes[3],
			 bytes[2], bytes[1], bytes[0]);
	*ins = (struct native_ins){
		.at = at,
		.size = size,
		.target = SIZE_MAX,
		.mnemonic = size == 2 ? ".2byte" : ".4byte",
		.operands = native->text,
	};
	return 1;
}

/* ---- either ---- */

int native_init(struct native *native, const struct native_code *code)
{
	*native = (struct native){.code = *code};
	if (!strcmp(code->arch, "x86-64"))
		return capstone_init(native, CS_ARCH_X86, CS_MODE_64);
	if (!strcmp(code->arch, "arm64"))
		return capstone_init(native, CS_ARCH_ARM64, CS_MODE_ARM);
	if (strcmp(code->arch, "riscv64") != 0)
		return -ENOTSUP;
	native->llvm = llvm_new();
	return 0;
}

void native_fini(struct native *native)
{
	llvm_free(native->llvm);
	if (!native->insn)
		return;
	cs_free(native->insn, 1);
	cs_close(&native->handle);
}

int native_is_words(const struct native *native)
{
	return !native->insn && !native->llvm;
}

static int decode(struct native *native, size_t at, size_t left, struct native_ins *ins)
{
	if (native->insn)
		return capstone_next(native, at, left, ins);
	return (native->llvm ? llvm_next : word_next)(native, at, left, ins);
}

static void one_byte(struct native *native, size_t at, struct native_ins *ins)
{
	snprintf(native->text, sizeof(native->text), "0x%02x", native->code.bytes[at]);
	*ins = (struct native_ins){
		.at = at,
		.size = 1,
		.target = SIZE_MAX,
		.mnemonic = ".byte",
		.operands = native->text,
	};
}

int native_next(struct native *native, size_t *at, size_t end, struct native_ins *ins)
{
	if (*at == end)
		return 0;
	if (!decode(native, *at, end - *at, ins))
		one_byte(native, *at, ins);
	*at += ins->size;
	return 1;
}

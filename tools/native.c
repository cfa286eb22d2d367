/* SPDX-License-Identifier: MIT */
/* native.c - native code as text; see native.h */
#include "native.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * struct native_isa - an arch, to its disassemblers; @arch is CS_ARCH_MAX if capstone has none
 * @target: all NULL if LLVM is not asked
 * @jumps: those whose last operand is a distance; @calls: whatever they end with
 */
struct native_isa {
	const char *name;
	cs_arch arch;
	cs_mode mode;
	struct llvm_target target;
	const char *const *jumps, *const *calls;
};

static const char *const x64_calls[] = {"call", NULL};
static const char *const a64_jumps[] = {"b", "bl", "cbz", "cbnz", "tbz", "tbnz", NULL};
static const char *const a64_calls[] = {"bl", "blr", NULL};
static const char *const rv_jumps[] = {
	"j",    "jal",  "beq",  "bne",  "blt", "bge", "bltu", "bgeu", "beqz", "bnez",
	"bltz", "bgez", "blez", "bgtz", "bgt", "ble", "bgtu", "bleu", NULL,
};
static const char *const rv_calls[] = {"jal", "jalr", NULL}; /* without a link: j, jr */
static const char *const none[] = {NULL};

static const struct native_isa isas[] = {
	{"x86-64", CS_ARCH_X86, CS_MODE_64, {0}, none, x64_calls},
	{"arm64",
	 CS_ARCH_ARM64,
	 CS_MODE_ARM,
	 {"AArch64", "aarch64", "generic", "+v8.5a"},
	 a64_jumps,
	 a64_calls},
	{"riscv64",
	 CS_ARCH_MAX,
	 CS_MODE_LITTLE_ENDIAN,
	 {"RISCV", "riscv64", "generic-rv64", "+m,+a,+f,+d,+c,+zba,+zbb,+zbs"},
	 rv_jumps,
	 rv_calls},
};

static bool is_among(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* ---- capstone ---- */

static int capstone_init(struct native *native)
{
	if (cs_open(native->isa->arch, native->isa->mode, &native->handle) != CS_ERR_OK)
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
		.calls = is_among(native->insn->mnemonic, native->isa->calls),
		.mnemonic = native->insn->mnemonic,
		.operands = native->insn->op_str,
	};
	return 1;
}

/* ---- LLVM ---- */

static struct llvm *ask_llvm(struct native *native)
{
	if (!native->asked_llvm && native->isa->target.name)
		native->llvm = llvm_new(&native->isa->target);
	native->asked_llvm = true;
	return native->llvm;
}

/* LLVM shows distances; those of jumps, which come last, become offsets of the image here. */
static size_t distant_target(const struct native *native, const struct native_ins *ins,
			     char *operands)
{
	char *last = strrchr(operands, ' '), *end;
	size_t target;

	if (!is_among(ins->mnemonic, native->isa->jumps))
		return SIZE_MAX;
	last = last ? last + 1 : operands;
	last += *last == '#'; /* arm64 */
	target = ins->at + (size_t)strtol(last, &end, 0);
	if (end == last || *end || target >= native->code.size)
		return SIZE_MAX;
	snprintf(last, (size_t)(native->text + sizeof(native->text) - last), "0x%zx", target);
	return target;
}

/* "\taddi\ta0, a0, 1" */
static int llvm_next(struct native *native, size_t at, size_t left, struct native_ins *ins)
{
	size_t size = !ask_llvm(native) ? 0
					: llvm_decode(native->llvm, native->code.bytes + at, left,
						      native->text, sizeof(native->text));
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
	ins->calls = is_among(name, native->isa->calls);
	return 1;
}

/* ---- words ---- */

/*
 * RISC-V's lowest two bits tell the size (manual, chapter "Introduction", "Base Instruction-Length
 * Encoding").
 */
static size_t word_size(const struct native *native, uint8_t lowest)
{
	if (native->isa->arch == CS_ARCH_X86)
		return 1;
	return native->isa->arch == CS_ARCH_ARM64 || (lowest & 3) == 3 ? 4 : 2;
}

/* What is left of a word that was cut short is bytes. */
static void word_next(struct native *native, size_t at, size_t left, struct native_ins *ins)
{
	static const char *const names[] = {[1] = ".byte", [2] = ".2byte", [4] = ".4byte"};
	const uint8_t *bytes = native->code.bytes + at;
	size_t size = word_size(native, bytes[0]);
	uint32_t word = 0;

	if (size > left)
		size = 1;
	for (size_t i = size; i-- > 0;)
		word = word << 8 | bytes[i];
	snprintf(native->text, sizeof(native->text), "0x%0*" PRIx32, (int)(2 * size), word);
	*ins = (struct native_ins){
		.at = at,
		.size = size,
		.target = SIZE_MAX,
		.mnemonic = names[size],
		.operands = native->text,
	};
}

/* ---- all of these ---- */

int native_init(struct native *native, const struct native_code *code)
{
	*native = (struct native){.code = *code};
	for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
		if (!strcmp(code->arch, isas[i].name))
			native->isa = &isas[i];
	}
	if (!native->isa)
		return -ENOTSUP;
	return code->words || native->isa->arch == CS_ARCH_MAX ? 0 : capstone_init(native);
}

void native_fini(struct native *native)
{
	llvm_free(native->llvm);
	if (!native->insn)
		return;
	cs_free(native->insn, 1);
	cs_close(&native->handle);
}

int native_is_words(struct native *native)
{
	return !native->code.words && !native->insn && !ask_llvm(native);
}

/* By the first that can. */
static void decode(struct native *native, size_t at, size_t left, struct native_ins *ins)
{
	bool decoded = false;

	if (native->insn)
		decoded = capstone_next(native, at, left, ins);
	if (!decoded && !native->code.words)
		decoded = llvm_next(native, at, left, ins);
	if (!decoded)
		word_next(native, at, left, ins);
}

int native_next(struct native *native, size_t *at, size_t end, struct native_ins *ins)
{
	if (*at == end)
		return 0;
	decode(native, *at, end - *at, ins);
	*at += ins->size;
	return 1;
}

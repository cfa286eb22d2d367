/* SPDX-License-Identifier: MIT */
/* native.c - native code as text, through capstone; see native.h */
#include "native.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
#define HOST_ARCH CS_ARCH_ARM64
#define HOST_MODE CS_MODE_ARM
#else
#define HOST_ARCH CS_ARCH_X86
#define HOST_MODE CS_MODE_64
#endif

int native_init(struct native *native, const void *image, size_t size)
{
	*native = (struct native){.image = image, .size = size};
	if (cs_open(HOST_ARCH, HOST_MODE, &native->handle) != CS_ERR_OK)
		return -ENOTSUP;
	cs_option(native->handle, CS_OPT_DETAIL, CS_OPT_ON); /* for the groups */
	native->insn = cs_malloc(native->handle);
	if (native->insn)
		return 0;
	cs_close(&native->handle);
	return -ENOTSUP;
}

void native_fini(struct native *native)
{
	cs_free(native->insn, 1);
	cs_close(&native->handle);
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
	char *digits = *text == '#' ? text + 1 : text; /* arm64 */
	char *end;
	uint64_t target;

	if (!goes_elsewhere(native))
		return SIZE_MAX;
	target = strtoull(digits, &end, 0);
	if (end == digits || *end)
		return SIZE_MAX;
	if (target < native->size)
		return target;
	snprintf(text, sizeof(native->insn->op_str), "0x%" PRIx64,
		 (uint64_t)(uintptr_t)native->image + target);
	return SIZE_MAX;
}

static void one_byte(const struct native *native, size_t at, struct native_ins *ins)
{
	snprintf(native->insn->op_str, sizeof(native->insn->op_str), "0x%02x", native->image[at]);
	*ins = (struct native_ins){
		.at = at,
		.size = 1,
		.target = SIZE_MAX,
		.mnemonic = ".byte",
		.operands = native->insn->op_str,
	};
}

int native_next(struct native *native, size_t *at, size_t end, struct native_ins *ins)
{
	const uint8_t *code = native->image + *at;
	size_t left = end - *at;
	uint64_t address = *at;

	if (!left)
		return 0;
	if (cs_disasm_iter(native->handle, &code, &left, &address, native->insn)) {
		*ins = (struct native_ins){
			.at = *at,
			.size = native->insn->size,
			.target = direct_target(native),
			.mnemonic = native->insn->mnemonic,
			.operands = native->insn->op_str,
		};
	} else {
		one_byte(native, *at, ins);
	}
	*at += ins->size;
	return 1;
}

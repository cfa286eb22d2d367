/* SPDX-License-Identifier: MIT */
/*
 * native_llvm.c - LLVM's disassembler: capstone 4 has none for RISC-V and knows little of arm64's
 * atomics
 *
 * Taken from the shared library at run time, by its C interface, which has been the same since LLVM
 * 3: a hundred megabytes that few need. Its package is libllvm14, or any
 * later one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "native.h"

#define OLDEST 11
#define NEWEST 24

struct llvm {
	void *library, *context;
	size_t (*decode)(void *context, uint8_t *bytes, uint64_t size, uint64_t pc, char *text,
			 size_t room);
	void (*dispose)(void *context);
};

static void *open_library(void)
{
	void *library = NULL;

	for (int version = NEWEST; version >= OLDEST && !library; version--) {
		char name[32];

		snprintf(name, sizeof(name), "libLLVM-%d.so.1", version);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (library)
			break;
		snprintf(name, sizeof(name), "libLLVM.so.%d.1", version);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

/* ISO C has no conversion from what dlsym() gives to a function; POSIX says that it works. */
static int find(void *library, const char *name, void *function)
{
	void **to = function;

	*to = dlsym(library, name);
	return *to ? 0 : -1;
}

static int initialize(void *library, const struct llvm_target *target)
{
	static const char *const parts[] = {"TargetInfo", "TargetMC", "Disassembler"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		void (*function)(void);
		char name[64];

		snprintf(name, sizeof(name), "LLVMInitialize%s%s", target->name, parts[i]);
		if (find(library, name, (void *)&function))
			return -1;
		function();
	}
	return 0;
}

static int create(struct llvm *llvm, const struct llvm_target *target)
{
	void *(*new)(const char *triple, const char *cpu, const char *features, void *info, int tag,
		     void *operands, void *symbols);

	if (find(llvm->library, "LLVMCreateDisasmCPUFeatures", (void *)&new) ||
	    find(llvm->library, "LLVMDisasmInstruction", (void *)&llvm->decode) ||
	    find(llvm->library, "LLVMDisasmDispose", (void *)&llvm->dispose))
		return -1;
	llvm->context = new (target->triple, target->cpu, target->features, NULL, 0, NULL, NULL);
	return llvm->context ? 0 : -1;
}

struct llvm *llvm_new(const struct llvm_target *target)
{
	struct llvm *llvm = calloc(1, sizeof(*llvm));

	if (!llvm)
		return NULL;
	llvm->library = open_library();
	if (llvm->library && !initialize(llvm->library, target) && !create(llvm, target))
		return llvm;
	llvm_free(llvm);
	return NULL;
}

/* LLVM does not like to be unloaded: the library stays. */
void llvm_free(struct llvm *llvm)
{
	if (llvm && llvm->context)
		llvm->dispose(llvm->context);
	free(llvm);
}

size_t llvm_decode(const struct llvm *llvm, const uint8_t *bytes, size_t left, char *text,
		   size_t room)
{
	return llvm->decode(llvm->context, (uint8_t *)(uintptr_t)bytes, left, 0, text, room);
}

// SPDX-License-Identifier: MIT
// heap_asmjit.cpp - bench heap's arms of asmjit: its allocator, used as its JitRuntime uses it

#include "bench/heap_arm.h"

#include <asmjit/core/jitallocator.h>
#include <asmjit/core/virtmem.h>
#include <cerrno>
#include <cstring>
#include <new>

using asmjit::JitAllocator;
using asmjit::JitAllocatorOptions;
using asmjit::VirtMem::ProtectJitAccess;
using asmjit::VirtMem::ProtectJitReadWriteScope;

int asmjit_open(int variant, void **state)
{
	JitAllocator::CreateParams params;

	if (variant & ASMJIT_DUAL)
		params.options |= JitAllocatorOptions::kUseDualMapping;
	if (variant & ASMJIT_POOLS)
		params.options |= JitAllocatorOptions::kUseMultiplePools;
	JitAllocator *allocator = new (std::nothrow) JitAllocator(&params);
	if (!allocator)
		return -ENOMEM;
	*state = allocator;
	return 0;
}

void asmjit_close(void *state)
{
	delete static_cast<JitAllocator *>(state);
}

int asmjit_add(void *state, const struct heap_image *image, uint32_t size, struct heap_block *block)
{
	void *rx, *rw;

	if (static_cast<JitAllocator *>(state)->alloc(&rx, &rw, size))
		return -ENOMEM;
	{
		// Says where it ends that instructions are to be synchronised, and does it.
		ProtectJitReadWriteScope scope(rx, size);
		memcpy(rw, image->code, size);
	}
	block->rx = rx;
	block->own = rx;
	block->size = size;
	return 0;
}

int asmjit_del(void *state, const struct heap_block *block)
{
	return static_cast<JitAllocator *>(state)->release(block->own) ? -EINVAL : 0;
}

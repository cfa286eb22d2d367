/* SPDX-License-Identifier: MIT */
/*
 * heap_ffi.c - bench heap's arm of libffi: closures of the same sizes
 *
 * libffi writes the code of a closure itself: the image is not copied, and a call goes through its
 * trampoline to a handler, which returns the same result. Builds of libffi that have static
 * trampolines make no code at all, and keep the rest of the block in plain memory.
 */
#include "bench/heap_arm.h"

#include <errno.h>
#include <ffi.h>
#include <stdlib.h>

static void handler(ffi_cif *cif, void *result, void **args, void *image)
{
	(void)cif;
	(void)args;
	*(ffi_arg *)result = ((const struct heap_image *)image)->result;
}

int ffi_open(int variant, void **state)
{
	ffi_cif *cif = malloc(sizeof(*cif));

	(void)variant;
	if (!cif)
		return -ENOMEM;
	if (ffi_prep_cif(cif, FFI_DEFAULT_ABI, 0, &ffi_type_uint32, NULL) != FFI_OK) {
		free(cif);
		return -EINVAL;
	}
	*state = cif;
	return 0;
}

void ffi_close(void *state)
{
	free(state);
}

int ffi_add(void *state, const struct heap_image *image, uint32_t size, struct heap_block *block)
{
	void *rx, *closure =
			  ffi_closure_alloc(size < sizeof(ffi_closure) ? sizeof(ffi_closure) : size,
					    &rx);

	if (!closure)
		return -ENOMEM;
	if (ffi_prep_closure_loc(closure, state, handler, (void *)(uintptr_t)image, rx) != FFI_OK) {
		ffi_closure_free(closure);
		return -EINVAL;
	}
	*block = (struct heap_block){.rx = rx, .own = closure, .size = size};
	return 0;
}

int ffi_del(void *state, const struct heap_block *block)
{
	(void)state;
	ffi_closure_free(block->own);
	return 0;
}

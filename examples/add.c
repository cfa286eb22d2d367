/* SPDX-License-Identifier: MIT */
/* add.c - the README's ten lines: put a function into a heap, call it, free it (x86-64) */
#include <progpack.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	static const unsigned char add[] = {0x8d, 0x04, 0x37, 0xc3}; /* lea eax, [rdi+rsi]; ret */
	struct pp_heap *heap;
	struct pp_code code;

	if (pp_heap_new(NULL, &heap) || pp_alloc(heap, sizeof(add), &code))
		return 1;
	memcpy(code.rw, add, sizeof(add)); /* a JIT emits here, PC-relative to code.rx */
	if (pp_finalize(heap, &code, sizeof(add)))
		return 1;
	printf("2 + 3 = %d\n", ((int (*)(int, int))code.rx)(2, 3));
	if (pp_free(heap, code.rx))
		return 1;
	pp_heap_free(heap);
	return 0;
}

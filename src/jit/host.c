/* SPDX-License-Identifier: MIT */
/*
 * host.c - which back-end is this machine's, and what its CPU can do: the JIT's only #if by
 * arch, because CPU features are asked for with the CPU's own instructions
 */
#include "jit/jit.h"
#include "jit/x86_64/x64.h"

#if defined(__x86_64__)

#include <cpuid.h>

unsigned int x64_features(void)
{
	unsigned int eax, ebx, ecx, edx, bits = 0;

	/* SDM volume 2A, CPUID, leaf 7. BMI2 works on general registers: no OS support needed. */
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_BMI2))
		bits |= X64_BMI2;
	return bits;
}

const struct jit_arch *jit_host_arch(void)
{
	return &jit_x86_64;
}

#else

unsigned int x64_features(void)
{
	return 0;
}

const struct jit_arch *jit_host_arch(void)
{
	return NULL;
}

#endif

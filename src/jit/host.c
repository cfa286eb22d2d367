/* SPDX-License-Identifier: MIT */
/*
 * host.c - which back-end is this machine's, and what its CPU can do: the JIT's only #if by
 * arch, because CPU features are asked for with the CPU's own instructions
 */
#include "jit/jit.h"
#include "jit/x86_64/x64.h"

#if defined(__x86_64__)

#include <cpuid.h>

#define FEATURES_KNOWN 0x80000000u /* not one of the X64_ bits */

/* SDM volume 2A, CPUID, leaf 7. BMI2 works on general registers: no OS support needed. */
static unsigned int ask_cpu(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		return 0;
	return ebx & bit_BMI2 ? X64_BMI2 : 0;
}

/*
 * Asked once: under a hypervisor each CPUID is an exit, longer than it takes to compile a small
 * program. Threads that ask at the same time get the same answer.
 */
unsigned int x64_features(void)
{
	static unsigned int known;
	unsigned int bits = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!(bits & FEATURES_KNOWN)) {
		bits = ask_cpu() | FEATURES_KNOWN;
		__atomic_store_n(&known, bits, __ATOMIC_RELAXED);
	}
	return bits & ~FEATURES_KNOWN;
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

/* SPDX-License-Identifier: MIT */
/*
 * host.c - the back-ends by name, which one is this machine's, and what its CPU can do: the JIT's
 * only #if by arch, because CPU features are asked for in each one's own way
 */
#include "jit/jit.h"

#if defined(__x86_64__)

#include <cpuid.h>

#include "jit/x86_64/x64.h"

#define HOST_ARCH (&jit_x86_64)

/* SDM volume 2A, CPUID, leaf 7. BMI2 works on general registers: no OS support needed. */
static unsigned int ask_cpu(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		return 0;
	return ebx & bit_BMI2 ? X64_BMI2 : 0;
}

#elif defined(__aarch64__)

#include <link.h>
#include <sys/auxv.h>

#include "jit/arm64/a64.h"

#define HOST_ARCH (&jit_arm64)

/* Linux, arch/arm64/include/uapi/asm/hwcap.h; older headers lack the second. */
#define CAP_ATOMICS (1ul << 8)
#define CAP2_BTI (1ul << 17)

/* A note of type GNU property: records of type, size and data, padded to 8 bytes (ELF for the Arm
 * 64-bit Architecture, "Program Property"). */
#define FEATURE_1_AND 0xc0000000u
#define FEATURE_1_BTI 1u

struct property {
	uint32_t type, size, data, padding;
};

static bool says_bti(const uint8_t *note, size_t size)
{
	struct property p;

	for (size_t at = sizeof(ElfW(Nhdr)) + sizeof("GNU"); at + sizeof(p) <= size;
	     at += 8 + (p.size + 7) / 8 * 8) {
		memcpy(&p, note + at, sizeof(p));
		if (p.type == FEATURE_1_AND)
			return p.data & FEATURE_1_BTI;
	}
	return false;
}

/* Of the first object, which is the program: pages of such text are guarded. */
static int find_property(struct dl_phdr_info *program, size_t size, void *guarded)
{
	(void)size;
	for (size_t i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &program->dlpi_phdr[i];

		if (part->p_type == PT_GNU_PROPERTY)
			*(bool *)guarded =
				says_bti((const uint8_t *)(program->dlpi_addr + part->p_vaddr),
					 part->p_memsz);
	}
	return 1;
}

static bool is_guarded(void)
{
	bool guarded = false;

	dl_iterate_phdr(find_property, &guarded);
	return guarded;
}

static unsigned int ask_cpu(void)
{
	bool lse = getauxval(AT_HWCAP) & CAP_ATOMICS, bti = getauxval(AT_HWCAP2) & CAP2_BTI;

	return (lse ? A64_LSE : 0) | (bti && is_guarded() ? A64_BTI : 0);
}

#elif defined(__riscv) && __riscv_xlen == 64

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/riscv64/rv.h"

#define HOST_ARCH (&jit_riscv64)

/* riscv_hwprobe(2), since Linux 6.4; the bits of the key IMA_EXT_0. Older headers lack them. */
#define SYS_HWPROBE 258
#define KEY_IMA_EXT_0 4
#define EXT_C 0x2u
#define EXT_ZBA 0x8u
#define EXT_ZBB 0x10u
#define EXT_ZBS 0x20u

/* What every CPU has that this process may run on. Before Linux 6.4 only letters are told of. */
static unsigned int ask_cpu(void)
{
	struct {
		int64_t key;
		uint64_t value;
	} pair = {.key = KEY_IMA_EXT_0, .value = 0};
	uint64_t ext;

	if (syscall(SYS_HWPROBE, &pair, (size_t)1, (size_t)0, NULL, 0u) || pair.key < 0)
		return getauxval(AT_HWCAP) >> ('c' - 'a') & 1 ? RV_C : 0;
	ext = pair.value;
	return (ext & EXT_C ? RV_C : 0) | (ext & EXT_ZBA ? RV_ZBA : 0) |
	       (ext & EXT_ZBB ? RV_ZBB : 0) | (ext & EXT_ZBS ? RV_ZBS : 0);
}

#else

#define HOST_ARCH NULL

static unsigned int ask_cpu(void)
{
	return 0;
}

#endif

#define FEATURES_KNOWN 0x80000000u /* not a feature of any arch */

/*
 * Asked once: under a hypervisor each CPUID is an exit, longer than it takes to compile a small
 * program. Threads that ask at the same time get the same answer.
 */
unsigned int jit_host_features(void)
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
	return HOST_ARCH;
}

const struct jit_arch *const jit_arches[] = {&jit_x86_64, &jit_arm64, &jit_riscv64, NULL};

const struct jit_arch *jit_arch_by_name(const char *name)
{
	const struct jit_arch *const *arch = jit_arches;

	while (*arch && strcmp((*arch)->name, name) != 0)
		arch++;
	return *arch;
}

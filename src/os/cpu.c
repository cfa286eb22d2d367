/* SPDX-License-Identifier: MIT */
/* cpu.c - what the heap must know of the host's instruction set: one block per arch */
#include "os/cpu.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__riscv)

/* The system call that synchronises is the only one there is, and never refused. */
int cpu_can_sync_live(void)
{
	return 0;
}

#else

static int membarrier(int command)
{
	return syscall(__NR_membarrier, command, 0, 0) ? -errno : 0;
}

/* A process must register, a child of fork again; to do so twice is cheap. */
int cpu_can_sync_live(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
}

static void membarrier_sync_core(void)
{
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) && !cpu_can_sync_live())
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

#endif

#if defined(__x86_64__)

/* A direct call reaches +-2 GiB. */
#define REACH ((size_t)2 << 30)
#define RESERVE ((size_t)512 << 20)

static const uint8_t probe_code[] = {
	0xf3, 0x0f, 0x1e, 0xfa,       /* endbr64: an indirect call lands here */
	0xb8, 0x50, 0x50, 0x50, 0x50, /* mov eax, CPU_PROBE_VALUE */
	0xc3,                         /* ret */
};

void cpu_relax(void)
{
	__builtin_ia32_pause();
}

/* INT3 is one byte, so that every offset is a trap (Intel SDM volume 2, INT3). */
void cpu_fill_traps(void *at, size_t size)
{
	memset(at, 0xcc, size);
}

void cpu_flush(const void *rx, size_t size)
{
	(void)rx;
	(void)size;
}

/* Intel SDM volume 3, section 9.1.3: nothing to do for code that no processor executed yet. */
void cpu_sync_cores(void)
{
}

int cpu_sync_is_call(void)
{
	return 0;
}

/* Cross-modifying code: each processor serialises before it runs what was written (same section).
 */
void cpu_sync_live(void)
{
	membarrier_sync_core();
}

#elif defined(__aarch64__)

/* BL reaches +-128 MiB. */
#define REACH ((size_t)128 << 20)
#define RESERVE ((size_t)128 << 20)
#define BRK_TRAP 0xd4200000u /* brk #0 */

static const uint8_t probe_code[] = {
	0x5f, 0x24, 0x03, 0xd5, /* bti c */
	0x00, 0x0a, 0x8a, 0x52, /* movz w0, #0x5050 */
	0x00, 0x0a, 0xaa, 0x72, /* movk w0, #0x5050, lsl #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
};

void cpu_relax(void)
{
	__asm__ volatile("yield");
}

void cpu_fill_traps(void *at, size_t size)
{
	const uint32_t trap = BRK_TRAP;

	for (size_t i = 0; i < size; i += sizeof(trap))
		memcpy((uint8_t *)at + i, &trap, sizeof(trap));
}

void cpu_flush(const void *rx, size_t size)
{
	char *start = (char *)(uintptr_t)rx;

	__builtin___clear_cache(start, start + size);
}

/*
 * IC IVAU reaches all cores; what they prefetched before is dropped by the context
 * synchronisation event that the membarrier makes (Arm ARM, B2.7.4.2).
 */
void cpu_sync_live(void)
{
	membarrier_sync_core();
}

void cpu_sync_cores(void)
{
	cpu_sync_live();
}

int cpu_sync_is_call(void)
{
	return 1;
}

#elif defined(__riscv) && __riscv_xlen == 64

/* AUIPC + JALR reaches +-2 GiB. */
#define REACH ((size_t)2 << 30)
#define RESERVE ((size_t)512 << 20)

static const uint8_t probe_code[] = {
	0x37, 0x55, 0x50, 0x50, /* lui a0, 0x50505 */
	0x1b, 0x05, 0x05, 0x05, /* addiw a0, a0, 0x50 */
	0x67, 0x80, 0x00, 0x00, /* ret */
};

void cpu_relax(void)
{
	__asm__ volatile(
		".4byte 0x0100000f"); /* PAUSE of Zihintpause: a FENCE that older cores ignore */
}

void cpu_fill_traps(void *at, size_t size)
{
	memset(at, 0, size);
}

void cpu_flush(const void *rx, size_t size)
{
	(void)rx;
	(void)size;
}

/* One call, all threads: FENCE.I on every hart that runs one of ours, whatever the range. */
void cpu_sync_live(void)
{
	syscall(__NR_riscv_flush_icache, 0ul, ~0ul, 0ul);
}

void cpu_sync_cores(void)
{
	cpu_sync_live();
}

int cpu_sync_is_call(void)
{
	return 1;
}

#else
#error "progpack has no traps for this instruction set"
#endif

void cpu_sync(const void *rx, size_t size)
{
	cpu_flush(rx, size);
	cpu_sync_cores();
}

size_t cpu_default_reserve(void)
{
	return RESERVE;
}

size_t cpu_reach(void)
{
	return REACH;
}

const uint8_t *cpu_probe_code(size_t *size)
{
	_Static_assert(sizeof(probe_code) <= 64, "the probe fits one chunk");
	*size = sizeof(probe_code);
	return probe_code;
}

/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - what the heap must know of the host's instruction set; cpu.c holds the heap's
 * only #if by arch
 */
#ifndef OS_CPU_H
#define OS_CPU_H

#include <stddef.h>
#include <stdint.h>

/* The reservation that one direct branch spans, and so the default: 512 MiB, arm64 128 MiB. */
size_t cpu_default_reserve(void);

/* How far a direct call reaches, either way: 2 GiB, arm64 128 MiB. */
size_t cpu_reach(void);

/*
 * cpu_fill_traps - fill memory with instructions that trap at any legal entry point
 * @size: multiple of 4
 *
 * x86-64: INT3 (SIGTRAP: a breakpoint, not an illegal instruction); arm64: BRK; RISC-V:
 * all-zero halfwords, which the unprivileged ISA defines as illegal (section 1.5).
 */
void cpu_fill_traps(void *at, size_t size);

/*
 * cpu_probe_code - a function uint32_t f(void) that returns CPU_PROBE_VALUE
 *
 * Position independent; *size bytes, at most one chunk.
 */
#define CPU_PROBE_VALUE 0x50505050u
const uint8_t *cpu_probe_code(size_t *size);

/*
 * cpu_sync - make code just written at its RX address visible to instruction fetch everywhere
 *
 * Valid only for memory that no thread is executing. x86-64: nothing to do, caches are
 * coherent. arm64: clean and invalidate by line, then membarrier SYNC_CORE. RISC-V: one
 * riscv_flush_icache over all threads. Never fails.
 */
void cpu_sync(const void *rx, size_t size);

#endif

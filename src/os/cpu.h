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

/* cpu_relax - a hint that this thread spins */
void cpu_relax(void);

/*
 * cpu_flush, then cpu_sync_cores - make code written at RX addresses visible to instruction fetch
 *
 * Valid only for memory that no thread is executing. cpu_flush: by range; arm64 cleans and
 * invalidates the caches by line, the others need nothing. cpu_sync_cores: once for any number of
 * flushes; x86-64: nothing to do; arm64: a membarrier, so that no core goes on with what it
 * fetched before; RISC-V: one riscv_flush_icache over all threads. Neither fails.
 */
void cpu_flush(const void *rx, size_t size);
void cpu_sync_cores(void);

/* cpu_sync_is_call - is cpu_sync_cores() a system call here? */
int cpu_sync_is_call(void);

/* cpu_sync - both, for one range */
void cpu_sync(const void *rx, size_t size);

/*
 * cpu_sync_live - cpu_sync_cores() for code that threads may be executing: a membarrier on x86-64
 * too. cpu_can_sync_live - asked before, so that it works: 0, or -errno (the kernel has none, or a
 * seccomp filter denies it).
 */
int cpu_can_sync_live(void);
void cpu_sync_live(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fault.h - accesses that may fault: the table at the end of an image that says where they are
 *
 *	[ code ][ traps ][ entry 0 .. count-1, by offset ][ traps ][ tail ]
 *	^ rx, the block that mem->lookup() finds                          ^ its end
 *
 * The handler of SIGSEGV and SIGBUS (fault.c) finds the tail from the block, and the entry from
 * the pc. All is little-endian and addressed from rx, so that any host can make it for any arch.
 */
#ifndef OS_FAULT_H
#define OS_FAULT_H

#include <stddef.h>
#include <stdint.h>

/* What becomes of a run whose access faults. */
enum fault_policy {
	FAULT_ZERO, /* register := 0, a store is dropped, and it goes on */
	FAULT_END,  /* it ends with -EFAULT */
};

#define FAULT_NO_REG 0xffu

/*
 * struct fault_entry - one instruction that may fault
 * @at: its offset in the image, exactly what the host has as the pc then
 * @insn: number in the unit, for whoever reports it
 * @skip: from there to where the run goes on
 * @reg: register to zero, by the arch's own number (x86-64: as in ModRM; RAX is 0, R8 is 8;
 *	arm64: x0 .. x30; RISC-V: x1 .. x31), or FAULT_NO_REG
 * @policy: enum fault_policy
 */
struct fault_entry {
	uint32_t at, insn;
	uint16_t skip;
	uint8_t reg, policy;
};

/* struct fault_tail - the last bytes of an image with entries; @table is their offset */
struct fault_tail {
	uint64_t magic;
	uint32_t table, count;
};

#define FAULT_MAGIC 0x0a54c70f5db1e6f1u /* no text, no code */

_Static_assert(sizeof(struct fault_entry) == 12 && sizeof(struct fault_tail) == 16,
	       "laid out alike by every compiler: images are read as they were written");

#endif

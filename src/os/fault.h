/* SPDX-License-Identifier: MIT */
/*
 * fault.h - accesses that may fault, and what becomes of those who made them
 *
 * Two kinds are known: those of an image, by the table at its end, and those of fault_load() and
 * the like, by a table of their own. The rest of SIGSEGV and SIGBUS is the host's.
 *
 *	[ code ][ traps ][ entry 0 .. count-1, by offset ][ traps ][ tail ]
 *	^ rx, the block that mem->lookup() finds                          ^ its end
 *
 * The handler of SIGSEGV and SIGBUS (fault.c) finds the tail from the block, and the entry from
 * the pc. All is little-endian and addressed from rx, so that any host can make it for any arch.
 */
#ifndef OS_FAULT_H
#define OS_FAULT_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <progpack.h>

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

/*
 * struct fault_mem - memory that images are in: all between lo and hi-1
 * @lookup: as pp_lookup(), lock-free and async-signal-safe
 */
struct fault_mem {
	const void *ctx;
	uintptr_t lo, hi;
	int (*lookup)(const void *ctx, const void *pc, struct pp_block *block);
};

/*
 * fault_hold - accesses of images in @mem, or of fault_load() and the like, may fault from now on
 * @mem: copied; NULL for no images
 *
 * The first one installs the handler, with the mask and flags of the one before, so that the kernel
 * delivers to ours as it would have to that; what is not ours goes on to it. A host that installs
 * its own later must do the same for ours to be heard. Return: 0 or -ENOMEM.
 */
int fault_hold(const struct fault_mem *mem);

/*
 * fault_drop - the opposite, once for each; nothing is running there any more
 *
 * The last one puts back the handler from before; unless somebody has installed one over ours,
 * who may be passing on to it: then it stays, and does nothing but that.
 */
void fault_drop(const struct fault_mem *mem);

/*
 * Accesses that give 0, or -EFAULT where the memory is none: between fault_hold() and fault_drop().
 * @bytes is 1, 2, 4 or 8 (of fault_cas() 4 or 8), values are zero-extended. A store that crosses
 * into a bad page may have changed what is before it, as the machine has it.
 */
int fault_load(const void *at, unsigned int bytes, uint64_t *value);
int fault_store(void *at, unsigned int bytes, uint64_t value);
/* If memory is *value it becomes @desired, at once, sequentially consistent; *value: what it was */
int fault_cas(void *at, unsigned int bytes, uint64_t *value, uint64_t desired);
/* @to is good memory; it has changed up to the fault. */
int fault_copy(void *to, const void *from, size_t size);

/*
 * struct fault_run - a run of this thread that may have to end in the middle
 * @err: why it did: -EFAULT, or what fault_end() was told
 * @insn, @address: of the access that ended it; address 0 where the machine does not say
 */
struct fault_run {
	struct fault_run *outer;
	jmp_buf back;
	int err;
	uint32_t insn;
	uintptr_t address;
};

/*
 * fault_run - call @fn(@r1, @r2) so that FAULT_END and fault_end() can end it
 *
 * Whatever @fn called is left as it was, C functions between too: they must hold nothing.
 * Return: 0, or run->err, *result untouched and @run telling where.
 */
int fault_run(uint64_t (*fn)(void *r1, uint64_t r2), void *r1, uint64_t r2, uint64_t *result,
	      struct fault_run *run);

/* fault_end - end this thread's innermost run, of which there is one */
_Noreturn void fault_end(int err, uint32_t insn, uintptr_t address);

#endif

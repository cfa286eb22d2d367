/* SPDX-License-Identifier: MIT */
/*
 * fault_arch.c - contexts of signals, and accesses that may fault: one block per arch
 *
 * An access is one instruction with an entry in the section fault_fixups. err is -EFAULT before
 * it, the instruction behind it makes it 0, and a fault goes on behind that one.
 */
#include "os/fault_arch.h"

#include <errno.h>

#include "os/fault.h"

#define FIXUP(at, go_on)                                                                           \
	".pushsection fault_fixups, \"a\"\n"                                                       \
	".balign 4\n"                                                                              \
	".long " at " - .\n"                                                                       \
	".long " go_on " - .\n"                                                                    \
	".popsection\n"

#if defined(__x86_64__)

/* By number of ModRM and REX, SDM volume 2, table 2-2. */
static const uint8_t greg[] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

#define RED_ZONE 128 /* System V ABI, section 3.2.2 */

uintptr_t context_pc(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

void context_go(ucontext_t *context, uintptr_t pc)
{
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
}

void context_zero(ucontext_t *context, unsigned int reg)
{
	context->uc_mcontext.gregs[greg[reg & 15]] = 0;
}

/* At a function's first instruction rsp is 8 below a multiple of 16. */
void context_call(ucontext_t *context, void (*fn)(void *), void *arg)
{
	greg_t *regs = context->uc_mcontext.gregs;

	regs[REG_RSP] = ((regs[REG_RSP] - RED_ZONE) & -16) - 8;
	regs[REG_RDI] = (greg_t)(uintptr_t)arg;
	context_go(context, (uintptr_t)fn);
}

#define CLEAR_ERR "xorl %k[err], %k[err]\n"
#define LOAD1 "movzbl (%[at]), %k[value]\n"
#define LOAD2 "movzwl (%[at]), %k[value]\n"
#define LOAD4 "movl (%[at]), %k[value]\n"
#define LOAD8 "movq (%[at]), %[value]\n"
#define STORE1 "movb %b[value], (%[at])\n"
#define STORE2 "movw %w[value], (%[at])\n"
#define STORE4 "movl %k[value], (%[at])\n"
#define STORE8 "movq %[value], (%[at])\n"

#define CAS(name, insn)                                                                            \
	static int name(void *at, uint64_t *value, uint64_t desired)                               \
	{                                                                                          \
		uint64_t seen = *value;                                                            \
		long err = -EFAULT;                                                                \
                                                                                                   \
		__asm__ volatile("1:\n" insn CLEAR_ERR "2:\n" FIXUP("1b", "2b")                    \
				 : [err] "+r"(err), "+a"(seen)                                     \
				 : [at] "r"(at), [desired] "r"(desired)                            \
				 : "memory", "cc");                                                \
		*value = seen;                                                                     \
		return (int)err;                                                                   \
	}
CAS(cas4, "lock cmpxchgl %k[desired], (%[at])\n")
CAS(cas8, "lock cmpxchgq %[desired], (%[at])\n")

#elif defined(__aarch64__)

#define PSTATE_BTYPE 0xc00ul /* a landing pad is wanted; not where we go on */

uintptr_t context_pc(const ucontext_t *context)
{
	return context->uc_mcontext.pc;
}

void context_go(ucontext_t *context, uintptr_t pc)
{
	context->uc_mcontext.pc = pc;
	context->uc_mcontext.pstate &= ~PSTATE_BTYPE;
}

void context_zero(ucontext_t *context, unsigned int reg)
{
	if (reg <= 30)
		context->uc_mcontext.regs[reg] = 0;
}

void context_call(ucontext_t *context, void (*fn)(void *), void *arg)
{
	context->uc_mcontext.sp &= ~15ull;
	context->uc_mcontext.regs[0] = (uintptr_t)arg;
	context->uc_mcontext.regs[30] = 0;
	context_go(context, (uintptr_t)fn);
}

#define CLEAR_ERR "mov %[err], xzr\n"
#define LOAD1 "ldrb %w[value], [%[at]]\n"
#define LOAD2 "ldrh %w[value], [%[at]]\n"
#define LOAD4 "ldr %w[value], [%[at]]\n"
#define LOAD8 "ldr %[value], [%[at]]\n"
#define STORE1 "strb %w[value], [%[at]]\n"
#define STORE2 "strh %w[value], [%[at]]\n"
#define STORE4 "str %w[value], [%[at]]\n"
#define STORE8 "str %[value], [%[at]]\n"

/* @w: "w" for 32 bits, "" for 64 */
#define CAS(name, w)                                                                               \
	static int name(void *at, uint64_t *value, uint64_t desired)                               \
	{                                                                                          \
		uint64_t seen = 0, status;                                                         \
		long err = -EFAULT;                                                                \
                                                                                                   \
		__asm__ volatile("1: ldaxr %" w "[seen], [%[at]]\n"                                \
				 "cmp %" w "[seen], %" w "[expected]\n"                            \
				 "b.ne 3f\n"                                                       \
				 "2: stlxr %w[status], %" w "[desired], [%[at]]\n"                 \
				 "cbnz %w[status], 1b\n"                                           \
				 "3: dmb ish\n" CLEAR_ERR "4:\n" FIXUP("1b", "4b")                 \
					 FIXUP("2b", "4b")                                         \
				 : [err] "+&r"(err), [seen] "+&r"(seen), [status] "=&r"(status)    \
				 : [at] "r"(at), [expected] "r"(*value), [desired] "r"(desired)    \
				 : "memory", "cc");                                                \
		*value = seen;                                                                     \
		return (int)err;                                                                   \
	}
CAS(cas4, "w")
CAS(cas8, "")

#elif defined(__riscv) && __riscv_xlen == 64

/* Of __gregs: 0 is the pc, the others are x1 .. x31. */
uintptr_t context_pc(const ucontext_t *context)
{
	return context->uc_mcontext.__gregs[REG_PC];
}

void context_go(ucontext_t *context, uintptr_t pc)
{
	context->uc_mcontext.__gregs[REG_PC] = pc;
}

void context_zero(ucontext_t *context, unsigned int reg)
{
	if (reg >= 1 && reg <= 31)
		context->uc_mcontext.__gregs[reg] = 0;
}

void context_call(ucontext_t *context, void (*fn)(void *), void *arg)
{
	unsigned long *regs = context->uc_mcontext.__gregs;

	regs[REG_SP] &= ~15ul;
	regs[REG_A0] = (uintptr_t)arg;
	regs[REG_RA] = 0;
	context_go(context, (uintptr_t)fn);
}

#define CLEAR_ERR "li %[err], 0\n"
#define LOAD1 "lbu %[value], (%[at])\n"
#define LOAD2 "lhu %[value], (%[at])\n"
#define LOAD4 "lwu %[value], (%[at])\n"
#define LOAD8 "ld %[value], (%[at])\n"
#define STORE1 "sb %[value], (%[at])\n"
#define STORE2 "sh %[value], (%[at])\n"
#define STORE4 "sw %[value], (%[at])\n"
#define STORE8 "sd %[value], (%[at])\n"

/* @w: "w" or "d"; lr.w sign-extends, so what it is compared with is sign-extended: @type. */
#define CAS(name, w, type)                                                                         \
	static int name(void *at, uint64_t *value, uint64_t desired)                               \
	{                                                                                          \
		uint64_t seen = 0, status;                                                         \
		const int64_t expected = (type)*value;                                             \
		long err = -EFAULT;                                                                \
                                                                                                   \
		__asm__ volatile("1: lr." w ".aqrl %[seen], (%[at])\n"                             \
				 "bne %[seen], %[expected], 3f\n"                                  \
				 "2: sc." w ".rl %[status], %[desired], (%[at])\n"                 \
				 "bnez %[status], 1b\n"                                            \
				 "3: fence rw, rw\n" CLEAR_ERR "4:\n" FIXUP("1b", "4b")            \
					 FIXUP("2b", "4b")                                         \
				 : [err] "+&r"(err), [seen] "+&r"(seen), [status] "=&r"(status)    \
				 : [at] "r"(at), [expected] "r"(expected), [desired] "r"(desired)  \
				 : "memory");                                                      \
		*value = sizeof(type) == 4 ? (uint32_t)seen : seen;                                \
		return (int)err;                                                                   \
	}
CAS(cas4, "w", int32_t)
CAS(cas8, "d", int64_t)

#else
#error "progpack does not know how this instruction set faults"
#endif

#define LOAD(insn)                                                                                 \
	__asm__ volatile("1:\n" insn CLEAR_ERR "2:\n" FIXUP("1b", "2b")                            \
			 : [err] "+&r"(err), [value] "+&r"(loaded)                                 \
			 : [at] "r"(at)                                                            \
			 : "memory", "cc")
#define STORE(insn)                                                                                \
	__asm__ volatile("1:\n" insn CLEAR_ERR "2:\n" FIXUP("1b", "2b")                            \
			 : [err] "+&r"(err)                                                        \
			 : [at] "r"(at), [value] "r"(value)                                        \
			 : "memory", "cc")

int fault_load(const void *at, unsigned int bytes, uint64_t *value)
{
	uint64_t loaded = 0;
	long err = -EFAULT;

	switch (bytes) {
	case 1: LOAD(LOAD1); break;
	case 2: LOAD(LOAD2); break;
	case 4: LOAD(LOAD4); break;
	default: LOAD(LOAD8);
	}
	if (!err)
		*value = loaded;
	return (int)err;
}

int fault_store(void *at, unsigned int bytes, uint64_t value)
{
	long err = -EFAULT;

	switch (bytes) {
	case 1: STORE(STORE1); break;
	case 2: STORE(STORE2); break;
	case 4: STORE(STORE4); break;
	default: STORE(STORE8);
	}
	return (int)err;
}

int fault_cas(void *at, unsigned int bytes, uint64_t *value, uint64_t desired)
{
	uint64_t seen = *value;
	int err = (bytes == 4 ? cas4 : cas8)(at, &seen, desired);

	if (!err)
		*value = seen;
	return err;
}

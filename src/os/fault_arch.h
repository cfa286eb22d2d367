/* SPDX-License-Identifier: MIT */
/*
 * fault_arch.h - what the handler must know of the host's instruction set: where a context of a
 * signal has its registers, and the instructions of fault_load() and the like; one block an arch
 */
#ifndef OS_FAULT_ARCH_H
#define OS_FAULT_ARCH_H

#include <stdint.h>
#include <ucontext.h>

uintptr_t context_pc(const ucontext_t *context);
void context_go(ucontext_t *context, uintptr_t pc);

/* context_zero - register @reg := 0, numbered as in struct fault_entry */
void context_zero(ucontext_t *context, unsigned int reg);

/*
 * context_call - go on in @fn(@arg), which never returns, on the same stack
 * Below what the interrupted function may be using: the red zone of the x86-64 ABI too.
 */
void context_call(ucontext_t *context, void (*fn)(void *), void *arg);

/*
 * struct fault_fixup - an instruction of fault_load() .. fault_cas() and where to go on if it
 * faults: distances from the field itself. The linker puts all of them together.
 */
struct fault_fixup {
	int32_t at, go_on;
};
extern const struct fault_fixup __start_fault_fixups[] __attribute__((visibility("hidden")));
extern const struct fault_fixup __stop_fault_fixups[] __attribute__((visibility("hidden")));

#endif

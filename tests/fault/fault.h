/* SPDX-License-Identifier: MIT */
/*
 * fault.h - an operating system whose nth call fails
 *
 * The linker puts these wraps around every function of os.h that can fail, and around malloc() and
 * its kin (-Wl,--wrap, see meson.build). Calls are counted from fault_arm() on; what fails has no
 * effect but where real ones have: a write through /proc/self/mem has arrived by half.
 */
#ifndef FAULT_FAULT_H
#define FAULT_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* What may fail: one call, it and all later ones, or calls of one function until told otherwise. */
struct fault {
	unsigned int nth; /* 0: none */
	int err;          /* positive; memory functions give NULL */
	bool all_later;
	const char *only; /* fail each call of this function, and count nothing */
	unsigned int calls, injected;
	const char *first; /* the function that failed first */
};

extern struct fault fault;

void fault_arm(unsigned int nth, int err, bool all_later);

/* fault_arm_only - every call of one function fails with @err */
void fault_arm_only(const char *function, int err);

/* fault_disarm - the rest succeeds; how many failed. What was armed last can still be read. */
unsigned int fault_disarm(void);

/* The functions that are wrapped, by name; NULL at the end. */
extern const char *const fault_wrapped[];

/*
 * struct balance - what a process has taken and not given back
 * @mapped: bytes of address space, but for the stack and brk; 0 under a sanitizer, which maps too
 */
struct balance {
	size_t fds;
	size_t mapped;
	size_t mallocs, bytes; /* of the wrapped functions */
};

struct balance fault_balance(void);

/* fault_is_balanced - the process has what it had then; if not, says what it has more or less */
bool fault_is_balanced(const struct balance *then);

/* fault_keeps_but_memory - the same, but malloc's may be more */
bool fault_keeps_but_memory(const struct balance *then);

#endif

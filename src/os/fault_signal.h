/* SPDX-License-Identifier: MIT */
/* fault_signal.h - SIGSEGV and SIGBUS: ours first, then as it was */
#ifndef OS_FAULT_SIGNAL_H
#define OS_FAULT_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* fault_fix - is it one of ours? Then make the context go on. Async-signal-safe (fault.c). */
bool fault_fix(const siginfo_t *info, void *context);

/* Under the lock of fault.c: see fault_hold() and fault_drop(). Return: 0 or -ENOMEM. */
int signals_install(void);
void signals_remove(void);

#endif

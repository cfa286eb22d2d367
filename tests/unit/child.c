/* SPDX-License-Identifier: MIT */
/* child.c - a child of the test program that faults kill */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

/* cmocka's handlers, which the child has too, would go on with the next test. */
static void die_of_faults(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGABRT};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		signal(faults[i], SIG_DFL);
}

/* An assertion of cmocka's would go on with the parent's next test, too: it aborts instead. */
static void become_child(void (*body)(void *arg), void *arg)
{
	die_of_faults();
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	alarm(20);
	body(arg);
	_exit(0);
}

int run_child(void (*body)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		become_child(body, arg);
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return status;
}

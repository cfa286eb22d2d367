/* SPDX-License-Identifier: MIT */
/* child.h - tests of what kills are children of the test program */
#ifndef CHILD_H
#define CHILD_H

#include <stdio.h>
#include <unistd.h>

/*
 * run_child - run @body(@arg) in a child that has 20 s to live, and that faults kill
 *
 * Return: as waitpid() has it; 0 if @body returned. Assert in it with CHECK() only.
 */
int run_child(void (*body)(void *arg), void *arg);

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#endif

/* SPDX-License-Identifier: MIT */
/* verdict.c - see verdict.h */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void verdict_set(struct verdict *verdict, enum outcome outcome, const char *format, ...)
{
	va_list args;

	verdict->outcome = outcome;
	va_start(args, format);
	vsnprintf(verdict->why, sizeof(verdict->why), format, args);
	va_end(args);
	verdict->why[strcspn(verdict->why, "\n")] = '\0';
}

/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

int log_error(const struct log *log, int err, const char *format, ...)
{
	char line[512];
	va_list args;

	if (!log || !log->fn)
		return err;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log->fn(log->ctx, line);
	return err;
}

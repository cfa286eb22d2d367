/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void log_clean(char *line)
{
	for (; *line; line++) {
		unsigned char byte = (unsigned char)*line;

		if (byte < ' ' || byte == 0x7f)
			*line = '?';
	}
}

void log_line(const struct log *log, const char *format, ...)
{
	char line[512];
	va_list args;

	if (!log || !log->fn)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log_clean(line);
	log->fn(log->ctx, line);
}

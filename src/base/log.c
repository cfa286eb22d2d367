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

static _Thread_local struct log_held *holder;

void log_hold(struct log_held *held)
{
	held->line[0] = '\0';
	holder = held;
}

void log_drop(void)
{
	holder = NULL;
}

void log_let_go(const struct log *log, const struct log_held *held)
{
	log_drop();
	if (held->line[0])
		log_line(log, "%s", held->line);
}

void log_line(const struct log *log, const char *format, ...)
{
	char own[LOG_LINE], *line = holder ? holder->line : own;
	va_list args;

	if (!log || !log->fn || (holder && line[0]))
		return;
	va_start(args, format);
	vsnprintf(line, LOG_LINE, format, args);
	va_end(args);
	log_clean(line);
	if (!holder)
		log->fn(log->ctx, line);
}

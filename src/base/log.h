/* SPDX-License-Identifier: MIT */
/* log.h - tell the caller why: formats one line and hands it to the caller's function */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <progpack.h>

/* Where reasons go; a zeroed one drops them. */
struct log {
	pp_log_fn fn;
	void *ctx;
};

/* log_error - say why, and return @err so that callers can write: return log_error(...) */
__attribute__((format(printf, 3, 4))) int log_error(const struct log *log, int err,
						    const char *format, ...);

#endif

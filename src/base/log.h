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

/*
 * log_line - say what happened: one line, whatever bytes the names in it have
 * log_clean - what it does to them: control characters, newlines among them, become '?'
 */
__attribute__((format(printf, 2, 3))) void log_line(const struct log *log, const char *format, ...);
void log_clean(char *line);

#define LOG_LINE 512u

/* struct log_held - a line that waits until locks are given back */
struct log_held {
	char line[LOG_LINE];
};

/*
 * log_hold - until log_let_go() this thread's first line goes to @held, and more are dropped: they
 * would follow from it. log_let_go - hand it to the caller's function, which may do anything: fork,
 * or use what the locks guard. log_drop - instead: to nobody
 */
void log_hold(struct log_held *held);
void log_let_go(const struct log *log, const struct log_held *held);
void log_drop(void);

/*
 * log_error - say why, and give the error, so that callers can write: return log_error(...)
 *
 * A macro, so that compilers and checkers see which error it gives.
 */
#define log_error(log, error, ...)                                                                 \
	({                                                                                         \
		int log_error_ = (error);                                                          \
		log_line((log), __VA_ARGS__);                                                      \
		log_error_;                                                                        \
	})

#endif

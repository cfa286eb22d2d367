/* SPDX-License-Identifier: MIT */
/*
 * format.h - what bpf_trace_printk() and bpf_snprintf() write
 *
 *	%[0+- ][width] followed by	d i u x X	with l, ll; without, 32 bits of the argument
 *					c s		a string that cannot be read is empty
 *					p px pK		16 hex digits
 *					ps pS pB	the address: there are no symbols here
 *					pks pus		as s, without width
 *					pI4 pi4 pI6 pi6	an IP address behind a pointer
 *	%%
 *
 * All else is refused as in the kernel, and so are control characters other than space. Letters and
 *digits right behind a p and its kind are dropped: it does that too.
 */
#ifndef BPF_FORMAT_H
#define BPF_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define FORMAT_ARGS 12u /* MAX_BPRINTF_VARARGS */

/* struct output - text of at most @size bytes, not terminated; @len: what it would be without */
struct output {
	char *text;
	size_t size, len;
};

/*
 * format_args - copy a program's array of arguments to args[FORMAT_ARGS]
 * @at, @size: registers: the array and its bytes
 * Return: how many there are, or -EINVAL.
 */
int format_args(uint64_t *args, uint64_t at, uint64_t size);

/*
 * format - write @fmt with its arguments; between fault_hold() and fault_drop()
 * @fmt: NUL-terminated, and nobody changes it; @nargs: up to FORMAT_ARGS
 *
 * Return: 0, -EINVAL (the format, or too few arguments), -ENOSPC (more text in the arguments than
 * the kernel has room for); then nothing is written.
 */
int format(struct output *out, const char *fmt, const uint64_t *args, size_t nargs);

#endif

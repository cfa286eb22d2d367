/* SPDX-License-Identifier: MIT */
/* helpers.h - what helpers.bpf.c and its test share */
#ifndef OBJECTS_HELPERS_H
#define OBJECTS_HELPERS_H

#include <linux/types.h>

#define HELPERS_FORMAT 48
#define HELPERS_MAGIC "the test's format goes here"

struct helpers_shared {
	__s64 result;
	__u64 number[8];
	__u64 size, flags;
	char in[64];
	char out[64];
};

#endif

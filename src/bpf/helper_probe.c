/* SPDX-License-Identifier: MIT */
/* helper_probe.c - bpf_probe_read(), bpf_probe_read_str() and their kin */
#include <errno.h>
#include <string.h>

#include "bpf/helper_list.h"
#include "os/fault.h"

/* The smallest page there is: memory that begins to be none does so at a multiple of it. */
#define PAGE 4096u
#define CHUNK 128u

static void *pointer(uint64_t reg)
{
	return (void *)(uintptr_t)reg;
}

uint64_t probe_read(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	int err;

	(void)r4, (void)r5;
	err = fault_copy(pointer(r1), pointer(r3), (uint32_t)r2);
	if (err)
		memset(pointer(r1), 0, (uint32_t)r2);
	return (uint64_t)(int64_t)err;
}

/* Up to CHUNK bytes at @from, but none of the next page: the string may end before that. */
static size_t chunk_at(uint64_t from, size_t room)
{
	size_t in_page = PAGE - from % PAGE;
	size_t most = in_page < CHUNK ? in_page : CHUNK;

	return room < most ? room : most;
}

int64_t probe_string(char *to, size_t size, uint64_t from)
{
	char chunk[CHUNK];

	for (size_t done = 0; done < size;) {
		size_t len = chunk_at(from + done, size - done), used;

		if (fault_copy(chunk, pointer(from + done), len))
			return -EFAULT;
		used = strnlen(chunk, len);
		memcpy(to + done, chunk, used < len ? used + 1 : len);
		done += used;
		if (used < len)
			return (int64_t)done + 1;
	}
	if (size)
		to[size - 1] = 0;
	return (int64_t)size;
}

uint64_t probe_read_str(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	int64_t got;

	(void)r4, (void)r5;
	got = probe_string(pointer(r1), (uint32_t)r2, r3);
	if (got < 0)
		memset(pointer(r1), 0, (uint32_t)r2);
	return (uint64_t)got;
}

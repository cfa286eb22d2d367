/* SPDX-License-Identifier: MIT */
/* os_proc.c - what /proc says of this process's mappings; see proc(5) */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A mapping's first line is "lo-hi perms ..."; the others are "Name: value kB". */
static bool parse_range(const char *line, uintptr_t *lo, uintptr_t *hi)
{
	char *end;
	unsigned long from = strtoul(line, &end, 16);

	if (end == line || *end != '-')
		return false;
	*lo = from;
	*hi = strtoul(end + 1, NULL, 16);
	return true;
}

static uint64_t parse_huge(const char *line)
{
	static const char *const names[] = {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(line, names[i], length))
			return strtoull(line + length, NULL, 10) << 10;
	}
	return 0;
}

int os_huge_bytes(uintptr_t lo, uintptr_t hi, uint64_t *bytes)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	uintptr_t from = 0, to = 0;
	uint64_t sum = 0;
	char *line = NULL;
	size_t room = 0;
	int err;

	if (!file)
		return -errno;
	while (getline(&line, &room, file) > 0) {
		if (!parse_range(line, &from, &to) && from >= lo && to <= hi)
			sum += parse_huge(line);
	}
	err = feof(file) ? 0 : -errno;
	free(line);
	fclose(file);
	if (!err)
		*bytes = sum;
	return err;
}

long os_count_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[4096];
	long lines = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	}
	if (n < 0)
		lines = -errno;
	close(fd);
	return lines;
}

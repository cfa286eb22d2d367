/* SPDX-License-Identifier: MIT */
/* heap_look.c - what /proc says of executable and of resident memory; see proc(5) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/heap.h"
#include "os/os.h"

/* Give each line of a file to @see, until its end. */
static int each_line(const char *path, void (*see)(const char *line, uint64_t *sum), uint64_t *sum)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int err;

	if (!file)
		return -errno;
	*sum = 0;
	while (getline(&line, &room, file) > 0)
		see(line, sum);
	err = feof(file) ? 0 : -EIO;
	free(line);
	fclose(file);
	return err;
}

static void add_exec(const char *line, uint64_t *sum)
{
	unsigned long lo, hi;
	char perms[5];

	if (sscanf(line, "%lx-%lx %4s", &lo, &hi, perms) == 3 && perms[2] == 'x')
		*sum += hi - lo;
}

int look(struct heap_look *look)
{
	int err = each_line("/proc/self/maps", add_exec, &look->exec_bytes);

	look->mappings = os_count_maps();
	return err || look->mappings >= 0 ? err : (int)look->mappings;
}

/* Files are left out: they are libraries, as more of their code is used. */
static void add_resident(const char *line, uint64_t *sum)
{
	unsigned long kb;

	if (sscanf(line, "Pss_Anon: %lu kB", &kb) == 1 ||
	    sscanf(line, "Pss_Shmem: %lu kB", &kb) == 1)
		*sum += kb << 10;
}

static int resident(uint64_t *bytes)
{
	return each_line("/proc/self/smaps_rollup", add_resident, bytes);
}

#define SMALL_BLOCK 200u

static int measure(const struct heap_arm_kind *arm, const struct heap_image *image, uint64_t *bytes)
{
	uint64_t before = 0, after = 0;
	struct heap_block block;
	void *state;
	int err = resident(&before); /* once for what reading takes itself */

	if (!err)
		err = resident(&before);
	if (!err)
		err = arm->open(arm->variant, &state);
	if (!err)
		err = arm->add(state, image, SMALL_BLOCK, &block);
	if (!err)
		err = resident(&after);
	if (!err)
		*bytes = after > before ? after - before : 0;
	return err;
}

/* In the child: the figure, or nothing, goes to the pipe. */
static void tell(int to, const struct heap_arm_kind *arm, const struct heap_image *image)
{
	uint64_t bytes;
	bool ok = !measure(arm, image, &bytes) && write(to, &bytes, sizeof(bytes)) == sizeof(bytes);

	_exit(ok ? 0 : 1);
}

int look_resident(const struct heap_arm_kind *arm, const struct heap_image *image, uint64_t *bytes)
{
	ssize_t got;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		return -errno;
	fflush(NULL);
	child = fork();
	if (!child)
		tell(ends[1], arm, image);
	close(ends[1]);
	got = read(ends[0], bytes, sizeof(*bytes));
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return got == sizeof(*bytes) ? 0 : -EIO;
}

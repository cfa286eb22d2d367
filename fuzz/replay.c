/* SPDX-License-Identifier: MIT */
/*
 * replay.c - run a fuzz target on the files of a folder, without a fuzzer: the tests' way
 *
 * What goes wrong ends the process, so that the file is told before it is run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int run_file(const char *folder, const char *name)
{
	uint8_t data[4096];
	char path[512];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rbe");
	if (!file)
		return -1;
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	return LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	int n = argc == 2 ? scandir(argv[1], &entries, is_input, alphasort) : -1;

	if (n <= 0) {
		fprintf(stderr, "usage: replay FOLDER\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		printf("# %s\n", entries[i]->d_name);
		printf("%s %d - %s\n", run_file(argv[1], entries[i]->d_name) ? "not ok" : "ok",
		       i + 1, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

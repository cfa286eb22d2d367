/* SPDX-License-Identifier: MIT */
/* heap_plot.c - bench heap's churns as bars, drawn by gnuplot, which is looked for at run time */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/heap.h"
#include "tools/cli.h"

/* Run gnuplot with these as its standard input and output: 0, or -errno. */
static int run_gnuplot(int in, int out)
{
	char name[] = "gnuplot", *argv[] = {name, NULL};
	posix_spawn_file_actions_t files;
	int status, err;
	pid_t child;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	err = posix_spawnp(&child, name, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (err)
		return -err;
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status ? -EIO : 0;
}

/* With nothing to do it ends at once. */
static int check_gnuplot(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), err;

	if (null < 0)
		return -errno;
	err = run_gnuplot(null, null);
	close(null);
	return err;
}

int plot_check(const char *path)
{
	FILE *file;
	int err = check_gnuplot();

	if (err == -ENOENT)
		cli_error("--plot needs gnuplot, which was not found (Debian: gnuplot-nox)");
	else if (err)
		cli_error("gnuplot: %s", strerror(-err));
	if (err)
		return err;
	file = fopen(path, "we");
	if (!file) {
		err = -errno;
		cli_error("%s: %s", path, strerror(-err));
		return err;
	}
	fclose(file);
	return 0;
}

static void put_cell(FILE *to, const struct heap_row *row)
{
	const struct spread *ns = row ? &row->ns[HEAP_CHURN] : NULL;

	if (ns)
		fprintf(to, " %.1f %.1f %.1f", ns->med, ns->min, ns->max);
	else
		fputs(" - - -", to);
}

static bool is_first_of_its_arm(const struct heap_bench *bench, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++) {
		if (bench->rows[k].arm == bench->rows[i].arm)
			return false;
	}
	return true;
}

/* The groups of rows, which follow each other: as many live blocks and threads. */
static unsigned int list_groups(const struct heap_bench *bench, const struct heap_row **groups)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < bench->nrows; i++) {
		const struct heap_row *row = &bench->rows[i];

		if (!n || groups[n - 1]->wanted != row->wanted ||
		    groups[n - 1]->threads != row->threads)
			groups[n++] = row;
	}
	return n;
}

#define GROUPS_MAX (HEAP_LIVES * 2)

/* A line for each arm, three columns for each group. */
static void put_data(const struct heap_bench *bench, FILE *to)
{
	const struct heap_row *groups[GROUPS_MAX];
	unsigned int n = list_groups(bench, groups);

	fputs("$churn << END\n", to);
	for (unsigned int i = 0; i < bench->nrows; i++) {
		const char *arm = bench->rows[i].arm->name;

		if (!is_first_of_its_arm(bench, i))
			continue;
		fprintf(to, "%s", arm);
		for (unsigned int g = 0; g < n; g++)
			put_cell(to,
				 heap_row_of(bench, arm, groups[g]->wanted, groups[g]->threads));
		putc('\n', to);
	}
	fputs("END\n", to);
}

static void put_script(const struct heap_bench *bench, FILE *to)
{
	static const char *const colours[GROUPS_MAX] = {"#a6c8e0", "#4a90c2", "#f2c28b", "#d9822b"};
	const struct heap_row *groups[GROUPS_MAX];
	unsigned int n = list_groups(bench, groups);

	put_data(bench, to);
	fputs("set terminal svg size 1080,500 font 'sans-serif,14' background '#ffffff'\n"
	      "set title 'Free one block of code, make another: progpack and others' font ',17'\n"
	      "set ylabel 'nanoseconds (median, minimum to maximum)'\n"
	      "set datafile missing '-'\n"
	      "set logscale y\n"
	      "set format y '%.0f'\n"
	      "set grid ytics lc rgb '#dddddd'\n"
	      "set border 3 lc rgb '#666666'\n"
	      "set tics nomirror\n"
	      "set xtics font ',12' textcolor rgb '#222222'\n"
	      "set key top left Left reverse samplen 1.5\n"
	      "set errorbars small linecolor rgb '#444444'\n"
	      "set style data histograms\n"
	      "set style histogram errorbars gap 1 lw 1\n"
	      "set style fill solid noborder\n"
	      "plot",
	      to);
	for (unsigned int g = 0; g < n; g++)
		fprintf(to,
			"%s $churn using %u:%u:%u:xtic(1) title '%u live, %u thread%s' lc rgb '%s'",
			g ? "," : "", 3 * g + 2, 3 * g + 3, 3 * g + 4, groups[g]->wanted,
			groups[g]->threads, groups[g]->threads > 1 ? "s" : "", colours[g]);
	putc('\n', to);
}

static int draw(const struct heap_bench *bench, FILE *script, const char *path)
{
	int out, err;

	put_script(bench, script);
	if (fflush(script) || fseek(script, 0, SEEK_SET))
		return -errno;
	out = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (out < 0)
		return -errno;
	err = run_gnuplot(fileno(script), out);
	close(out);
	return err;
}

int plot_write(const struct heap_bench *bench, const char *path)
{
	FILE *script = tmpfile();
	int err = script ? draw(bench, script, path) : -errno;

	if (script)
		fclose(script);
	if (err)
		cli_error("%s: gnuplot: %s", path, strerror(-err));
	return err;
}

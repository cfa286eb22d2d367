/* SPDX-License-Identifier: MIT */
/*
 * run.c - runs case files on every engine and prints TAP
 *
 *	run [-e ENGINE] PATH...		a case file, or a folder of groups of them
 *
 * The format of a case is in case.h, the program's in asm.h, the engines are in engine.c.
 * Each trial is a child process with a time limit: a crash fails that line alone. A case
 * file that cannot be read fails too, and says at which line.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"
#include "engine.h"
#include "kernel.h"

#define SECONDS 30           /* for one trial, also under sanitizers and emulation */
#define KERNEL_CASES_MIN 300 /* fewer that ran there mean that the check has become void */

struct suite {
	const char *only; /* name of the one engine wanted, or NULL */
	unsigned int tests, failed;
	unsigned int kernel_passed;
	bool kernel;               /* it can be asked */
	struct verdict kernel_how; /* why not, if not */
};

static void report(struct suite *suite, const char *name, const char *engine,
		   const struct verdict *verdict)
{
	bool failed = verdict->outcome == FAILED;

	suite->failed += failed;
	printf("%sok %u - %s %s%s%s\n", failed ? "not " : "", ++suite->tests, name, engine,
	       verdict->outcome == SKIPPED ? " # SKIP " : "",
	       verdict->outcome == SKIPPED ? verdict->why : "");
	if (failed)
		printf("# %s\n", verdict->why);
}

static void child(const struct engine *engine, const struct test_case *tc, int to)
{
	struct verdict verdict = {.outcome = FAILED};

	alarm(SECONDS);
	engine->try(tc, &verdict);
	_exit(write(to, &verdict, sizeof(verdict)) != sizeof(verdict));
}

/* What the child said, or what became of it. */
static void collect(pid_t pid, int from, struct verdict *verdict)
{
	ssize_t got = read(from, verdict, sizeof(*verdict));
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		verdict_set(verdict, FAILED, "killed: %s", strsignal(WTERMSIG(status)));
	else if (got != sizeof(*verdict))
		verdict_set(verdict, FAILED, "exited with %d", WEXITSTATUS(status));
}

static void try_in_child(const struct engine *engine, const struct test_case *tc,
			 struct verdict *verdict)
{
	int fd[2];
	pid_t pid;

	if (pipe(fd)) {
		verdict_set(verdict, FAILED, "pipe: %s", strerror(errno));
		return;
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		child(engine, tc, fd[1]);
	close(fd[1]);
	if (pid < 0)
		verdict_set(verdict, FAILED, "fork: %s", strerror(errno));
	else
		collect(pid, fd[0], verdict);
	close(fd[0]);
}

static void run_engine(struct suite *suite, const char *name, const struct engine *engine,
		       const struct test_case *tc)
{
	bool kernel = !strcmp(engine->name, "kernel");
	struct verdict verdict;

	if (engine->refusals != !!tc->error || (suite->only && strcmp(engine->name, suite->only)))
		return;
	if (kernel && !suite->kernel)
		verdict = suite->kernel_how;
	else
		try_in_child(engine, tc, &verdict);
	suite->kernel_passed += kernel && verdict.outcome == PASSED;
	report(suite, name, engine->name, &verdict);
}

static void keep_reason(void *ctx, const char *message)
{
	verdict_set(ctx, FAILED, "%s", message);
}

/* "group/case.bpf" of a path */
static const char *short_name(const char *path)
{
	const char *name = path + strlen(path);

	for (int slashes = 0; name > path; name--) {
		slashes += name[-1] == '/';
		if (slashes == 2)
			break;
	}
	return name;
}

static void run_case(struct suite *suite, const char *path)
{
	struct verdict verdict = {.outcome = FAILED};
	const struct log log = {keep_reason, &verdict};
	const char *name = short_name(path);
	struct test_case tc;

	if (case_read(path, &log, &tc)) {
		report(suite, name, "file", &verdict);
		return;
	}
	for (unsigned int i = 0; i < nengines; i++)
		run_engine(suite, name, &engines[i], &tc);
	case_free(&tc);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* A folder that holds no case is a failure: nothing would be tested. */
static void run_path(struct suite *suite, const char *path)
{
	struct verdict none = {FAILED, "no case files"};
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s%s", path, is_folder(path) ? "/*/*.bpf" : "");
	if (glob(pattern, 0, NULL, &found)) {
		report(suite, path, "folder", &none);
		return;
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		run_case(suite, found.gl_pathv[i]);
	globfree(&found);
}

static void check_kernel_ran(struct suite *suite)
{
	struct verdict verdict = suite->kernel_how;

	if (suite->kernel && suite->kernel_passed < KERNEL_CASES_MIN)
		verdict_set(&verdict, FAILED, "only %u", suite->kernel_passed);
	report(suite, "the kernel ran enough of the cases", "kernel", &verdict);
}

static int usage(void)
{
	fprintf(stderr, "usage: run [-e ENGINE] PATH...\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct suite suite = {0};
	bool whole;
	int option;

	while ((option = getopt(argc, argv, "e:")) == 'e')
		suite.only = optarg;
	if (option != -1 || optind == argc)
		return usage();
	suite.kernel = kernel_available(&suite.kernel_how);
	printf("TAP version 13\n# kernel: %s\n", suite.kernel_how.why);
	whole = is_folder(argv[optind]) && !suite.only;
	for (int i = optind; i < argc; i++)
		run_path(&suite, argv[i]);
	if (whole)
		check_kernel_ran(&suite);
	printf("1..%u\n", suite.tests);
	return suite.failed ? 1 : 0;
}

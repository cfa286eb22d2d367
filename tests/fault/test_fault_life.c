/* SPDX-License-Identifier: MIT */
/*
 * test_fault_life.c - a heap's start, and its way into a child of fork(), with the nth call to
 * the system failing
 */
#include "fault.h"
#include "trial.h"

#include <errno.h>
#include <sys/wait.h>

/* A test's parameters. */
struct life {
	const char *name;
	enum pp_writer writer;
	unsigned int flags;
	bool is_raw; /* fork by a system call: no handlers run */
};

struct how {
	unsigned int nth;
	int err;
	bool all_later;
};

/* A heap that exists works; where addresses are refused it is a smaller one. */
static void use_up(struct trial *trial)
{
	uintptr_t lo, hi;

	pp_heap_range(trial->heap, &lo, &hi);
	trial->base = (uint8_t *)lo;
	trial_block(trial, 64);
	assert_int_equal(pp_free(trial->heap, trial_block(trial, (hi - lo) / 2)), 0);
	trial_look(trial);
	trial_end(trial);
}

/* True if something failed. */
static bool try_new(const struct life *life, const struct how *how)
{
	struct pp_opts opts = test_opts(life->writer, 4);
	struct trial trial = {0};
	int err;

	opts.flags = life->flags;
	opts.name = "fault";
	fault_arm(how->nth, how->err, how->all_later);
	err = pp_heap_new(&opts, &trial.heap);
	fault_disarm();
	if (!err) {
		use_up(&trial);
	} else {
		assert_null(trial.heap);
		assert_true(fault.injected);
		assert_true(test_log[0] || err == -ENOMEM);
	}
	return fault.injected;
}

static void until_none_fails(const struct life *life, struct how how,
			     bool (*try)(const struct life *life, const struct how *how))
{
	struct balance before = fault_balance();
	bool failed;

	do {
		how.nth++;
		failed = try(life, &how);
		assert_true(fault_is_balanced(&before));
	} while (failed);
	print_message("# %u calls that can fail\n", how.nth - 1);
}

/* Once without counting: libc keeps what it took. */
static void each_way(const struct life *life,
		     bool (*try)(const struct life *life, const struct how *how))
{
	assert_false(try(life, &(struct how){0}));
	until_none_fails(life, (struct how){.err = ENOMEM}, try);
	until_none_fails(life, (struct how){.err = EPERM}, try);
	until_none_fails(life, (struct how){.err = EACCES, .all_later = true}, try);
}

static void new_survives(void **state)
{
	each_way(*state, try_new);
}

/*
 * The child has a heap that works, or one that refuses every write; without fork, nothing.
 * 0 or 2: all is well; 2 says that a call failed.
 */
static int be_the_child(const struct life *life, struct trial *trial, const struct balance *before)
{
	bool runs = trial_check(trial);
	int err, again;

	fault_disarm();
	err = pp_abort(trial->heap, &trial->code[0]);
	again = pp_alloc(trial->heap, 100, &trial->code[1]);
	if (life->flags & PP_NOFORK) {
		CHECK(!runs && err == -EPERM && again == -EPERM);
	} else {
		CHECK(runs && (again == 0 || again == -EPERM) && err == 0);
		CHECK(pp_free(trial->heap, trial->live[0]) == again);
		CHECK(trial_check(trial));
	}
	CHECK(fault.injected || (life->writer == PP_WRITER_ALIAS && life->is_raw) ||
	      life->flags & PP_NOFORK || again == 0);
	pp_heap_free(trial->heap);
	/* An orphan of a raw fork gives nothing back to malloc (src/heap/room.h). */
	CHECK(life->is_raw ? fault_keeps_but_memory(before) : fault_is_balanced(before));
	return fault.injected ? 2 : 0;
}

static int fork_and_wait(const struct life *life, struct trial *trial, const struct balance *before)
{
	pid_t pid = life->is_raw ? raw_fork() : fork();
	int status = -1;

	assert_true(pid >= 0);
	if (!pid)
		_exit(be_the_child(life, trial, before));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Two packs and an open block; whatever fails, the parent notices nothing. */
static bool try_fork(const struct life *life, const struct how *how)
{
	struct balance balance = fault_balance();
	struct trial trial;
	struct view before, after;
	int result;

	trial_start(&trial, life->writer, life->flags);
	trial.live[0] = trial_block(&trial, 100);
	trial.live[1] = trial_block(&trial, 2 * MIB);
	trial_open(&trial, &trial.code[0], 1000);
	before = trial_look(&trial);
	fault_arm(how->nth, how->err, how->all_later);
	result = fork_and_wait(life, &trial, &balance);
	fault_disarm();
	after = trial_look(&trial);
	trial_compare(&before, &after);
	assert_int_equal(pp_finalize(trial.heap, &trial.code[0], 1024), 0);
	trial_look(&trial);
	trial_end(&trial);
	assert_true(result == 0 || result == 2);
	return result == 2;
}

static void fork_survives(void **state)
{
	each_way(*state, try_fork);
}

/* os.h says what can fail: a function that gives an int, and is not in the table, is found here. */
static void every_call_is_wrapped(void **state)
{
	FILE *file = fopen(OS_H, "re");
	char line[256], name[64];
	unsigned int found = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *const *wrapped = fault_wrapped;

		if (sscanf(line, "int %63[a-z_](", name) != 1 || !strcmp(name, "os_protect_rx"))
			continue;
		while (*wrapped && strcmp(*wrapped, name))
			wrapped++;
		if (!*wrapped)
			fail_msg("%s is not wrapped", name);
		found++;
	}
	fclose(file);
	assert_true(found > 10);
}

static struct life lives[] = {
	{"poke", PP_WRITER_POKE, 0, false},
	{"alias", PP_WRITER_ALIAS, 0, false},
	{"auto", PP_WRITER_AUTO, 0, false},
	{"poke without fork", PP_WRITER_POKE, PP_NOFORK, false},
	{"alias without fork", PP_WRITER_ALIAS, PP_NOFORK, false},
	{"poke by a raw system call", PP_WRITER_POKE, 0, true},
	{"alias by a raw system call", PP_WRITER_ALIAS, 0, true},
};

#define NLIVES (sizeof(lives) / sizeof(*lives))

int main(void)
{
	static struct CMUnitTest tests[1 + 2 * NLIVES] = {cmocka_unit_test(every_call_is_wrapped)};
	static char names[1 + 2 * NLIVES][80];

	for (size_t i = 1; i < 1 + 2 * NLIVES; i++) {
		struct life *life = &lives[(i - 1) / 2];
		bool is_fork = i % 2;

		snprintf(names[i], sizeof(names[i]), "%s: %s", is_fork ? "fork()" : "pp_heap_new()",
			 life->name);
		tests[i] = (struct CMUnitTest){
			.name = names[i],
			.test_func = is_fork ? fork_survives : new_survives,
			.initial_state = life,
		};
	}
	return cmocka_run_group_tests_name("fault_life", tests, NULL, NULL);
}

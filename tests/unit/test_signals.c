/* SPDX-License-Identifier: MIT */
/*
 * test_signals.c - the manners of the handler of faults: what is not ours reaches whoever was
 * there before as the kernel would have delivered it, and nothing is left behind
 *
 * Each test is a child, as most of them end by a signal.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "child.h"
#include "os/fault.h"

#define FAULTS 2000 /* by each thread */
#define THREADS 4

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN true
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN false
#endif

static void *volatile bad = (void *)8; /* the compiler must not know */

static bool probe_works(void)
{
	uint64_t value = 5;

	return fault_load(bad, 4, &value) == -EFAULT && value == 5 &&
	       !fault_load(&value, 8, &value);
}

static void hold(void)
{
	CHECK(!fault_hold(NULL));
	CHECK(probe_works());
}

/* A fault that is nobody's but the program's. */
static void crash(void)
{
	*(volatile int *)bad = 1;
}

static bool killed_by(int status, int number)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == number;
}

/* ---- what handlers see ---- */

static struct seen {
	volatile int number;
	int calls, code;
	void *address, *stack;
	bool context, nested, masked;
} seen;
static sigjmp_buf behind;

static bool is_blocked(int number)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, number);
}

static void look(int number)
{
	seen.number = number;
	seen.calls++;
	seen.stack = &number;
	seen.nested = !is_blocked(number);
	seen.masked = is_blocked(SIGUSR1);
}

static void plain(int number)
{
	look(number);
	siglongjmp(behind, 1);
}

static void with_info(int number, siginfo_t *info, void *context)
{
	look(number);
	seen.code = info->si_code;
	seen.address = info->si_addr;
	seen.context = context;
	siglongjmp(behind, 1);
}

static void returning(int number)
{
	look(number);
	errno = ENOTTY;
}

static struct sigaction action_of(void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGUSR1);
	return action;
}

static void set_action(int number, const struct sigaction *action)
{
	CHECK(!sigaction(number, action, NULL));
}

static void crash_into_handler(void)
{
	seen = (struct seen){0};
	if (!sigsetjmp(behind, 1))
		crash();
	CHECK(seen.number == SIGSEGV && seen.calls == 1);
	CHECK(!is_blocked(SIGSEGV) && !is_blocked(SIGUSR1));
	CHECK(probe_works());
}

/* ---- who was before ---- */

static void default_dies(void *arg)
{
	hold();
	if (arg)
		kill(getpid(), SIGBUS);
	else
		crash();
}

static void test_default(void **state)
{
	static int yes;

	(void)state;
	assert_true(killed_by(run_child(default_dies, NULL), SIGSEGV));
	assert_true(killed_by(run_child(default_dies, &yes), SIGBUS));
}

static void killed_from_outside(void *arg)
{
	pid_t me = getpid();

	(void)arg;
	hold();
	if (!fork()) {
		kill(me, SIGSEGV);
		_exit(0);
	}
	for (;;)
		pause();
}

static void test_from_outside(void **state)
{
	(void)state;
	assert_true(killed_by(run_child(killed_from_outside, NULL), SIGSEGV));
}

/* Who waits for it learns the same of the death. */
static void test_death_keeps_its_reason(void **state)
{
	siginfo_t info = {0};
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		hold();
		crash();
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	assert_true(info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
	assert_int_equal(info.si_status, SIGSEGV);
}

static void ignored(void *arg)
{
	signal(SIGSEGV, SIG_IGN);
	signal(SIGBUS, SIG_IGN);
	hold();
	kill(getpid(), SIGSEGV);
	raise(SIGBUS);
	CHECK(probe_works());
	if (arg)
		crash(); /* cannot be ignored */
}

static void test_ignored(void **state)
{
	static int yes;

	(void)state;
	assert_int_equal(run_child(ignored, NULL), 0);
	assert_true(killed_by(run_child(ignored, &yes), SIGSEGV));
}

static void plain_handler(void *arg)
{
	const struct sigaction action = action_of(plain, 0);

	(void)arg;
	set_action(SIGSEGV, &action);
	hold();
	crash_into_handler();
	CHECK(!seen.nested && seen.masked);
	crash_into_handler();
}

static void info_handler(void *arg)
{
	struct sigaction action = action_of(NULL, SA_SIGINFO | SA_NODEFER);

	(void)arg;
	action.sa_sigaction = with_info;
	set_action(SIGSEGV, &action);
	hold();
	crash_into_handler();
	CHECK(seen.nested && seen.masked && seen.context);
	CHECK(seen.code == SEGV_MAPERR && seen.address == bad);
	if (!sigsetjmp(behind, 1))
		kill(getpid(), SIGSEGV);
	CHECK(seen.calls == 2 && seen.code == SI_USER);
}

static void skip_under_tsan(void)
{
	if (!UNDER_TSAN)
		return;
	print_message(
		"skipped: ThreadSanitizer's handlers block every signal, whatever their flags\n");
	skip();
}

static void test_handlers(void **state)
{
	(void)state;
	assert_int_equal(run_child(plain_handler, NULL), 0);
	skip_under_tsan();
	assert_int_equal(run_child(info_handler, NULL), 0);
}

static void errno_survives(void *arg)
{
	const struct sigaction action = action_of(returning, 0);

	(void)arg;
	set_action(SIGSEGV, &action);
	hold();
	errno = EDOM;
	CHECK(probe_works() && errno == EDOM);
	kill(getpid(), SIGSEGV);
	CHECK(seen.calls == 1 && errno == EDOM);
}

static void test_errno(void **state)
{
	(void)state;
	assert_int_equal(run_child(errno_survives, NULL), 0);
}

/* The kernel would call it once, and then kill; our own faults do not count. */
static void resets(void *arg)
{
	const struct sigaction action = action_of(returning, (int)SA_RESETHAND);

	(void)arg;
	set_action(SIGSEGV, &action);
	hold();
	kill(getpid(), SIGSEGV);
	CHECK(seen.calls == 1 && probe_works());
	kill(getpid(), SIGSEGV);
	_exit(1);
}

static void reset_is_left(void *arg)
{
	const struct sigaction action = action_of(returning, (int)SA_RESETHAND);
	struct sigaction now;

	(void)arg;
	set_action(SIGSEGV, &action);
	hold();
	kill(getpid(), SIGSEGV);
	fault_drop(NULL);
	sigaction(SIGSEGV, NULL, &now);
	CHECK(now.sa_handler == SIG_DFL);
}

static void test_resethand(void **state)
{
	(void)state;
	assert_true(killed_by(run_child(resets, NULL), SIGSEGV));
	assert_int_equal(run_child(reset_is_left, NULL), 0);
}

/* ---- stacks ---- */

static uint8_t other_stack[1 << 16];

static bool on_other_stack(void)
{
	uint8_t *at = seen.stack;

	return at >= other_stack && at < other_stack + sizeof(other_stack);
}

static void with_other_stack(void *arg)
{
	const stack_t other = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	const struct sigaction action = action_of(plain, arg ? SA_ONSTACK : 0);
	stack_t now;

	CHECK(!sigaltstack(&other, NULL));
	set_action(SIGSEGV, &action);
	hold();
	crash_into_handler();
	CHECK(on_other_stack() == (arg != NULL));
	CHECK(!sigaltstack(NULL, &now) && !(now.ss_flags & SS_ONSTACK));
}

/* Both on that stack already and coming to it. */
static void probe_in_handler(int number)
{
	(void)number;
	seen.calls += probe_works();
}

static void nested_on_stack(void *arg)
{
	const stack_t other = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	const struct sigaction action = action_of(probe_in_handler, SA_ONSTACK);

	(void)arg;
	CHECK(!sigaltstack(&other, NULL));
	hold();
	set_action(SIGUSR2, &action);
	raise(SIGUSR2);
	CHECK(seen.calls == 1 && probe_works());
}

static void test_stacks(void **state)
{
	static int yes;

	(void)state;
	assert_int_equal(run_child(with_other_stack, NULL), 0);
	assert_int_equal(run_child(with_other_stack, &yes), 0);
	skip_under_tsan();
	assert_int_equal(run_child(nested_on_stack, NULL), 0);
}

/* ---- installing and removing ---- */

/* The kernel fills in only what it has of a set. */
static bool same_mask(const sigset_t *a, const sigset_t *b)
{
	int number = 1;

	while (number < NSIG && sigismember(a, number) == sigismember(b, number))
		number++;
	return number == NSIG;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags &&
	       same_mask(&a->sa_mask, &b->sa_mask);
}

static void comes_back(void *arg)
{
	const struct sigaction *action = arg;
	struct sigaction before[2], now;

	set_action(SIGSEGV, action);
	set_action(SIGBUS, action);
	sigaction(SIGSEGV, NULL, &before[0]);
	sigaction(SIGBUS, NULL, &before[1]);
	for (int i = 0; i < 3; i++) {
		hold();
		hold();
		fault_drop(NULL);
		CHECK(probe_works());
		sigaction(SIGSEGV, NULL, &now);
		CHECK(now.sa_handler != before[0].sa_handler);
		fault_drop(NULL);
		sigaction(SIGSEGV, NULL, &now);
		CHECK(same_action(&now, &before[0]));
		sigaction(SIGBUS, NULL, &now);
		CHECK(same_action(&now, &before[1]));
	}
}

static void test_removed_with_the_last(void **state)
{
	struct sigaction actions[] = {
		action_of(SIG_DFL, 0),
		action_of(SIG_IGN, SA_RESTART),
		action_of(plain, 0),
		action_of(plain, SA_RESTART | SA_ONSTACK | SA_NODEFER),
		action_of(plain, (int)SA_RESETHAND),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		assert_int_equal(run_child(comes_back, &actions[i]), 0);
}

static struct sigaction ours;

static void passing_on(int number, siginfo_t *info, void *context)
{
	seen.calls++;
	ours.sa_sigaction(number, info, context);
}

static void put_over_ours(void)
{
	struct sigaction theirs = {.sa_sigaction = passing_on, .sa_flags = SA_SIGINFO};

	CHECK(!sigaction(SIGSEGV, NULL, &ours));
	set_action(SIGSEGV, &theirs);
}

static bool theirs_is_first(void)
{
	struct sigaction now;

	return !sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction == passing_on;
}

/* Who came later keeps the head; ours must stay to be called by it, and is not put over it. */
static void buried(void *arg)
{
	hold();
	put_over_ours();
	CHECK(probe_works() && seen.calls == 1);
	fault_drop(NULL);
	CHECK(theirs_is_first());
	hold();
	CHECK(theirs_is_first() && seen.calls == 2);
	if (arg)
		crash();
	fault_drop(NULL);
	sigaction(SIGSEGV, &ours, NULL); /* they leave */
	hold();
	fault_drop(NULL);
	CHECK(!sigaction(SIGSEGV, NULL, &ours) && ours.sa_handler == SIG_DFL);
}

static void test_buried(void **state)
{
	static int yes;

	(void)state;
	assert_int_equal(run_child(buried, NULL), 0);
	assert_true(killed_by(run_child(buried, &yes), SIGSEGV));
}

/* A default in our place is the end of every chain: the next one who needs us installs us again. */
static void thrown_out(void *arg)
{
	struct sigaction now;

	(void)arg;
	hold();
	signal(SIGSEGV, SIG_DFL);
	hold();
	signal(SIGSEGV, SIG_IGN);
	fault_drop(NULL);
	fault_drop(NULL);
	sigaction(SIGSEGV, NULL, &now);
	CHECK(now.sa_handler == SIG_IGN);
	hold();
}

static void test_thrown_out(void **state)
{
	(void)state;
	assert_int_equal(run_child(thrown_out, NULL), 0);
}

/* ---- threads and children ---- */

static void *probe_often(void *arg)
{
	for (int i = 0; i < FAULTS; i++)
		CHECK(probe_works());
	return arg;
}

static void *hold_often(void *arg)
{
	for (int i = 0; i < FAULTS; i++) {
		CHECK(!fault_hold(NULL));
		fault_drop(NULL);
	}
	return arg;
}

static void in_threads(void *arg)
{
	pthread_t thread[THREADS + 1];

	hold();
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, probe_often, NULL));
	CHECK(!pthread_create(&thread[THREADS], NULL, hold_often, NULL));
	if (arg)
		crash();
	for (int i = 0; i <= THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
}

static void test_threads(void **state)
{
	static int yes;

	(void)state;
	assert_int_equal(run_child(in_threads, NULL), 0);
	assert_true(killed_by(run_child(in_threads, &yes), SIGSEGV));
}

static void works(void *arg)
{
	(void)arg;
	CHECK(probe_works());
}

static void child_of_holder(void *arg)
{
	pid_t pid;
	int status;

	(void)arg;
	hold();
	pid = fork();
	if (!pid) {
		works(NULL);
		hold();
		fault_drop(NULL);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static void test_fork(void **state)
{
	(void)state;
	assert_int_equal(run_child(child_of_holder, NULL), 0);
}

/* ---- the accesses ---- */

/* Two pages, the second without access; NULL if there is no memory. */
static uint8_t *edge(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED && !mprotect(at + page, page, PROT_NONE));
	for (size_t i = 0; i < page; i++)
		at[i] = (uint8_t)i;
	return at + page;
}

static void copies(void *arg)
{
	const uint8_t *end = edge();
	uint8_t to[64];

	(void)arg;
	hold();
	for (size_t size = 0; size <= 40; size++) {
		memset(to, 0xee, sizeof(to));
		CHECK(!fault_copy(to, end - size, size));
		CHECK(!memcmp(to, end - size, size) && to[size] == 0xee);
		for (size_t over = 1; over <= size; over++)
			CHECK(fault_copy(to, end - size + over, size) == -EFAULT);
		CHECK(to[size] == 0xee);
	}
	CHECK(fault_copy(to, (void *)(uintptr_t)(UINT64_MAX - 3), 8) == -EFAULT);
}

static void accesses(void *arg)
{
	uint8_t *end = edge();
	uint64_t value;

	(void)arg;
	hold();
	for (unsigned int bytes = 1; bytes <= 8; bytes *= 2) {
		memset(end - 8, 0xff, 8);
		CHECK(!fault_store(end - bytes, bytes, 0x8877665544332211));
		CHECK(!fault_load(end - bytes, bytes, &value));
		CHECK(value == (0x8877665544332211 & (UINT64_MAX >> (64 - 8 * bytes))));
		CHECK(bytes == 8 || end[-(int)bytes - 1] == 0xff);
		CHECK(fault_store(end, bytes, 1) == -EFAULT);
		CHECK(fault_load(end - bytes + 1, bytes, &value) == -EFAULT);
	}
}

/* Success, failure, bad memory, and memory that may only be read. */
static void exchanges(void *arg)
{
	static const uint64_t constant = 3;
	uint64_t memory = 0xffffffff00000007, value = 7;

	(void)arg;
	hold();
	CHECK(!fault_cas(&memory, 4, &value, 0xaaaaaaaa00000009));
	CHECK(value == 7 && memory == 0xffffffff00000009);
	CHECK(!fault_cas(&memory, 8, &value, 1));
	CHECK(value == memory && memory == 0xffffffff00000009);
	CHECK(!fault_cas(&memory, 8, &value, 1) && memory == 1);
	CHECK(fault_cas(bad, 8, &value, 1) == -EFAULT && value == 0xffffffff00000009);
	value = constant;
	CHECK(fault_cas((void *)(uintptr_t)&constant, 4, &value, 1) == -EFAULT && value == 3);
	CHECK(fault_store((void *)(uintptr_t)&constant, 8, 1) == -EFAULT);
	CHECK(!fault_load(&constant, 8, &value) && value == 3);
}

static void test_accesses(void **state)
{
	(void)state;
	assert_int_equal(run_child(copies, NULL), 0);
	assert_int_equal(run_child(accesses, NULL), 0);
	assert_int_equal(run_child(exchanges, NULL), 0);
}

/* A file that ends before its mapping does: SIGBUS. */
static void past_a_file(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	FILE *file = tmpfile();
	uint8_t *at = mmap(NULL, page, PROT_READ, MAP_SHARED, fileno(file), 0);
	uint64_t value;

	CHECK(at != MAP_FAILED);
	hold();
	CHECK(fault_load(at, 8, &value) == -EFAULT);
	if (arg)
		(void)*(volatile uint8_t *)at;
}

static void test_bus(void **state)
{
	static int yes;

	(void)state;
	assert_int_equal(run_child(past_a_file, NULL), 0);
	assert_true(killed_by(run_child(past_a_file, &yes), SIGBUS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_from_outside),
		cmocka_unit_test(test_death_keeps_its_reason),
		cmocka_unit_test(test_ignored),
		cmocka_unit_test(test_handlers),
		cmocka_unit_test(test_errno),
		cmocka_unit_test(test_resethand),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_removed_with_the_last),
		cmocka_unit_test(test_buried),
		cmocka_unit_test(test_thrown_out),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_accesses),
		cmocka_unit_test(test_bus),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}

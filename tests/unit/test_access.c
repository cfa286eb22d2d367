/* SPDX-License-Identifier: MIT */
/*
 * test_access.c - native code that may fault: the table at the end of its image, what becomes of
 * registers and runs, and that nothing but what is in the table is taken for ours
 */
#include <errno.h>
#include <progpack_bpf.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "child.h"
#include "jit_fixture.h"
#include "os/fault.h"

#define TIMES 2000
#define THREADS 3

/* What fault_hold() takes, of the fixture's heap. */
static struct fault_mem images(void)
{
	const struct jit_mem *mem = near_mem();

	return (struct fault_mem){mem->ctx, mem->lo, mem->hi, mem->lookup};
}

static void hold(void)
{
	const struct fault_mem mem = images();

	CHECK(!fault_hold(&mem));
}

static void drop(void)
{
	const struct fault_mem mem = images();

	fault_drop(&mem);
}

static struct insn with_flag(struct insn in, unsigned int flag)
{
	in.flags |= (uint8_t)flag;
	return in;
}

static pp_bpf_entry_fn entry_of(const struct native *native)
{
	return (pp_bpf_entry_fn)(uintptr_t)(native->image.rx + native->image.entry[0]);
}

/* r0 = 5; r0 = *(u64 *)r1, with @flag; r0 += 1; exit: 1 if the load gives 0 */
static void build_load(struct prog *prog, unsigned int flag)
{
	prog_init(prog);
	prog_func(prog, true);
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 0, 5));
	prog_add(prog, with_flag(load(8, 0, 1, 0), flag));
	prog_add(prog, alu_imm(ALU_ADD, INSN_W64, 0, 1));
	prog_add(prog, leave());
	prog_end(prog);
}

static struct native compiled_load(unsigned int flag)
{
	struct native native;
	struct prog prog;

	build_load(&prog, flag);
	native = compile(&prog, 0, near_mem());
	prog_fini(&prog);
	return native;
}

/* ---- the table ---- */

/* Loads and stores of all kinds, and atomics of one and of several accesses. */
static void build_many(struct prog *prog, unsigned int flag)
{
	prog_init(prog);
	prog_func(prog, true);
	for (unsigned int r = 0; r < 9; r++) {
		prog_add(prog, with_flag(load(8, r, r + 1, 8), flag));
		prog_add(prog, load(8, r, 10, -8));
		prog_add(prog, with_flag(store(4, r, 1000, r + 1), flag));
		prog_add(prog, with_flag((struct insn){.kind = INSN_ATOMIC,
						       .op = ATOMIC_OR,
						       .flags = INSN_FETCH,
						       .bytes = 8,
						       .dst = (uint8_t)r,
						       .src = (uint8_t)(r + 1)},
					 flag));
	}
	prog_add(prog, leave());
	prog_end(prog);
}

static struct fault_tail tail_of(const struct jit_image *image)
{
	struct fault_tail tail;

	memcpy(&tail, image->rx + image->size - sizeof(tail), sizeof(tail));
	return tail;
}

static void check_entries(const struct jit_image *image, const struct fault_tail *tail)
{
	struct fault_entry entry;
	uint32_t last = 0;

	for (uint32_t i = 0; i < tail->count; i++) {
		memcpy(&entry, image->rx + tail->table + i * sizeof(entry), sizeof(entry));
		assert_true(entry.at > last);
		assert_true(entry.insn % 4 != 1);
		assert_in_range(entry.at, image->at[entry.insn], image->at[entry.insn + 1] - 1);
		assert_in_range(entry.at + entry.skip, entry.at + 1, image->at[entry.insn + 1]);
		last = entry.at;
	}
}

static void test_table(void **state)
{
	struct native plain, native;
	struct fault_tail tail;
	struct prog prog;
	uint32_t code;

	(void)state;
	build_many(&prog, 0);
	plain = compile(&prog, 0, near_mem());
	prog_fini(&prog);
	build_many(&prog, INSN_PROBE);
	native = compile(&prog, 0, near_mem());
	tail = tail_of(&native.image);
	code = native.image.entry[1];
	assert_int_equal(plain.image.size, code); /* entries change no code, and others have none */
	assert_int_equal(tail.magic, FAULT_MAGIC);
	assert_int_equal(tail.count, 9 * 4); /* a fetching or: two accesses */
	assert_int_equal(tail.table % 4, 0);
	assert_int_equal(native.image.size % PP_CHUNK, 0);
	assert_in_range(tail.table, code + 4, code + 7);
	for (uint32_t i = code; i < tail.table; i++)
		assert_int_equal(native.image.rx[i], (uint8_t)(jit_host_arch()->trap >> i % 4 * 8));
	check_entries(&native.image, &tail);
	prog_fini(&prog);
	native_fini(&native);
	native_fini(&plain);
}

static void test_memory_without_lookup(void **state)
{
	const struct log silent = {0};
	struct jit_mem blind = *near_mem();
	struct jit_image image = {.size = 99};
	struct prog prog;
	const struct jit_job job = {
		.arch = jit_host_arch(),
		.unit = &prog.unit,
		.mem = &blind,
		.log = &silent,
	};
	struct pp_stats before = {.size = sizeof(before)}, after = before;

	(void)state;
	assert_int_equal(pp_stats(blind.ctx, &before), 0);
	blind.lookup = NULL;
	build_load(&prog, INSN_PROBE);
	assert_int_equal(jit_compile(&job, &image), -ENOTSUP);
	assert_int_equal(image.size, 99);
	assert_int_equal(pp_stats(blind.ctx, &after), 0);
	assert_int_equal(after.allocs, before.allocs);
	prog_fini(&prog);
}

/* ---- what is ours ---- */

static void load_goes_on(void *arg)
{
	struct native native = compiled_load(INSN_PROBE);
	uint64_t nine = 9;

	(void)arg;
	hold();
	CHECK(entry_of(&native)(NULL, 0) == 1);
	CHECK(entry_of(&native)(&nine, 0) == 10);
	CHECK(entry_of(&native)((void *)(uintptr_t)0xdead000000000000, 0) == 1);
	drop();
}

/* The same heap, a code that is the same but for its table. */
static void plain_load_dies(void *arg)
{
	struct native ours = compiled_load(INSN_PROBE), plain = compiled_load(0);

	(void)arg;
	hold();
	CHECK(entry_of(&ours)(NULL, 0) == 1);
	entry_of (&plain)(NULL, 0);
}

/* Whether the handler is still there for others or not. */
static void dies_unheld(void *arg)
{
	struct native native = compiled_load(INSN_PROBE);

	if (arg)
		CHECK(!fault_hold(NULL));
	hold();
	drop();
	entry_of (&native)(NULL, 0);
}

/* One access is in the table; the fault is at another of the same image, behind or before it. */
static void dies_beside_an_entry(void *arg)
{
	const bool *first = arg;
	struct native native;
	struct prog prog;

	prog_init(&prog);
	prog_func(&prog, true);
	prog_add(&prog, with_flag(load(8, 0, 1, 0), *first ? INSN_PROBE : 0));
	prog_add(&prog, with_flag(load(8, 0, 1, 0), *first ? 0 : INSN_PROBE));
	prog_add(&prog, leave());
	prog_end(&prog);
	native = compile(&prog, 0, near_mem());
	hold();
	entry_of (&native)(NULL, 0);
}

#define PASSED_ON 42

static void was_passed_on(int number)
{
	(void)number;
	_exit(PASSED_ON);
}

/* A function that returns what its first argument points to. */
#if defined(__x86_64__)
static const uint8_t load_first[] = {0x48, 0x8b, 0x07, 0xc3}; /* mov rax, [rdi]; ret */
#elif defined(__aarch64__)
static const uint32_t load_first[] = {0xf9400000, 0xd65f03c0}; /* ldr x0, [x0]; ret */
#else
static const uint32_t load_first[] = {0x00053503, 0x00008067}; /* ld a0, 0(a0); ret */
#endif

/* Another JIT's block whose last bytes look like a tail, but for what it says. */
static void is_passed_on(void *arg)
{
	const struct fault_tail *tail = arg;
	struct pp_heap *heap = near_mem()->ctx;
	struct pp_code code;

	CHECK(!pp_alloc(heap, 64, &code));
	memcpy(code.rw, load_first, sizeof(load_first));
	memcpy((uint8_t *)code.rw + code.size - sizeof(*tail), tail, sizeof(*tail));
	CHECK(!pp_finalize(heap, &code, code.size));
	signal(SIGSEGV, was_passed_on);
	hold();
	((pp_bpf_entry_fn)(uintptr_t)code.rx)(NULL, 0);
}

/* kill() while the pc is at an entry is not a fault of it. */
static void sent_is_not_ours(void *arg)
{
	uint64_t here = 0;
	struct native native;
	struct prog prog;
	pid_t me = getpid();

	(void)arg;
	prog_init(&prog);
	prog_func(&prog, true);
	for (int i = 0; i < 100; i++)
		prog_add(&prog, with_flag(load(8, 0, 1, 0), INSN_PROBE));
	prog_add(&prog, jump(0));
	prog_end(&prog);
	native = compile(&prog, 0, near_mem());
	hold();
	if (!fork()) {
		kill(me, SIGSEGV);
		_exit(0);
	}
	CHECK(entry_of(&native)(&here, 0));
}

static bool segv(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void test_only_what_is_in_the_table(void **state)
{
	struct fault_tail bad_tails[] = {
		{FAULT_MAGIC, 0, UINT32_MAX}, {FAULT_MAGIC, UINT32_MAX, UINT32_MAX},
		{FAULT_MAGIC, 48, 1},         {FAULT_MAGIC, 0, 0},
		{FAULT_MAGIC + 1, 4, 1},
	};
	bool yes = true, no = false;

	(void)state;
	near_mem();
	assert_int_equal(run_child(load_goes_on, NULL), 0);
	assert_true(segv(run_child(plain_load_dies, NULL)));
	assert_true(segv(run_child(dies_unheld, NULL)));
	assert_true(segv(run_child(dies_unheld, &yes)));
	assert_true(segv(run_child(dies_beside_an_entry, &yes)));
	assert_true(segv(run_child(dies_beside_an_entry, &no)));
	assert_true(segv(run_child(sent_is_not_ours, NULL)));
	for (size_t i = 0; i < NELEMS(bad_tails); i++) {
		int status = run_child(is_passed_on, &bad_tails[i]);

		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == PASSED_ON);
	}
}

/* ---- places ---- */

/* Heaps that come and go while others are in use: their places are used again. */
static void heaps_come_and_go(void *arg)
{
	struct native native = compiled_load(INSN_PROBE);

	(void)arg;
	hold();
	for (int i = 0; i < 20; i++) {
		const struct pp_opts opts = {.size = sizeof(opts), .reserve = 2 << 20};
		struct fault_mem other;
		struct pp_heap *heap;
		struct jit_mem mem;
		struct native second;
		struct prog prog;

		CHECK(!pp_heap_new(&opts, &heap));
		mem = jit_mem_heap(heap);
		other = (struct fault_mem){mem.ctx, mem.lo, mem.hi, mem.lookup};
		build_load(&prog, INSN_PROBE);
		second = compile(&prog, 0, &mem);
		CHECK(!fault_hold(&other) && !fault_hold(&other));
		CHECK(entry_of(&second)(NULL, 0) == 1 && entry_of(&native)(NULL, 0) == 1);
		fault_drop(&other);
		CHECK(entry_of(&second)(NULL, 0) == 1);
		native_fini(&second);
		fault_drop(&other);
		pp_heap_free(heap);
		prog_fini(&prog);
	}
	CHECK(entry_of(&native)(NULL, 0) == 1);
}

static void *fault_often(void *arg)
{
	for (int i = 0; i < TIMES; i++)
		CHECK(((pp_bpf_entry_fn)(uintptr_t)arg)(NULL, 0) == 1);
	return NULL;
}

static void in_threads(void *arg)
{
	struct native native = compiled_load(INSN_PROBE);
	pthread_t thread[THREADS];

	hold();
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, fault_often,
				      (void *)(uintptr_t)entry_of(&native)));
	heaps_come_and_go(arg);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
}

static void test_places(void **state)
{
	(void)state;
	near_mem();
	assert_int_equal(run_child(heaps_come_and_go, NULL), 0);
	assert_int_equal(run_child(in_threads, NULL), 0);
}

/* ---- runs that end ---- */

static void ends(void *arg)
{
	struct native native = compiled_load(INSN_GUARD);
	struct fault_run run;
	uint64_t result = 77, nine = 9;
	sigset_t before, after;

	(void)arg;
	hold();
	sigprocmask(SIG_SETMASK, NULL, &before);
	for (int i = 0; i < TIMES; i++) {
		CHECK(fault_run(entry_of(&native), (void *)16, 0, &result, &run) == -EFAULT);
		CHECK(result == 77 && run.insn == 1 && run.address == 16);
	}
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&before, SIGSEGV) == sigismember(&after, SIGSEGV));
	CHECK(!fault_run(entry_of(&native), &nine, 0, &result, &run) && result == 10);
}

/* A run that another one's code makes ends alone. */
static pp_bpf_entry_fn inner;

static uint64_t outer(void *r1, uint64_t r2)
{
	struct fault_run run;
	uint64_t result;

	CHECK(fault_run(inner, NULL, 0, &result, &run) == -EFAULT);
	CHECK(!fault_run(inner, &r2, 0, &result, &run));
	return inner(r1, 0) + result;
}

static void ends_alone(void *arg)
{
	struct native native = compiled_load(INSN_GUARD);
	struct fault_run run;
	uint64_t result = 0, three = 3;

	(void)arg;
	hold();
	inner = entry_of(&native);
	CHECK(!fault_run(outer, &three, 10, &result, &run) && result == 3 + 1 + 10 + 1);
	CHECK(fault_run(outer, NULL, 10, &result, &run) == -EFAULT && result == 15);
}

static void ends_on_another_stack(void *arg)
{
	static uint8_t stack[1 << 16];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_ONSTACK};

	CHECK(!sigaltstack(&other, NULL) && !sigaction(SIGSEGV, &action, NULL));
	ends(arg);
}

static void dies_outside_a_run(void *arg)
{
	struct native native = compiled_load(INSN_GUARD);

	(void)arg;
	hold();
	entry_of (&native)(NULL, 0);
}

static const struct unit *interpreted;

static uint64_t interpret(void *r1, uint64_t r2)
{
	return interp_run(interpreted, 0, (uintptr_t)r1, r2);
}

static void interpreter_ends(void *arg)
{
	struct fault_run run;
	uint64_t result = 77, nine = 9;
	struct prog prog;

	(void)arg;
	build_load(&prog, INSN_GUARD);
	interp_prepare(&prog.unit);
	interpreted = &prog.unit;
	hold();
	CHECK(fault_run(interpret, (void *)16, 0, &result, &run) == -EFAULT);
	CHECK(result == 77 && run.insn == 1 && run.address == 16);
	CHECK(!fault_run(interpret, &nine, 0, &result, &run) && result == 10);
	prog_fini(&prog);
}

static void test_runs_end(void **state)
{
	(void)state;
	near_mem();
	assert_int_equal(run_child(ends, NULL), 0);
	assert_int_equal(run_child(ends_alone, NULL), 0);
	assert_int_equal(run_child(ends_on_another_stack, NULL), 0);
	assert_int_equal(run_child(interpreter_ends, NULL), 0);
	assert_true(segv(run_child(dies_outside_a_run, NULL)));
}

/* ---- which accesses ---- */

static void test_frame_is_not_bad(void **state)
{
	const struct {
		struct insn in;
		bool marked;
	} all[] = {
		{load(8, 0, 10, -8), false},
		{load(8, 0, 10, -512), false},
		{load(8, 0, 10, -513), true},
		{load(8, 0, 10, -7), true},
		{load(1, 0, 10, 0), true},
		{load(1, 10, 0, -8), true},
		{store(8, 10, -8, 0), false},
		{store(8, 0, -8, 10), true},
		{leave(), false},
		{alu_imm(ALU_ADD, 0, 0, 1), false},
	};
	struct prog prog;

	(void)state;
	prog_init(&prog);
	prog_func(&prog, true);
	for (size_t i = 0; i < NELEMS(all); i++)
		prog_add(&prog, all[i].in);
	prog_end(&prog);
	unit_may_fault(&prog.unit, INSN_PROBE);
	for (size_t i = 0; i < NELEMS(all); i++)
		assert_int_equal(!!(prog.unit.ins[i].flags & INSN_FAULTS), all[i].marked);
	prog_fini(&prog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_memory_without_lookup),
		cmocka_unit_test(test_only_what_is_in_the_table),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_runs_end),
		cmocka_unit_test(test_frame_is_not_bad),
	};

	return cmocka_run_group_tests_name("accesses", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * engine.c - the engines a case is tried on
 *
 *	text		disassembled and assembled again: the same bytes
 *	interp		the interpreter
 *	interp-probe	the same, as if each pointer might be bad: what is good stays so
 *	jit		native code for this CPU, in a heap
 *	jit-baseline	the same without what not every CPU of the arch has, and then with each of
 *			it alone; and in a heap near the helpers, so that calls are short
 *	guarded, guarded-jit, budget	through the public interface, guarded.h
 *	kernel		the running kernel, kernel.h
 *	load		for cases that must be refused: the public interface refuses them
 */
#include "engine.h"

#include <errno.h>
#include <progpack_bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "asm.h"
#include "guarded.h"
#include "jit/jit.h"
#include "kernel.h"
#include "program.h"

#define GUARD 64 /* bytes before and after a case's memory that must not change */
#define GUARD_BYTE 0xa5

/*
 * Memory for one run: guard, the case's bytes, guard. With @page, which is two, the guard behind is
 * a page without memory.
 */
struct arena {
	uint8_t *base, *mem, *page;
	size_t len;
};

static int arena_alloc(struct arena *arena)
{
	size_t size = arena->len + 2 * GUARD;

	arena->base = aligned_alloc(GUARD, (size + GUARD - 1) / GUARD * GUARD);
	if (!arena->base)
		return -ENOMEM;
	memset(arena->base, GUARD_BYTE, size);
	return 0;
}

static int arena_map(struct arena *arena)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (arena->len + GUARD > page)
		return -E2BIG;
	arena->page =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena->page == MAP_FAILED)
		return -errno;
	memset(arena->page, GUARD_BYTE, page);
	if (mprotect(arena->page + page, page, PROT_NONE))
		return -errno;
	arena->base = arena->page + page - arena->len - GUARD;
	return 0;
}

/* Each trial is a process of its own: what is left after a failure goes with it. */
static int arena_init(struct arena *arena, const struct test_case *tc)
{
	int err;

	*arena = (struct arena){.len = tc->mem_len};
	err = tc->probe ? arena_map(arena) : arena_alloc(arena);
	if (err)
		return err;
	arena->mem = arena->base + GUARD;
	if (arena->len)
		memcpy(arena->mem, tc->mem, arena->len);
	return 0;
}

static void arena_fini(const struct arena *arena)
{
	if (arena->page)
		munmap(arena->page, 2 * (size_t)sysconf(_SC_PAGESIZE));
	else
		free(arena->base);
}

/* r1 and r2 of the program */
static void *arena_data(const struct arena *arena)
{
	return arena->len ? arena->mem : NULL;
}

static bool guards_hold(const struct arena *arena)
{
	for (size_t i = 0; i < GUARD; i++) {
		if (arena->base[i] != GUARD_BYTE)
			return false;
		if (!arena->page && arena->mem[arena->len + i] != GUARD_BYTE)
			return false;
	}
	return true;
}

static void judge_mem(const struct test_case *tc, const struct arena *arena,
		      struct verdict *verdict)
{
	if (!guards_hold(arena)) {
		verdict_set(verdict, FAILED, "wrote outside its memory");
		return;
	}
	for (size_t i = 0; i < arena->len; i++) {
		if (arena->mem[i] == tc->mem_after[i])
			continue;
		verdict_set(verdict, FAILED, "byte %zu of memory is 0x%02x, not 0x%02x", i,
			    arena->mem[i], tc->mem_after[i]);
		return;
	}
}

static void judge(const struct test_case *tc, const struct arena *arena, uint64_t r0,
		  struct verdict *verdict)
{
	verdict_set(verdict, PASSED, "%s", "");
	if (r0 != tc->result)
		verdict_set(verdict, FAILED, "r0 is 0x%llx, not 0x%llx", (unsigned long long)r0,
			    (unsigned long long)tc->result);
	else
		judge_mem(tc, arena, verdict);
}

/* Keeps the last reason as that of a failure. */
static void keep_reason(void *ctx, const char *message)
{
	verdict_set(ctx, FAILED, "%s", message);
}

/* Load or leave the reason in the verdict. */
static bool load(const struct test_case *tc, struct verdict *verdict, struct program *program)
{
	const struct log log = {keep_reason, verdict};
	int err;

	verdict_set(verdict, FAILED, "%s", "");
	err = program_load(tc, &log, program);
	if (!err && tc->probe)
		unit_may_fault(&program->unit, INSN_PROBE);
	if (err && !*verdict->why)
		verdict_set(verdict, FAILED, "load: %s", strerror(-err));
	return !err;
}

static void ignore(int number)
{
	(void)number;
}

/*
 * From now on handlers run on the program's own stack, 5,000 times a second, so that what it
 * keeps where it must not is lost. Not for the kernel: a signal ends verification. Where there
 * are no timers, none come.
 */
static void send_signals(void)
{
	static bool sent;
	const struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
	const struct itimerspec every = {{0, 200000}, {0, 200000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;

	if (sent)
		return;
	sent = true;
	if (!sigaction(SIGUSR1, &action, NULL) && !timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &every, NULL);
}

/* @features: what native code may use */
typedef int (*run_fn)(struct program *program, const struct arena *arena, unsigned int features,
		      struct verdict *verdict, uint64_t *r0);

/* Load, run and judge; what @run returns is an error to be told, with a reason or not. */
static void try_with(const struct test_case *tc, run_fn run, unsigned int features,
		     struct verdict *verdict)
{
	struct program program;
	struct arena arena;
	uint64_t r0 = 0;
	int err;

	if (!load(tc, verdict, &program))
		return;
	err = arena_init(&arena, tc);
	if (err)
		goto free_program;
	send_signals();
	err = run(&program, &arena, features, verdict, &r0);
	if (!err)
		judge(tc, &arena, r0, verdict);
	arena_fini(&arena);
free_program:
	program_free(&program);
	if (err && !*verdict->why)
		verdict_set(verdict, FAILED, "%s", strerror(-err));
}

static int interpret(struct program *program, const struct arena *arena, unsigned int features,
		     struct verdict *verdict, uint64_t *r0)
{
	int err;

	(void)features, (void)verdict;
	interp_prepare(&program->unit);
	err = fault_hold(NULL);
	if (err)
		return err;
	*r0 = interp_run(&program->unit, 0, (uintptr_t)arena_data(arena), arena->len);
	fault_drop(NULL);
	return 0;
}

static void try_interp(const struct test_case *tc, struct verdict *verdict)
{
	try_with(tc, interpret, 0, verdict);
}

static int interpret_probing(struct program *program, const struct arena *arena,
			     unsigned int features, struct verdict *verdict, uint64_t *r0)
{
	unit_may_fault(&program->unit, INSN_PROBE);
	return interpret(program, arena, features, verdict, r0);
}

static void try_interp_probing(const struct test_case *tc, struct verdict *verdict)
{
	try_with(tc, interpret_probing, 0, verdict);
}

/* What native code may use, and where its heap should lie. */
struct target {
	unsigned int features;
	const void *anchor;
};

/* Cases without -- probe run as they would in a process that has other objects that do. */
static int run_held(const struct jit_image *image, const struct jit_mem *mem,
		    const struct arena *arena, uint64_t *r0)
{
	const struct fault_mem images = {mem->ctx, mem->lo, mem->hi, mem->lookup};
	pp_bpf_entry_fn entry = (pp_bpf_entry_fn)(uintptr_t)(image->rx + image->entry[0]);
	int err = fault_hold(&images);

	if (err)
		return err;
	*r0 = entry(arena_data(arena), arena->len);
	fault_drop(&images);
	return 0;
}

static int run_image(const struct program *program, struct target target, const struct arena *arena,
		     struct verdict *verdict, uint64_t *r0)
{
	const struct log log = {keep_reason, verdict};
	const struct pp_opts opts = {.size = sizeof(opts),
				     .anchor = target.anchor,
				     .flags = PP_SMALL_PAGES,
				     .log = keep_reason,
				     .log_ctx = verdict};
	struct jit_mem mem;
	const struct jit_job job = {
		.arch = jit_host_arch(),
		.features = target.features,
		.unit = &program->unit,
		.mem = &mem,
		.log = &log,
	};
	struct jit_image image;
	struct pp_heap *heap;
	int held, err = pp_heap_new(&opts, &heap);

	if (err)
		return err;
	mem = jit_mem_heap(heap);
	err = jit_compile(&job, &image);
	if (err)
		goto free_heap;
	held = run_held(&image, &mem, arena, r0);
	err = jit_image_fini(&image, &mem);
	if (!err)
		err = held;
free_heap:
	pp_heap_free(heap);
	return err;
}

/* Near the stack, where r0 is, and so far from the helpers: calls of them are of the other form. */
static int run_jit(struct program *program, const struct arena *arena, unsigned int features,
		   struct verdict *verdict, uint64_t *r0)
{
	const struct target target = {.features = features, .anchor = r0};

	return run_image(program, target, arena, verdict, r0);
}

static int run_baseline(struct program *program, const struct arena *arena, unsigned int features,
			struct verdict *verdict, uint64_t *r0)
{
	const struct target target = {
		.features = features,
		.anchor = (const void *)(uintptr_t)program_helpers[0].fn,
	};

	return run_image(program, target, arena, verdict, r0);
}

/* An emulator may have what its kernel interface cannot tell: then the environment does. */
static unsigned int cpu_features(void)
{
	const char *told = getenv("PROGPACK_TEST_FEATURES");

	return told ? (unsigned int)strtoul(told, NULL, 0) : jit_host_features();
}

static void try_jit(const struct test_case *tc, struct verdict *verdict)
{
	if (jit_host_arch())
		try_with(tc, run_jit, cpu_features(), verdict);
	else
		verdict_set(verdict, SKIPPED, "no JIT for this machine");
}

static void try_choice(const struct test_case *tc, unsigned int features, struct verdict *verdict)
{
	char why[sizeof(verdict->why)];

	try_with(tc, run_baseline, features, verdict);
	if (verdict->outcome != FAILED)
		return;
	memcpy(why, verdict->why, sizeof(why));
	verdict_set(verdict, FAILED, "with features %#x: %.200s", features, why);
}

/* With no feature, then with the lowest bit of those left. */
static void try_baseline(const struct test_case *tc, struct verdict *verdict)
{
	unsigned int all = cpu_features(), left = all;

	if (!jit_host_arch()) {
		verdict_set(verdict, SKIPPED, "no JIT for this machine");
		return;
	}
	try_choice(tc, 0, verdict);
	for (; left && verdict->outcome == PASSED; left &= left - 1)
		if ((left & -left) != all)
			try_choice(tc, left & -left, verdict);
}

static void try_kernel(const struct test_case *tc, struct verdict *verdict)
{
	struct arena arena;
	uint64_t r0;

	if (tc->kernel_skip || tc->probe) {
		verdict_set(verdict, SKIPPED, "%s",
			    tc->probe ? "it takes no bad pointers from files" : tc->kernel_skip);
		return;
	}
	if (arena_init(&arena, tc)) {
		verdict_set(verdict, FAILED, "out of memory");
		return;
	}
	if (kernel_run(tc, arena.mem, &r0, verdict))
		judge(tc, &arena, r0, verdict);
	arena_fini(&arena);
}

/* Text that assembles to the bytes it came from shows every field right. */
static void compare_text(const struct test_case *tc, const char *text, struct verdict *verdict)
{
	const struct log log = {keep_reason, verdict};
	uint8_t *slots;
	uint32_t nslots, i = 0;

	if (asm_text(text, 1, &log, &slots, &nslots))
		return;
	while (i < nslots && i < tc->nslots && !memcmp(slots + i * 8, tc->slots + i * 8, 8))
		i++;
	if (i < nslots || i < tc->nslots)
		verdict_set(verdict, FAILED, "slot %u differs when assembled from its text", i);
	else
		verdict_set(verdict, PASSED, "%s", "");
	free(slots);
}

static void try_text(const struct test_case *tc, struct verdict *verdict)
{
	struct program program;
	char *text;

	if (!load(tc, verdict, &program))
		return;
	text = program_text(&program);
	if (text)
		compare_text(tc, text, verdict);
	else
		verdict_set(verdict, FAILED, "out of memory");
	free(text);
	program_free(&program);
}

static int register_helpers(struct pp_bpf_object *object)
{
	int err = 0;

	for (uint32_t i = 0; i < program_nhelpers && !err; i++) {
		const struct helper *helper = &program_helpers[i];

		err = pp_bpf_register(object, helper->id, helper->name, helper->nargs, helper->fn);
	}
	return err;
}

static int load_object(const struct test_case *tc, struct verdict *verdict)
{
	const struct pp_bpf_opts opts = {.size = sizeof(opts),
					 .flags = PP_BPF_NO_JIT,
					 .log = keep_reason,
					 .log_ctx = verdict};
	struct pp_bpf_object *object;
	int err = pp_bpf_open_raw(tc->slots, (size_t)tc->nslots * 8, &opts, &object);

	if (err)
		return err;
	err = register_helpers(object);
	if (!err)
		err = pp_bpf_load(object);
	pp_bpf_close(object);
	return err;
}

static void try_load(const struct test_case *tc, struct verdict *verdict)
{
	char why[sizeof(verdict->why)];
	int err;

	verdict_set(verdict, FAILED, "%s", "");
	err = load_object(tc, verdict);
	memcpy(why, verdict->why, sizeof(why));
	if (!err)
		verdict_set(verdict, FAILED, "loaded, but should be refused");
	else if (!strstr(why, tc->error))
		verdict_set(verdict, FAILED, "refused with '%.200s', not '%.200s'", why, tc->error);
	else
		verdict_set(verdict, PASSED, "%s", "");
}

const struct engine engines[] = {
	{"text", false, try_text},
	{"interp", false, try_interp},
	{"interp-probe", false, try_interp_probing},
	{"jit", false, try_jit},
	{"jit-baseline", false, try_baseline},
	{"guarded", false, guarded_interp},
	{"guarded-jit", false, guarded_jit},
	{"budget", false, guarded_budget},
	{"kernel", false, try_kernel},
	{"load", true, try_load},
};
const unsigned int nengines = sizeof(engines) / sizeof(engines[0]);

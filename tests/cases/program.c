/* SPDX-License-Identifier: MIT */
/* program.c - a case's program and the suite's helpers, see program.h */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/calls.h"

#define LINE_SIZE 128

static uint64_t help_nonzero(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return 0x123456789;
}

static uint64_t help_mix(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return r1 + 3 * r2 + 5 * r3 + 7 * r4 + 11 * r5;
}

/* Every register that the ABI does not keep for the caller. */
static uint64_t help_trash(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r2, (void)r3, (void)r4, (void)r5;
#ifdef __x86_64__
	uint64_t kept = r1;

	__asm__ volatile("mov $-1, %%rax\n\tmov %%rax, %%rcx\n\tmov %%rax, %%rdx\n\t"
			 "mov %%rax, %%rsi\n\tmov %%rax, %%rdi\n\tmov %%rax, %%r8\n\t"
			 "mov %%rax, %%r9\n\tmov %%rax, %%r10\n\tmov %%rax, %%r11"
			 : "+b"(kept)
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
	return kept;
#elif defined(__aarch64__)
	register uint64_t kept __asm__("x19") = r1;

	/* AAPCS64, section 6.1.1; x18 is the platform's */
	__asm__ volatile("mov x0, #-1\n\tmov x1, x0\n\tmov x2, x0\n\tmov x3, x0\n\tmov x4, x0\n\t"
			 "mov x5, x0\n\tmov x6, x0\n\tmov x7, x0\n\tmov x8, x0\n\tmov x9, x0\n\t"
			 "mov x10, x0\n\tmov x11, x0\n\tmov x12, x0\n\tmov x13, x0\n\t"
			 "mov x14, x0\n\tmov x15, x0\n\tmov x16, x0\n\tmov x17, x0"
			 : "+r"(kept)
			 :
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "cc");
	return kept;
#elif defined(__riscv)
	register uint64_t kept __asm__("s1") = r1;

	/* psABI, "Integer Register Convention" */
	__asm__ volatile("li a0, -1\n\tmv a1, a0\n\tmv a2, a0\n\tmv a3, a0\n\tmv a4, a0\n\t"
			 "mv a5, a0\n\tmv a6, a0\n\tmv a7, a0\n\tmv t0, a0\n\tmv t1, a0\n\t"
			 "mv t2, a0\n\tmv t3, a0\n\tmv t4, a0\n\tmv t5, a0\n\tmv t6, a0"
			 : "+r"(kept)
			 :
			 : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3",
			   "t4", "t5", "t6");
	return kept;
#else
	return r1;
#endif
}

static uint64_t help_high(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return 0xfedcba9876543210;
}

static uint64_t help_fill(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r4, (void)r5;
	memset((void *)(uintptr_t)r1, (int)r3, r2);
	return r2;
}

/* A C function's frame lies at a multiple of 16 if its caller's stack did, on all our hosts. */
static uint64_t help_aligned(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uintptr_t)__builtin_frame_address(0) % 16 == 0;
}

const struct helper program_helpers[] = {
	{5, 0, "nonzero", help_nonzero, {0}, 0, NULL},
	{1001, 5, "mix", help_mix, {0}, 0, NULL},
	{1002, 1, "trash", help_trash, {0}, 0, NULL},
	{1003, 0, "high", help_high, {0}, 0, NULL},
	{1004, 3, "fill", help_fill, {0}, 0, NULL},
	{1005, 0, "aligned", help_aligned, {0}, 0, NULL},
};
const uint32_t program_nhelpers = sizeof(program_helpers) / sizeof(program_helpers[0]);

static int bind_one(const struct unit *unit, uint32_t at, const struct log *log)
{
	struct insn *in = &unit->ins[at];

	for (uint32_t i = 0; i < program_nhelpers; i++) {
		if (program_helpers[i].id != in->imm)
			continue;
		in->target = i;
		return 0;
	}
	return unit_error(unit, at, log, -ENOENT, "no such helper");
}

static int bind_helpers(struct unit *unit, const struct log *log)
{
	int err = 0;

	for (uint32_t i = 0; i < unit->nins && !err; i++) {
		if (unit->ins[i].kind == INSN_HELPER)
			err = bind_one(unit, i, log);
	}
	unit->helpers = program_helpers;
	unit->nhelpers = program_nhelpers;
	return err;
}

static void free_funcs(struct func *funcs, uint32_t nfuncs)
{
	for (uint32_t i = 0; i < nfuncs; i++)
		free((void *)(uintptr_t)funcs[i].name);
	free(funcs);
}

int program_load(const struct test_case *tc, const struct log *log, struct program *program)
{
	struct unit unit = {0};
	struct func *funcs;
	int err, nfuncs = decode_find_funcs(tc->slots, tc->nslots, log, &funcs);

	if (nfuncs < 0)
		return nfuncs;
	err = decode(tc->slots, tc->nslots, funcs, (uint32_t)nfuncs, log, &unit);
	if (!err)
		err = bind_helpers(&unit, log);
	if (!err)
		err = calls_check(&unit, log);
	if (!err) {
		*program = (struct program){unit, funcs};
		return 0;
	}
	unit_fini(&unit);
	free_funcs(funcs, (uint32_t)nfuncs);
	return err;
}

void program_free(struct program *program)
{
	free_funcs(program->funcs, program->unit.nfuncs);
	unit_fini(&program->unit);
}

char *program_text(const struct program *program)
{
	size_t len = 0;
	char *text = malloc((size_t)program->unit.nins * LINE_SIZE + 1);

	if (!text)
		return NULL;
	for (uint32_t i = 0; i < program->unit.nins; i++) {
		int n = disasm(&program->unit, i, text + len, LINE_SIZE - 1);

		len += n < LINE_SIZE - 1 ? (size_t)n : LINE_SIZE - 2;
		text[len++] = '\n';
	}
	text[len] = '\0';
	return text;
}

/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - a case on the running kernel's JIT, see kernel.h
 *
 * The case becomes a local function, so that r0 is compared over 64 bits (a program's own
 * return value has 32). Its memory is the value of a one-element array map: unlike a context
 * that allows unaligned and variable offsets and atomics.
 *
 *	map value:  mem (padded to 8) | r0
 *	program:    wrapper: r1 = value; r2 = len; call case; store r0 behind mem; return 0
 *	            case
 */
#include "kernel.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOT 8
#define LOG_SIZE (1u << 20)

struct run {
	const struct test_case *tc;
	uint8_t *mem;
	uint32_t r0_at, value_size;
	int map, prog;
	struct verdict *verdict;
};

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static uint64_t address(const void *at)
{
	return (uintptr_t)at;
}

static bool fail(const struct run *run, const char *what)
{
	verdict_set(run->verdict, FAILED, "%s: %s", what, strerror(errno));
	return false;
}

static bool make_map(struct run *run)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = run->value_size,
		.max_entries = 1,
	};

	run->map = bpf(BPF_MAP_CREATE, &attr);
	return run->map >= 0 ? true : fail(run, "BPF_MAP_CREATE");
}

/* cmd is BPF_MAP_UPDATE_ELEM or BPF_MAP_LOOKUP_ELEM, of the one element. */
static bool move_value(const struct run *run, enum bpf_cmd cmd, uint8_t *value)
{
	const uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = (uint32_t)run->map,
		.key = address(&key),
		.value = address(value),
	};

	return !bpf(cmd, &attr) ? true : fail(run, "array element");
}

#define WRAPPER 9 /* slots before the case */
#define CALL_AT 3 /* the slot that calls it */

static void make_wrapper(const struct run *run, struct bpf_insn wrapper[WRAPPER])
{
	const struct bpf_insn code[WRAPPER] = {
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = run->map},
		{.imm = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K,
		 .dst_reg = BPF_REG_2,
		 .imm = (int32_t)run->tc->mem_len},
		{.code = BPF_JMP | BPF_CALL,
		 .src_reg = BPF_PSEUDO_CALL,
		 .imm = WRAPPER - CALL_AT - 1},
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = run->map},
		{.imm = (int32_t)run->r0_at},
		{.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	memcpy(wrapper, code, sizeof(code));
	if (run->tc->mem_len)
		return;
	/* No memory: r1 = 0, and the second slot of the load with it. */
	wrapper[0] = wrapper[1] =
		(struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1};
}

/*
 * The line of a verifier's log that says why: the last one that is neither a statistic nor
 * part of the listing.
 */
static const char *last_reason(char *log)
{
	const char *reason = NULL;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		if (strncmp(line, "processed ", 10) && strncmp(line, "verification time", 17) &&
		    strncmp(line, "stack depth", 11))
			reason = line;
	}
	return reason ? reason : "no reason given";
}

static int load(const struct run *run, const struct bpf_insn *code, char *log)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SYSCALL,
		.prog_flags = BPF_F_SLEEPABLE,
		.insns = address(code),
		.insn_cnt = WRAPPER + run->tc->nslots,
		.license = address("Dual MIT/GPL"),
		.log_level = log ? 1 : 0,
		.log_size = log ? LOG_SIZE : 0,
		.log_buf = address(log),
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* Load it again, for the verifier's words. */
static void explain(const struct run *run, const struct bpf_insn *code)
{
	int err = errno;
	char *log = calloc(1, LOG_SIZE);
	bool refused = err == EINVAL || err == EACCES || err == EPERM || err == E2BIG;

	if (log)
		load(run, code, log);
	verdict_set(run->verdict, refused ? SKIPPED : FAILED, "verifier: %s (%s)",
		    log && *log ? last_reason(log) : "no log", strerror(err));
	free(log);
}

static bool make_prog(struct run *run)
{
	size_t size = (size_t)run->tc->nslots * SLOT;
	struct bpf_insn *code = malloc(WRAPPER * sizeof(*code) + size);

	if (!code)
		return fail(run, "program");
	make_wrapper(run, code);
	memcpy(code + WRAPPER, run->tc->slots, size);
	run->prog = load(run, code, NULL);
	if (run->prog < 0)
		explain(run, code);
	free(code);
	return run->prog >= 0;
}

static bool test_run(const struct run *run)
{
	union bpf_attr attr = {.test.prog_fd = (uint32_t)run->prog};

	return !bpf(BPF_PROG_TEST_RUN, &attr) ? true : fail(run, "BPF_PROG_TEST_RUN");
}

static bool run_on(struct run *run, uint8_t *value, uint64_t *r0)
{
	size_t mem_len = run->tc->mem_len;

	if (mem_len)
		memcpy(value, run->mem, mem_len);
	if (!move_value(run, BPF_MAP_UPDATE_ELEM, value) || !make_prog(run))
		return false;
	if (!test_run(run) || !move_value(run, BPF_MAP_LOOKUP_ELEM, value))
		return false;
	if (mem_len)
		memcpy(run->mem, value, mem_len);
	memcpy(r0, value + run->r0_at, sizeof(*r0));
	return true;
}

static void close_run(const struct run *run)
{
	if (run->prog >= 0)
		close(run->prog);
	if (run->map >= 0)
		close(run->map);
}

bool kernel_run(const struct test_case *tc, uint8_t *mem, uint64_t *r0, struct verdict *verdict)
{
	uint32_t r0_at = (uint32_t)(tc->mem_len + 7) & ~7u;
	struct run run = {tc, mem, r0_at, r0_at + 8, -1, -1, verdict};
	uint8_t *value = calloc(1, run.value_size);
	bool ran = value && make_map(&run) && run_on(&run, value, r0);

	close_run(&run);
	if (!value)
		verdict_set(verdict, FAILED, "out of memory");
	free(value);
	return ran;
}

/* net.core.bpf_jit_enable: 0 where the kernel interprets. */
static bool kernel_compiles(void)
{
	FILE *from = fopen("/proc/sys/net/core/bpf_jit_enable", "re");
	int enabled = 0;

	if (!from)
		return false;
	if (fscanf(from, "%d", &enabled) != 1)
		enabled = 0;
	fclose(from);
	return enabled > 0;
}

bool kernel_available(struct verdict *how)
{
	/* r0 = 0; exit */
	uint8_t slots[] = {0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0};
	const struct test_case tc = {.slots = slots, .nslots = 2};
	uint64_t r0;

	if (!kernel_run(&tc, NULL, &r0, how)) {
		how->outcome = SKIPPED;
		return false;
	}
	verdict_set(how, PASSED, "%s",
		    kernel_compiles() ? "JIT (net.core.bpf_jit_enable)"
				      : "interpreter (net.core.bpf_jit_enable is 0)");
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "guarded.h"

#include <errno.h>
#include <progpack_bpf.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* Budgets up to here are all tried, and then those around the one that is enough. */
#define ALL_BUDGETS 40u
/* Cases that take more are left out, for their time. */
#define MOST_BUDGET (1u << 17)

/* struct trial - one load and run; @mem: a copy of the case's */
struct trial {
	unsigned int flags;
	uint64_t budget;
	uint8_t *mem;
	uint64_t r0;
	int err;
	struct pp_bpf_stop stop;
};

static void keep_reason(void *ctx, const char *message)
{
	verdict_set(ctx, FAILED, "%s", message);
}

static int register_all(struct pp_bpf_object *object)
{
	int err = 0;

	for (uint32_t i = 0; i < program_nhelpers && !err; i++) {
		const struct helper *helper = &program_helpers[i];

		err = pp_bpf_register(object, helper->id, helper->name, helper->nargs, helper->fn);
	}
	return err;
}

static void run_loaded(const struct test_case *tc, struct pp_bpf_object *object, struct trial *t)
{
	const struct pp_bpf_prog *prog = pp_bpf_prog_by_name(object, "main");

	t->stop.function = t->stop.section = NULL;
	t->err = pp_bpf_run_stop(prog, tc->mem_len ? t->mem : NULL, tc->mem_len, &t->r0, &t->stop);
}

/* Load and run: what the run gave is in @t. False: it could not be loaded, as the verdict says. */
static bool try_once(const struct test_case *tc, struct trial *t, struct verdict *verdict)
{
	const struct pp_bpf_opts opts = {.size = sizeof(opts),
					 .flags = t->flags,
					 .budget = t->budget,
					 .log = keep_reason,
					 .log_ctx = verdict};
	struct pp_bpf_object *object;
	int err = pp_bpf_open_raw(tc->slots, (size_t)tc->nslots * 8, &opts, &object);

	if (err)
		return false;
	if (tc->mem_len)
		memcpy(t->mem, tc->mem, tc->mem_len);
	err = register_all(object);
	if (!err)
		err = pp_bpf_load(object);
	if (!err)
		run_loaded(tc, object, t);
	pp_bpf_close(object);
	return !err;
}

static bool is_case(const struct test_case *tc, struct verdict *verdict)
{
	verdict_set(verdict, FAILED, "load");
	if (tc->probe)
		verdict_set(verdict, SKIPPED, "bad pointers end guarded runs");
	return !tc->probe;
}

static bool trial_init(const struct test_case *tc, struct trial *t, unsigned int flags)
{
	*t = (struct trial){.flags = flags, .mem = malloc(tc->mem_len + 1)};
	return t->mem;
}

static void judge(const struct test_case *tc, const struct trial *t, struct verdict *verdict)
{
	verdict_set(verdict, PASSED, "%s", "");
	if (t->err)
		verdict_set(verdict, FAILED,
			    "flags %#x, budget %llu: ended with %s at insn %u, address %#llx",
			    t->flags, (unsigned long long)t->budget, strerror(-t->err), t->stop.pc,
			    (unsigned long long)t->stop.address);
	else if (t->r0 != tc->result)
		verdict_set(verdict, FAILED, "flags %#x: r0 is 0x%llx, not 0x%llx", t->flags,
			    (unsigned long long)t->r0, (unsigned long long)tc->result);
	else if (tc->mem_len && memcmp(t->mem, tc->mem_after, tc->mem_len))
		verdict_set(verdict, FAILED, "flags %#x: memory differs", t->flags);
}

static void try_flags(const struct test_case *tc, unsigned int flags, struct verdict *verdict)
{
	struct trial t;

	if (!is_case(tc, verdict) || !trial_init(tc, &t, flags))
		return;
	if (try_once(tc, &t, verdict))
		judge(tc, &t, verdict);
	free(t.mem);
}

void guarded_interp(const struct test_case *tc, struct verdict *verdict)
{
	try_flags(tc, PP_BPF_NO_JIT, verdict);
}

void guarded_jit(const struct test_case *tc, struct verdict *verdict)
{
	try_flags(tc, 0, verdict);
}

/* ---- budgets ---- */

/* The three ways to have one, which must agree. */
static const unsigned int ways[] = {PP_BPF_NO_JIT, 0, PP_BPF_TRUSTED};
#define NWAYS (sizeof(ways) / sizeof(ways[0]))

struct budget_test {
	const struct test_case *tc;
	struct verdict *verdict;
	struct trial trials[NWAYS];
};

static bool is_enough(struct budget_test *test, uint64_t budget)
{
	struct trial *t = &test->trials[0];

	t->budget = budget;
	return !try_once(test->tc, t, test->verdict) || !t->err;
}

/* The smallest that is enough: the number of instructions that the program executes. Or too much.
 */
static uint64_t find_enough(struct budget_test *test)
{
	uint64_t low = 1, high = 1;

	while (high < MOST_BUDGET && !is_enough(test, high)) {
		low = high + 1;
		high *= 2;
	}
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (is_enough(test, middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool is_same(const struct test_case *tc, const struct trial *a, const struct trial *b)
{
	if (a->err != b->err || (tc->mem_len && memcmp(a->mem, b->mem, tc->mem_len)))
		return false;
	return a->err ? a->stop.pc == b->stop.pc && a->stop.address == b->stop.address
		      : a->r0 == b->r0;
}

/* @enough: must it be enough? */
static bool try_budget(struct budget_test *test, uint64_t budget, bool enough)
{
	for (size_t i = 0; i < NWAYS; i++) {
		struct trial *t = &test->trials[i];

		t->budget = budget;
		if (!try_once(test->tc, t, test->verdict))
			return false;
		if (t->err != (enough ? 0 : -ETIME)) {
			judge(test->tc, t, test->verdict);
			return false;
		}
		if (is_same(test->tc, &test->trials[0], t))
			continue;
		verdict_set(test->verdict, FAILED,
			    "budget %llu: flags %#x: stops elsewhere, at %u, not %u",
			    (unsigned long long)budget, t->flags, t->stop.pc,
			    test->trials[0].stop.pc);
		return false;
	}
	if (enough)
		judge(test->tc, &test->trials[0], test->verdict);
	return !enough || test->verdict->outcome == PASSED;
}

static void try_budgets(struct budget_test *test)
{
	uint64_t enough = find_enough(test);
	uint64_t upto = enough < ALL_BUDGETS ? enough : ALL_BUDGETS;

	if (!is_enough(test, enough)) {
		verdict_set(test->verdict, SKIPPED, "more than %u instructions", MOST_BUDGET);
		return;
	}
	for (uint64_t budget = 1; budget < upto; budget++)
		if (!try_budget(test, budget, false))
			return;
	if (enough > 1 && !try_budget(test, enough - 1, false))
		return;
	if (try_budget(test, enough, true))
		try_budget(test, enough + 1, true);
}

void guarded_budget(const struct test_case *tc, struct verdict *verdict)
{
	struct budget_test test = {.tc = tc, .verdict = verdict};
	bool made = is_case(tc, verdict);

	for (size_t i = 0; i < NWAYS && made; i++)
		made = trial_init(tc, &test.trials[i], ways[i]);
	if (made)
		try_budgets(&test);
	for (size_t i = 0; i < NWAYS; i++)
		free(test.trials[i].mem);
}

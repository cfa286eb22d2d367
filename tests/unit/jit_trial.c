/* SPDX-License-Identifier: MIT */
/* jit_trial.c - see jit_trial.h */
#include "jit_trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define OUT_OFF ((int32_t)offsetof(struct machine, out))

const uint64_t edges[NEDGES] = {
	0,
	1,
	2,
	7,
	31,
	32,
	63,
	64,
	0x7f,
	0x80,
	0xff,
	0x8000,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffff80000000,
	0xffffffffffffffff,
	0x123456789abcdef0,
};

/* All ten registers from the machine; its address stays in the frame. */
static void full_begin(struct prog *prog)
{
	prog_init(prog);
	prog_func(prog, true);
	prog_add(prog, store(8, 10, -8, 1));
	for (unsigned int r = 0; r < NREGS; r++)
		if (r != 1)
			prog_add(prog, load(8, r, 1, (int32_t)(8 * r)));
	prog_add(prog, load(8, 1, 1, 8));
}

static void full_end(struct prog *prog)
{
	prog_add(prog, store(8, 10, -16, 0));
	prog_add(prog, load(8, 0, 10, -8));
	for (unsigned int r = 1; r < NREGS; r++)
		prog_add(prog, store(8, 0, OUT_OFF + (int32_t)(8 * r), r));
	prog_add(prog, load(8, 1, 10, -16));
	prog_add(prog, store(8, 0, OUT_OFF, 1));
	prog_add(prog, leave());
	prog_end(prog);
	interp_prepare(&prog->unit);
}

/* dst and src alone; r1 is the machine until the last load. */
static void lean(struct prog *prog, struct insn in)
{
	unsigned int first = in.dst == 1 ? in.src : in.dst, last = in.dst == 1 ? in.dst : in.src;

	prog_init(prog);
	prog_func(prog, true);
	prog_add(prog, load(8, first, 1, (int32_t)(8 * first)));
	if (last != first)
		prog_add(prog, load(8, last, 1, (int32_t)(8 * last)));
	prog_add(prog, in);
	prog_add(prog, alu_reg(ALU_MOV, INSN_W64, 0, in.dst));
	prog_add(prog, leave());
	prog_end(prog);
	interp_prepare(&prog->unit);
}

void machine_init(struct machine *m)
{
	for (unsigned int r = 0; r < NREGS; r++) {
		m->in[r] = 0xa5a5000000000000u + 0x1111111111u * r;
		m->out[r] = 0xdead;
	}
}

static void explain(const struct trial *t, const struct machine *jit, const struct machine *interp,
		    const uint64_t *expect)
{
	char text[80];

	disasm(&t->lean.unit, t->lean.unit.nins - 3, text, sizeof(text));
	print_error("%s\n", text);
	for (unsigned int r = 0; r < NREGS; r++)
		print_error("r%u in %#llx want %#llx jit %#llx interp %#llx\n", r,
			    (unsigned long long)jit->in[r], (unsigned long long)expect[r],
			    (unsigned long long)jit->out[r], (unsigned long long)interp->out[r]);
	fail();
}

/* Either engine, on a machine of its own. */
static void run_jit(const struct trial *t, struct machine *m)
{
	call_native(&t->full_native, 0, (uint64_t)(uintptr_t)m, sizeof(*m));
}

static void run_interp(const struct trial *t, struct machine *m)
{
	interp_run(&t->full.unit, 0, (uint64_t)(uintptr_t)m, sizeof(*m));
}

static void full_check(const struct trial *t, const struct machine *start, const uint64_t *expect)
{
	struct machine jit = *start, interp = *start;

	run_jit(t, &jit);
	run_interp(t, &interp);
	if (memcmp(jit.out, expect, sizeof(jit.out)) != 0 ||
	    memcmp(&jit, &interp, sizeof(jit)) != 0)
		explain(t, &jit, &interp, expect);
}

void trial_init(struct trial *t, struct insn in, unsigned int features)
{
	full_begin(&t->full);
	prog_add(&t->full, in);
	full_end(&t->full);
	lean(&t->lean, in);
	t->full_native = compile(&t->full, features, near_mem());
	t->lean_native = compile(&t->lean, features, near_mem());
}

void trial_fini(struct trial *t)
{
	native_fini(&t->full_native);
	native_fini(&t->lean_native);
	prog_fini(&t->full);
	prog_fini(&t->lean);
}

/* One run of both: @dst shall become @expect and nothing else change. */
void trial_check(const struct trial *t, const struct machine *m, unsigned int dst, uint64_t expect)
{
	uint64_t out[NREGS];

	memcpy(out, m->in, sizeof(out));
	out[dst] = expect;
	full_check(t, m, out);
	assert_int_equal(call_native(&t->lean_native, 0, (uint64_t)(uintptr_t)m, 0), expect);
}

void trial_check_memory(const struct trial *t, const struct machine *m,
			const uint64_t expect[NREGS], uint64_t *cell, const uint64_t change[2])
{
	struct machine jit = *m, interp = *m;

	*cell = change[0];
	run_jit(t, &jit);
	assert_int_equal(*cell, change[1]);
	*cell = change[0];
	run_interp(t, &interp);
	assert_int_equal(*cell, change[1]);
	if (memcmp(jit.out, expect, sizeof(jit.out)) != 0 ||
	    memcmp(&jit, &interp, sizeof(jit)) != 0)
		explain(t, &jit, &interp, expect);
}

/* SPDX-License-Identifier: MIT */
/*
 * form.c - which upper halves of registers matter, and what is in them
 *
 * Which matter is in live_in of the flow, for everybody. What is in them is RISC-V's own affair,
 * whose 32-bit operations sign-extend and whose comparisons are of 64 bits. A form (rv.h) is a
 * claim about the host's register on every way to an insn:
 *
 *	forms[j] = the intersection of what each insn i before j leaves, over its own forms[i]
 *
 * The greatest solution: all sets but those at entries start full and only shrink. An insn is
 * looked at again only when its set has shrunk, so the work is linear in the insns.
 *
 * What an insn leaves depends on what the emitters do, and that in turn on forms and on live_in
 * alone, never on the layout: rv_result_form() here and alu.c, mem.c change together.
 */
#include "jit/riscv64/rv.h"

#include <errno.h>
#include <stdlib.h>

#define BOTH (RV_SX | RV_ZX)

/* Two bits a register, 2 * r and the next. */
static unsigned int form_in(uint32_t forms, unsigned int r)
{
	return forms >> 2 * r & BOTH;
}

static uint32_t with_form(uint32_t forms, unsigned int r, unsigned int form)
{
	return (forms & ~((uint32_t)BOTH << 2 * r)) | (uint32_t)form << 2 * r;
}

unsigned int rv_form(const struct jit_ctx *jit, unsigned int r, uint32_t i)
{
	const uint32_t *forms = jit->own;

	return form_in(forms[i], r);
}

bool rv_is_upper_live(const struct jit_ctx *jit, unsigned int r, uint32_t i)
{
	return flow_upper(jit->flow->live_in[i + 1]) >> r & 1;
}

/* ---- arithmetic ---- */

static unsigned int form_of_value(int64_t value)
{
	return (value == (int32_t)value ? RV_SX : 0u) | (value == (uint32_t)value ? RV_ZX : 0u);
}

static unsigned int operand_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	return in->flags & INSN_IMM ? form_of_value(in->imm) : rv_form(jit, in->src, i);
}

/* A number of 31 bits bounds what is anded with it; else both operands' upper halves decide. */
static unsigned int bitwise_form(unsigned int op, unsigned int a, unsigned int b)
{
	if (op != ALU_AND)
		return a & b;
	if (a == BOTH || b == BOTH)
		return BOTH;
	return ((a | b) & RV_ZX) | (a & b & RV_SX);
}

/* A shift to the right by a constant: how many bits are left of 64 or, with their sign, of 32? */
static unsigned int shift_form(const struct insn *in)
{
	unsigned int count = (unsigned int)in->imm & (rv_is_wide(in) ? 63 : 31);
	unsigned int gone = rv_is_wide(in) ? count : count + 32;

	if (!(in->flags & INSN_IMM) || in->op == ALU_LSH || gone < 32)
		return rv_is_wide(in) ? 0 : RV_SX;
	if (in->op == ALU_ARSH)
		return RV_SX;
	return gone > 32 ? BOTH : RV_ZX;
}

/* Unsigned, by a constant: less bits than the divisor has, or, by a power of 2, a shift. */
static unsigned int divmod_form(const struct insn *in)
{
	bool positive = (in->flags & INSN_IMM) && in->imm > 0;

	if (positive && in->op == ALU_MOD)
		return BOTH;
	if (positive && in->op == ALU_DIV && in->imm > 1 && !rv_is_wide(in))
		return BOTH;
	return rv_is_wide(in) ? 0 : RV_SX;
}

unsigned int rv_result_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->kind != INSN_ALU)
		return rv_is_wide(in) ? 0 : RV_SX;
	if (rv_keeps(in))
		return rv_form(jit, in->dst, i);
	switch (in->op) {
	case ALU_OR:
	case ALU_AND:
	case ALU_XOR:
		return bitwise_form(in->op, rv_form(jit, in->dst, i), operand_form(jit, in, i));
	case ALU_LSH:
	case ALU_RSH:
	case ALU_ARSH: return shift_form(in);
	case ALU_DIV:
	case ALU_MOD: return divmod_form(in);
	default: return rv_is_wide(in) ? 0 : RV_SX;
	}
}

/* Behind rv_finish(): @form, or zero-extended from it. */
static unsigned int finished(const struct jit_ctx *jit, unsigned int r, uint32_t i,
			     unsigned int form)
{
	return rv_is_upper_live(jit, r, i) && !(form & RV_ZX) ? RV_ZX : form;
}

static unsigned int mov_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	unsigned int form = operand_form(jit, in, i);

	if (rv_is_wide(in))
		return form;
	if (in->flags & INSN_IMM)
		return form == RV_SX && rv_is_upper_live(jit, in->dst, i) ? RV_ZX : form;
	if (!form && in->dst != in->src)
		form = RV_SX;
	return finished(jit, in->dst, i, form);
}

static unsigned int alu_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	unsigned int form;

	if (in->op == ALU_MOV)
		return mov_form(jit, in, i);
	if (rv_clears(in))
		return BOTH;
	form = rv_result_form(jit, in, i);
	return rv_is_wide(in) ? form : finished(jit, in->dst, i, form);
}

/* ---- other kinds ---- */

static unsigned int swap_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	unsigned int form = rv_form(jit, in->dst, i);

	if (in->bytes == 2)
		return BOTH;
	if (in->op != SWAP_LE)
		return in->bytes == 4 ? RV_ZX : 0;
	return in->bytes == 4 ? finished(jit, in->dst, i, form) : form;
}

static unsigned int load_form(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->bytes == 8)
		return 0;
	if (in->flags & INSN_SX)
		return RV_SX;
	return in->bytes < 4 ? BOTH : finished(jit, in->dst, i, RV_SX);
}

static uint32_t behind_atomic(const struct jit_ctx *jit, const struct insn *in, uint32_t i,
			      uint32_t forms)
{
	unsigned int r = in->op == ATOMIC_CMPXCHG ? 0 : in->src;

	if (!(in->flags & INSN_FETCH))
		return forms;
	return with_form(forms, r, in->bytes == 4 ? finished(jit, r, i, RV_SX) : 0);
}

/* Behind a call r1 .. r5 are 0 if anybody reads them, and r0 is anything. */
static uint32_t behind_call(uint32_t forms)
{
	for (unsigned int r = 1; r <= 5; r++)
		forms = with_form(forms, r, BOTH);
	return with_form(forms, 0, 0);
}

/* What is known behind insn @i. */
static uint32_t behind(const struct jit_ctx *jit, uint32_t i)
{
	const struct insn *in = &jit->unit->ins[i];
	uint32_t forms = ((const uint32_t *)jit->own)[i];

	switch ((enum insn_kind)in->kind) {
	case INSN_ALU: return with_form(forms, in->dst, alu_form(jit, in, i));
	case INSN_NEG:
	case INSN_MOVSX:
		if (rv_is_wide(in))
			return with_form(forms, in->dst, in->kind == INSN_MOVSX ? RV_SX : 0);
		return with_form(forms, in->dst, finished(jit, in->dst, i, RV_SX));
	case INSN_SWAP: return with_form(forms, in->dst, swap_form(jit, in, i));
	case INSN_IMM64: return with_form(forms, in->dst, form_of_value(in->imm));
	case INSN_LOAD: return with_form(forms, in->dst, load_form(jit, in, i));
	case INSN_ATOMIC: return behind_atomic(jit, in, i, forms);
	case INSN_STORE:
	case INSN_JUMP:
	case INSN_BRANCH:
	case INSN_MAYGOTO:
	case INSN_EXIT: return forms;
	case INSN_PACKET:
	case INSN_CALL:
	case INSN_CALLX:
	case INSN_HELPER:
	case INSN_TAIL:
	case INSN_KINDS: break;
	}
	return behind_call(forms);
}

/* ---- the solution ---- */

/* Insns to look at: a stack, on which each is once at most. */
struct pending {
	uint32_t *at;
	uint32_t n;
	bool *queued;
};

static void queue(struct pending *pending, uint32_t i)
{
	if (pending->queued[i])
		return;
	pending->queued[i] = true;
	pending->at[pending->n++] = i;
}

/* Insn @to may come behind one that leaves @forms. */
static void meet(struct jit_ctx *jit, struct pending *pending, uint32_t to, uint32_t forms)
{
	uint32_t *own = jit->own;

	if ((own[to] & forms) == own[to])
		return;
	own[to] &= forms;
	queue(pending, to);
}

static void visit(struct jit_ctx *jit, struct pending *pending, uint32_t i)
{
	const struct insn *in = &jit->unit->ins[i];
	uint32_t forms = behind(jit, i);

	if (insn_jumps(in))
		meet(jit, pending, in->target, forms);
	if (in->kind != INSN_JUMP && in->kind != INSN_EXIT)
		meet(jit, pending, i + 1, forms);
}

/* At entries the arguments are anything, and what is undefined is 0 if anybody reads it. */
static void begin(struct jit_ctx *jit, struct pending *pending)
{
	uint32_t *own = jit->own, entry = 0;

	entry = with_form(entry, 0, BOTH);
	for (unsigned int r = 6; r <= 9; r++)
		entry = with_form(entry, r, BOTH);
	for (uint32_t i = jit->unit->nins; i-- > 0;) {
		own[i] = UINT32_MAX;
		queue(pending, i);
	}
	for (uint32_t f = 0; f < jit->unit->nfuncs; f++)
		own[jit->unit->funcs[f].start] = entry;
}

int rv_find_forms(struct jit_ctx *jit)
{
	uint32_t nins = jit->unit->nins;
	struct pending pending = {
		.at = malloc(nins * sizeof(*pending.at)),
		.queued = calloc(nins, sizeof(*pending.queued)),
	};
	int err = -ENOMEM;

	jit->own = malloc(nins * sizeof(uint32_t));
	if (jit->own && pending.at && pending.queued) {
		err = 0;
		begin(jit, &pending);
	}
	while (pending.n) {
		uint32_t i = pending.at[--pending.n];

		pending.queued[i] = false;
		visit(jit, &pending, i);
	}
	free(pending.at);
	free(pending.queued);
	return err;
}

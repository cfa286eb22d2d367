/* SPDX-License-Identifier: MIT */
/*
 * jit.c - the driver: sizing passes, allocation, one emitting pass, finalize
 *
 *	pass 1        guess = NULL: every jump far        sizes every insn, keeps arch->fixed ones
 *	pass 2 ..     guess = the layout before           sizes arch->relaxes kinds again
 *	emit          guess, at as the last pass had them into code.rw, against code.rx
 *
 * A sizing pass really emits, insn by insn, into a buffer that it forgets: there is no second
 * description of sizes that could disagree. See struct jit_ctx for why this cannot fail. But what
 * pass 1 emits of kinds that never change is kept, in order, for the last pass to copy.
 */
#include "jit/jit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "bpf/calls.h"
#include "bpf/guard.h"
#include "bpf/packet.h"
#include "jit/table.h"

/* Passes that may shrink something; clang's output is done in three or four. */
#define JIT_PASSES 16

/* Branches and calls within an image reach +-2 GiB on every arch we know. */
#define JIT_MAX_SIZE ((size_t)INT32_MAX)

/* The bytes of all fixed insns, one behind the other. @taken: copied so far */
struct kept {
	uint8_t *bytes;
	size_t size, room, taken;
};

/* One compilation: the context that back-ends see, and where the bytes go. */
struct compile {
	struct jit_ctx jit;
	uint32_t *guess_entry;
	struct kept kept;
	int err;          /* of keeping them; looked at once a function */
	uint8_t *scratch; /* arch->max_ins bytes */
	uint8_t *out;     /* code.rw; NULL while sizing */
	size_t cap;       /* bytes of out */
	size_t size;      /* of the layout in at[]: the code alone */
};

/* Start an insn or prologue at offset @at: in place if the worst case fits, else aside. */
static void insn_begin(struct compile *c, size_t at)
{
	bool in_place = c->out && c->cap - at >= c->jit.arch->max_ins;

	c->jit.start_at = at;
	c->jit.start = in_place ? c->out + at : c->scratch;
	c->jit.pos = c->jit.start;
}

/* End it; returns the offset behind it. */
static size_t insn_end(struct compile *c)
{
	size_t at = c->jit.start_at, size = (size_t)(c->jit.pos - c->jit.start);

	assert(size + JIT_SLACK <= c->jit.arch->max_ins);
	if (c->out && c->jit.start == c->scratch) {
		assert(size <= c->cap - at);
		memcpy(c->out + at, c->scratch, size);
	}
	return at + size;
}

static size_t put_prologue(struct compile *c, size_t at)
{
	struct jit_ctx *jit = &c->jit;
	uint16_t undefined = flow_outside_undefined(jit->flow, jit->unit, jit->func);

	bool begins = jit_func(jit)->entry && jit_func(jit)->tails && !jit->unit->guarded;

	insn_begin(c, at);
	if ((undefined || begins) && jit->arch->land)
		jit->arch->land(jit);
	jit->arch->zero(jit, undefined);
	if (begins)
		jit->arch->begin_run(jit);
	jit->inner[jit->func] = (uint32_t)jit_here(jit);
	jit->arch->prologue(jit);
	jit->arch->zero(jit, flow_entry_undefined(jit->flow, jit->unit, jit->func));
	return insn_end(c);
}

static bool is_checked(const struct unit *unit, const struct insn *in)
{
	return in->flags & INSN_GUARD ? unit->checked : guard_asks(unit, in);
}

/* What a guarded unit has before an insn. */
static void put_guard(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->charge)
		jit->arch->guard->charge(jit, in, i);
	if (is_checked(jit->unit, in))
		jit->arch->guard->check(jit, in, i);
}

static jit_emit_fn emit_of(const struct jit_ctx *jit, const struct insn *in)
{
	if (jit->unit->guarded && in->kind == INSN_TAIL)
		return jit->arch->guard->tail;
	return jit->arch->emit[in->kind];
}

static size_t put_insn(struct compile *c, uint32_t i, size_t at)
{
	struct jit_ctx *jit = &c->jit;
	const struct insn *in = &jit->unit->ins[i];

	insn_begin(c, at);
	jit->insn = i;
	if (jit->unit->guarded)
		put_guard(jit, in, i);
	emit_of(jit, in)(jit, in, i);
	if (insn_calls(in))
		jit->arch->zero(jit, flow_undefined(jit->flow, jit->unit, i));
	return insn_end(c);
}

/* The image's first code; @at is 0. */
static size_t put_head(struct compile *c, size_t at)
{
	struct jit_ctx *jit = &c->jit;

	if (!jit->unit->guarded)
		return at;
	insn_begin(c, at);
	jit->arch->guard->enter(jit);
	at = insn_end(c);
	jit->slow = (uint32_t)at;
	insn_begin(c, at);
	jit->arch->guard->slow(jit);
	return insn_end(c);
}

/* Entries of the fault table are made by emitting. */
static bool is_fixed(const struct compile *c, uint32_t i)
{
	const struct insn *in = &c->jit.unit->ins[i];

	return (c->jit.arch->fixed >> in->kind & 1) && !(in->flags & INSN_FAULTS) && !in->charge;
}

/* Room for one insn more; at first for a unit of the usual kind. */
static bool make_room(struct compile *c)
{
	struct kept *kept = &c->kept;
	size_t max = c->jit.arch->max_ins;
	size_t room = kept->room ? 2 * kept->room : c->jit.unit->nins * (size_t)5 + max;
	uint8_t *bytes;

	if (kept->room >= kept->size + max)
		return true;
	bytes = realloc(kept->bytes, room);
	if (!bytes) {
		c->err = -ENOMEM;
		return false;
	}
	kept->bytes = bytes;
	kept->room = room;
	return true;
}

static size_t keep_insn(struct compile *c, uint32_t i, size_t at)
{
	struct jit_ctx *jit = &c->jit;
	const struct insn *in = &jit->unit->ins[i];
	size_t size;

	if (!make_room(c))
		return at;
	jit->insn = i;
	jit->start_at = at;
	jit->start = jit->pos = c->kept.bytes + c->kept.size;
	jit->arch->emit[in->kind](jit, in, i);
	size = (size_t)(jit->pos - jit->start);
	assert(size + JIT_SLACK <= jit->arch->max_ins);
	c->kept.size += size;
	return at + size;
}

/* The size that insn @i has in guess[]. */
static size_t guess_size(const struct compile *c, uint32_t i)
{
	const struct jit_ctx *jit = &c->jit;
	uint32_t behind =
		i + 1 < jit_func(jit)->end ? jit->guess[i + 1] : c->guess_entry[jit->func + 1];

	return behind - jit->guess[i];
}

static size_t size_insn(struct compile *c, uint32_t i, size_t at)
{
	const struct jit_ctx *jit = &c->jit;

	if (jit->guess && !(jit->arch->relaxes >> jit->unit->ins[i].kind & 1))
		return at + guess_size(c, i);
	return is_fixed(c, i) ? keep_insn(c, i, at) : put_insn(c, i, at);
}

static size_t size_func(struct compile *c, size_t at)
{
	struct jit_ctx *jit = &c->jit;
	const struct func *func = jit_func(jit);

	jit->exit = JIT_NONE;
	jit->entry[jit->func] = (uint32_t)at;
	at = put_prologue(c, at);
	for (uint32_t i = func->start; i < func->end && at <= JIT_MAX_SIZE; i++) {
		jit->at[i] = (uint32_t)at;
		at = size_insn(c, i, at);
	}
	return at;
}

/* Lay the unit out by guess[]. Return: 0, -E2BIG or -ENOMEM. */
static int size_unit(struct compile *c, const struct log *log)
{
	struct jit_ctx *jit = &c->jit;
	size_t at = put_head(c, 0);

	for (jit->func = 0; jit->func < jit->unit->nfuncs; jit->func++) {
		at = size_func(c, at);
		if (c->err)
			return c->err;
		if (at > JIT_MAX_SIZE)
			return log_error(log, -E2BIG, "native code would be larger than 2 GiB");
	}
	jit->at[jit->unit->nins] = (uint32_t)at;
	jit->entry[jit->unit->nfuncs] = (uint32_t)at;
	c->size = at;
	return 0;
}

/* Make the layout of the last pass the guess of the next. */
static int take_as_guess(struct compile *c)
{
	struct jit_ctx *jit = &c->jit;
	uint32_t *at = jit->guess, *entry = c->guess_entry;

	if (!at) {
		at = calloc(jit->unit->nins + (size_t)1, sizeof(*at));
		entry = calloc(jit->unit->nfuncs + (size_t)1, sizeof(*entry));
		if (!at || !entry) {
			free(at);
			free(entry);
			return -ENOMEM;
		}
	}
	jit->guess = jit->at;
	c->guess_entry = jit->entry;
	jit->at = at;
	jit->entry = entry;
	return 0;
}

/*
 * Pass until nothing shrinks, or often enough: afterwards at[] is what guess[] makes of the
 * unit, and c->size its size.
 */
static int layout(struct compile *c, const struct log *log)
{
	size_t before;
	int err = size_unit(c, log);

	for (int pass = 1; !err && pass < JIT_PASSES; pass++) {
		before = c->size;
		err = take_as_guess(c);
		if (!err)
			err = size_unit(c, log);
		if (!err && c->size == before)
			break;
	}
	return err;
}

/* Copy fixed insns from @i on, as many as follow each other; returns the first behind them. */
static uint32_t copy_fixed(struct compile *c, uint32_t i)
{
	const struct jit_ctx *jit = &c->jit;
	uint32_t end = jit_func(jit)->end, at = jit->at[i];
	size_t size;

	do
		i++;
	while (i < end && is_fixed(c, i));
	size = (i < end ? jit->at[i] : jit->entry[jit->func + 1]) - at;
	assert(size <= c->kept.size - c->kept.taken && size <= c->cap - at);
	memcpy(c->out + at, c->kept.bytes + c->kept.taken, size);
	c->kept.taken += size;
	return i;
}

static size_t emit_func(struct compile *c, size_t at)
{
	struct jit_ctx *jit = &c->jit;
	const struct func *func = jit_func(jit);

	jit->exit = JIT_NONE;
	assert(at == jit->entry[jit->func]);
	at = put_prologue(c, at);
	for (uint32_t i = func->start; i < func->end;) {
		if (is_fixed(c, i)) {
			i = copy_fixed(c, i);
			at = i < func->end ? jit->at[i] : jit->entry[jit->func + 1];
			continue;
		}
		assert(at == jit->at[i]);
		at = put_insn(c, i++, at);
	}
	return at;
}

static void emit_unit(struct compile *c, const struct pp_code *code)
{
	struct jit_ctx *jit = &c->jit;
	size_t at;

	assert(code->size >= table_image_size(c->size, jit->nfaults));
	jit->rx = (uintptr_t)code->rx;
	c->out = code->rw;
	c->cap = c->size;
	table_begin(jit, c->out, c->size);
	at = put_head(c, 0);
	for (jit->func = 0; jit->func < jit->unit->nfuncs; jit->func++)
		at = emit_func(c, at);
	assert(at == c->size);
}

/*
 * Nothing can fail between alloc and finalize, and finalize gives the block back itself
 * where it fails, so there is no abort here.
 */
static int place(struct compile *c, const struct log *log, struct jit_image *image)
{
	const struct jit_mem *mem = c->jit.mem;
	size_t size = table_image_size(c->size, c->jit.nfaults);
	struct pp_code code;
	int err;

	if (c->jit.nfaults && !mem->lookup)
		return log_error(log, -ENOTSUP, "code in this memory may not fault");
	err = mem->alloc(mem->ctx, size, &code);
	if (err)
		return log_error(log, err, "no code memory for %zu bytes: %s", size,
				 strerror(-err));
	emit_unit(c, &code);
	err = mem->finalize(mem->ctx, &code, size);
	if (err)
		return log_error(log, err, "cannot write %zu bytes of native code: %s", size,
				 strerror(-err));
	for (uint32_t f = 0; f < c->jit.unit->nfuncs; f++)
		c->jit.unit->funcs[f].native = (const uint8_t *)code.rx + c->jit.inner[f];
	image->rx = code.rx;
	image->size = size;
	return 0;
}

static void compile_fini(struct compile *c)
{
	free(c->jit.at);
	free(c->jit.guess);
	free(c->jit.entry);
	free(c->jit.inner);
	free(c->jit.has_calls);
	free(c->jit.own);
	free(c->guess_entry);
	free(c->scratch);
	free(c->kept.bytes);
}

static bool has_calls(const struct unit *unit, const struct func *func)
{
	for (uint32_t i = func->start; i < func->end; i++)
		if (insn_calls(&unit->ins[i]))
			return true;
	return false;
}

static int compile_init(struct compile *c)
{
	const struct unit *unit = c->jit.unit;

	c->jit.at = calloc(unit->nins + (size_t)1, sizeof(*c->jit.at));
	c->jit.entry = calloc(unit->nfuncs + (size_t)1, sizeof(*c->jit.entry));
	c->jit.inner = calloc(unit->nfuncs, sizeof(*c->jit.inner));
	c->scratch = calloc(1, c->jit.arch->max_ins);
	c->jit.has_calls = calloc(unit->nfuncs, sizeof(*c->jit.has_calls));
	if (!c->jit.at || !c->jit.entry || !c->jit.inner || !c->scratch || !c->jit.has_calls)
		return -ENOMEM;
	for (uint32_t f = 0; f < unit->nfuncs; f++)
		c->jit.has_calls[f] = has_calls(unit, &unit->funcs[f]);
	return c->jit.arch->prepare ? c->jit.arch->prepare(&c->jit) : 0;
}

static int compile_run(struct compile *c, const struct log *log, struct jit_image *image)
{
	int err = compile_init(c);

	if (!err)
		err = layout(c, log);
	if (!err)
		err = place(c, log, image);
	return err;
}

/* Where these are in this process. */
static struct jit_outside outside_of(const struct unit *unit)
{
	return (struct jit_outside){
		.unit = (uintptr_t)unit,
		.calls_native = (uintptr_t)calls_native,
		.packet_load = (uintptr_t)packet_load,
		.guard_slow = (uintptr_t)guard_slow,
	};
}

int jit_compile(const struct jit_job *job, struct jit_image *image)
{
	struct flow flow;
	struct compile c = {
		.jit = {.arch = job->arch,
			.unit = job->unit,
			.flow = &flow,
			.mem = job->mem,
			.outside = job->outside ? *job->outside : outside_of(job->unit),
			.features = job->features},
	};
	struct jit_image made = {0};
	int err;

	if (job->unit->guarded && !job->arch->guard)
		return log_error(job->log, -ENOTSUP, "guarded code is not made for %s",
				 job->arch->name);
	err = flow_init(&flow, job->unit);
	if (err)
		return err;
	err = compile_run(&c, job->log, &made);
	if (err)
		goto fini;
	made.entry = c.jit.entry;
	c.jit.entry = NULL;
	if (job->lines) {
		made.at = c.jit.at;
		c.jit.at = NULL;
	}
	*image = made;
fini:
	compile_fini(&c);
	flow_fini(&flow);
	return err;
}

jit_enter_fn jit_image_enter(const struct jit_image *image)
{
	return (jit_enter_fn)(uintptr_t)image->rx;
}

void jit_image_forget(struct jit_image *image)
{
	free(image->entry);
	free(image->at);
	*image = (struct jit_image){0};
}

int jit_image_fini(struct jit_image *image, const struct jit_mem *mem)
{
	int err = mem->free(mem->ctx, image->rx);

	if (!err)
		jit_image_forget(image);
	return err;
}

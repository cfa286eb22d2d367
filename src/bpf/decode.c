/* SPDX-License-Identifier: MIT */
/*
 * decode.c - a unit from its slots: functions, insns, resolved targets
 *
 * Two passes, both linear. The first decodes slot by slot and notes which insn each slot
 * became; the second turns distances in slots into indices of insns and functions:
 *
 *	slot:	  0     1     2 3         4		index[slot]: insn, or NO_INSN for the
 *	insn:	  0     1     2 (64-bit)  3		second slot of a 64-bit load
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/slot.h"

#define NO_INSN UINT32_MAX

struct decoder {
	const uint8_t *slots;
	struct func *funcs;
	uint32_t nfuncs;
	const struct log *log;
	struct insn *ins;
	uint32_t nins;
	uint32_t *index; /* by slot */
};

/* Where it is in the words of its section; raw instructions have none. */
static int error_at(const struct func *func, uint32_t pc, const char *text, const struct log *log,
		    const char *why)
{
	uint32_t section_pc = func->section_pc + (pc - func->pc);

	if (!func->section || !*func->section)
		return log_error(log, -EINVAL, "insn %u (%s): %s", section_pc, text, why);
	return log_error(log, -EINVAL, "section '%s' +0x%llx, insn %u (%s): %s", func->section,
			 (unsigned long long)section_pc * BPF_SLOT, section_pc, text, why);
}

/* While decoding, what can be shown of an instruction is its opcode. */
static int refuse_slot(const struct decoder *dec, const struct func *func, uint32_t pc,
		       const char *why)
{
	char text[16];

	snprintf(text, sizeof(text), "opcode 0x%02x", dec->slots[(size_t)pc * BPF_SLOT]);
	return error_at(func, pc, text, dec->log, why);
}

static int decode_func(struct decoder *dec, struct func *func)
{
	uint32_t pc = func->pc, end = func->pc + func->slots;
	char why[SLOT_WHY];

	func->start = dec->nins;
	while (pc < end) {
		struct insn *in = &dec->ins[dec->nins];
		int taken = slot_decode(dec->slots + (size_t)pc * BPF_SLOT, end - pc, in, why);

		if (taken < 0)
			return refuse_slot(dec, func, pc, why);
		in->pc = pc;
		dec->index[pc] = dec->nins++;
		if (taken == 2)
			dec->index[pc + 1] = NO_INSN;
		pc += (uint32_t)taken;
	}
	func->end = dec->nins;
	return 0;
}

static int resolve_jump(const struct decoder *dec, const struct func *func, struct insn *in)
{
	int64_t pc = (int64_t)in->pc + 1 + in->off;

	if (pc < func->pc || pc >= (int64_t)func->pc + func->slots)
		return refuse_slot(dec, func, in->pc, "jump out of the function");
	in->target = dec->index[pc];
	if (in->target == NO_INSN)
		return refuse_slot(dec, func, in->pc, "jump into the second slot of a 64-bit load");
	in->off = 0;
	return 0;
}

/* The function that starts at slot @pc, or nfuncs. */
static uint32_t func_at(const struct decoder *dec, int64_t pc)
{
	uint32_t low = 0, high = dec->nfuncs;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (dec->funcs[mid].pc < pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < dec->nfuncs && dec->funcs[low].pc == pc ? low : dec->nfuncs;
}

static int resolve_call(const struct decoder *dec, const struct func *func, struct insn *in)
{
	in->target = func_at(dec, (int64_t)in->pc + 1 + in->off);
	if (in->target == dec->nfuncs)
		return refuse_slot(dec, func, in->pc, "call to where no function starts");
	in->off = 0;
	return 0;
}

static int resolve_address(const struct decoder *dec, const struct func *func, struct insn *in)
{
	struct func *taken;

	in->target = func_at(dec, (int64_t)in->pc + 1 + in->off);
	if (in->target == dec->nfuncs)
		return refuse_slot(dec, func, in->pc, "address of where no function starts");
	taken = &dec->funcs[in->target];
	taken->taken = true;
	in->off = 0;
	in->imm = (int64_t)(uintptr_t)taken;
	return 0;
}

static int resolve_func(const struct decoder *dec, const struct func *func)
{
	const struct insn *last = &dec->ins[func->end - 1];
	int err = 0;

	for (uint32_t i = func->start; i < func->end && !err; i++) {
		struct insn *in = &dec->ins[i];

		if (insn_jumps(in))
			err = resolve_jump(dec, func, in);
		else if (in->kind == INSN_CALL)
			err = resolve_call(dec, func, in);
		else if (in->kind == INSN_HELPER)
			in->target = INSN_UNRESOLVED;
		else if (in->kind == INSN_IMM64 && in->op == REF_FUNC)
			err = resolve_address(dec, func, in);
	}
	if (!err && last->kind != INSN_EXIT && last->kind != INSN_JUMP)
		err = refuse_slot(dec, func, last->pc, "execution can fall out of the function");
	return err;
}

static int decode_all(struct decoder *dec)
{
	int err = 0;

	for (uint32_t f = 0; f < dec->nfuncs && !err; f++) {
		if (!dec->funcs[f].slots)
			return log_error(dec->log, -EINVAL, "function '%s' is empty",
					 dec->funcs[f].name);
		err = decode_func(dec, &dec->funcs[f]);
	}
	for (uint32_t f = 0; f < dec->nfuncs && !err; f++)
		err = resolve_func(dec, &dec->funcs[f]);
	return err;
}

int decode(const uint8_t *slots, uint32_t nslots, struct func *funcs, uint32_t nfuncs,
	   const struct log *log, struct unit *unit)
{
	struct decoder dec = {.slots = slots, .funcs = funcs, .nfuncs = nfuncs, .log = log};
	int err = -ENOMEM;

	if (!nslots)
		return log_error(log, -EINVAL, "no instructions");
	dec.index = calloc(nslots, sizeof(*dec.index));
	dec.ins = calloc(nslots, sizeof(*dec.ins));
	if (dec.index && dec.ins)
		err = decode_all(&dec);
	free(dec.index);
	if (err) {
		free(dec.ins);
		return err;
	}
	unit->ins = dec.ins;
	unit->nins = dec.nins;
	unit->funcs = funcs;
	unit->nfuncs = nfuncs;
	return 0;
}

void unit_fini(struct unit *unit)
{
	free(unit->ins);
	unit->ins = NULL;
	unit->nins = 0;
}

int unit_error(const struct unit *unit, uint32_t at, const struct log *log, int err,
	       const char *format, ...)
{
	char text[128], why[256];
	va_list args;

	disasm(unit, at, text, sizeof(text));
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	error_at(unit_func_of(unit, at), unit->ins[at].pc, text, log, why);
	return err;
}

const struct func *unit_func_of(const struct unit *unit, uint32_t at)
{
	uint32_t low = 0, high = unit->nfuncs;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (unit->funcs[mid].start <= at)
			low = mid;
		else
			high = mid;
	}
	return &unit->funcs[low];
}

/* Does a slot refer to a function, by the distance in imm? */
static bool names_func(const struct slot *slot)
{
	return (slot->opcode == SLOT_CALL && slot->src == SLOT_CALL_LOCAL) ||
	       (slot->opcode == SLOT_IMM64 && slot->src == SLOT_IMM64_FUNC);
}

/* Set starts[slot] wherever a local call goes, or an address is taken, and count them. */
static int mark_starts(const uint8_t *slots, uint32_t nslots, const struct log *log, bool *starts)
{
	const struct func whole = {.slots = nslots};
	const struct decoder dec = {.slots = slots, .log = log};
	int count = 1;

	starts[0] = true;
	for (uint32_t pc = 0; pc < nslots; pc++) {
		struct slot slot = slot_read(slots + (size_t)pc * BPF_SLOT);
		int64_t to = (int64_t)pc + 1 + slot.imm;

		if (names_func(&slot) && (to < 0 || to >= nslots))
			return refuse_slot(&dec, &whole, pc, "call out of the program");
		if (names_func(&slot)) {
			count += !starts[to];
			starts[to] = true;
		}
		if (slot.opcode == SLOT_IMM64)
			pc++;
	}
	return count;
}

static int name_func(struct func *func)
{
	char name[24];

	snprintf(name, sizeof(name), "sub_%u", func->pc);
	func->name = strdup(func->pc ? name : "main");
	return func->name ? 0 : -ENOMEM;
}

static struct func *new_funcs(const bool *starts, uint32_t nslots, uint32_t count)
{
	struct func *funcs = calloc(count, sizeof(*funcs));
	uint32_t next = 0;
	int err = 0;

	if (!funcs)
		return NULL;
	for (uint32_t pc = 0; pc < nslots; pc++) {
		if (starts[pc])
			funcs[next++] = (struct func){.section = "",
						      .pc = pc,
						      .section_pc = pc,
						      .entry = !pc};
		funcs[next - 1].slots++; /* starts[0] is set */
	}
	for (uint32_t i = 0; i < count && !err; i++)
		err = name_func(&funcs[i]);
	if (!err)
		return funcs;
	for (uint32_t i = 0; i < count; i++)
		free((void *)(uintptr_t)funcs[i].name);
	free(funcs);
	return NULL;
}

int decode_find_funcs(const uint8_t *slots, uint32_t nslots, const struct log *log,
		      struct func **funcs)
{
	struct func *found;
	bool *starts;
	int count;

	if (!nslots)
		return log_error(log, -EINVAL, "no instructions");
	starts = calloc(nslots, sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	count = mark_starts(slots, nslots, log, starts);
	if (count < 0)
		goto free_starts;
	found = new_funcs(starts, nslots, (uint32_t)count);
	if (found)
		*funcs = found;
	else
		count = -ENOMEM;
free_starts:
	free(starts);
	return count;
}

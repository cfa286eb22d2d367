/* SPDX-License-Identifier: MIT */
/* insns.c - programs for the tests of the instruction layer; see insns.h */
#include "insns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"

/* Every argument leaves its mark in the result. */
static uint64_t mix(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return r1 + 16 * r2 + 256 * r3 + 4096 * r4 + 65536 * r5;
}

static const struct helper helpers[] = {
	{0, 0, "none", mix, {0}, 0, NULL}, {1, 1, "one", mix, {0}, 0, NULL},
	{2, 2, "two", mix, {0}, 0, NULL},  {3, 3, "three", mix, {0}, 0, NULL},
	{4, 4, "four", mix, {0}, 0, NULL}, {5, 5, "five", mix, {0}, 0, NULL},
};

void raw_encode(const struct raw *raw, uint32_t count, uint8_t *slots)
{
	for (uint32_t i = 0; i < count; i++, slots += BPF_SLOT) {
		uint16_t off = (uint16_t)raw[i].off;
		uint32_t imm = (uint32_t)raw[i].imm;
		const uint8_t bytes[BPF_SLOT] = {
			raw[i].opcode,        (uint8_t)(raw[i].src << 4 | raw[i].dst),
			(uint8_t)off,         (uint8_t)(off >> 8),
			(uint8_t)imm,         (uint8_t)(imm >> 8),
			(uint8_t)(imm >> 16), (uint8_t)(imm >> 24),
		};

		memcpy(slots, bytes, sizeof(bytes));
	}
}

static void keep(void *ctx, const char *line)
{
	struct prog *prog = ctx;

	snprintf(prog->said, sizeof(prog->said), "%s", line);
}

struct log prog_log(struct prog *prog)
{
	return (struct log){.fn = keep, .ctx = prog};
}

static void resolve_helpers(struct unit *unit)
{
	unit->helpers = helpers;
	unit->nhelpers = sizeof(helpers) / sizeof(helpers[0]);
	for (uint32_t i = 0; i < unit->nins; i++)
		if (unit->ins[i].kind == INSN_HELPER && unit->ins[i].imm < unit->nhelpers)
			unit->ins[i].target = (uint32_t)unit->ins[i].imm;
}

int prog_slots(struct prog *prog, const uint8_t *slots, uint32_t nslots)
{
	struct log log;
	int count, err;

	memset(prog, 0, sizeof(*prog));
	log = prog_log(prog);
	count = decode_find_funcs(slots, nslots, &log, &prog->funcs);
	if (count < 0)
		return count;
	prog->nfuncs = (uint32_t)count;
	err = decode(slots, nslots, prog->funcs, prog->nfuncs, &log, &prog->unit);
	if (!err)
		resolve_helpers(&prog->unit);
	return err;
}

int prog_raw(struct prog *prog, const struct raw *raw, uint32_t count)
{
	uint8_t *slots = malloc((size_t)count * BPF_SLOT + 1);
	int err;

	if (!slots)
		abort();
	raw_encode(raw, count, slots);
	err = prog_slots(prog, slots, count);
	free(slots);
	return err;
}

static void complain(void *ctx, const char *line)
{
	(void)ctx;
	fprintf(stderr, "the test's own program: %s\n", line);
}

int prog_asm(struct prog *prog, const char *text)
{
	const struct log log = {.fn = complain};
	uint8_t *slots;
	uint32_t nslots;
	int err;

	if (asm_text(text, 1, &log, &slots, &nslots))
		abort();
	err = prog_slots(prog, slots, nslots);
	free(slots);
	return err;
}

void prog_fini(struct prog *prog)
{
	unit_fini(&prog->unit);
	for (uint32_t i = 0; i < prog->nfuncs; i++)
		free((void *)(uintptr_t)prog->funcs[i].name);
	free(prog->funcs);
}

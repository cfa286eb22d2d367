/* SPDX-License-Identifier: MIT */
/* insns.h - programs for the tests of the instruction layer: from encoded fields, or text */
#ifndef UNIT_INSNS_H
#define UNIT_INSNS_H

#include "bpf/insn.h"

/* One slot, as RFC 9669 section 3 has its fields. */
struct raw {
	uint8_t opcode, dst, src;
	int16_t off;
	int32_t imm;
};

/* What came of a program; @said is the last reason logged, "" if there was none. */
struct prog {
	struct unit unit;
	struct func *funcs;
	uint32_t nfuncs;
	char said[512];
};

void raw_encode(const struct raw *raw, uint32_t count, uint8_t *slots);
struct log prog_log(struct prog *prog);

/*
 * prog_slots, prog_raw, prog_asm - decode a raw program: slot 0 is its entry
 *
 * Helpers with the numbers 1 .. 5 take so many arguments; helper 0 none. prog_fini() also
 * after an error. Return: what decode_find_funcs() or decode() returned.
 */
int prog_slots(struct prog *prog, const uint8_t *slots, uint32_t nslots);
int prog_raw(struct prog *prog, const struct raw *raw, uint32_t count);
int prog_asm(struct prog *prog, const char *text);
void prog_fini(struct prog *prog);

#endif

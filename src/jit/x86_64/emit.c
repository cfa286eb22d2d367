/* SPDX-License-Identifier: MIT */
/*
 * emit.c - the x86-64 back-end as a table; its functions are in
 *
 *	alu.c  div.c  mem.c  branch.c  call.c		enc.h: encoders, x64.h: registers
 */
#include "jit/x86_64/x64.h"

static const char *const feature_names[] = {"bmi2", NULL};

const struct jit_arch jit_x86_64 = {
	.name = "x86-64",
	.max_ins = 128,
	.trap = 0xcccccccc, /* INT3, four times */
	.fixed = 1u << INSN_ALU | 1u << INSN_NEG | 1u << INSN_MOVSX | 1u << INSN_SWAP |
		 1u << INSN_LOAD | 1u << INSN_STORE | 1u << INSN_ATOMIC,

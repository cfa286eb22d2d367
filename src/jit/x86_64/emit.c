/* SPDX-License-Identifier: MIT */
/*
 * emit.c - the x86-64 back-end as a table; its functions are in
 *
 *	alu.c  div.c  mem.c  branch.c  call.c  guard.c	enc.h: encoders, x64.h: registers
 */
#include "jit/x86_64/x64.h"

static const char *const feature_names[] = {"bmi2", NULL};

const struct jit_arch jit_x86_64 = {
	.name = "x86-64",
	.max_ins = 192,
	.trap = 0xcccccccc, /* INT3, four times */
	.relaxes = 1u << INSN_JUMP | 1u << INSN_BRANCH | 1u << INSN_MAYGOTO | 1u << INSN_EXIT,
	.fixed = 1u << INSN_ALU | 1u << INSN_NEG | 1u << INSN_MOVSX | 1u << INSN_SWAP |
		 1u << INSN_LOAD | 1u << INSN_STORE | 1u << INSN_ATOMIC,
	.feature_names = feature_names,
	.begin_run = x64_begin_run,
	.prologue = x64_prologue,
	.zero = x64_zero,
	.emit =
		{
			[INSN_ALU] = x64_emit_alu,
			[INSN_NEG] = x64_emit_neg,
			[INSN_MOVSX] = x64_emit_movsx,
			[INSN_SWAP] = x64_emit_swap,
			[INSN_IMM64] = x64_emit_imm64,
			[INSN_LOAD] = x64_emit_load,
			[INSN_STORE] = x64_emit_store,
			[INSN_ATOMIC] = x64_emit_atomic,
			[INSN_JUMP] = x64_emit_jump,
			[INSN_BRANCH] = x64_emit_branch,
			[INSN_MAYGOTO] = x64_emit_maygoto,
			[INSN_PACKET] = x64_emit_packet,
			[INSN_CALL] = x64_emit_call,
			[INSN_CALLX] = x64_emit_callx,
			[INSN_HELPER] = x64_emit_helper,
			[INSN_TAIL] = x64_emit_tail,
			[INSN_EXIT] = x64_emit_exit,
		},
	.guard = &x64_guard,
};

/* SPDX-License-Identifier: MIT */
/*
 * emit.c - the arm64 back-end as a table; its functions are in
 *
 *	alu.c  div.c  mem.c  branch.c  call.c  guard.c	enc.h: encoders, a64.h: registers
 *	imm.c: constants
 */
#include "jit/arm64/a64.h"

static const char *const feature_names[] = {"lse", "bti", NULL};

const struct jit_arch jit_arm64 = {
	.name = "arm64",
	.max_ins = 288,
	.trap = 0xd4200000, /* brk #0 */
	.relaxes = 1u << INSN_JUMP | 1u << INSN_BRANCH | 1u << INSN_MAYGOTO | 1u << INSN_CALL |
		   1u << INSN_EXIT,
	.fixed = 1u << INSN_ALU | 1u << INSN_NEG | 1u << INSN_MOVSX | 1u << INSN_SWAP |
		 1u << INSN_LOAD | 1u << INSN_STORE | 1u << INSN_ATOMIC,
	.feature_names = feature_names,
	.land = a64_land,
	.begin_run = a64_begin_run,
	.prologue = a64_prologue,
	.zero = a64_zero,
	.emit =
		{
			[INSN_ALU] = a64_emit_alu,
			[INSN_NEG] = a64_emit_neg,
			[INSN_MOVSX] = a64_emit_movsx,
			[INSN_SWAP] = a64_emit_swap,
			[INSN_IMM64] = a64_emit_imm64,
			[INSN_LOAD] = a64_emit_load,
			[INSN_STORE] = a64_emit_store,
			[INSN_ATOMIC] = a64_emit_atomic,
			[INSN_JUMP] = a64_emit_jump,
			[INSN_BRANCH] = a64_emit_branch,
			[INSN_MAYGOTO] = a64_emit_maygoto,
			[INSN_PACKET] = a64_emit_packet,
			[INSN_CALL] = a64_emit_call,
			[INSN_CALLX] = a64_emit_callx,
			[INSN_HELPER] = a64_emit_helper,
			[INSN_TAIL] = a64_emit_tail,
			[INSN_EXIT] = a64_emit_exit,
		},
	.guard = &a64_guard,
};

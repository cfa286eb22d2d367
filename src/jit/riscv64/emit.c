/* SPDX-License-Identifier: MIT */
/*
 * emit.c - the RISC-V back-end as a table; its functions are in
 *
 *	alu.c  div.c  mem.c  branch.c  call.c  guard.c	enc.h: encoders, rv.h: registers
 *	li.c: constants  compress.c: short forms  form.c: what upper halves hold
 */
#include "jit/riscv64/rv.h"

static const char *const feature_names[] = {"c", "zba", "zbb", "zbs", NULL};

const struct jit_arch jit_riscv64 = {
	.name = "riscv64",
	.max_ins = 320,
	.trap = 0, /* defined to be illegal (chapter "Introduction") */
	.relaxes = 1u << INSN_JUMP | 1u << INSN_BRANCH | 1u << INSN_MAYGOTO | 1u << INSN_CALL |
		   1u << INSN_EXIT,
	.fixed = 1u << INSN_ALU | 1u << INSN_NEG | 1u << INSN_MOVSX | 1u << INSN_SWAP |
		 1u << INSN_LOAD | 1u << INSN_STORE | 1u << INSN_ATOMIC,
	.feature_names = feature_names,
	.prepare = rv_find_forms,
	.begin_run = rv_begin_run,
	.prologue = rv_prologue,
	.zero = rv_zero,
	.emit =
		{
			[INSN_ALU] = rv_emit_alu,
			[INSN_NEG] = rv_emit_neg,
			[INSN_MOVSX] = rv_emit_movsx,
			[INSN_SWAP] = rv_emit_swap,
			[INSN_IMM64] = rv_emit_imm64,
			[INSN_LOAD] = rv_emit_load,
			[INSN_STORE] = rv_emit_store,
			[INSN_ATOMIC] = rv_emit_atomic,
			[INSN_JUMP] = rv_emit_jump,
			[INSN_BRANCH] = rv_emit_branch,
			[INSN_MAYGOTO] = rv_emit_maygoto,
			[INSN_PACKET] = rv_emit_packet,
			[INSN_CALL] = rv_emit_call,
			[INSN_CALLX] = rv_emit_callx,
			[INSN_HELPER] = rv_emit_helper,
			[INSN_TAIL] = rv_emit_tail,
			[INSN_EXIT] = rv_emit_exit,
		},
	.guard = &rv_guard,
};

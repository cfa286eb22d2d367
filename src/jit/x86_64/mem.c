/* SPDX-License-Identifier: MIT */
/* mem.c - loads, stores and atomics, RFC 9669 sections 5.1 to 5.3 */
#include "jit/x86_64/x64.h"

void x64_emit_load(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct x64_mem mem = x64_at(x64_reg(in->src), in->off);
	size_t at = jit_here(jit);

	(void)i;
	if (in->flags & INSN_SX)
		x64_load_sx(jit, in->bytes, x64_reg(in->dst), mem);
	else
		x64_load(jit, in->bytes, x64_reg(in->dst), mem);
	jit_may_fault(jit, at, x64_reg(in->dst));
}

void x64_emit_store(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	struct x64_mem mem = x64_at(x64_reg(in->dst), in->off);
	size_t at = jit_here(jit);

	(void)i;
	if (in->flags & INSN_IMM)
		x64_store_imm(jit, in->bytes, mem, (int32_t)in->imm);
	else
		x64_store(jit, in->bytes, mem, x64_reg(in->src));
	jit_may_fault(jit, at, FAULT_NO_REG);
}

/* ---- atomics ---- */

static enum x64_alu bitwise_of(unsigned int op)
{
	return op == ATOMIC_OR ? X64_OR : op == ATOMIC_AND ? X64_AND : X64_XOR;
}

/*
 * Fetch-or, -and, -xor: x86-64 has none that gives the old value, so try until nobody came
 * between. cmpxchg works on rax: r0 moves to r10, and is taken from there where it is an operand.
 */
static void fetch_bitwise(struct jit_ctx *jit, const struct insn *in)
{
	enum x64_width w = in->bytes == 8 ? W64 : W32;
	enum x64_reg old = x64_reg(in->src);
	enum x64_reg rs = old == RAX ? X64_RAX_KEPT : old;
	enum x64_reg base = in->dst == 0 ? X64_RAX_KEPT : x64_reg(in->dst);
	struct x64_mem mem = x64_at(base, in->off);
	size_t load_at, swap_at;
	uint8_t *again;

	x64_mov(jit, W64, X64_RAX_KEPT, RAX);
	load_at = jit_here(jit);
	x64_load(jit, in->bytes, RAX, mem);
	again = jit->pos;
	x64_mov(jit, w, X64_TMP, RAX);
	x64_alu(jit, bitwise_of(in->op), w, X64_TMP, rs);
	swap_at = jit_here(jit);
	x64_lock(jit);
	x64_cmpxchg(jit, w, mem, X64_TMP);
	x64_jcc_short(jit, CC_NE, (int8_t)(again - jit->pos - X64_SHORT_SIZE));
	jit_may_fault(jit, load_at, RAX);
	jit_may_fault(jit, swap_at, RAX);
	if (old == RAX)
		return;
	x64_mov(jit, w, old, RAX);
	x64_mov(jit, W64, RAX, X64_RAX_KEPT);
}

/*
 * rax is what cmpxchg compares with, and r0 is rax; it leaves the upper half alone. A fault leaves
 * 0 there, which the move behind cannot hurt.
 */
static void compare_exchange(struct jit_ctx *jit, enum x64_width w, struct x64_mem mem,
			     enum x64_reg rs)
{
	size_t at = jit_here(jit);

	x64_lock(jit);
	x64_cmpxchg(jit, w, mem, rs);
	jit_may_fault(jit, at, RAX);
	if (w == W32)
		x64_mov(jit, W32, RAX, RAX);
}

/* xadd and xchg give the old value in the register they take the operand from. */
static void fetch_whole(struct jit_ctx *jit, const struct insn *in, enum x64_width w,
			struct x64_mem mem)
{
	enum x64_reg rs = x64_reg(in->src);
	size_t at = jit_here(jit);

	if (in->op == ATOMIC_ADD) {
		x64_lock(jit);
		x64_xadd(jit, w, mem, rs);
	} else {
		x64_xchg(jit, w, mem, rs);
	}
	jit_may_fault(jit, at, rs);
}

static void fetch(struct jit_ctx *jit, const struct insn *in, enum x64_width w, struct x64_mem mem)
{
	switch (in->op) {
	case ATOMIC_ADD:
	case ATOMIC_XCHG: fetch_whole(jit, in, w, mem); break;
	case ATOMIC_CMPXCHG: compare_exchange(jit, w, mem, x64_reg(in->src)); break;
	default: fetch_bitwise(jit, in);
	}
}

void x64_emit_atomic(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum x64_width w = in->bytes == 8 ? W64 : W32;
	struct x64_mem mem = x64_at(x64_reg(in->dst), in->off);
	size_t at = jit_here(jit);

	(void)i;
	if (in->flags & INSN_FETCH) {
		fetch(jit, in, w, mem);
		return;
	}
	x64_lock(jit);
	x64_alu_mem(jit, in->op == ATOMIC_ADD ? X64_ADD : bitwise_of(in->op), w, mem,
		    x64_reg(in->src));
	jit_may_fault(jit, at, FAULT_NO_REG);
}

/* SPDX-License-Identifier: MIT */
/*
 * disasm.c - insns as text, in the form of the kernel's disassembler
 *
 * Distances (pc+3) count slots from the slot behind, as in the encoding. Where the kernel
 * can only show numbers, names follow: call pc+5 <sub_9>. Between sections there is no
 * distance, only a relocation: call <sub_9>.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bpf/insn.h"

static const char *const alu_text[] = {
	[ALU_ADD] = "+=",    [ALU_SUB] = "-=", [ALU_MUL] = "*=",   [ALU_DIV] = "/=",
	[ALU_SDIV] = "s/=",  [ALU_MOD] = "%=", [ALU_SMOD] = "s%=", [ALU_OR] = "|=",
	[ALU_AND] = "&=",    [ALU_XOR] = "^=", [ALU_LSH] = "<<=",  [ALU_RSH] = ">>=",
	[ALU_ARSH] = "s>>=", [ALU_MOV] = "=",
};
_Static_assert(sizeof(alu_text) / sizeof(alu_text[0]) == ALU_OPS, "a text for each");

static const char *const cond_text[] = {
	[COND_EQ] = "==",   [COND_NE] = "!=",  [COND_SET] = "&",   [COND_GT] = ">",
	[COND_GE] = ">=",   [COND_LT] = "<",   [COND_LE] = "<=",   [COND_SGT] = "s>",
	[COND_SGE] = "s>=", [COND_SLT] = "s<", [COND_SLE] = "s<=",
};
_Static_assert(sizeof(cond_text) / sizeof(cond_text[0]) == COND_OPS, "a text for each");

/* Where the text goes: each function writes one line and returns its length. */
struct text {
	char *to;
	size_t size;
};

static char letter(const struct insn *in)
{
	return in->flags & INSN_W64 ? 'r' : 'w';
}

static int distance(const struct insn *in, uint32_t to)
{
	return (int)((int64_t)to - in->pc - 1);
}

static int put_alu(struct text t, const struct insn *in)
{
	char r = letter(in);

	if (in->flags & INSN_IMM)
		return snprintf(t.to, t.size, "%c%d %s %" PRId64, r, in->dst, alu_text[in->op],
				in->imm);
	return snprintf(t.to, t.size, "%c%d %s %c%d", r, in->dst, alu_text[in->op], r, in->src);
}

static int put_neg(struct text t, const struct insn *in)
{
	return snprintf(t.to, t.size, "%c%d = -%c%d", letter(in), in->dst, letter(in), in->dst);
}

static int put_movsx(struct text t, const struct insn *in)
{
	return snprintf(t.to, t.size, "%c%d = (s%d)%c%d", letter(in), in->dst, in->bytes * 8,
			letter(in), in->src);
}

static int put_swap(struct text t, const struct insn *in)
{
	static const char *const order[] = {
		[SWAP_LE] = "le", [SWAP_BE] = "be", [SWAP_ALWAYS] = "bswap"};

	return snprintf(t.to, t.size, "r%d = %s%d r%d", in->dst, order[in->op], in->bytes * 8,
			in->dst);
}

static int put_imm64(struct text t, const struct unit *unit, const struct insn *in)
{
	char number[16];
	const char *name = number;

	if (in->op == REF_NONE)
		return snprintf(t.to, t.size, "r%d = 0x%" PRIx64 " ll", in->dst, (uint64_t)in->imm);
	snprintf(number, sizeof(number), "%u", in->target);
	if (unit->map_names)
		name = unit->map_names[in->target];
	if (in->op == REF_MAP)
		return snprintf(t.to, t.size, "r%d = map[%s] ll", in->dst, name);
	return snprintf(t.to, t.size, "r%d = map[%s][0]%+d ll", in->dst, name, in->off);
}

static int put_load(struct text t, const struct insn *in)
{
	if (in->flags & INSN_ORDER)
		return snprintf(t.to, t.size, "r%d = load_acquire((u%d *)(r%d %+d))", in->dst,
				in->bytes * 8, in->src, in->off);
	return snprintf(t.to, t.size, "r%d = *(%c%d *)(r%d %+d)", in->dst,
			in->flags & INSN_SX ? 's' : 'u', in->bytes * 8, in->src, in->off);
}

static int put_store(struct text t, const struct insn *in)
{
	if (in->flags & INSN_ORDER)
		return snprintf(t.to, t.size, "store_release((u%d *)(r%d %+d), r%d)", in->bytes * 8,
				in->dst, in->off, in->src);
	if (in->flags & INSN_IMM)
		return snprintf(t.to, t.size, "*(u%d *)(r%d %+d) = %" PRId64, in->bytes * 8,
				in->dst, in->off, in->imm);
	return snprintf(t.to, t.size, "*(u%d *)(r%d %+d) = r%d", in->bytes * 8, in->dst, in->off,
			in->src);
}

static int put_atomic(struct text t, const struct insn *in)
{
	static const char *const sign[] = {
		[ATOMIC_ADD] = "+=", [ATOMIC_OR] = "|=", [ATOMIC_AND] = "&=", [ATOMIC_XOR] = "^="};
	static const char *const name[] = {
		[ATOMIC_ADD] = "fetch_add", [ATOMIC_OR] = "fetch_or", [ATOMIC_AND] = "fetch_and",
		[ATOMIC_XOR] = "fetch_xor", [ATOMIC_XCHG] = "xchg",   [ATOMIC_CMPXCHG] = "cmpxchg"};
	const char *wide = in->bytes == 8 ? "64" : "";
	int bits = in->bytes * 8;

	if (!(in->flags & INSN_FETCH))
		return snprintf(t.to, t.size, "lock *(u%d *)(r%d %+d) %s r%d", bits, in->dst,
				in->off, sign[in->op], in->src);
	if (in->op == ATOMIC_CMPXCHG)
		return snprintf(t.to, t.size, "r0 = atomic%s_cmpxchg((u%d *)(r%d %+d), r0, r%d)",
				wide, bits, in->dst, in->off, in->src);
	return snprintf(t.to, t.size, "r%d = atomic%s_%s((u%d *)(r%d %+d), r%d)", in->src, wide,
			name[in->op], bits, in->dst, in->off, in->src);
}

static int put_branch(struct text t, const struct insn *in, int to)
{
	char r = letter(in);

	if (in->flags & INSN_IMM)
		return snprintf(t.to, t.size, "if %c%d %s 0x%x goto pc%+d", r, in->dst,
				cond_text[in->op], (uint32_t)in->imm, to);
	return snprintf(t.to, t.size, "if %c%d %s %c%d goto pc%+d", r, in->dst, cond_text[in->op],
			r, in->src, to);
}

static int put_helper(struct text t, const struct unit *unit, const struct insn *in)
{
	if (in->target >= unit->nhelpers)
		return snprintf(t.to, t.size, "call %" PRId64, in->imm);
	return snprintf(t.to, t.size, "call %s#%" PRId64, unit->helpers[in->target].name, in->imm);
}

/* Where a function's section begins in the unit. */
static uint32_t base(const struct func *func)
{
	return func->pc - func->section_pc;
}

/* The function that insn @at names, between two texts. */
static int put_func(struct text t, const struct unit *unit, uint32_t at,
		    const char *const around[2])
{
	const struct insn *in = &unit->ins[at];
	const struct func *func = &unit->funcs[in->target];

	if (base(func) != base(unit_func_of(unit, at)))
		return snprintf(t.to, t.size, "%s <%s>%s", around[0], func->name, around[1]);
	return snprintf(t.to, t.size, "%s pc%+d <%s>%s", around[0], distance(in, func->pc),
			func->name, around[1]);
}

static int put_call(struct text t, const struct unit *unit, uint32_t at)
{
	return put_func(t, unit, at, (const char *const[2]){"call", ""});
}

static int put_address(struct text t, const struct unit *unit, uint32_t at)
{
	char before[16];

	snprintf(before, sizeof(before), "r%d = func", unit->ins[at].dst);
	return put_func(t, unit, at, (const char *const[2]){before, " ll"});
}

static int put_packet(struct text t, const struct insn *in)
{
	if (in->flags & INSN_IMM)
		return snprintf(t.to, t.size, "r0 = *(u%d *)skb[%" PRId64 "]", in->bytes * 8,
				in->imm);
	return snprintf(t.to, t.size, "r0 = *(u%d *)skb[r%d %+" PRId64 "]", in->bytes * 8, in->src,
			in->imm);
}

int disasm(const struct unit *unit, uint32_t at, char *text, size_t size)
{
	const struct insn *in = &unit->ins[at];
	struct text t = {text, size};
	int to;

	switch ((enum insn_kind)in->kind) {
	case INSN_ALU: return put_alu(t, in);
	case INSN_NEG: return put_neg(t, in);
	case INSN_MOVSX: return put_movsx(t, in);
	case INSN_SWAP: return put_swap(t, in);
	case INSN_IMM64:
		return in->op == REF_FUNC ? put_address(t, unit, at) : put_imm64(t, unit, in);
	case INSN_LOAD: return put_load(t, in);
	case INSN_STORE: return put_store(t, in);
	case INSN_ATOMIC: return put_atomic(t, in);
	case INSN_JUMP:
		to = distance(in, unit->ins[in->target].pc);
		return snprintf(text, size, "%s pc%+d", in->flags & INSN_IMM ? "gotol" : "goto",
				to);
	case INSN_BRANCH: return put_branch(t, in, distance(in, unit->ins[in->target].pc));
	case INSN_MAYGOTO:
		return snprintf(text, size, "may_goto pc%+d",
				distance(in, unit->ins[in->target].pc));
	case INSN_PACKET: return put_packet(t, in);
	case INSN_CALL: return put_call(t, unit, at);
	case INSN_CALLX: return snprintf(text, size, "callx r%d", in->dst);
	case INSN_TAIL:
	case INSN_HELPER: return put_helper(t, unit, in);
	case INSN_EXIT: return snprintf(text, size, "exit");
	case INSN_KINDS: break;
	}
	return snprintf(text, size, "?");
}

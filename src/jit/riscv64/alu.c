/* SPDX-License-Identifier: MIT */
/*
 * alu.c - arithmetic on registers, RFC 9669 sections 4.1 and 4.2; division is in div.c
 *
 * A 32-bit operation of RISC-V sign-extends its result, and eBPF zero-extends it. So the operation
 * is followed by a zero-extension, unless nobody reads the upper half before the register is
 * written again, or the result is known to have none. See form.c for how that is known; what
 * it takes an operation to leave, rv_result_form(), is what it leaves here.
 */
#include "jit/riscv64/rv.h"

#include <assert.h>

void rv_finish(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rd = rv_reg(in->dst);

	if (rv_is_upper_live(jit, in->dst, i) && !(rv_result_form(jit, in, i) & RV_ZX))
		rv_zext(jit, rd, rd);
}

static void copy(struct jit_ctx *jit, enum rv_reg rd, enum rv_reg rs)
{
	if (rd != rs)
		rv_put(jit, rv_mv(rd, rs));
}

bool rv_keeps(const struct insn *in)
{
	int64_t count = in->imm & (rv_is_wide(in) ? 63 : 31);

	if (!(in->flags & INSN_IMM))
		return false;
	switch (in->op) {
	case ALU_ADD:
	case ALU_SUB:
	case ALU_OR:
	case ALU_XOR:
	case ALU_MOD:
	case ALU_SMOD: return in->imm == 0;
	case ALU_MUL:
	case ALU_DIV:
	case ALU_SDIV: return in->imm == 1;
	case ALU_AND: return in->imm == -1;
	case ALU_LSH:
	case ALU_RSH:
	case ALU_ARSH: return count == 0;
	default: return false;
	}
}

bool rv_clears(const struct insn *in)
{
	if (!(in->flags & INSN_IMM))
		return false;
	switch (in->op) {
	case ALU_MUL:
	case ALU_AND:
	case ALU_DIV:
	case ALU_SDIV: return in->imm == 0;
	case ALU_MOD: return in->imm == 1;
	case ALU_SMOD: return in->imm == 1 || in->imm == -1;
	default: return false;
	}
}

/* ---- with registers ---- */

/* rd = rs1 op rs2 */
static uint32_t word_64(unsigned int op, enum rv_reg rd, enum rv_reg rs1, enum rv_reg rs2)
{
	switch (op) {
	case ALU_ADD: return rv_add(rd, rs1, rs2);
	case ALU_SUB: return rv_sub(rd, rs1, rs2);
	case ALU_MUL: return rv_mul(rd, rs1, rs2);
	case ALU_OR: return rv_or(rd, rs1, rs2);
	case ALU_AND: return rv_and(rd, rs1, rs2);
	case ALU_XOR: return rv_xor(rd, rs1, rs2);
	case ALU_LSH: return rv_sll(rd, rs1, rs2);
	case ALU_RSH: return rv_srl(rd, rs1, rs2);
	default: return rv_sra(rd, rs1, rs2);
	}
}

/* The low half alike, the upper half its sign; bitwise ones work on the operands' upper halves. */
static uint32_t word_32(unsigned int op, enum rv_reg rd, enum rv_reg rs1, enum rv_reg rs2)
{
	switch (op) {
	case ALU_ADD: return rv_addw(rd, rs1, rs2);
	case ALU_SUB: return rv_subw(rd, rs1, rs2);
	case ALU_MUL: return rv_mulw(rd, rs1, rs2);
	case ALU_LSH: return rv_sllw(rd, rs1, rs2);
	case ALU_RSH: return rv_srlw(rd, rs1, rs2);
	case ALU_ARSH: return rv_sraw(rd, rs1, rs2);
	default: return word_64(op, rd, rs1, rs2);
	}
}

/* rd = rd op rs */
static void alu_with(struct jit_ctx *jit, const struct insn *in, enum rv_reg rs)
{
	enum rv_reg rd = rv_reg(in->dst);

	rv_put(jit, (rv_is_wide(in) ? word_64 : word_32)(in->op, rd, rd, rs));
}

/* ---- with constants ---- */

/* What has no form with the constant in it: from a register. */
static void alu_with_imm(struct jit_ctx *jit, const struct insn *in)
{
	rv_set(jit, RV_TMP, in->imm);
	alu_with(jit, in, RV_TMP);
}

/* All in one, or in two where that is as short as to make a register of it. */
static void add_imm(struct jit_ctx *jit, const struct insn *in, int64_t imm)
{
	enum rv_reg rd = rv_reg(in->dst);
	int32_t first = imm < 0 ? -2048 : 2047;

	if (!rv_fits12(imm)) {
		rv_put(jit, rv_addi(rd, rd, first));
		imm -= first;
	}
	rv_put(jit, (rv_is_wide(in) ? rv_addi : rv_addiw)(rd, rd, (int32_t)imm));
}

static void add_or_sub_imm(struct jit_ctx *jit, const struct insn *in)
{
	int64_t imm = in->op == ALU_SUB ? -in->imm : in->imm;

	if (imm >= 2 * -2048 && imm <= 2 * 2047)
		add_imm(jit, in, imm);
	else
		alu_with_imm(jit, in);
}

static bool is_power_of_2(int64_t value)
{
	return value > 0 && (value & (value - 1)) == 0;
}

static unsigned int log2_of(int64_t power)
{
	return (unsigned int)__builtin_ctzll((uint64_t)power);
}

/* rd = rs << count */
static void shift_left(struct jit_ctx *jit, const struct insn *in, enum rv_reg rd, enum rv_reg rs,
		       unsigned int count)
{
	rv_put(jit, (rv_is_wide(in) ? rv_slli : rv_slliw)(rd, rs, count));
}

/* By 2 ** n + 1 or 2 ** n - 1: the shifted value and the value. */
static void mul_near_power(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);
	bool above = is_power_of_2(in->imm - 1);
	unsigned int count = log2_of(above ? in->imm - 1 : in->imm + 1), op = ALU_SUB;

	if (above)
		op = ALU_ADD;
	shift_left(jit, in, RV_TMP, rd, count);
	rv_put(jit, (rv_is_wide(in) ? word_64 : word_32)(op, rd, RV_TMP, rd));
}

static void mul_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);
	bool shadd = rv_is_wide(in) && rv_has(jit, RV_ZBA);

	if (in->imm == -1)
		rv_put(jit, (rv_is_wide(in) ? rv_neg : rv_negw)(rd, rd));
	else if (is_power_of_2(in->imm))
		shift_left(jit, in, rd, rd, log2_of(in->imm));
	else if (shadd && in->imm == 3)
		rv_put(jit, rv_sh1add(rd, rd, rd));
	else if (shadd && in->imm == 5)
		rv_put(jit, rv_sh2add(rd, rd, rd));
	else if (shadd && in->imm == 9)
		rv_put(jit, rv_sh3add(rd, rd, rd));
	else if (is_power_of_2(in->imm - 1) || is_power_of_2(in->imm + 1))
		mul_near_power(jit, in);
	else
		alu_with_imm(jit, in);
}

/* The low @bits bits of rs, zero-extended. */
static void low_bits(struct jit_ctx *jit, enum rv_reg rd, enum rv_reg rs, unsigned int bits)
{
	if (bits == 8)
		rv_put(jit, rv_andi(rd, rs, 0xff));
	else if (bits == 16 && rv_has(jit, RV_ZBB)) {
		rv_put(jit, rv_zext_h(rd, rs));
	} else {
		rv_put(jit, rv_slli(rd, rs, 64 - bits));
		rv_put(jit, rv_srli(rd, rd, 64 - bits));
	}
}

/* Single bits are cleared below the sign only, where the upper half stays what it is. */
static void and_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);

	if (rv_fits12(in->imm))
		rv_put(jit, rv_andi(rd, rd, (int32_t)in->imm));
	else if (is_power_of_2(in->imm + 1))
		low_bits(jit, rd, rd, log2_of(in->imm + 1));
	else if (rv_has(jit, RV_ZBS) && is_power_of_2(~in->imm))
		rv_put(jit, rv_bclri(rd, rd, log2_of(~in->imm)));
	else
		alu_with_imm(jit, in);
}

static void or_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);

	if (rv_fits12(in->imm))
		rv_put(jit, rv_ori(rd, rd, (int32_t)in->imm));
	else if (rv_has(jit, RV_ZBS) && is_power_of_2(in->imm))
		rv_put(jit, rv_bseti(rd, rd, log2_of(in->imm)));
	else
		alu_with_imm(jit, in);
}

static void xor_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);

	if (rv_fits12(in->imm))
		rv_put(jit, rv_xori(rd, rd, (int32_t)in->imm));
	else if (rv_has(jit, RV_ZBS) && is_power_of_2(in->imm))
		rv_put(jit, rv_binvi(rd, rd, log2_of(in->imm)));
	else
		alu_with_imm(jit, in);
}

static void shift_imm(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);
	unsigned int count = (unsigned int)in->imm & (rv_is_wide(in) ? 63 : 31);

	if (in->op == ALU_LSH)
		shift_left(jit, in, rd, rd, count);
	else if (in->op == ALU_RSH)
		rv_put(jit, (rv_is_wide(in) ? rv_srli : rv_srliw)(rd, rd, count));
	else
		rv_put(jit, (rv_is_wide(in) ? rv_srai : rv_sraiw)(rd, rd, count));
}

static void alu_imm(struct jit_ctx *jit, const struct insn *in)
{
	switch (in->op) {
	case ALU_ADD:
	case ALU_SUB: add_or_sub_imm(jit, in); break;
	case ALU_MUL: mul_imm(jit, in); break;
	case ALU_OR: or_imm(jit, in); break;
	case ALU_AND: and_imm(jit, in); break;
	case ALU_XOR: xor_imm(jit, in); break;
	default: shift_imm(jit, in);
	}
}

/* ---- moves ---- */

static void mov_imm(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	bool exact = rv_is_wide(in) || !rv_is_upper_live(jit, in->dst, i);

	rv_set(jit, rv_reg(in->dst), exact ? in->imm : (int64_t)(uint32_t)in->imm);
}

/* Where nobody reads the upper half: sign-extended, unless it has a form already. */
static void mov_32(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rd = rv_reg(in->dst), rs = rv_read(jit, in->src, RV_TMP);
	unsigned int form = rv_form(jit, in->src, i);

	if (rv_is_upper_live(jit, in->dst, i) && !(form & RV_ZX))
		rv_zext(jit, rd, rs);
	else if (form || rd == rs)
		copy(jit, rd, rs);
	else
		rv_put(jit, rv_sext_w(rd, rs));
}

static void mov(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rd = rv_reg(in->dst);

	if (in->flags & INSN_IMM)
		mov_imm(jit, in, i);
	else if (rv_is_wide(in))
		copy(jit, rd, rv_read(jit, in->src, rd));
	else
		mov_32(jit, in, i);
}

/* ---- by kind ---- */

/* A 32-bit shift to the left that may leave out the sign: the zero-extension's is enough. */
static bool is_shift_to_zext(const struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	return in->op == ALU_LSH && (in->flags & INSN_IMM) && !rv_is_wide(in) &&
	       rv_is_upper_live(jit, in->dst, i);
}

static void shift_to_zext(struct jit_ctx *jit, const struct insn *in)
{
	enum rv_reg rd = rv_reg(in->dst);

	rv_put(jit, rv_slli(rd, rd, 32 + ((unsigned int)in->imm & 31)));
	rv_put(jit, rv_srli(rd, rd, 32));
}

static void operate(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->op >= ALU_DIV && in->op <= ALU_SMOD)
		rv_emit_divmod(jit, in, i);
	else if (in->flags & INSN_IMM)
		alu_imm(jit, in);
	else
		alu_with(jit, in, rv_read(jit, in->src, RV_TMP));
}

static_assert(ALU_DIV < ALU_SDIV && ALU_SDIV < ALU_MOD && ALU_MOD < ALU_SMOD &&
		      ALU_SMOD == ALU_DIV + 3,
	      "operate() takes the divisions to be four in a row");

void rv_emit_alu(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->op == ALU_MOV) {
		mov(jit, in, i);
		return;
	}
	if (rv_clears(in)) {
		rv_set(jit, rv_reg(in->dst), 0);
		return;
	}
	if (!rv_keeps(in)) {
		if (is_shift_to_zext(jit, in, i)) {
			shift_to_zext(jit, in);
			return;
		}
		operate(jit, in, i);
	}
	if (!rv_is_wide(in))
		rv_finish(jit, in, i);
}

void rv_emit_neg(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rd = rv_reg(in->dst);

	rv_put(jit, (rv_is_wide(in) ? rv_neg : rv_negw)(rd, rd));
	if (!rv_is_wide(in))
		rv_finish(jit, in, i);
}

static void sign_extend(struct jit_ctx *jit, unsigned int bytes, enum rv_reg rd, enum rv_reg rs)
{
	if (bytes == 4) {
		rv_put(jit, rv_sext_w(rd, rs));
	} else if (rv_has(jit, RV_ZBB)) {
		rv_put(jit, (bytes == 1 ? rv_sext_b : rv_sext_h)(rd, rs));
	} else {
		rv_put(jit, rv_slli(rd, rs, 64 - 8 * bytes));
		rv_put(jit, rv_srai(rd, rd, 64 - 8 * bytes));
	}
}

/* The sign as far as bit 31, and zeros above: one shift less than both extensions. */
static void sign_extend_to_32(struct jit_ctx *jit, unsigned int bytes, enum rv_reg rd,
			      enum rv_reg rs)
{
	rv_put(jit, rv_slli(rd, rs, 64 - 8 * bytes));
	rv_put(jit, rv_srai(rd, rd, 32 - 8 * bytes));
	rv_put(jit, rv_srli(rd, rd, 32));
}

void rv_emit_movsx(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rd = rv_reg(in->dst), rs = rv_read(jit, in->src, RV_TMP);
	bool cut = !rv_is_wide(in) && rv_is_upper_live(jit, in->dst, i);

	if (cut && !rv_has(jit, RV_ZBB)) {
		sign_extend_to_32(jit, in->bytes, rd, rs);
		return;
	}
	sign_extend(jit, in->bytes, rd, rs);
	if (cut)
		rv_zext(jit, rd, rd);
}

/* ---- byte order ---- */

/* RISC-V is little-endian: SWAP_LE only truncates. */
static void truncate(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	enum rv_reg rd = rv_reg(in->dst);

	if (in->bytes == 2)
		low_bits(jit, rd, rd, 16);
	else if (in->bytes == 4 && rv_is_upper_live(jit, in->dst, i) &&
		 !(rv_form(jit, in->dst, i) & RV_ZX))
		rv_zext(jit, rd, rd);
}

/* Without Zbb: the two low bytes, as shifted as they will be. */
static void swap_2(struct jit_ctx *jit, enum rv_reg rd)
{
	rv_put(jit, rv_slli(RV_TMP, rd, 56));
	rv_put(jit, rv_srli(RV_TMP, RV_TMP, 48));
	rv_put(jit, rv_slli(rd, rd, 48));
	rv_put(jit, rv_srli(rd, rd, 56));
	rv_put(jit, rv_or(rd, rd, RV_TMP));
}

/* Groups of @count bits and their neighbours change places; @mask has every other one set. */
static void swap_groups(struct jit_ctx *jit, enum rv_reg rd, enum rv_reg mask, unsigned int count)
{
	rv_put(jit, rv_srli(RV_TMP, rd, count));
	rv_put(jit, rv_and(RV_TMP, RV_TMP, mask));
	rv_put(jit, rv_and(rd, rd, mask));
	rv_put(jit, rv_slli(rd, rd, count));
	rv_put(jit, rv_or(rd, rd, RV_TMP));
}

/* mask = low, in both halves */
static void set_mask(struct jit_ctx *jit, enum rv_reg mask, int32_t low, bool both)
{
	rv_set(jit, mask, low);
	if (!both)
		return;
	rv_put(jit, rv_slli(RV_TMP, mask, 32));
	rv_put(jit, rv_add(mask, mask, RV_TMP));
}

/* Bytes within 16 bits, then those within 32; what lies above is shifted out. */
static void swap_4(struct jit_ctx *jit, enum rv_reg rd)
{
	set_mask(jit, RV_MORE, 0x00ff00ff, false);
	swap_groups(jit, rd, RV_MORE, 8);
	rv_put(jit, rv_srliw(RV_TMP, rd, 16));
	rv_put(jit, rv_slli(rd, rd, 48));
	rv_put(jit, rv_srli(rd, rd, 32));
	rv_put(jit, rv_or(rd, rd, RV_TMP));
}

static void swap_8(struct jit_ctx *jit, enum rv_reg rd)
{
	set_mask(jit, RV_MORE, 0x00ff00ff, true);
	swap_groups(jit, rd, RV_MORE, 8);
	set_mask(jit, RV_MORE, 0x0000ffff, true);
	swap_groups(jit, rd, RV_MORE, 16);
	rv_put(jit, rv_srli(RV_TMP, rd, 32));
	rv_put(jit, rv_slli(rd, rd, 32));
	rv_put(jit, rv_or(rd, rd, RV_TMP));
}

/* rev8 turns all eight round, and the wanted ones are the upper then. */
static void swap(struct jit_ctx *jit, unsigned int bytes, enum rv_reg rd)
{
	if (rv_has(jit, RV_ZBB)) {
		rv_put(jit, rv_rev8(rd, rd));
		if (bytes < 8)
			rv_put(jit, rv_srli(rd, rd, 64 - 8 * bytes));
	} else if (bytes == 2) {
		swap_2(jit, rd);
	} else {
		(bytes == 4 ? swap_4 : swap_8)(jit, rd);
	}
}

void rv_emit_swap(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	if (in->op == SWAP_LE)
		truncate(jit, in, i);
	else
		swap(jit, in->bytes, rv_reg(in->dst));
}

/* Map references hold their final addresses by now. */
void rv_emit_imm64(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)i;
	rv_set_address(jit, rv_reg(in->dst), (uint64_t)in->imm);
}

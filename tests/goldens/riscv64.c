/* SPDX-License-Identifier: MIT */
/*
 * riscv64.c - print every RISC-V encoder's bytes beside what they should mean
 *
 *	33 05 b5 00	add a0, a0, a1
 *
 * With an argument, as rv_put() emits them where there are compressed instructions: llvm-mc
 * then compresses the same text by its own rules, and must come to the same bytes.
 */
#include <stdio.h>

#include "jit/riscv64/enc.h"

#define NELEMS(array) (sizeof(array) / sizeof((array)[0]))

static const char *const names[] = {
	"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
	"a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
	"s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

/* Popular registers, of compressed instructions, and others; in the place of every operand. */
static const uint8_t some[] = {RV_SP, RV_T1, RV_S0, RV_A0, RV_A5, RV_A6, RV_T6};

/* Both ends of the scales of compressed immediates, and of 12 bits. */
static const int32_t imms[] = {
	0,   1,   -1,  2,   4,   8,   16,  -16,  24,   31,   32,   -32,  -33,  40,   124,   128,
	248, 252, 256, 496, 504, 508, 512, -512, -528, 1016, 1020, 1023, 1024, 2047, -2048,
};

static uint8_t code[64];
static struct jit_ctx jit;

/* Print what was emitted, start over; the text follows. */
static void bytes(void)
{
	for (const uint8_t *at = code; at < jit.pos; at++)
		printf("%02x ", *at);
	putchar('\t');
	jit.pos = code;
}

#define GOLDEN(word, ...) (rv_put(&jit, word), bytes(), printf(__VA_ARGS__), putchar('\n'))

#define EACH(i, array) for (size_t i = 0; i < NELEMS(array); i++)
#define EACH_REG(r) for (enum rv_reg r = RV_RA; r <= RV_T6; r++)

static enum rv_reg reg(size_t i)
{
	return (enum rv_reg)some[i];
}

/* ---- registers ---- */

static void three_registers(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum rv_reg rd, enum rv_reg rs1, enum rv_reg rs2);
	} all[] = {
		{"add", rv_add},       {"sub", rv_sub},       {"sll", rv_sll},
		{"slt", rv_slt},       {"sltu", rv_sltu},     {"xor", rv_xor},
		{"srl", rv_srl},       {"sra", rv_sra},       {"or", rv_or},
		{"and", rv_and},       {"addw", rv_addw},     {"subw", rv_subw},
		{"sllw", rv_sllw},     {"srlw", rv_srlw},     {"sraw", rv_sraw},
		{"mul", rv_mul},       {"div", rv_div},       {"divu", rv_divu},
		{"rem", rv_rem},       {"remu", rv_remu},     {"mulw", rv_mulw},
		{"divw", rv_divw},     {"divuw", rv_divuw},   {"remw", rv_remw},
		{"remuw", rv_remuw},   {"sh1add", rv_sh1add}, {"sh2add", rv_sh2add},
		{"sh3add", rv_sh3add}, {"add.uw", rv_add_uw},
	};

	EACH(i, all)
	EACH(d, some)
	EACH(a, some)
	EACH(b, some)
	GOLDEN(all[i].word(reg(d), reg(a), reg(b)), "%s %s, %s, %s", all[i].name, names[reg(d)],
	       names[reg(a)], names[reg(b)]);
}

static void two_registers(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum rv_reg rd, enum rv_reg rs);
	} all[] = {
		{"mv", rv_mv},         {"not", rv_not},       {"neg", rv_neg},
		{"negw", rv_negw},     {"sext.w", rv_sext_w}, {"zext.w", rv_zext_w},
		{"seqz", rv_seqz},     {"rev8", rv_rev8},     {"sext.b", rv_sext_b},
		{"sext.h", rv_sext_h}, {"zext.h", rv_zext_h},
	};

	EACH(i, all)
	EACH_REG(rd)
	EACH(s, some)
	GOLDEN(all[i].word(rd, reg(s)), "%s %s, %s", all[i].name, names[rd], names[reg(s)]);
}

/* ---- constants ---- */

static void with_constants(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum rv_reg rd, enum rv_reg rs, int32_t imm);
	} all[] = {
		{"addi", rv_addi}, {"sltiu", rv_sltiu}, {"xori", rv_xori},
		{"ori", rv_ori},   {"andi", rv_andi},   {"addiw", rv_addiw},
	};

	EACH(i, all)
	EACH(d, some)
	EACH(s, some)
	EACH(k, imms)
	GOLDEN(all[i].word(reg(d), reg(s), imms[k]), "%s %s, %s, %d", all[i].name, names[reg(d)],
	       names[reg(s)], imms[k]);
	EACH_REG(rd)
	EACH(k, imms)
	GOLDEN(rv_addi(rd, RV_ZERO, imms[k]), "li %s, %d", names[rd], imms[k]);
}

static void shifts(void)
{
	static const struct {
		const char *name;
		unsigned int bits;
		uint32_t (*word)(enum rv_reg rd, enum rv_reg rs, unsigned int count);
	} all[] = {
		{"slli", 64, rv_slli},   {"srli", 64, rv_srli},   {"srai", 64, rv_srai},
		{"slliw", 32, rv_slliw}, {"srliw", 32, rv_srliw}, {"sraiw", 32, rv_sraiw},
		{"bclri", 64, rv_bclri}, {"bexti", 64, rv_bexti}, {"binvi", 64, rv_binvi},
		{"bseti", 64, rv_bseti},
	};

	EACH(i, all)
	EACH(d, some)
	for (unsigned int count = 1; count < all[i].bits; count++) {
		GOLDEN(all[i].word(reg(d), reg(d), count), "%s %s, %s, %u", all[i].name,
		       names[reg(d)], names[reg(d)], count);
		GOLDEN(all[i].word(reg(d), RV_S1, count), "%s %s, s1, %u", all[i].name,
		       names[reg(d)], count);
	}
}

static void upper_constants(void)
{
	static const uint32_t uppers[] = {0,       1,       31,      32,      0x12345,
					  0x7ffff, 0x80000, 0xfffdf, 0xfffe0, 0xfffff};

	EACH_REG(rd)
	EACH(k, uppers)
	{
		GOLDEN(rv_lui(rd, uppers[k]), "lui %s, %u", names[rd], uppers[k]);
		GOLDEN(rv_auipc(rd, uppers[k]), "auipc %s, %u", names[rd], uppers[k]);
	}
}

/* ---- memory ---- */

static void memory(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum rv_reg r, struct rv_mem mem);
	} all[] = {
		{"lb", rv_lb},   {"lh", rv_lh},   {"lw", rv_lw},   {"ld", rv_ld},
		{"lbu", rv_lbu}, {"lhu", rv_lhu}, {"lwu", rv_lwu}, {"sb", rv_sb},
		{"sh", rv_sh},   {"sw", rv_sw},   {"sd", rv_sd},
	};

	EACH(i, all)
	EACH(r, some)
	EACH(base, some)
	EACH(k, imms)
	GOLDEN(all[i].word(reg(r), rv_at(reg(base), imms[k])), "%s %s, %d(%s)", all[i].name,
	       names[reg(r)], imms[k], names[reg(base)]);
	EACH(base, some)
	EACH(k, imms)
	GOLDEN(rv_sd(RV_ZERO, rv_at(reg(base), imms[k])), "sd zero, %d(%s)", imms[k],
	       names[reg(base)]);
}

static const char *const orders[] = {"", ".rl", ".aq", ".aqrl"};

static void amos(unsigned int size, unsigned int order)
{
	static const struct {
		const char *name;
		uint32_t (*word)(unsigned int bytes, unsigned int order, enum rv_reg rd,
				 enum rv_reg rs2, enum rv_reg base);
	} all[] = {
		{"amoadd", rv_amoadd}, {"amoswap", rv_amoswap}, {"amoxor", rv_amoxor},
		{"amoor", rv_amoor},   {"amoand", rv_amoand},   {"sc", rv_sc},
	};

	EACH(i, all)
	EACH(d, some)
	EACH(s, some)
	GOLDEN(all[i].word(size, order, reg(d), reg(s), RV_A2), "%s.%c%s %s, %s, (a2)", all[i].name,
	       size == 8 ? 'd' : 'w', orders[order], names[reg(d)], names[reg(s)]);
	EACH(d, some)
	EACH(base, some)
	GOLDEN(rv_lr(size, order, reg(d), reg(base)), "lr.%c%s %s, (%s)", size == 8 ? 'd' : 'w',
	       orders[order], names[reg(d)], names[reg(base)]);
}

static void atomics(void)
{
	for (unsigned int order = 0; order < NELEMS(orders); order++) {
		amos(4, order);
		amos(8, order);
	}
}

static void fences(void)
{
	GOLDEN(rv_fence(RV_FENCE_R, RV_FENCE_R | RV_FENCE_W), "fence r, rw");
	GOLDEN(rv_fence(RV_FENCE_R | RV_FENCE_W, RV_FENCE_W), "fence rw, w");
}

/* ---- flow ---- */

static void indirect(void)
{
	EACH_REG(base)
	{
		GOLDEN(rv_jalr(RV_ZERO, rv_at(base, 0)), "jr %s", names[base]);
		EACH(k, imms)
		GOLDEN(rv_jalr(RV_RA, rv_at(base, imms[k])), "jalr ra, %d(%s)", imms[k],
		       names[base]);
	}
	GOLDEN(rv_ret(), "ret");
}

/* llvm-mc would compress these by their distance, and rv_put() does not. */
static void jumps(void)
{
	static const char *const ccs[] = {"beq", "bne", "", "", "blt", "bge", "bltu", "bgeu"};
	static const int32_t rels[] = {2,    4,     6,      8,      -2,      -4,    16,
				       32,   64,    128,    256,    512,     1024,  2048,
				       4094, -4096, 0x0aaa, 0x0554, -0x0aac, 0x0ffe};
	static const int32_t far[] = {4096,    0x2000,    0x10000,  0xffffe,
				      0x80000, -0x100000, -0xaaaaa, 0x55554};

	EACH(cc, ccs)
	EACH(a, some)
	EACH(k, rels)
	if (*ccs[cc])
		GOLDEN(rv_bcc((enum rv_cc)cc, reg(a), RV_A1, rels[k]), "%s %s, a1, %d", ccs[cc],
		       names[reg(a)], rels[k]);
	EACH(k, rels)
	{
		GOLDEN(rv_jal(RV_RA, rels[k]), "jal ra, %d", rels[k]);
		GOLDEN(rv_jal(RV_ZERO, rels[k]), "jal zero, %d", rels[k]);
	}
	EACH(k, far)
	GOLDEN(rv_jal(RV_A5, far[k]), "jal a5, %d", far[k]);
}

#define COMPRESSED(half, ...) (jit_put(&jit, half, 2), bytes(), printf(__VA_ARGS__), putchar('\n'))

static void compressed_jumps(void)
{
	for (int32_t rel = -2048; rel < 2048; rel += 2)
		COMPRESSED(rv_c_j(rel), "c.j %d", rel);
	for (enum rv_reg r = RV_S0; r <= RV_A5; r++)
		for (int32_t rel = -256; rel < 256; rel += 2) {
			COMPRESSED(rv_c_bz(RV_EQ, r, rel), "c.beqz %s, %d", names[r], rel);
			COMPRESSED(rv_c_bz(RV_NE, r, rel), "c.bnez %s, %d", names[r], rel);
		}
}

int main(int argc, char **argv)
{
	(void)argv;
	jit.pos = code;
	jit.features = argc > 1 ? RV_C : 0;
	three_registers();
	two_registers();
	with_constants();
	shifts();
	upper_constants();
	memory();
	atomics();
	fences();
	indirect();
	if (argc > 1)
		compressed_jumps();
	else
		jumps();
	return 0;
}

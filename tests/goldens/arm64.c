/* SPDX-License-Identifier: MIT */
/*
 * arm64.c - print every A64 encoder's bytes beside what they should mean
 *
 *	20 00 02 8b	add x0, x1, x2
 *
 * Constants of bitwise instructions: all of them that there are, and what a64_bitmask() made of
 * others, which must be none.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jit/arm64/enc.h"

#define NELEMS(array) (sizeof(array) / sizeof((array)[0]))

/* The lowest, the highest, and others; in the place of every operand. */
static const uint8_t some[] = {X0, X1, X7, X9, X16, X19, X30};

static void bytes(uint32_t word)
{
	for (unsigned int i = 0; i < 4; i++)
		printf("%02x ", word >> 8 * i & 0xff);
	putchar('\t');
}

#define GOLDEN(word, ...) (bytes(word), printf(__VA_ARGS__), putchar('\n'))

#define EACH(i, array) for (size_t i = 0; i < NELEMS(array); i++)
#define EACH_WIDTH(w) for (enum a64_width w = W32; w <= W64; w++)
#define EACH_REG(r) for (enum a64_reg r = X0; r <= X30; r++)

static enum a64_reg reg(size_t i)
{
	return (enum a64_reg)some[i];
}

/* "x7", "w7"; of eight texts, so that as many are good at a time. */
static const char *name(enum a64_width w, enum a64_reg r)
{
	static char texts[8][4];
	static unsigned int next;
	char *text = texts[next++ % NELEMS(texts)];

	snprintf(text, sizeof(texts[0]), "%c%u", w == W64 ? 'x' : 'w', (unsigned int)r % 31);
	return text;
}

/* ---- registers ---- */

static void three_registers(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				 enum a64_reg rm);
	} all[] = {
		{"add", a64_add}, {"sub", a64_sub},   {"subs", a64_subs}, {"and", a64_and},
		{"orr", a64_orr}, {"orn", a64_orn},   {"eor", a64_eor},   {"ands", a64_ands},
		{"mul", a64_mul}, {"udiv", a64_udiv}, {"sdiv", a64_sdiv}, {"lsl", a64_lsl},
		{"lsr", a64_lsr}, {"asr", a64_asr},
	};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH(d, some)
	EACH(n, some)
	EACH(m, some)
	GOLDEN(all[i].word(w, reg(d), reg(n), reg(m)), "%s %s, %s, %s", all[i].name,
	       name(w, reg(d)), name(w, reg(n)), name(w, reg(m)));
}

static void more_registers(void)
{
	EACH_WIDTH(w)
	EACH(d, some)
	EACH(n, some)
	{
		for (unsigned int count = 1; count < (w == W64 ? 64 : 32); count++)
			GOLDEN(a64_add_lsl(w, reg(d), reg(n), X3, count), "add %s, %s, %s, lsl #%u",
			       name(w, reg(d)), name(w, reg(n)), name(w, X3), count);
		GOLDEN(a64_msub(w, reg(d), X9, reg(n), X30), "msub %s, %s, %s, %s", name(w, reg(d)),
		       name(w, X9), name(w, reg(n)), name(w, X30));
		GOLDEN(a64_msub(w, X30, reg(d), X9, reg(n)), "msub %s, %s, %s, %s", name(w, X30),
		       name(w, reg(d)), name(w, X9), name(w, reg(n)));
	}
}

static void two_registers(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum a64_width w, enum a64_reg rd, enum a64_reg rn);
	} all[] = {
		{"mov", a64_mov}, {"mvn", a64_mvn}, {"neg", a64_neg},
		{"cmp", a64_cmp}, {"tst", a64_tst}, {"rev", a64_rev},
	};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH_REG(rd)
	EACH(n, some)
	GOLDEN(all[i].word(w, rd, reg(n)), "%s %s, %s", all[i].name, name(w, rd), name(w, reg(n)));
}

static void extensions(void)
{
	EACH_REG(rd)
	EACH(n, some)
	{
		EACH_WIDTH(w)
		{
			GOLDEN(a64_sxt(w, 1, rd, reg(n)), "sxtb %s, %s", name(w, rd),
			       name(W32, reg(n)));
			GOLDEN(a64_sxt(w, 2, rd, reg(n)), "sxth %s, %s", name(w, rd),
			       name(W32, reg(n)));
		}
		GOLDEN(a64_sxt(W64, 4, rd, reg(n)), "sxtw %s, %s", name(W64, rd),
		       name(W32, reg(n)));
		GOLDEN(a64_uxt(1, rd, reg(n)), "uxtb %s, %s", name(W32, rd), name(W32, reg(n)));
		GOLDEN(a64_uxt(2, rd, reg(n)), "uxth %s, %s", name(W32, rd), name(W32, reg(n)));
	}
}

/* ---- constants ---- */

static void twelve_bits(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum a64_width w, enum a64_reg rd, enum a64_reg rn, uint32_t imm);
	} all[] = {
		{"add", a64_add_imm},
		{"adds", a64_adds_imm},
		{"sub", a64_sub_imm},
		{"subs", a64_subs_imm},
	};
	static const uint32_t imms[] = {0,    1,    8,       255,      256,     4095,
					4096, 8192, 0xff000, 0x800000, 0xfff000};

	EACH(k, imms)
	EACH_WIDTH(w)
	{
		EACH(i, all)
		EACH(d, some)
		EACH(n, some)
		GOLDEN(all[i].word(w, reg(d), reg(n), imms[k]), "%s %s, %s, #%u", all[i].name,
		       name(w, reg(d)), name(w, reg(n)), imms[k]);
		EACH_REG(rn)
		{
			GOLDEN(a64_cmp_imm(w, rn, imms[k]), "cmp %s, #%u", name(w, rn), imms[k]);
			GOLDEN(a64_cmn_imm(w, rn, imms[k]), "cmn %s, #%u", name(w, rn), imms[k]);
		}
	}
	EACH_REG(rd)
	{
		GOLDEN(a64_add_imm(W64, rd, SP, 528), "add %s, sp, #528", name(W64, rd));
		GOLDEN(a64_sub_imm(W64, rd, SP, 4096), "sub %s, sp, #4096", name(W64, rd));
	}
	GOLDEN(a64_sub_imm(W64, SP, SP, 576), "sub sp, sp, #576");
	GOLDEN(a64_add_imm(W64, SP, SP, 4080), "add sp, sp, #4080");
	GOLDEN(a64_add_imm(W64, X29, SP, 0), "mov x29, sp");
}

static void try_mask(enum a64_width w, uint64_t value)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				 uint32_t fields);
	} all[] = {
		{"and", a64_and_imm},
		{"orr", a64_orr_imm},
		{"eor", a64_eor_imm},
		{"ands", a64_ands_imm},
	};
	static unsigned int turn;
	enum a64_reg rd = reg(turn++ % NELEMS(some)), rn = reg(turn % NELEMS(some));
	uint32_t fields;

	if (!a64_bitmask(w, value, &fields)) {
		fprintf(stderr, "no mask: %#llx\n", (unsigned long long)value);
		exit(1);
	}
	GOLDEN(all[turn % 4].word(w, rd, rn, fields), "%s %s, %s, #0x%llx", all[turn % 4].name,
	       name(w, rd), name(w, rn), (unsigned long long)value);
	if (turn % 8 == 0)
		GOLDEN(a64_tst_imm(w, rd, fields), "tst %s, #0x%llx", name(w, rd),
		       (unsigned long long)value);
}

static uint64_t repeated(uint64_t element, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int at = 0; at < 64; at += size)
		value |= element << at;
	return value;
}

/* Runs of 1 .. size-1 ones, rotated in every way. */
static void each_mask(void)
{
	for (unsigned int size = 2; size <= 64; size *= 2)
		for (unsigned int count = 1; count < size; count++)
			for (unsigned int turned = 0; turned < size; turned++) {
				uint64_t run = ((uint64_t)1 << count) - 1, element = run << turned;

				if (turned)
					element |= run >> (size - turned);
				if (size < 64)
					element &= ((uint64_t)1 << size) - 1;
				try_mask(W64, repeated(element, size));
				if (size <= 32)
					try_mask(W32, repeated(element, size) & UINT32_MAX);
			}
}

/* How many values of 32 bits whose halves are alike are masks? */
static void no_other_masks(void)
{
	unsigned int found = 0;
	uint32_t fields;

	for (uint32_t low = 0; low <= UINT16_MAX; low++)
		found += a64_bitmask(W32, low | low << 16, &fields);
	/* elements of 2, 4, 8 and 16 bits: 2 + 12 + 56 + 240 */
	if (found != 310) {
		fprintf(stderr, "%u masks of 16 bits\n", found);
		exit(1);
	}
}

static void bitwise_constants(void)
{
	each_mask();
	no_other_masks();
}

static void shifts(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum a64_width w, enum a64_reg rd, enum a64_reg rn,
				 unsigned int count);
	} all[] = {
		{"lsl", a64_lsl_imm},
		{"lsr", a64_lsr_imm},
		{"asr", a64_asr_imm},
	};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH(d, some)
	for (unsigned int count = 1; count < (w == W64 ? 64 : 32); count++)
		GOLDEN(all[i].word(w, reg(d), X5, count), "%s %s, %s, #%u", all[i].name,
		       name(w, reg(d)), name(w, X5), count);
}

static void wide_constants(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(enum a64_width w, enum a64_reg rd, uint16_t imm,
				 unsigned int half);
	} all[] = {
		{"movn", a64_movn},
		{"movz", a64_movz},
		{"movk", a64_movk},
	};
	static const uint16_t imms[] = {0, 1, 0x1234, 0x8000, 0xffff};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH(d, some)
	EACH(k, imms)
	for (unsigned int half = 0; half < (w == W64 ? 4 : 2); half++)
		GOLDEN(all[i].word(w, reg(d), imms[k], half), "%s %s, #%u, lsl #%u", all[i].name,
		       name(w, reg(d)), imms[k], 16 * half);
}

/* ---- memory ---- */

static const unsigned int sizes[] = {1, 2, 4, 8};
static const char *const suffixes[] = {"b", "h", "", ""};

static enum a64_width width_of(unsigned int size)
{
	return size == 8 ? W64 : W32;
}

static void one_offset(size_t s, enum a64_reg rt, enum a64_reg base, int32_t off)
{
	static const char *const ld_sx[] = {"sb", "sh", "sw"};
	unsigned int size = sizes[s];
	const char *u = a64_is_scaled(size, off) ? "" : "u";
	enum a64_width w = width_of(size);
	struct a64_mem mem = a64_at(base, off);
	const char *at = base == SP ? "sp" : name(W64, base);

	GOLDEN(a64_ls(A64_STR, size, rt, mem), "st%sr%s %s, [%s, #%d]", u, suffixes[s], name(w, rt),
	       at, off);
	GOLDEN(a64_ls(A64_LDR, size, rt, mem), "ld%sr%s %s, [%s, #%d]", u, suffixes[s], name(w, rt),
	       at, off);
	if (size < 8)
		GOLDEN(a64_ls(A64_LDRS, size, rt, mem), "ld%sr%s %s, [%s, #%d]", u, ld_sx[s],
		       name(W64, rt), at, off);
}

static void offsets(void)
{
	static const int32_t offs[] = {0,    1,    2,    4,    7,     8,    16,  255,
				       256,  -1,   -8,   -255, -256,  264,  504, 512,
				       4088, 4095, 4094, 8190, 16380, 32760};

	EACH(s, sizes)
	EACH(t, some)
	EACH(k, offs)
	{
		if (!a64_is_scaled(sizes[s], offs[k]) && !a64_fits9(offs[k]))
			continue;
		EACH(b, some)
		one_offset(s, reg(t), reg(b), offs[k]);
		one_offset(s, reg(t), SP, offs[k]);
	}
	GOLDEN(a64_ls(A64_STR, 8, XZR, a64_at(X1, 8)), "str xzr, [x1, #8]");
	GOLDEN(a64_ls(A64_STR, 1, XZR, a64_at(SP, 3)), "strb wzr, [sp, #3]");
}

static void indexed(void)
{
	EACH(s, sizes)
	EACH(t, some)
	EACH(b, some)
	{
		enum a64_width w = width_of(sizes[s]);
		struct a64_mem mem = a64_indexed(reg(b), X10);

		GOLDEN(a64_ls(A64_STR, sizes[s], reg(t), mem), "str%s %s, [%s, x10]", suffixes[s],
		       name(w, reg(t)), name(W64, reg(b)));
		GOLDEN(a64_ls(A64_LDR, sizes[s], reg(t), mem), "ldr%s %s, [%s, x10]", suffixes[s],
		       name(w, reg(t)), name(W64, reg(b)));
	}
	GOLDEN(a64_ls(A64_LDRS, 4, X3, a64_indexed(SP, X10)), "ldrsw x3, [sp, x10]");
}

static void pairs(void)
{
	EACH(t, some)
	EACH(u, some)
	for (int32_t off = -512; off <= 504; off += 8) {
		enum a64_reg rt = reg(t), rt2 = reg(u);

		GOLDEN(a64_stp(rt, rt2, SP, off), "stp %s, %s, [sp, #%d]", name(W64, rt),
		       name(W64, rt2), off);
		GOLDEN(a64_stp_pre(rt, rt2, SP, off), "stp %s, %s, [sp, #%d]!", name(W64, rt),
		       name(W64, rt2), off);
		if (t == u)
			continue;
		GOLDEN(a64_ldp(rt, rt2, X8, off), "ldp %s, %s, [x8, #%d]", name(W64, rt),
		       name(W64, rt2), off);
		GOLDEN(a64_ldp_post(rt, rt2, SP, off), "ldp %s, %s, [sp], #%d", name(W64, rt),
		       name(W64, rt2), off);
	}
	EACH_REG(rt)
	for (int32_t off = -256; off <= 240; off += 16) {
		GOLDEN(a64_str_pre(rt, SP, off), "str %s, [sp, #%d]!", name(W64, rt), off);
		GOLDEN(a64_ldr_post(rt, SP, off), "ldr %s, [sp], #%d", name(W64, rt), off);
	}
}

static void ordered(void)
{
	static const struct {
		const char *name;
		uint32_t (*word)(unsigned int bytes, enum a64_reg rt, enum a64_reg base);
	} all[] = {
		{"ldar", a64_ldar},
		{"stlr", a64_stlr},
		{"ldxr", a64_ldxr},
		{"ldaxr", a64_ldaxr},
	};

	EACH(i, all)
	EACH(s, sizes)
	EACH(t, some)
	EACH(b, some)
	GOLDEN(all[i].word(sizes[s], reg(t), reg(b)), "%s%s %s, [%s]", all[i].name, suffixes[s],
	       name(width_of(sizes[s]), reg(t)), name(W64, reg(b)));
	EACH(t, some)
	GOLDEN(a64_ldar(8, reg(t), SP), "ldar %s, [sp]", name(W64, reg(t)));
}

static void exclusive(unsigned int size)
{
	EACH(t, some)
	{
		enum a64_width w = width_of(size);

		GOLDEN(a64_stxr(size, X12, reg(t), X2), "stxr w12, %s, [x2]", name(w, reg(t)));
		GOLDEN(a64_stlxr(size, X12, reg(t), X10), "stlxr w12, %s, [x10]", name(w, reg(t)));
		GOLDEN(a64_stlxr(size, X3, X13, reg(t)), "stlxr w3, %s, [%s]", name(w, X13),
		       name(W64, reg(t)));
		EACH(b, some)
		GOLDEN(a64_casal(size, X7, reg(t), reg(b)), "casal %s, %s, [%s]", name(w, X7),
		       name(w, reg(t)), name(W64, reg(b)));
	}
}

static const char *const orders[] = {"", "l", "a", "al"};

static void read_modify_write(unsigned int size, unsigned int order)
{
	static const struct {
		const char *name;
		uint32_t (*word)(unsigned int bytes, unsigned int order, enum a64_reg rs,
				 enum a64_reg rt, enum a64_reg base);
	} all[] = {
		{"ldadd", a64_ldadd}, {"ldclr", a64_ldclr}, {"ldeor", a64_ldeor},
		{"ldset", a64_ldset}, {"swp", a64_swp},
	};
	enum a64_width w = width_of(size);

	EACH(i, all)
	EACH(s, some)
	EACH(t, some)
	GOLDEN(all[i].word(size, order, reg(s), reg(t), X2), "%s%s %s, %s, [x2]", all[i].name,
	       orders[order], name(w, reg(s)), name(w, reg(t)));
	EACH(b, some)
	GOLDEN(a64_ldadd(size, order, X9, X11, reg(b)), "ldadd%s %s, %s, [%s]", orders[order],
	       name(w, X9), name(w, X11), name(W64, reg(b)));
	GOLDEN(a64_ldset(size, 0, X9, XZR, SP), "stset %s, [sp]", name(w, X9));
}

static void atomics(void)
{
	for (unsigned int size = 4; size <= 8; size *= 2) {
		exclusive(size);
		for (unsigned int order = 0; order < NELEMS(orders); order++)
			read_modify_write(size, order);
	}
	GOLDEN(a64_dmb_ish(), "dmb ish");
}

/* ---- flow ---- */

static const int32_t rels[] = {4,         8,         -4,         64,       -64,     1024,
			       -1024,     0x7ffc,    -0x8000,    0x5554,   -0x5554, 0xffffc,
			       -0x100000, 0x7fffffc, -0x8000000, 0x5555554};

static bool is_near(int32_t rel, unsigned int bits)
{
	return rel >= -(1 << (bits + 1)) && rel < 1 << (bits + 1);
}

static void branches(void)
{
	static const char *const ccs[] = {"eq", "ne", "hs", "lo", "mi", "pl", "",
					  "",   "hi", "ls", "ge", "lt", "gt", "le"};

	EACH(k, rels)
	{
		GOLDEN(a64_b(rels[k]), "b #%d", rels[k]);
		GOLDEN(a64_bl(rels[k]), "bl #%d", rels[k]);
		EACH(cc, ccs)
		if (*ccs[cc] && is_near(rels[k], 19))
			GOLDEN(a64_bcc((enum a64_cc)cc, rels[k]), "b.%s #%d", ccs[cc], rels[k]);
	}
}

static void tests_of_registers(void)
{
	EACH(k, rels)
	EACH(t, some)
	{
		EACH_WIDTH(w)
		if (is_near(rels[k], 19)) {
			GOLDEN(a64_cbz(A64_EQ, w, reg(t), rels[k]), "cbz %s, #%d", name(w, reg(t)),
			       rels[k]);
			GOLDEN(a64_cbz(A64_NE, w, reg(t), rels[k]), "cbnz %s, #%d", name(w, reg(t)),
			       rels[k]);
		}
		for (unsigned int bit = 0; bit < 64 && is_near(rels[k], 14); bit++) {
			enum a64_width w = bit < 32 ? W32 : W64;

			GOLDEN(a64_tbz(A64_EQ, reg(t), bit, rels[k]), "tbz %s, #%u, #%d",
			       name(w, reg(t)), bit, rels[k]);
			GOLDEN(a64_tbz(A64_NE, reg(t), bit, rels[k]), "tbnz %s, #%u, #%d",
			       name(w, reg(t)), bit, rels[k]);
		}
	}
}

static void addresses(void)
{
	static const int32_t pages[] = {0, 1, 2, 3, 4, -1, 0x12345, -0x12345, 0xfffff, -0x100000};

	EACH_REG(r)
	{
		EACH(k, pages)
		GOLDEN(a64_adrp(r, pages[k]), "adrp %s, #%lld", name(W64, r),
		       (long long)pages[k] * 4096);
		GOLDEN(a64_blr(r), "blr %s", name(W64, r));
		GOLDEN(a64_br(r), "br %s", name(W64, r));
		GOLDEN(a64_ret(r), "ret %s", name(W64, r));
	}
	GOLDEN(a64_bti_c(), "bti c");
}

int main(void)
{
	three_registers();
	more_registers();
	two_registers();
	extensions();
	twelve_bits();
	bitwise_constants();
	shifts();
	wide_constants();
	offsets();
	indexed();
	pairs();
	ordered();
	atomics();
	branches();
	tests_of_registers();
	addresses();
	return 0;
}

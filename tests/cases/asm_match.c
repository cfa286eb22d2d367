/* SPDX-License-Identifier: MIT */
/*
 * asm_match.c - what each statement of the tests' assembler looks like, and its encoding
 *
 * A statement is matched against the rows of forms[], first match wins. In a form, lower
 * case and punctuation stand for themselves, a blank for any blanks, '~' for at least one,
 * and a capital for a field: fields[] says who takes it.
 */
#include "asm_match.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#define MEMSX 0x80 /* RFC 9669 section 5: mode of sign-extending loads */

enum {
	DW = BPF_DW,
	ATOMIC64 = BPF_STX | BPF_ATOMIC | BPF_DW,
	ATOMIC32 = BPF_STX | BPF_ATOMIC | BPF_W,
	HAVE_DST = 1,
	HAVE_SRC = 2,
};

/* Code and imm as they are before the fields add to them. */
struct form {
	const char *text;
	uint8_t code;
	int32_t imm;
};

static const struct form forms[] = {
	{"exit", BPF_JMP | BPF_EXIT, 0},
	{"rD = L ll", BPF_LD | BPF_IMM | DW, 0},
	{"rD = *( M * )( rS O )", BPF_LDX | BPF_MEM, 0},
	{"rD = *( X * )( rS O )", BPF_LDX | MEMSX, 0},
	{"*( M * )( rD O ) = rS", BPF_STX | BPF_MEM, 0},
	{"*( M * )( rD O ) = I", BPF_ST | BPF_MEM, 0},
	{"rD = - rD", BPF_ALU64 | BPF_NEG, 0},
	{"wD = - wD", BPF_ALU | BPF_NEG, 0},
	{"rD = leB rD", BPF_ALU | BPF_END | BPF_TO_LE, 0},
	{"rD = beB rD", BPF_ALU | BPF_END | BPF_TO_BE, 0},
	{"rD = bswapB rD", BPF_ALU64 | BPF_END, 0},
	{"rD = ( V ) rS", BPF_ALU64 | BPF_MOV | BPF_X, 0},
	{"wD = ( V ) wS", BPF_ALU | BPF_MOV | BPF_X, 0},
	{"rD A rS", BPF_ALU64 | BPF_X, 0},
	{"wD A wS", BPF_ALU | BPF_X, 0},
	{"rD A I", BPF_ALU64 | BPF_K, 0},
	{"wD A U", BPF_ALU | BPF_K, 0},
	{"if~rD C rS goto~T", BPF_JMP | BPF_X, 0},
	{"if~wD C wS goto~T", BPF_JMP32 | BPF_X, 0},
	{"if~rD C U goto~T", BPF_JMP | BPF_K, 0},
	{"if~wD C U goto~T", BPF_JMP32 | BPF_K, 0},
	{"goto~T", BPF_JMP | BPF_JA, 0},
	{"gotol~W", BPF_JMP32 | BPF_JA, 0},
	{"may_goto~T", BPF_JMP | 0xe0, 0},
	{"callx~rD", BPF_JMP | BPF_CALL | BPF_X, 0},
	{"rD = func~Q ll", BPF_LD | BPF_IMM | DW, 0},
	{"rD = func~Q <N> ll", BPF_LD | BPF_IMM | DW, 0},
	{"r0 = *( M * )skb[ I ]", BPF_LD | BPF_ABS, 0},
	{"r0 = *( M * )skb[ rS J ]", BPF_LD | BPF_IND, 0},
	{"call~N#U", BPF_JMP | BPF_CALL, 0},
	{"call~U", BPF_JMP | BPF_CALL, 0},
	{"call~P", BPF_JMP | BPF_CALL, 0},
	{"call~P <N>", BPF_JMP | BPF_CALL, 0},
	{"rD = load_acquire(( M * )( rS O ))", BPF_STX | BPF_ATOMIC, 0x100},
	{"store_release(( M * )( rD O ), rS )", BPF_STX | BPF_ATOMIC, 0x110},
	{"lock~*( u64 * )( rD O ) K rS", ATOMIC64, 0},
	{"lock~*( u32 * )( rD O ) K rS", ATOMIC32, 0},
	{"rS = atomic64_fetch_F(( u64 * )( rD O ), rS )", ATOMIC64, 0},
	{"rS = atomic_fetch_F(( u32 * )( rD O ), rS )", ATOMIC32, 0},
	{"rS = atomic64_xchg(( u64 * )( rD O ), rS )", ATOMIC64, BPF_XCHG},
	{"rS = atomic_xchg(( u32 * )( rD O ), rS )", ATOMIC32, BPF_XCHG},
	{"r0 = atomic64_cmpxchg(( u64 * )( rD O ), r0, rS )", ATOMIC64, BPF_CMPXCHG},
	{"r0 = atomic_cmpxchg(( u32 * )( rD O ), r0, rS )", ATOMIC32, BPF_CMPXCHG},
};

/* Spellings of a field; where one begins another, the longer comes first. */
struct word {
	const char *text;
	uint16_t value;
};

#define SIGNED 0x100 /* in the value of an ALU operator: offset 1, the signed division */

static const struct word alu_words[] = {
	{"+=", BPF_ADD},
	{"-=", BPF_SUB},
	{"*=", BPF_MUL},
	{"/=", BPF_DIV},
	{"s/=", BPF_DIV | SIGNED},
	{"%=", BPF_MOD},
	{"s%=", BPF_MOD | SIGNED},
	{"|=", BPF_OR},
	{"&=", BPF_AND},
	{"^=", BPF_XOR},
	{"<<=", BPF_LSH},
	{">>=", BPF_RSH},
	{"s>>=", BPF_ARSH},
	{"=", BPF_MOV},
	{NULL, 0},
};
static const struct word cond_words[] = {
	{"==", BPF_JEQ},  {"!=", BPF_JNE},   {"&", BPF_JSET},  {">=", BPF_JGE},
	{">", BPF_JGT},   {"<=", BPF_JLE},   {"<", BPF_JLT},   {"s>=", BPF_JSGE},
	{"s>", BPF_JSGT}, {"s<=", BPF_JSLE}, {"s<", BPF_JSLT}, {NULL, 0},
};
static const struct word unsigned_words[] = {
	{"u8", BPF_B}, {"u16", BPF_H}, {"u32", BPF_W}, {"u64", BPF_DW}, {NULL, 0},
};
static const struct word signed_words[] = {
	{"s8", BPF_B}, {"s16", BPF_H}, {"s32", BPF_W}, {"s64", BPF_DW}, {NULL, 0},
};
static const struct word movsx_words[] = {
	{"s8", 8},
	{"s16", 16},
	{"s32", 32},
	{NULL, 0},
};
static const struct word swap_words[] = {
	{"16", 16},
	{"32", 32},
	{"64", 64},
	{NULL, 0},
};
static const struct word lock_words[] = {
	{"+=", BPF_ADD}, {"|=", BPF_OR}, {"&=", BPF_AND}, {"^=", BPF_XOR}, {NULL, 0},
};
static const struct word fetch_words[] = {
	{"add", BPF_ADD | BPF_FETCH},
	{"or", BPF_OR | BPF_FETCH},
	{"and", BPF_AND | BPF_FETCH},
	{"xor", BPF_XOR | BPF_FETCH},
	{NULL, 0},
};

void stmt_blanks(struct stmt *st)
{
	while (*st->at == ' ' || *st->at == '\t')
		st->at++;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool take_word(struct stmt *st, const struct word *words, uint16_t *value)
{
	for (; words->text; words++) {
		size_t len = strlen(words->text);

		if (strncmp(st->at, words->text, len))
			continue;
		st->at += len;
		*value = words->value;
		return true;
	}
	return false;
}

/* Register number behind an r or w; one that the form names twice must be the same. */
static bool take_reg(struct stmt *st, unsigned int have, uint8_t *reg)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)*st->at))
		return false;
	n = strtoul(st->at, &end, 10);
	if (n > 15 || is_name(*end) || ((st->have & have) && n != *reg))
		return false;
	st->at = end;
	st->have |= have;
	*reg = (uint8_t)n;
	return true;
}

static bool field_dst(struct stmt *st)
{
	return take_reg(st, HAVE_DST, &st->dst);
}

static bool field_src(struct stmt *st)
{
	return take_reg(st, HAVE_SRC, &st->src);
}

/* Digits, at most 64 bits of them. */
static bool take_digits(struct stmt *st, uint64_t *value)
{
	bool hex = st->at[0] == '0' && (st->at[1] | 0x20) == 'x';
	const char *digits = st->at + (hex ? 2 : 0);
	char *end;

	if (!(hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return false;
	errno = 0;
	*value = strtoull(digits, &end, hex ? 16 : 10);
	if (errno)
		st->problem = "number needs more than 64 bits";
	st->at = end;
	return !is_name(*end);
}

/* A number of min .. max with an optional minus. */
bool stmt_number(struct stmt *st, int64_t min, int64_t max, int64_t *value)
{
	bool minus = *st->at == '-';
	uint64_t digits;

	st->at += minus;
	if (!take_digits(st, &digits))
		return false;
	if (minus ? digits > 0 - (uint64_t)min : digits > (uint64_t)max)
		st->problem = "number does not fit its field";
	*value = (int64_t)(minus ? 0 - digits : digits);
	return true;
}

/* Immediate of 32 bits that the instruction sign-extends. */
static bool field_imm(struct stmt *st)
{
	return stmt_number(st, INT32_MIN, INT32_MAX, &st->imm);
}

/* Immediate of 32 bits that may be meant with or without sign. */
static bool field_any_imm(struct stmt *st)
{
	return stmt_number(st, INT32_MIN, UINT32_MAX, &st->imm);
}

static bool field_imm64(struct stmt *st)
{
	uint64_t digits;

	if (*st->at == '-')
		return stmt_number(st, INT64_MIN, INT64_MAX, &st->imm);
	if (!take_digits(st, &digits))
		return false;
	st->imm = (int64_t)digits;
	return true;
}

/* A number with its sign written out. */
static bool take_distance(struct stmt *st, int64_t min, int64_t max, int64_t *value)
{
	if (*st->at == '+')
		st->at++;
	else if (*st->at != '-')
		return false;
	return stmt_number(st, min, max, value);
}

static bool field_off(struct stmt *st)
{
	int64_t off;

	if (!take_distance(st, INT16_MIN, INT16_MAX, &off))
		return false;
	st->off = (int32_t)off;
	return true;
}

bool stmt_name(struct stmt *st, struct span *name)
{
	if (isdigit((unsigned char)*st->at))
		return false;
	name->at = st->at;
	while (is_name(*st->at))
		st->at++;
	name->len = (size_t)(st->at - name->at);
	return name->len > 0;
}

/* +3, pc+3 or a label */
static bool take_target(struct stmt *st, int64_t min, int64_t max, int64_t *distance)
{
	if (!strncmp(st->at, "pc+", 3) || !strncmp(st->at, "pc-", 3))
		st->at += 2;
	if (*st->at == '+' || *st->at == '-')
		return take_distance(st, min, max, distance);
	return stmt_name(st, &st->label);
}

static bool field_target(struct stmt *st)
{
	int64_t distance = 0;

	if (!take_target(st, INT16_MIN, INT16_MAX, &distance))
		return false;
	st->off = (int32_t)distance;
	return true;
}

static bool field_wide_target(struct stmt *st)
{
	st->wide = true;
	return take_target(st, INT32_MIN, INT32_MAX, &st->imm);
}

static bool field_local(struct stmt *st)
{
	st->src = BPF_PSEUDO_CALL;
	return field_wide_target(st);
}

static bool field_address(struct stmt *st)
{
	bool matches;

	st->src = BPF_PSEUDO_FUNC;
	matches = field_wide_target(st);
	st->imm = (uint32_t)st->imm; /* the second slot's imm is 0 */
	return matches;
}

static bool field_signed_imm(struct stmt *st)
{
	return take_distance(st, INT32_MIN, INT32_MAX, &st->imm);
}

static bool field_name(struct stmt *st)
{
	struct span ignored;

	return stmt_name(st, &ignored);
}

static bool field_alu(struct stmt *st)
{
	uint16_t value;

	if (!take_word(st, alu_words, &value))
		return false;
	st->code |= (uint8_t)value;
	st->off = value & SIGNED ? 1 : 0;
	return true;
}

static bool field_cond(struct stmt *st)
{
	uint16_t value;

	if (!take_word(st, cond_words, &value))
		return false;
	st->code |= (uint8_t)value;
	return true;
}

static bool take_size(struct stmt *st, const struct word *words)
{
	uint16_t size;

	if (!take_word(st, words, &size))
		return false;
	st->code |= (uint8_t)size;
	return true;
}

static bool field_unsigned(struct stmt *st)
{
	return take_size(st, unsigned_words);
}

static bool field_signed(struct stmt *st)
{
	return take_size(st, signed_words);
}

static bool field_movsx(struct stmt *st)
{
	uint16_t bits;

	if (!take_word(st, movsx_words, &bits))
		return false;
	st->off = bits;
	return true;
}

static bool take_imm_word(struct stmt *st, const struct word *words)
{
	uint16_t value;

	if (!take_word(st, words, &value))
		return false;
	st->imm = value;
	return true;
}

static bool field_swap(struct stmt *st)
{
	return take_imm_word(st, swap_words);
}

static bool field_lock(struct stmt *st)
{
	return take_imm_word(st, lock_words);
}

static bool field_fetch(struct stmt *st)
{
	return take_imm_word(st, fetch_words);
}

static bool (*const fields['Z' - 'A' + 1])(struct stmt *) = {
	['A' - 'A'] = field_alu,         ['B' - 'A'] = field_swap,     ['C' - 'A'] = field_cond,
	['D' - 'A'] = field_dst,         ['F' - 'A'] = field_fetch,    ['I' - 'A'] = field_imm,
	['J' - 'A'] = field_signed_imm,  ['Q' - 'A'] = field_address,  ['K' - 'A'] = field_lock,
	['L' - 'A'] = field_imm64,       ['M' - 'A'] = field_unsigned, ['N' - 'A'] = field_name,
	['O' - 'A'] = field_off,         ['P' - 'A'] = field_local,    ['S' - 'A'] = field_src,
	['T' - 'A'] = field_target,      ['U' - 'A'] = field_any_imm,  ['V' - 'A'] = field_movsx,
	['W' - 'A'] = field_wide_target, ['X' - 'A'] = field_signed,
};

static bool match_one(struct stmt *st, char pattern)
{
	if (isupper((unsigned char)pattern))
		return fields[pattern - 'A'](st);
	if (pattern == '~' && *st->at != ' ' && *st->at != '\t')
		return false;
	if (pattern == '~' || pattern == ' ') {
		stmt_blanks(st);
		return true;
	}
	return *st->at++ == pattern;
}

static bool match(const struct form *form, const char *text, struct stmt *st)
{
	*st = (struct stmt){.at = text, .code = form->code, .imm = form->imm};
	for (const char *p = form->text; *p; p++) {
		if (!*st->at && *p != ' ')
			return false;
		if (!match_one(st, *p))
			return false;
	}
	stmt_blanks(st);
	return !*st->at;
}

bool stmt_match(struct stmt *st, const char *text)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (match(&forms[i], text, st))
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * li.c - constants and addresses
 *
 * lui and addiw make what fits 32 bits. Anything else is made from its top down, a shift and at
 * most 12 bits at a time; or, if that is shorter, in the upper bits first and then shifted
 * right. The choice is by instructions, then by bytes.
 */
#include "jit/riscv64/rv.h"

#include <assert.h>

/* lui addiw, and three times slli addi */
#define SEQ_MAX 8

/* Instructions that set one register. */
struct seq {
	uint32_t word[SEQ_MAX];
	unsigned int n;
};

static void append(struct seq *seq, uint32_t word)
{
	assert(seq->n < SEQ_MAX);
	seq->word[seq->n++] = word;
}

static void put_seq(struct jit_ctx *jit, const struct seq *seq)
{
	for (unsigned int i = 0; i < seq->n; i++)
		rv_put(jit, seq->word[i]);
}

/* lui wraps at 2 GiB, and addiw back: their sum is right where both are sign-extended. */
static void set_32(struct seq *seq, enum rv_reg rd, int64_t value)
{
	if (rv_fits12(value)) {
		append(seq, rv_addi(rd, RV_ZERO, (int32_t)value));
		return;
	}
	append(seq, rv_lui(rd, rv_hi20(value)));
	if (rv_lo12(value))
		append(seq, rv_addiw(rd, rd, rv_lo12(value)));
}

/* What is above the low 12 bits, less its trailing zeros; but lui brings 12 of them for free. */
static int64_t upper_part(int64_t value, unsigned int *shift)
{
	int64_t rest = (int64_t)((uint64_t)value - (uint64_t)(int64_t)rv_lo12(value));

	*shift = (unsigned int)__builtin_ctzll((uint64_t)rest);
	rest >>= *shift;
	if (rv_fits12(rest) || !rv_fits32(rest * 4096))
		return rest;
	*shift -= 12;
	return rest * 4096;
}

/* From the last instruction to the first, and then turned round. */
static struct seq set_64(enum rv_reg rd, int64_t value)
{
	struct seq tail = {.n = 0}, seq = {.n = 0};

	while (!rv_fits32(value)) {
		unsigned int shift;
		int32_t low = rv_lo12(value);

		value = upper_part(value, &shift);
		if (low)
			append(&tail, rv_addi(rd, rd, low));
		append(&tail, rv_slli(rd, rd, shift));
	}
	set_32(&seq, rd, value);
	while (tail.n)
		append(&seq, tail.word[--tail.n]);
	return seq;
}

static unsigned int size_of(const struct jit_ctx *jit, const struct seq *seq)
{
	unsigned int size = 0;

	for (unsigned int i = 0; i < seq->n; i++)
		size += rv_has(jit, RV_C) && rv_compress(seq->word[i]) ? 2 : 4;
	return size;
}

static void take_shorter(const struct jit_ctx *jit, struct seq *best, const struct seq *other)
{
	if (other->n < best->n || (other->n == best->n && size_of(jit, other) < size_of(jit, best)))
		*best = *other;
}

/* @value in the upper bits, what is below filled up with @fill, and a last instruction @down. */
static void try_upper(const struct jit_ctx *jit, struct seq *best, enum rv_reg rd, uint64_t upper,
		      uint32_t down)
{
	struct seq seq = set_64(rd, (int64_t)upper);

	if (seq.n >= best->n)
		return;
	append(&seq, down);
	take_shorter(jit, best, &seq);
}

/* A value with leading zeros: those below its ones may be ones or zeros before the shift. */
static void try_shifted(const struct jit_ctx *jit, struct seq *best, enum rv_reg rd, uint64_t value)
{
	unsigned int zeros = (unsigned int)__builtin_clzll(value);
	uint64_t ones = ((uint64_t)1 << zeros) - 1;

	try_upper(jit, best, rd, value << zeros, rv_srli(rd, rd, zeros));
	try_upper(jit, best, rd, value << zeros | ones, rv_srli(rd, rd, zeros));
	if (rv_has(jit, RV_ZBA) && value <= UINT32_MAX)
		try_upper(jit, best, rd, (uint64_t)(int32_t)value, rv_zext_w(rd, rd));
}

static struct seq find_seq(const struct jit_ctx *jit, enum rv_reg rd, int64_t value)
{
	struct seq best = set_64(rd, value), bit = {.n = 0};
	uint64_t bits = (uint64_t)value;

	if (best.n == 1)
		return best;
	if (rv_has(jit, RV_ZBS) && (bits & (bits - 1)) == 0) {
		append(&bit, rv_bseti(rd, RV_ZERO, (unsigned int)__builtin_ctzll(bits)));
		take_shorter(jit, &best, &bit);
	}
	if (value > 0)
		try_shifted(jit, &best, rd, bits);
	return best;
}

bool rv_reaches(const struct jit_ctx *jit, uintptr_t addr)
{
	int64_t from_lo = (int64_t)(addr - jit->mem->lo), from_hi = (int64_t)(addr - jit->mem->hi);

	return rv_fits32(from_lo) && rv_fits32(from_lo + 0x800) && rv_fits32(from_hi) &&
	       rv_fits32(from_hi + 0x800);
}

/* Neither half is compressed: which bits are zero depends on where the image lands. */
static void put_address(struct jit_ctx *jit, enum rv_reg rd, uint64_t addr)
{
	int64_t rel = (int64_t)(addr - jit->rx - jit_here(jit));

	rv_put_wide(jit, rv_auipc(rd, rv_hi20(rel)));
	rv_put_wide(jit, rv_addi(rd, rd, rv_lo12(rel)));
}

void rv_set(struct jit_ctx *jit, enum rv_reg rd, int64_t value)
{
	struct seq seq = find_seq(jit, rd, value);

	put_seq(jit, &seq);
}

void rv_set_address(struct jit_ctx *jit, enum rv_reg rd, uint64_t addr)
{
	struct seq seq = find_seq(jit, rd, (int64_t)addr);

	if (seq.n > 2 && rv_reaches(jit, addr))
		put_address(jit, rd, addr);
	else
		put_seq(jit, &seq);
}

void rv_zext(struct jit_ctx *jit, enum rv_reg rd, enum rv_reg rs)
{
	if (rv_has(jit, RV_ZBA)) {
		rv_put(jit, rv_zext_w(rd, rs));
		return;
	}
	rv_put(jit, rv_slli(rd, rs, 32));
	rv_put(jit, rv_srli(rd, rd, 32));
}

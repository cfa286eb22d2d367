/* SPDX-License-Identifier: MIT */
/*
 * imm.c - constants and addresses
 *
 *	value		in one instruction		else
 *	any		movz, movn; orr of a mask	movz or movn, and movk for each other half;
 *							orr and one movk
 *	of add, cmp	12 bits, shifted by 12 or not	two of them; a register
 *	of and, or, xor	a mask (fmt.h)			a register
 *	address						adrp, add: +-4 GiB
 */
#include "jit/arm64/a64.h"

/* ---- masks ---- */

static uint64_t ones(unsigned int count)
{
	return count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/* The smallest element that the value is a repetition of. */
static unsigned int element_size(uint64_t value)
{
	unsigned int size = 64;

	while (size > 2 && !((value ^ value >> size / 2) & ones(size / 2)))
		size /= 2;
	return size;
}

/* Where the only run of ones in an element begins: not at its lowest bit, if it wraps. */
static unsigned int run_start(uint64_t element, unsigned int size)
{
	uint64_t zeros = ~element & ones(size);

	if (element & 1 && element >> (size - 1))
		return 64 - (unsigned int)__builtin_clzll(zeros);
	return (unsigned int)__builtin_ctzll(element);
}

bool a64_bitmask(enum a64_width w, uint64_t value, uint32_t *fields)
{
	unsigned int size, start, count;
	uint64_t element, run;

	if (w == W32)
		value = (value & UINT32_MAX) | value << 32;
	if (!value || !~value)
		return false;
	size = element_size(value);
	element = value & ones(size);
	start = run_start(element, size);
	run = (start ? element >> start | element << (size - start) : element) & ones(size);
	if (run & (run + 1))
		return false;
	count = (unsigned int)__builtin_popcountll(run);
	*fields = (uint32_t)(size == 64) << 22 |
		  a64_immr_imms((size - start) % size, (0x3f & ~(2 * size - 1)) | (count - 1));
	return true;
}

/* ---- constants ---- */

/* Instructions that set one register. */
struct seq {
	uint32_t word[4];
	unsigned int n;
};

static uint16_t half_of(uint64_t value, unsigned int half)
{
	return (uint16_t)(value >> 16 * half);
}

/* movz or movn for the first half that is not @fill, 0 or 0xffff, and movk for the others */
static struct seq wide_seq(enum a64_width w, enum a64_reg rd, uint64_t value, uint16_t fill)
{
	struct seq seq = {.n = 0};

	for (unsigned int half = 0; half < (w == W64 ? 4 : 2); half++) {
		uint16_t bits = half_of(value, half);

		if (bits == fill)
			continue;
		if (seq.n)
			seq.word[seq.n++] = a64_movk(w, rd, bits, half);
		else
			seq.word[seq.n++] = fill ? a64_movn(w, rd, (uint16_t)~bits, half)
						 : a64_movz(w, rd, bits, half);
	}
	if (!seq.n)
		seq.word[seq.n++] = (fill ? a64_movn : a64_movz)(w, rd, 0, 0);
	return seq;
}

/* A value that is a mask but for one half, which in the mask is as some other half. */
static bool mask_and_movk(enum a64_reg rd, uint64_t value, struct seq *seq)
{
	uint32_t fields;

	for (unsigned int k = 0; k < 16; k++) {
		unsigned int half = k / 4, like = k % 4;
		uint64_t mask = value & ~((uint64_t)0xffff << 16 * half);

		mask |= (uint64_t)half_of(value, like) << 16 * half;
		if (!a64_bitmask(W64, mask, &fields))
			continue;
		seq->word[0] = a64_orr_imm(W64, rd, XZR, fields);
		seq->word[1] = a64_movk(W64, rd, half_of(value, half), half);
		seq->n = 2;
		return true;
	}
	return false;
}

/* Writing 32 bits zeroes the others. */
static struct seq find_seq(enum a64_reg rd, uint64_t value)
{
	enum a64_width w = value <= UINT32_MAX ? W32 : W64;
	struct seq seq = wide_seq(w, rd, value, 0), inverted = wide_seq(w, rd, value, 0xffff);
	uint32_t fields;

	if (inverted.n < seq.n)
		seq = inverted;
	if (seq.n > 1 && a64_bitmask(w, value, &fields))
		return (struct seq){{a64_orr_imm(w, rd, XZR, fields)}, 1};
	if (seq.n > 2)
		mask_and_movk(rd, value, &seq);
	return seq;
}

static void put_seq(struct jit_ctx *jit, const struct seq *seq)
{
	for (unsigned int i = 0; i < seq->n; i++)
		a64_put(jit, seq->word[i]);
}

void a64_set(struct jit_ctx *jit, enum a64_reg rd, uint64_t value)
{
	struct seq seq = find_seq(rd, value);

	put_seq(jit, &seq);
}

void a64_add_any(struct jit_ctx *jit, enum a64_width w, enum a64_reg rd, enum a64_reg rn,
		 int32_t imm)
{
	uint32_t (*word)(enum a64_width, enum a64_reg, enum a64_reg, uint32_t) =
		imm < 0 ? a64_sub_imm : a64_add_imm;
	uint32_t size = imm < 0 ? 0 - (uint32_t)imm : (uint32_t)imm;

	if (!a64_fits12(size)) {
		a64_put(jit, word(w, rd, rn, size & ~0xfffu));
		size &= 0xfff;
		rn = rd;
	}
	a64_put(jit, word(w, rd, rn, size));
}

/* ---- addresses ---- */

/* Whatever is within the memory, is @addr at least -@reach and less than @reach from it? */
static bool is_within(const struct jit_ctx *jit, uintptr_t addr, int64_t reach)
{
	int64_t from_lo = (int64_t)(addr - jit->mem->lo), from_hi = (int64_t)(addr - jit->mem->hi);

	return from_lo >= -reach && from_lo < reach && from_hi >= -reach && from_hi < reach;
}

/* Code of other machines may lie at any address, and bl has none for that. */
bool a64_calls_reach(const struct jit_ctx *jit, uintptr_t addr)
{
	return addr % 4 == 0 && is_within(jit, addr, (int64_t)1 << 27);
}

/* Pages count from that of the instruction, and so one less of them is sure. */
static bool pages_reach(const struct jit_ctx *jit, uintptr_t addr)
{
	return is_within(jit, addr, ((int64_t)1 << 32) - 4096);
}

void a64_put_address(struct jit_ctx *jit, enum a64_reg rd, uint64_t addr)
{
	uint64_t pc = jit->rx + jit_here(jit);

	a64_put(jit, a64_adrp(rd, (int32_t)((addr >> 12) - (pc >> 12))));
	a64_put(jit, a64_add_imm(W64, rd, rd, addr & 0xfff));
}

void a64_set_address(struct jit_ctx *jit, enum a64_reg rd, uint64_t addr)
{
	struct seq seq = find_seq(rd, addr);

	if (seq.n > 2 && pages_reach(jit, addr))
		a64_put_address(jit, rd, addr);
	else
		put_seq(jit, &seq);
}

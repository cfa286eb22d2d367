/* SPDX-License-Identifier: MIT */
/*
 * table.c - the fault table at the end of an image: see os/fault.h
 *
 * The first sizing pass counts the entries, so that the image has room for them; the pass that
 * emits writes each in place, in order, since insns are emitted in order.
 */
#include "jit/table.h"

#include <assert.h>

/* Where entries may lie; and the traps before them, of any arch, are whole. */
#define TABLE_ALIGN 4u

static size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

static size_t table_at(size_t code)
{
	return round_up(code, TABLE_ALIGN) + sizeof(uint32_t);
}

size_t table_image_size(size_t code, uint32_t count)
{
	if (!count)
		return code;
	return round_up(table_at(code) + count * sizeof(struct fault_entry) +
				sizeof(struct fault_tail),
			PP_CHUNK);
}

/* Traps from @from to @to: @trap is the same wherever it is aligned to its arch's instructions. */
static void fill_traps(uint8_t *image, size_t from, size_t to, uint32_t trap)
{
	for (size_t i = from; i < to; i++)
		image[i] = (uint8_t)(trap >> i % sizeof(trap) * 8);
}

void table_begin(struct jit_ctx *jit, uint8_t *image, size_t code)
{
	size_t table = table_at(code), end = table + jit->nfaults * sizeof(struct fault_entry);
	size_t tail_at = table_image_size(code, jit->nfaults) - sizeof(struct fault_tail);
	const struct fault_tail tail = {
		.magic = htole64(FAULT_MAGIC),
		.table = htole32((uint32_t)table),
		.count = htole32(jit->nfaults),
	};

	if (!jit->nfaults)
		return;
	fill_traps(image, code, table, jit->arch->trap);
	fill_traps(image, end, tail_at, jit->arch->trap);
	memcpy(image + tail_at, &tail, sizeof(tail));
	jit->faults = image + table;
}

void jit_may_fault(struct jit_ctx *jit, size_t at, unsigned int reg)
{
	unsigned int flags = jit->unit->ins[jit->insn].flags;
	size_t skip = jit_here(jit) - at;
	const struct fault_entry entry = {
		.at = htole32((uint32_t)at),
		.insn = htole32(jit->insn),
		.skip = htole16((uint16_t)skip),
		.reg = (uint8_t)reg,
		.policy = flags & INSN_GUARD ? FAULT_END : FAULT_ZERO,
	};

	if (!(flags & INSN_FAULTS))
		return;
	if (!jit->faults) {
		jit->nfaults += !jit->guess;
		return;
	}
	assert(skip <= UINT16_MAX);
	memcpy(jit->faults, &entry, sizeof(entry));
	jit->faults += sizeof(entry);
}

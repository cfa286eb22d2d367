/* SPDX-License-Identifier: MIT */
/*
 * slot.h - one encoded instruction slot, and what it decodes to
 *
 * Knows RFC 9669's encoding and nothing of units: targets stay relative. decode.c puts
 * the insns of a unit together and resolves them.
 */
#ifndef BPF_SLOT_H
#define BPF_SLOT_H

#include <endian.h>
#include <string.h>

#include "bpf/insn.h"

/* RFC 9669 section 3: what finding functions needs to know without decoding */
#define SLOT_CALL 0x85
#define SLOT_CALL_LOCAL 1 /* in src */
#define SLOT_IMM64 0x18   /* takes two slots */
#define SLOT_IMM64_FUNC 4 /* in src */

#define SLOT_WHY 96 /* bytes of a reason, with its terminator */

struct slot {
	uint8_t opcode, dst, src;
	int16_t off;
	int32_t imm;
};

/* Here, so that it is part of the loops over all slots. */
static inline struct slot slot_read(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	word = le64toh(word);
	return (struct slot){
		.opcode = (uint8_t)word,
		.dst = word >> 8 & 0xf,
		.src = word >> 12 & 0xf,
		.off = (int16_t)(word >> 16),
		.imm = (int32_t)(word >> 32),
	};
}

/*
 * slot_decode - check one instruction and decode it
 * @bytes: its first slot; @left: slots there are, this one included, at least 1
 * @in: filled but for pc and target. Jumps, local calls and addresses of functions have their
 *	distance in off, in slots from the slot behind the first.
 * @why: on error the reason
 *
 * Return: slots taken, 1 or 2, or -EINVAL.
 */
int slot_decode(const uint8_t *bytes, uint32_t left, struct insn *in, char why[SLOT_WHY]);

#endif

/* SPDX-License-Identifier: MIT */
/* test_decode.c - what decode accepts and makes of it, and what it refuses with which words */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "insns.h"

#define EXIT                                                                                       \
	{                                                                                          \
		0x95, 0, 0, 0, 0                                                                   \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
/* Instructions and what they become; an exit behind each makes it a program. */
static const struct accepted {
	struct raw raw, second;
	struct insn in;
} accepted[] = {
	/* ALU: imm and src, 64 and 32 bits */
	{{0x07, 1, 0, 0, -5}, {0}, {INSN_ALU, ALU_ADD, .dst = 1, .flags = INSN_IMM | INSN_W64, .imm = -5}},
	{{0x0c, 9, 10, 0, 0}, {0}, {INSN_ALU, ALU_ADD, .dst = 9, .src = 10}},
	{{0x1f, 1, 2, 0, 0}, {0}, {INSN_ALU, ALU_SUB, .dst = 1, .src = 2, .flags = INSN_W64}},
	{{0x24, 3, 0, 0, INT32_MIN}, {0}, {INSN_ALU, ALU_MUL, .dst = 3, .flags = INSN_IMM, .imm = INT32_MIN}},
	{{0x37, 3, 0, 0, 0}, {0}, {INSN_ALU, ALU_DIV, .dst = 3, .flags = INSN_IMM | INSN_W64}},
	{{0x37, 3, 0, 1, 7}, {0}, {INSN_ALU, ALU_SDIV, .dst = 3, .flags = INSN_IMM | INSN_W64, .imm = 7}},
	{{0x3c, 3, 4, 1, 0}, {0}, {INSN_ALU, ALU_SDIV, .dst = 3, .src = 4}},
	{{0x94, 3, 0, 0, 0}, {0}, {INSN_ALU, ALU_MOD, .dst = 3, .flags = INSN_IMM}},
	{{0x9f, 3, 4, 1, 0}, {0}, {INSN_ALU, ALU_SMOD, .dst = 3, .src = 4, .flags = INSN_W64}},
	{{0x67, 3, 0, 0, 64}, {0}, {INSN_ALU, ALU_LSH, .dst = 3, .flags = INSN_IMM | INSN_W64, .imm = 64}},
	{{0xc4, 3, 0, 0, -1}, {0}, {INSN_ALU, ALU_ARSH, .dst = 3, .flags = INSN_IMM, .imm = -1}},
	{{0xbf, 1, 10, 0, 0}, {0}, {INSN_ALU, ALU_MOV, .dst = 1, .src = 10, .flags = INSN_W64}},
	{{0xb4, 1, 0, 0, -1}, {0}, {INSN_ALU, ALU_MOV, .dst = 1, .flags = INSN_IMM, .imm = -1}},
	{{0xbf, 1, 2, 32, 0}, {0}, {.kind = INSN_MOVSX, .dst = 1, .src = 2, .flags = INSN_W64, .bytes = 4}},
	{{0xbc, 1, 2, 8, 0}, {0}, {.kind = INSN_MOVSX, .dst = 1, .src = 2, .bytes = 1}},
	{{0x87, 1, 0, 0, 0}, {0}, {.kind = INSN_NEG, .dst = 1, .flags = INSN_W64}},
	{{0x84, 1, 0, 0, 0}, {0}, {.kind = INSN_NEG, .dst = 1}},
	{{0xd4, 1, 0, 0, 16}, {0}, {INSN_SWAP, SWAP_LE, .dst = 1, .bytes = 2}},
	{{0xdc, 1, 0, 0, 32}, {0}, {INSN_SWAP, SWAP_BE, .dst = 1, .bytes = 4}},
	{{0xd7, 1, 0, 0, 64}, {0}, {INSN_SWAP, SWAP_ALWAYS, .dst = 1, .bytes = 8}},
	/* 64 bits at once: a number, a map, a place in a map's value; by number and by index */
	{{0x18, 1, 5, 0, 3}, {0}, {INSN_IMM64, REF_MAP, .dst = 1, .flags = INSN_IMM | INSN_W64, .target = 3}},
	{{0x18, 1, 6, 0, 3}, {0, 0, 0, 0, 8}, {INSN_IMM64, REF_VALUE, .dst = 1, .flags = INSN_IMM | INSN_W64, .target = 3, .off = 8}},
	{{0x18, 1, 0, 0, -1}, {0, 0, 0, 0, 0x11223344}, {INSN_IMM64, REF_NONE, .dst = 1, .flags = INSN_IMM | INSN_W64, .imm = 0x11223344ffffffff}},
	{{0x18, 1, 1, 0, 3}, {0}, {INSN_IMM64, REF_MAP, .dst = 1, .flags = INSN_IMM | INSN_W64, .target = 3}},
	{{0x18, 1, 2, 0, 3}, {0, 0, 0, 0, 8}, {INSN_IMM64, REF_VALUE, .dst = 1, .flags = INSN_IMM | INSN_W64, .target = 3, .off = 8}},
	/* memory */
	{{0x71, 0, 10, -1, 0}, {0}, {.kind = INSN_LOAD, .src = 10, .bytes = 1, .off = -1}},
	{{0x79, 9, 1, INT16_MAX, 0}, {0}, {.kind = INSN_LOAD, .dst = 9, .src = 1, .bytes = 8, .off = INT16_MAX}},
	{{0x91, 0, 1, INT16_MIN, 0}, {0}, {.kind = INSN_LOAD, .src = 1, .bytes = 1, .flags = INSN_SX, .off = INT16_MIN}},
	{{0x81, 0, 1, 0, 0}, {0}, {.kind = INSN_LOAD, .src = 1, .bytes = 4, .flags = INSN_SX}},
	{{0x6a, 10, 0, -2, -7}, {0}, {.kind = INSN_STORE, .dst = 10, .bytes = 2, .flags = INSN_IMM, .off = -2, .imm = -7}},
	{{0x63, 10, 10, -4, 0}, {0}, {.kind = INSN_STORE, .dst = 10, .src = 10, .bytes = 4, .off = -4}},
	{{0xdb, 10, 10, -8, 0x00}, {0}, {INSN_ATOMIC, ATOMIC_ADD, .dst = 10, .src = 10, .bytes = 8, .flags = INSN_W64, .off = -8}},
	{{0xc3, 1, 2, 0, 0x41}, {0}, {INSN_ATOMIC, ATOMIC_OR, .dst = 1, .src = 2, .bytes = 4, .flags = INSN_FETCH}},
	{{0xc3, 1, 2, 0, 0x50}, {0}, {INSN_ATOMIC, ATOMIC_AND, .dst = 1, .src = 2, .bytes = 4}},
	{{0xdb, 1, 2, 0, 0xa1}, {0}, {INSN_ATOMIC, ATOMIC_XOR, .dst = 1, .src = 2, .bytes = 8, .flags = INSN_W64 | INSN_FETCH}},
	{{0xdb, 1, 2, 0, 0xe1}, {0}, {INSN_ATOMIC, ATOMIC_XCHG, .dst = 1, .src = 2, .bytes = 8, .flags = INSN_W64 | INSN_FETCH}},
	{{0xc3, 1, 10, 0, 0xf1}, {0}, {INSN_ATOMIC, ATOMIC_CMPXCHG, .dst = 1, .src = 10, .bytes = 4, .flags = INSN_FETCH}},
	{{0xdb, 1, 2, 4, 0x100}, {0}, {.kind = INSN_LOAD, .dst = 1, .src = 2, .bytes = 8, .flags = INSN_ORDER, .off = 4}},
	{{0xcb, 10, 10, -2, 0x110}, {0}, {.kind = INSN_STORE, .dst = 10, .src = 10, .bytes = 2, .flags = INSN_ORDER, .off = -2}},
	{{0x30, 0, 0, 0, 14}, {0}, {.kind = INSN_PACKET, .bytes = 1, .flags = INSN_IMM, .imm = 14}},
	{{0x40, 0, 7, 0, -4}, {0}, {.kind = INSN_PACKET, .src = 7, .bytes = 4, .imm = -4}},
	/* jumps: insn 0 to insn 1, or to itself */
	{{0x05, 0, 0, 0, 0}, {0}, {.kind = INSN_JUMP, .target = 1}},
	{{0x06, 0, 0, 0, -1}, {0}, {.kind = INSN_JUMP, .flags = INSN_IMM, .target = 0}},
	{{0x15, 1, 0, 0, 5}, {0}, {INSN_BRANCH, COND_EQ, .dst = 1, .flags = INSN_IMM | INSN_W64, .imm = 5, .target = 1}},
	{{0xde, 1, 10, -1, 0}, {0}, {INSN_BRANCH, COND_SLE, .dst = 1, .src = 10, .target = 0}},
	{{0x4d, 10, 1, 0, 0}, {0}, {INSN_BRANCH, COND_SET, .dst = 10, .src = 1, .flags = INSN_W64, .target = 1}},
	{{0x85, 0, 0, 0, -1}, {0}, {.kind = INSN_HELPER, .imm = UINT32_MAX, .target = INSN_UNRESOLVED}},
	{{0x8d, 3, 0, 0, 0}, {0}, {.kind = INSN_CALLX, .dst = 3}},
	{{0x8d, 0, 0, 0, 3}, {0}, {.kind = INSN_CALLX, .dst = 3}}, /* LLVM before 19 */
	{{0xe5, 0, 0, 0, 0}, {0}, {.kind = INSN_MAYGOTO, .target = 1}},
	{EXIT, {0}, {.kind = INSN_EXIT}},
};

/* clang-format on */

static void check_insn(const struct insn *in, const struct insn *want)
{
	assert_int_equal(in->kind, want->kind);
	assert_int_equal(in->op, want->op);
	assert_int_equal(in->dst, want->dst);
	assert_int_equal(in->src, want->src);
	assert_int_equal(in->flags, want->flags);
	assert_int_equal(in->bytes, want->bytes);
	assert_int_equal(in->off, want->off);
	assert_int_equal(in->target, want->target);
	assert_int_equal(in->pc, want->pc);
	assert_int_equal(in->imm, want->imm);
}

static void check_accepted(const struct accepted *want)
{
	struct prog prog;
	struct raw raw[3] = {want->raw, EXIT, EXIT};

	if (want->raw.opcode == 0x18)
		raw[1] = want->second;
	assert_int_equal(prog_raw(&prog, raw, 3), 0);
	assert_string_equal(prog.said, "");
	check_insn(&prog.unit.ins[0], &want->in);
	prog_fini(&prog);
}

static void accepts(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(accepted); i++)
		check_accepted(&accepted[i]);
}

/* clang-format off */
/* Instructions refused, with the reason's words behind "insn 0 (opcode 0x..): ". */
static const struct refused {
	struct raw raw, second;
	const char *why;
} refused[] = {
	{{0x07, 1, 3, 0, 0}, {0}, "reserved field src is 3, not 0"},
	{{0x07, 1, 0, -1, 0}, {0}, "reserved field off is -1, not 0"},
	{{0x0f, 1, 2, 0, 9}, {0}, "reserved field imm is 9, not 0"},
	{{0x0f, 11, 2, 0, 0}, {0}, "no register r11 (dst)"},
	{{0x0f, 1, 15, 0, 0}, {0}, "no register r15 (src)"},
	{{0xb7, 10, 0, 0, 0}, {0}, "r10 is read-only"},
	{{0xb7, 1, 0, 8, 0}, {0}, "reserved field off is 8, not 0"},
	{{0xbf, 1, 2, 64, 0}, {0}, "off is 64; a 64-bit move has 0, 8, 16 or 32"},
	{{0xbf, 10, 2, 8, 0}, {0}, "r10 is read-only"},
	{{0xbc, 1, 2, 32, 0}, {0}, "off is 32; a 32-bit move has 0, 8 or 16"},
	{{0x3f, 1, 2, 2, 0}, {0}, "off is 2; a division has 0 or 1 (signed)"},
	{{0x94, 1, 0, -1, 5}, {0}, "off is -1; a division has 0 or 1 (signed)"},
	{{0x87, 1, 0, 0, 1}, {0}, "reserved field imm is 1, not 0"},
	{{0x87, 1, 1, 0, 0}, {0}, "reserved field src is 1, not 0"},
	{{0x84, 10, 0, 0, 0}, {0}, "r10 is read-only"},
	{{0x8f, 1, 0, 0, 0}, {0}, "no such opcode"},
	{{0xd4, 1, 0, 0, 8}, {0}, "imm is 8; a byte swap has 16, 32 or 64"},
	{{0xd7, 1, 2, 0, 16}, {0}, "reserved field src is 2, not 0"},
	{{0xdf, 1, 0, 0, 16}, {0}, "no such opcode"},
	{{0x00, 0, 0, 0, 0}, {0}, "no such opcode"},
	{{0xe7, 0, 0, 0, 0}, {0}, "no such opcode"},
	{{0x99, 1, 2, 0, 0}, {0}, "no such opcode"},
	{{0xcb, 1, 2, 0, 0}, {0}, "atomic operation 0x0 has 32 or 64 bits"},
	{{0xd3, 1, 2, 0, 0xe1}, {0}, "atomic operation 0xe1 has 32 or 64 bits"},
	{{0x20, 0, 3, 0, 0}, {0}, "reserved field src is 3, not 0"},
	{{0x50, 1, 3, 0, 0}, {0}, "reserved field dst is 1, not 0"},
	{{0x38, 0, 0, 0, 0}, {0}, "no such opcode"},
	{{0x8d, 0, 0, 0, 11}, {0}, "imm is 11; a call by register has 0, or dst has"},
	{{0x8d, 1, 0, 0, 2}, {0}, "imm is 2; a call by register has 0, or dst has"},
	{{0x8d, 1, 2, 0, 0}, {0}, "reserved field src is 2, not 0"},
	{{0xe5, 0, 1, 0, 0}, {0}, "reserved field src is 1, not 0"},
	{{0xe5, 0, 0, -2, 0}, {0}, "jump out of the function"},
	{{0x79, 1, 2, 0, 1}, {0}, "reserved field imm is 1, not 0"},
	{{0x79, 10, 1, 0, 0}, {0}, "r10 is read-only"},
	{{0x79, 1, 11, 0, 0}, {0}, "no register r11 (src)"},
	{{0x7a, 1, 1, 0, 0}, {0}, "reserved field src is 1, not 0"},
	{{0x7b, 1, 1, 0, 4}, {0}, "reserved field imm is 4, not 0"},
	{{0xdb, 1, 2, 0, 0xe0}, {0}, "atomic operation 0xe0 needs the fetch bit"},
	{{0xc3, 1, 2, 0, 0xf0}, {0}, "atomic operation 0xf0 needs the fetch bit"},
	{{0xdb, 1, 2, 0, 0x10}, {0}, "no atomic operation 0x10"},
	{{0xdb, 1, 2, 0, 0x101}, {0}, "no atomic operation 0x101"},
	{{0xdb, 10, 2, 0, 0x100}, {0}, "r10 is read-only"},
	{{0xdb, 1, 2, 0, -1}, {0}, "no atomic operation 0xffffffff"},
	{{0xdb, 1, 10, 0, 0x01}, {0}, "r10 is read-only"},
	{{0xdb, 1, 10, 0, 0xe1}, {0}, "r10 is read-only"},
	{{0xdb, 1, 11, 0, 0}, {0}, "no register r11 (src)"},
	{{0x05, 0, 0, 0, 1}, {0}, "reserved field imm is 1, not 0"},
	{{0x05, 1, 0, 0, 0}, {0}, "reserved field dst is 1, not 0"},
	{{0x06, 0, 0, 1, 0}, {0}, "reserved field off is 1, not 0"},
	{{0x0d, 0, 0, 0, 0}, {0}, "no such opcode"},
	{{0x15, 1, 2, 0, 0}, {0}, "reserved field src is 2, not 0"},
	{{0x1d, 1, 2, 0, 3}, {0}, "reserved field imm is 3, not 0"},
	{{0x86, 0, 0, 0, 0}, {0}, "no such opcode"},
	{{0x95, 0, 0, 0, 1}, {0}, "reserved field imm is 1, not 0"},
	{{0x95, 0, 1, 0, 0}, {0}, "reserved field src is 1, not 0"},
	{{0x85, 1, 0, 0, 1}, {0}, "reserved field dst is 1, not 0"},
	{{0x85, 0, 0, 1, 1}, {0}, "reserved field off is 1, not 0"},
	{{0x85, 0, 2, 0, 1}, {0}, "calls of functions by BTF id are not supported"},
	{{0x85, 0, 3, 0, 1}, {0}, "src is 3; a call has 0, 1 or 2"},
	{{0x85, 0, 1, 0, 2}, {0}, "call out of the program"},
	{{0x85, 0, 1, 0, INT32_MIN}, {0}, "call out of the program"},
	{{0x85, 0, 1, 0, INT32_MAX}, {0}, "call out of the program"},
	{{0x18, 1, 0, 1, 0}, {0}, "reserved field off is 1, not 0"},
	{{0x18, 10, 0, 0, 0}, {0}, "r10 is read-only"},
	{{0x18, 1, 0, 0, 0}, {0x95, 0, 0, 0, 0}, "reserved field opcode of the second slot is 0x95, not 0"},
	{{0x18, 1, 0, 0, 0}, {0, 1, 0, 0, 0}, "reserved field dst of the second slot is not 0"},
	{{0x18, 1, 0, 0, 0}, {0, 0, 1, 0, 0}, "reserved field src of the second slot is not 0"},
	{{0x18, 1, 0, 0, 0}, {0, 0, 0, 1, 0}, "reserved field off of the second slot is not 0"},
	{{0x18, 1, 1, 0, 0}, {0, 0, 0, 0, 1}, "reserved field imm of the second slot is 1, not 0"},
	{{0x18, 1, 3, 0, 0}, {0}, "addresses of the kernel's variables are not supported"},
	{{0x18, 1, 4, 0, 9}, {0}, "call out of the program"},
	{{0x18, 1, 4, 0, 1}, {0, 0, 0, 0, 2}, "reserved field imm of the second slot is 2, not 0"},
	{{0x18, 1, 7, 0, 0}, {0}, "src is 7; a 64-bit load has 0 .. 6"},
	{{0x05, 0, 0, 2, 0}, {0}, "jump out of the function"},
	{{0x05, 0, 0, INT16_MAX, 0}, {0}, "jump out of the function"},
	{{0x05, 0, 0, -2, 0}, {0}, "jump out of the function"},
	{{0x06, 0, 0, 0, INT32_MAX}, {0}, "jump out of the function"},
	{{0x06, 0, 0, 0, INT32_MIN}, {0}, "jump out of the function"},
	{{0x25, 0, 0, -2, 0}, {0}, "jump out of the function"},
};

/* clang-format on */

static void check_refused(const struct refused *want)
{
	struct prog prog;
	struct raw raw[3] = {want->raw, EXIT, EXIT};
	char line[256];

	if (want->raw.opcode == 0x18)
		raw[1] = want->second;
	snprintf(line, sizeof(line), "insn 0 (opcode 0x%02x): %s", want->raw.opcode, want->why);
	assert_int_equal(prog_raw(&prog, raw, want->raw.opcode == 0x18 ? 3 : 2), -EINVAL);
	assert_string_equal(prog.said, line);
	prog_fini(&prog);
}

static void refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++)
		check_refused(&refused[i]);
}

/* RFC 9669's appendix, opcodes as they stand there; 0x18 and the calls have tables above. Behind
 * them, LD_ABS, LD_IND, callx and may_goto. */
static bool is_defined(int opcode)
{
	static const uint8_t defined[] = {
		0x04, 0x05, 0x06, 0x07, 0x0c, 0x0f, 0x14, 0x15, 0x16, 0x17, 0x18, 0x1c, 0x1d,
		0x1e, 0x1f, 0x24, 0x25, 0x26, 0x27, 0x2c, 0x2d, 0x2e, 0x2f, 0x34, 0x35, 0x36,
		0x37, 0x3c, 0x3d, 0x3e, 0x3f, 0x44, 0x45, 0x46, 0x47, 0x4c, 0x4d, 0x4e, 0x4f,
		0x54, 0x55, 0x56, 0x57, 0x5c, 0x5d, 0x5e, 0x5f, 0x61, 0x62, 0x63, 0x64, 0x65,
		0x66, 0x67, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x71, 0x72, 0x73, 0x74,
		0x75, 0x76, 0x77, 0x79, 0x7a, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f, 0x81, 0x84, 0x85,
		0x87, 0x89, 0x91, 0x94, 0x95, 0x97, 0x9c, 0x9f, 0xa4, 0xa5, 0xa6, 0xa7, 0xac,
		0xad, 0xae, 0xaf, 0xb4, 0xb5, 0xb6, 0xb7, 0xbc, 0xbd, 0xbe, 0xbf, 0xc3, 0xc4,
		0xc5, 0xc6, 0xc7, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xd7, 0xdb, 0xdc,
		0xdd, 0xde, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x8d, 0xe5,
	};

	return memchr(defined, opcode, sizeof(defined));
}

static void knows_every_opcode(void **state)
{
	(void)state;
	for (int opcode = 0; opcode < 256; opcode++) {
		bool swap = opcode == 0xd4 || opcode == 0xd7 || opcode == 0xdc;
		struct raw raw[] = {{(uint8_t)opcode, 0, 0, 0, swap ? 16 : 0}, EXIT, EXIT};
		struct prog prog;

		if (opcode == 0x18)
			raw[1].opcode = 0;
		assert_int_equal(prog_raw(&prog, raw, 3), is_defined(opcode) ? 0 : -EINVAL);
		prog_fini(&prog);
	}
}

static void refuse_program(const struct raw *raw, uint32_t count, const char *why)
{
	struct prog prog;

	assert_int_equal(prog_raw(&prog, raw, count), -EINVAL);
	assert_string_equal(prog.said, why);
	prog_fini(&prog);
}

static void refuses_programs(void **state)
{
	const struct raw open_end[] = {EXIT, {0xb7, 0, 0, 0, 0}};
	const struct raw branch_last[] = {EXIT, {0x15, 0, 0, -2, 0}};
	const struct raw half_load[] = {EXIT, {0x18, 0, 0, 0, 0}};
	const struct raw half_load_before_func[] = {{0x85, 0, 1, 0, 1}, {0x18, 0, 0, 0, 0}, EXIT};
	const struct raw into_load[] = {{0x15, 1, 0, 1, 0}, {0x18, 0, 0, 0, 0}, {0}, EXIT};
	const struct raw into_func[] = {{0x85, 0, 1, 0, 2}, {0x05, 0, 0, 1, 0}, EXIT, EXIT};
	const struct raw runs_into_func[] = {{0x85, 0, 1, 0, 0}, EXIT};

	(void)state;
	refuse_program(NULL, 0, "no instructions");
	refuse_program(open_end, 2, "insn 1 (opcode 0xb7): execution can fall out of the function");
	refuse_program(branch_last, 2,
		       "insn 1 (opcode 0x15): execution can fall out of the function");
	refuse_program(half_load, 2, "insn 1 (opcode 0x18): 64-bit load without its second slot");
	refuse_program(half_load_before_func, 3,
		       "insn 1 (opcode 0x18): 64-bit load without its second slot");
	refuse_program(into_load, 4,
		       "insn 0 (opcode 0x15): jump into the second slot of a 64-bit load");
	refuse_program(into_func, 4, "insn 1 (opcode 0x05): jump out of the function");
	refuse_program(runs_into_func, 2,
		       "insn 0 (opcode 0x85): execution can fall out of the function");
}

/* Slots and insns part ways behind a 64-bit load; targets and pc must not. */
static void resolves_over_wide_loads(void **state)
{
	const struct raw raw[] = {
		{0x05, 0, 0, 2, 0}, /* 0: to slot 3 */
		{0x18, 1, 0, 0, 1},
		{0},                 /* 1 */
		{0x85, 0, 1, 0, 2},  /* 3: to slot 6 */
		{0x15, 0, 0, -4, 0}, /* 4: to slot 1 */
		EXIT,                /* 5 */
		{0x18, 0, 0, 0, 1},
		{0},  /* 6 */
		EXIT, /* 8 */
	};
	struct prog prog;
	const struct insn *ins;

	(void)state;
	assert_int_equal(prog_raw(&prog, raw, COUNT(raw)), 0);
	ins = prog.unit.ins;
	assert_int_equal(prog.unit.nins, 7);
	assert_int_equal(ins[0].target, 2);
	assert_int_equal(ins[2].pc, 3);
	assert_int_equal(ins[2].kind, INSN_CALL);
	assert_int_equal(ins[2].target, 1);
	assert_int_equal(ins[3].target, 1);
	assert_int_equal(prog.unit.funcs[1].start, 5);
	assert_int_equal(prog.unit.funcs[1].end, 7);
	for (uint32_t i = 0; i < prog.unit.nins; i++)
		assert_ptr_equal(unit_func_of(&prog.unit, i), &prog.unit.funcs[i >= 5]);
	prog_fini(&prog);
}

static void finds_functions(void **state)
{
	const struct raw raw[] = {
		{0x85, 0, 1, 0, 4}, /* 0: to slot 5 */
		{0x85, 0, 1, 0, 1}, /* 1: to slot 3 */
		EXIT,
		{0x85, 0, 1, 0, 1}, /* 3: to slot 5 */
		EXIT,
		EXIT,
	};
	const struct func want[] = {
		{.name = "main", .pc = 0, .slots = 3, .entry = true},
		{.name = "sub_3", .pc = 3, .slots = 2},
		{.name = "sub_5", .pc = 5, .slots = 1},
	};
	struct prog prog;

	(void)state;
	assert_int_equal(prog_raw(&prog, raw, COUNT(raw)), 0);
	assert_int_equal(prog.nfuncs, COUNT(want));
	for (size_t f = 0; f < COUNT(want); f++) {
		assert_string_equal(prog.funcs[f].name, want[f].name);
		assert_string_equal(prog.funcs[f].section, "");
		assert_int_equal(prog.funcs[f].section_pc, want[f].pc);
		assert_int_equal(prog.funcs[f].pc, want[f].pc);
		assert_int_equal(prog.funcs[f].slots, want[f].slots);
		assert_int_equal(prog.funcs[f].entry, want[f].entry);
	}
	prog_fini(&prog);
}

/* The second slot of a 64-bit load may look like a call; it is a number. */
static void finds_no_function_in_a_number(void **state)
{
	const uint8_t slots[] = {0x18, 0, 0, 0, 0, 0, 0, 0, 0x85, 0x10, 0, 0, 0xff, 0, 0, 0};
	struct func *funcs;

	(void)state;
	assert_int_equal(decode_find_funcs(slots, 2, NULL, &funcs), 1);
	assert_int_equal(funcs[0].slots, 2);
	free((void *)(uintptr_t)funcs[0].name);
	free(funcs);
}

/* An object of two sections: their slots follow each other in the unit. */
static struct func two_sections[] = {
	{.name = "first", .section = ".text", .section_pc = 4, .pc = 0, .slots = 2},
	{.name = "second", .section = "xdp", .section_pc = 16, .pc = 2, .slots = 2, .entry = true},
};

static int decode_sections(const struct raw *raw, struct prog *prog)
{
	uint8_t slots[4 * BPF_SLOT];
	struct log log;

	memset(prog, 0, sizeof(*prog));
	log = prog_log(prog);
	raw_encode(raw, 4, slots);
	return decode(slots, 4, two_sections, 2, &log, &prog->unit);
}

static void tells_section_and_offset(void **state)
{
	const struct raw bad[] = {{0xb7, 0, 0, 0, 0}, EXIT, {0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 7}};
	const struct raw good[] = {{0xb7, 0, 0, 0, 0}, EXIT, {0x85, 0, 0, 0, 99}, EXIT};
	struct prog prog;
	struct log log = prog_log(&prog);

	(void)state;
	assert_int_equal(decode_sections(bad, &prog), -EINVAL);
	assert_string_equal(prog.said, "section 'xdp' +0x88, insn 17 (opcode 0x95): "
				       "reserved field imm is 7, not 0");
	assert_int_equal(decode_sections(good, &prog), 0);
	assert_int_equal(unit_error(&prog.unit, 2, &log, -ENOENT, "no such %s", "helper"), -ENOENT);
	assert_string_equal(prog.said, "section 'xdp' +0x80, insn 16 (call 99): no such helper");
	unit_fini(&prog.unit);
}

static void refuses_calls_into_functions(void **state)
{
	const struct raw raw[] = {{0xb7, 0, 0, 0, 0}, EXIT, {0x85, 0, 1, 0, -2}, EXIT};
	struct prog prog;

	(void)state;
	assert_int_equal(decode_sections(raw, &prog), -EINVAL);
	assert_string_equal(prog.said, "section 'xdp' +0x80, insn 16 (opcode 0x85): "
				       "call to where no function starts");
}

static void refuses_empty_functions(void **state)
{
	const uint8_t slots[BPF_SLOT] = {0x95};
	struct func funcs[] = {{.name = "a", .pc = 0, .slots = 1}, {.name = "b", .pc = 1}};
	struct prog prog = {0};
	struct log log = prog_log(&prog);

	(void)state;
	assert_int_equal(decode(slots, 1, funcs, 2, &log, &prog.unit), -EINVAL);
	assert_string_equal(prog.said, "function 'b' is empty");
	assert_null(prog.unit.ins);
}

static void needs_no_log(void **state)
{
	const uint8_t slots[BPF_SLOT] = {0xff};
	struct func func = {.name = "f", .slots = 1};
	struct unit unit;

	(void)state;
	assert_int_equal(decode(slots, 1, &func, 1, NULL, &unit), -EINVAL);
}

/* The far end of a million: the last jump goes back to the first insn. */
static void takes_a_million(void **state)
{
	enum { SLOTS = 1000000 };
	struct raw *raw = calloc(SLOTS, sizeof(*raw));
	struct prog prog;

	(void)state;
	assert_non_null(raw);
	for (uint32_t i = 0; i < SLOTS; i++)
		raw[i] = (struct raw){0x07, 1, 0, 0, 1};
	raw[SLOTS - 1] = (struct raw){0x06, 0, 0, 0, -SLOTS};
	assert_int_equal(prog_raw(&prog, raw, SLOTS), 0);
	assert_int_equal(prog.unit.nins, SLOTS);
	assert_int_equal(prog.unit.ins[SLOTS - 1].target, 0);
	prog_fini(&prog);
	free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts),
		cmocka_unit_test(refuses),
		cmocka_unit_test(knows_every_opcode),
		cmocka_unit_test(refuses_programs),
		cmocka_unit_test(resolves_over_wide_loads),
		cmocka_unit_test(finds_functions),
		cmocka_unit_test(finds_no_function_in_a_number),
		cmocka_unit_test(tells_section_and_offset),
		cmocka_unit_test(refuses_calls_into_functions),
		cmocka_unit_test(refuses_empty_functions),
		cmocka_unit_test(needs_no_log),
		cmocka_unit_test(takes_a_million),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_x64_enc.c - x86-64 encodings, byte by byte, where the format has its corners
 *
 * All forms over all operands are compared with llvm-mc by `make goldens`; these are the ones
 * to read: REX, ModRM, SIB, displacements, short forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jit/x86_64/enc.h"

static uint8_t code[64];
static struct jit_ctx jit;

static void check(const char *expect)
{
	char text[3 * sizeof(code) + 1] = "";
	size_t n = 0;

	for (const uint8_t *at = code; at < jit.pos; at++)
		n += (size_t)sprintf(text + n, n ? " %02x" : "%02x", *at);
	assert_string_equal(text, expect);
}

#define ENCODES(expect, call) (jit.pos = code, call, check(expect))

static void test_rex(void **state)
{
	(void)state;
	ENCODES("01 c8", x64_add(&jit, W32, RAX, RCX));
	ENCODES("48 01 c8", x64_add(&jit, W64, RAX, RCX));
	ENCODES("41 01 c8", x64_add(&jit, W32, R8, RCX));
	ENCODES("44 01 c0", x64_add(&jit, W32, RAX, R8));
	ENCODES("4d 01 fe", x64_add(&jit, W64, R14, R15));
	/* imul and movsx have destination and source the other way round */
	ENCODES("4c 0f af c1", x64_imul(&jit, W64, R8, RCX));
	ENCODES("49 0f af c8", x64_imul(&jit, W64, RCX, R8));
	ENCODES("49 63 c5", x64_movsx(&jit, W64, 4, RAX, R13));
}

/* Without REX, numbers 4 to 7 are ah, ch, dh and bh. */
static void test_byte_registers(void **state)
{
	(void)state;
	ENCODES("88 0a", x64_store(&jit, 1, x64_at(RDX, 0), RCX));
	ENCODES("40 88 3a", x64_store(&jit, 1, x64_at(RDX, 0), RDI));
	ENCODES("40 88 32", x64_store(&jit, 1, x64_at(RDX, 0), RSI));
	ENCODES("40 88 6a 01", x64_store(&jit, 1, x64_at(RDX, 1), RBP));
	ENCODES("44 88 02", x64_store(&jit, 1, x64_at(RDX, 0), R8));
	ENCODES("40 0f b6 c7", x64_movzx(&jit, 1, RAX, RDI));
	ENCODES("0f b6 fb", x64_movzx(&jit, 1, RDI, RBX));
	ENCODES("40 f6 c6 80", x64_test_imm8(&jit, RSI, 0x80));
	ENCODES("a8 01", x64_test_imm8(&jit, RAX, 1));
}

static void test_memory_operands(void **state)
{
	(void)state;
	ENCODES("48 8b 07", x64_load(&jit, 8, RAX, x64_at(RDI, 0)));
	ENCODES("48 8b 47 7f", x64_load(&jit, 8, RAX, x64_at(RDI, 127)));
	ENCODES("48 8b 87 80 00 00 00", x64_load(&jit, 8, RAX, x64_at(RDI, 128)));
	ENCODES("48 8b 47 80", x64_load(&jit, 8, RAX, x64_at(RDI, -128)));
	/* rbp, r13 without displacement would be rip */
	ENCODES("48 8b 45 00", x64_load(&jit, 8, RAX, x64_at(RBP, 0)));
	ENCODES("49 8b 45 00", x64_load(&jit, 8, RAX, x64_at(R13, 0)));
	/* rsp, r12 are the escape to SIB */
	ENCODES("48 8b 04 24", x64_load(&jit, 8, RAX, x64_at(RSP, 0)));
	ENCODES("49 8b 44 24 08", x64_load(&jit, 8, RAX, x64_at(R12, 8)));
	ENCODES("48 8d 05 10 00 00 00", x64_lea_rip(&jit, RAX, 16));
}

/* 66 and F0 come before REX. */
static void test_prefixes(void **state)
{
	(void)state;
	ENCODES("66 44 89 02", x64_store(&jit, 2, x64_at(RDX, 0), R8));
	ENCODES("66 c7 45 fe 34 12", x64_store_imm(&jit, 2, x64_at(RBP, -2), 0x1234));
	ENCODES("66 41 c1 c0 08", x64_rol16_8(&jit, R8));
	ENCODES("f0 4c 0f b1 02", (x64_lock(&jit), x64_cmpxchg(&jit, W64, x64_at(RDX, 0), R8)));
	ENCODES("f0 0f c1 3e", (x64_lock(&jit), x64_xadd(&jit, W32, x64_at(RSI, 0), RDI)));
}

static void test_immediates(void **state)
{
	(void)state;
	ENCODES("48 83 c7 7f", x64_add_imm(&jit, W64, RDI, 127));
	ENCODES("48 81 c7 80 00 00 00", x64_add_imm(&jit, W64, RDI, 128));
	ENCODES("48 83 ef 80", x64_sub_imm(&jit, W64, RDI, -128));
	ENCODES("3d 80 00 00 00", x64_cmp_imm(&jit, W32, RAX, 128));
	ENCODES("81 f9 80 00 00 00", x64_cmp_imm(&jit, W32, RCX, 128));
	ENCODES("a9 00 01 00 00", x64_test_imm(&jit, W32, RAX, 256));
	ENCODES("48 6b c1 fd", x64_imul_imm(&jit, W64, RAX, RCX, -3));
	ENCODES("d1 e0", x64_shift_imm(&jit, X64_SHL, W32, RAX, 1));
	ENCODES("48 c1 f8 3f", x64_shift_imm(&jit, X64_SAR, W64, RAX, 63));
	ENCODES("41 b8 ff ff ff ff", x64_mov_imm32(&jit, R8, UINT32_MAX));
	ENCODES("48 c7 c0 ff ff ff ff", x64_mov_simm32(&jit, RAX, -1));
	ENCODES("49 be f0 de bc 9a 78 56 34 12", x64_movabs(&jit, R14, 0x123456789abcdef0));
}

/* VEX holds R, X, B and the count register inverted. */
static void test_vex(void **state)
{
	(void)state;
	ENCODES("c4 e2 71 f7 c0", x64_shiftx(&jit, X64_SHL, W32, RAX, RCX));
	ENCODES("c4 e2 f3 f7 c0", x64_shiftx(&jit, X64_SHR, W64, RAX, RCX));
	ENCODES("c4 42 82 f7 ed", x64_shiftx(&jit, X64_SAR, W64, R13, R15));
}

static void test_flow(void **state)
{
	(void)state;
	ENCODES("eb 80", x64_jmp_short(&jit, -128));
	ENCODES("e9 80 00 00 00", x64_jmp(&jit, 128));
	ENCODES("7f 05", x64_jcc_short(&jit, CC_G, 5));
	ENCODES("0f 82 ff ff ff ff", x64_jcc(&jit, CC_B, -1));
	ENCODES("e8 00 10 00 00", x64_call(&jit, 0x1000));
	ENCODES("41 ff d2", x64_call_reg(&jit, R10));
	ENCODES("41 55", x64_push(&jit, R13));
	ENCODES("5b", x64_pop(&jit, RBX));
}

/* A jump over what follows knows its distance once it lands. */
static void test_over(void **state)
{
	uint8_t *over;

	(void)state;
	jit.pos = code;
	over = x64_jcc_over(&jit, CC_NE);
	x64_xor(&jit, W32, RAX, RAX);
	x64_land(&jit, over);
	check("75 02 31 c0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rex),
		cmocka_unit_test(test_byte_registers),
		cmocka_unit_test(test_memory_operands),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_immediates),
		cmocka_unit_test(test_vex),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_over),
	};

	return cmocka_run_group_tests_name("x86-64 encoders", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * x86_64.c - print every x86-64 encoder's bytes beside what they should mean
 *
 *	48 01 c8	add rax, rcx
 *
 * check.py gives the text to llvm-mc and compares the bytes. Jumps have their distance as a
 * number behind '@' instead, and are compared by disassembly.
 */
#include <stdio.h>

#include "jit/x86_64/enc.h"

#define NELEMS(array) (sizeof(array) / sizeof((array)[0]))

static const char *const names64[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
};
static const char *const names32[] = {
	"eax", "ecx", "edx",  "ebx",  "esp",  "ebp",  "esi",  "edi",
	"r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d",
};
static const char *const names16[] = {
	"ax",  "cx",  "dx",   "bx",   "sp",   "bp",   "si",   "di",
	"r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w",
};
static const char *const names8[] = {
	"al",  "cl",  "dl",   "bl",   "spl",  "bpl",  "sil",  "dil",
	"r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b",
};

static const int32_t imms[] = {
	0, 1, 2, -1, 127, 128, -128, -129, 255, 256, 0x12345678, INT32_MAX, INT32_MIN,
};
static const int32_t disps[] = {0, 1, -1, 127, 128, -128, -129, 0x12345678, INT32_MIN};

static uint8_t code[64];
static struct jit_ctx jit;

static const char *name(unsigned int bytes, enum x64_reg reg)
{
	return (bytes == 1 ? names8 : bytes == 2 ? names16 : bytes == 4 ? names32 : names64)[reg];
}

static const char *wname(enum x64_width w, enum x64_reg reg)
{
	return name(w == W64 ? 8 : 4, reg);
}

/* Print what was emitted, start over; the text follows. */
static void bytes(void)
{
	for (const uint8_t *at = code; at < jit.pos; at++)
		printf("%02x ", *at);
	putchar('\t');
	jit.pos = code;
}

#define GOLDEN(...) (bytes(), printf(__VA_ARGS__), putchar('\n'))

static const char *memory(unsigned int size, struct x64_mem mem)
{
	static const char *const words[] = {
		[1] = "byte", [2] = "word", [4] = "dword", [8] = "qword"};
	static char text[64];

	snprintf(text, sizeof(text), "%s ptr [%s + %d]", words[size], names64[mem.base], mem.disp);
	return text;
}

#define EACH_WIDTH(w) for (enum x64_width w = W32; w <= W64; w++)
#define EACH_REG(r) for (enum x64_reg r = RAX; r <= R15; r++)
#define EACH_SIZE(s, most) for (unsigned int s = 1; s <= (most); s *= 2)
#define EACH(i, array) for (size_t i = 0; i < NELEMS(array); i++)

/* ---- two registers ---- */

typedef void (*rr_fn)(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, enum x64_reg rs);

static void two_registers(void)
{
	static const struct {
		const char *name;
		rr_fn fn;
	} all[] = {
		{"mov", x64_mov}, {"add", x64_add},   {"or", x64_or},
		{"and", x64_and}, {"sub", x64_sub},   {"xor", x64_xor},
		{"cmp", x64_cmp}, {"test", x64_test}, {"imul", x64_imul},
	};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH_REG(rd)
	EACH_REG(rs)
	{
		all[i].fn(&jit, w, rd, rs);
		GOLDEN("%s %s, %s", all[i].name, wname(w, rd), wname(w, rs));
	}
}

static void extensions(void)
{
	EACH_REG(rd)
	EACH_REG(rs)
	{
		EACH_SIZE(size, 2)
		{
			x64_movzx(&jit, size, rd, rs);
			GOLDEN("movzx %s, %s", names32[rd], name(size, rs));
			EACH_WIDTH(w)
			{
				x64_movsx(&jit, w, size, rd, rs);
				GOLDEN("movsx %s, %s", wname(w, rd), name(size, rs));
			}
		}
		x64_movsx(&jit, W64, 4, rd, rs);
		GOLDEN("movsxd %s, %s", names64[rd], names32[rs]);
	}
}

/* ---- constants ---- */

typedef void (*ri_fn)(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd, int32_t imm);

static void with_constants(void)
{
	static const struct {
		const char *name;
		ri_fn fn;
	} all[] = {
		{"add", x64_add_imm},   {"or", x64_or_imm},   {"and", x64_and_imm},
		{"sub", x64_sub_imm},   {"xor", x64_xor_imm}, {"cmp", x64_cmp_imm},
		{"test", x64_test_imm},
	};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH_REG(rd)
	EACH(k, imms)
	{
		all[i].fn(&jit, w, rd, imms[k]);
		GOLDEN("%s %s, %d", all[i].name, wname(w, rd), imms[k]);
	}
}

static void constant_moves(void)
{
	EACH_REG(rd)
	EACH(k, imms)
	{
		x64_mov_imm32(&jit, rd, (uint32_t)imms[k]);
		GOLDEN("mov %s, %u", names32[rd], (uint32_t)imms[k]);
		x64_mov_simm32(&jit, rd, imms[k]);
		GOLDEN("mov %s, %d", names64[rd], imms[k]);
		x64_movabs(&jit, rd, 0x123456789abcdef0u ^ (uint64_t)imms[k]);
		GOLDEN("movabs %s, %lld", names64[rd],
		       (long long)(0x123456789abcdef0u ^ (uint64_t)imms[k]));
		x64_test_imm8(&jit, rd, (uint8_t)imms[k]);
		GOLDEN("test %s, %d", names8[rd], (int8_t)imms[k]);
	}
}

static void multiplications(void)
{
	EACH_WIDTH(w)
	EACH_REG(rd)
	EACH_REG(rs)
	EACH(k, imms)
	{
		x64_imul_imm(&jit, w, rd, rs, imms[k]);
		GOLDEN("imul %s, %s, %d", wname(w, rd), wname(w, rs), imms[k]);
	}
}

/* ---- one register ---- */

static void one_register(void)
{
	static const struct {
		const char *name;
		void (*fn)(struct jit_ctx *jit, enum x64_width w, enum x64_reg rd);
	} all[] = {
		{"inc", x64_inc}, {"dec", x64_dec},   {"not", x64_not},     {"neg", x64_neg},
		{"div", x64_div}, {"idiv", x64_idiv}, {"bswap", x64_bswap},
	};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH_REG(rd)
	{
		all[i].fn(&jit, w, rd);
		GOLDEN("%s %s", all[i].name, wname(w, rd));
	}
	EACH_REG(rd)
	{
		x64_rol16_8(&jit, rd);
		GOLDEN("rol %s, 8", names16[rd]);
		x64_push(&jit, rd);
		GOLDEN("push %s", names64[rd]);
		x64_pop(&jit, rd);
		GOLDEN("pop %s", names64[rd]);
		x64_call_reg(&jit, rd);
		GOLDEN("call %s", names64[rd]);
		x64_jmp_reg(&jit, rd);
		GOLDEN("jmp %s", names64[rd]);
	}
}

static void shifts(void)
{
	static const struct {
		const char *name;
		enum x64_shift op;
	} all[] = {{"shl", X64_SHL}, {"shr", X64_SHR}, {"sar", X64_SAR}};

	EACH(i, all)
	EACH_WIDTH(w)
	EACH_REG(rd)
	{
		for (unsigned int count = 1; count < (w == W64 ? 64 : 32); count++) {
			x64_shift_imm(&jit, all[i].op, w, rd, count);
			GOLDEN("%s %s, %u", all[i].name, wname(w, rd), count);
		}
		x64_shift_cl(&jit, all[i].op, w, rd);
		GOLDEN("%s %s, cl", all[i].name, wname(w, rd));
		EACH_REG(count)
		{
			x64_shiftx(&jit, all[i].op, w, rd, count);
			GOLDEN("%sx %s, %s, %s", all[i].name, wname(w, rd), wname(w, rd),
			       wname(w, count));
		}
	}
}

/* ---- memory ---- */

static void loads(enum x64_reg reg, struct x64_mem mem)
{
	EACH_SIZE(size, 8)
	{
		x64_load(&jit, size, reg, mem);
		GOLDEN("%s %s, %s", size < 4 ? "movzx" : "mov", name(size < 4 ? 4 : size, reg),
		       memory(size, mem));
	}
	EACH_SIZE(size, 4)
	{
		x64_load_sx(&jit, size, reg, mem);
		GOLDEN("%s %s, %s", size < 4 ? "movsx" : "movsxd", names64[reg], memory(size, mem));
	}
	EACH_WIDTH(w)
	{
		x64_lea(&jit, w, reg, mem);
		GOLDEN("lea %s, [%s + %d]", wname(w, reg), names64[mem.base], mem.disp);
	}
}

static void stores(enum x64_reg reg, struct x64_mem mem)
{
	EACH_SIZE(size, 8)
	{
		x64_store(&jit, size, mem, reg);
		GOLDEN("mov %s, %s", memory(size, mem), name(size, reg));
	}
}

static void atomics(enum x64_reg reg, struct x64_mem mem)
{
	static const struct {
		const char *name;
		enum x64_alu op;
	} all[] = {{"add", X64_ADD}, {"or", X64_OR}, {"and", X64_AND}, {"xor", X64_XOR}};

	EACH_WIDTH(w)
	{
		unsigned int size = w == W64 ? 8 : 4;

		EACH(i, all)
		{
			x64_lock(&jit);
			x64_alu_mem(&jit, all[i].op, w, mem, reg);
			GOLDEN("lock %s %s, %s", all[i].name, memory(size, mem), wname(w, reg));
		}
		x64_lock(&jit);
		x64_xadd(&jit, w, mem, reg);
		GOLDEN("lock xadd %s, %s", memory(size, mem), wname(w, reg));
		x64_lock(&jit);
		x64_cmpxchg(&jit, w, mem, reg);
		GOLDEN("lock cmpxchg %s, %s", memory(size, mem), wname(w, reg));
		x64_xchg(&jit, w, mem, reg);
		GOLDEN("xchg %s, %s", memory(size, mem), wname(w, reg));
	}
}

static void from_memory(enum x64_reg reg, struct x64_mem mem)
{
	static const struct {
		const char *name;
		enum x64_alu op;
	} all[] = {{"add", X64_ADD}, {"sub", X64_SUB}, {"cmp", X64_CMP}};

	EACH(i, all)
	EACH_WIDTH(w)
	{
		x64_alu_from(&jit, all[i].op, w, reg, mem);
		GOLDEN("%s %s, %s", all[i].name, wname(w, reg), memory(w == W64 ? 8 : 4, mem));
	}
}

/* Every base with every displacement and one register; every register with one of them. */
static void memory_operands(void)
{
	EACH_REG(base)
	EACH_REG(reg)
	EACH(k, disps)
	{
		struct x64_mem mem = x64_at(base, disps[k]);

		if (disps[k] != 1 && reg != RSI)
			continue;
		loads(reg, mem);
		stores(reg, mem);
		atomics(reg, mem);
		from_memory(reg, mem);
	}
}

static void constant_stores(void)
{
	EACH_REG(base)
	EACH(k, disps)
	EACH(i, imms)
	EACH_SIZE(size, 8)
	{
		int32_t imm = size == 1 ? (int8_t)imms[i] : size == 2 ? (int16_t)imms[i] : imms[i];

		x64_store_imm(&jit, size, x64_at(base, disps[k]), imms[i]);
		GOLDEN("mov %s, %d", memory(size, x64_at(base, disps[k])), imm);
	}
	EACH_REG(base)
	EACH(k, disps)
	EACH(i, imms)
	{
		x64_alu_mem_imm(&jit, X64_SUB, x64_at(base, disps[k]), imms[i]);
		GOLDEN("sub %s, %d", memory(8, x64_at(base, disps[k])), imms[i]);
	}
}

/* ---- flow ---- */

static void jumps(void)
{
	static const struct {
		const char *name;
		enum x64_cc cc;
	} all[] = {
		{"jb", CC_B}, {"jae", CC_AE}, {"je", CC_E},   {"jne", CC_NE}, {"jbe", CC_BE},
		{"ja", CC_A}, {"jl", CC_L},   {"jge", CC_GE}, {"jle", CC_LE}, {"jg", CC_G},
	};

	EACH(i, all)
	EACH(k, disps)
	{
		x64_jcc(&jit, all[i].cc, disps[k]);
		GOLDEN("@%s %d", all[i].name, disps[k]);
		x64_jcc_short(&jit, all[i].cc, (int8_t)disps[k]);
		GOLDEN("@%s %d", all[i].name, (int8_t)disps[k]);
	}
	EACH(k, disps)
	{
		x64_jmp(&jit, disps[k]);
		GOLDEN("@jmp %d", disps[k]);
		x64_jmp_short(&jit, (int8_t)disps[k]);
		GOLDEN("@jmp %d", (int8_t)disps[k]);
		x64_call(&jit, disps[k]);
		GOLDEN("@call %d", disps[k]);
		EACH_REG(rd)
		{
			x64_lea_rip(&jit, rd, disps[k]);
			GOLDEN("lea %s, [rip + %d]", names64[rd], disps[k]);
		}
	}
}

static void without_operands(void)
{
	x64_cdq(&jit, W32);
	GOLDEN("cdq");
	x64_cdq(&jit, W64);
	GOLDEN("cqo");
	x64_ret(&jit);
	GOLDEN("ret");
	x64_leave(&jit);
	GOLDEN("leave");
}

int main(void)
{
	jit.pos = code;
	two_registers();
	extensions();
	with_constants();
	constant_moves();
	multiplications();
	one_register();
	shifts();
	memory_operands();
	constant_stores();
	jumps();
	without_operands();
	return 0;
}

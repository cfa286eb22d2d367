/* SPDX-License-Identifier: MIT */
/* jit_fixture.c - see jit_fixture.h */
#include "jit_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- programs ---- */

static void *grown(void *array, size_t count, size_t each)
{
	array = realloc(array, count * each);
	if (!array)
		abort();
	return array;
}

void prog_init(struct prog *prog)
{
	*prog = (struct prog){0};
}

void prog_fini(struct prog *prog)
{
	free(prog->unit.ins);
	free(prog->unit.funcs);
	prog_init(prog);
}

void prog_func(struct prog *prog, bool entry)
{
	struct unit *unit = &prog->unit;

	if (unit->nfuncs)
		prog_end(prog);
	unit->funcs = grown(unit->funcs, unit->nfuncs + 1, sizeof(*unit->funcs));
	unit->funcs[unit->nfuncs++] = (struct func){
		.name = "f",
		.section = "",
		.start = unit->nins,
		.pc = unit->nins,
		.entry = entry,
	};
}

uint32_t prog_add(struct prog *prog, struct insn in)
{
	struct unit *unit = &prog->unit;

	if (unit->nins == prog->cap) {
		prog->cap = prog->cap ? 2 * prog->cap : 64;
		unit->ins = grown(unit->ins, prog->cap, sizeof(*unit->ins));
	}
	in.pc = unit->nins;
	unit->ins[unit->nins] = in;
	return unit->nins++;
}

void prog_end(struct prog *prog)
{
	struct func *func = &prog->unit.funcs[prog->unit.nfuncs - 1];

	func->end = prog->unit.nins;
	func->slots = func->end - func->start;
}

/* ---- insns ---- */

struct insn alu_reg(unsigned int op, unsigned int w, unsigned int dst, unsigned int src)
{
	return (struct insn){.kind = INSN_ALU,
			     .op = (uint8_t)op,
			     .flags = (uint8_t)w,
			     .dst = (uint8_t)dst,
			     .src = (uint8_t)src};
}

struct insn alu_imm(unsigned int op, unsigned int w, unsigned int dst, int64_t imm)
{
	return (struct insn){.kind = INSN_ALU,
			     .op = (uint8_t)op,
			     .flags = (uint8_t)(w | INSN_IMM),
			     .dst = (uint8_t)dst,
			     .imm = imm};
}

struct insn imm64(unsigned int dst, uint64_t imm)
{
	return (struct insn){.kind = INSN_IMM64, .dst = (uint8_t)dst, .imm = (int64_t)imm};
}

struct insn load(unsigned int bytes, unsigned int dst, unsigned int src, int32_t off)
{
	return (struct insn){.kind = INSN_LOAD,
			     .bytes = (uint8_t)bytes,
			     .dst = (uint8_t)dst,
			     .src = (uint8_t)src,
			     .off = off};
}

struct insn store(unsigned int bytes, unsigned int dst, int32_t off, unsigned int src)
{
	return (struct insn){.kind = INSN_STORE,
			     .bytes = (uint8_t)bytes,
			     .dst = (uint8_t)dst,
			     .src = (uint8_t)src,
			     .off = off};
}

struct insn store_imm(unsigned int bytes, unsigned int dst, int32_t off, int32_t imm)
{
	return (struct insn){.kind = INSN_STORE,
			     .bytes = (uint8_t)bytes,
			     .dst = (uint8_t)dst,
			     .flags = INSN_IMM,
			     .off = off,
			     .imm = imm};
}

struct insn jump(uint32_t target)
{
	return (struct insn){.kind = INSN_JUMP, .target = target};
}

struct insn branch_reg(unsigned int op, unsigned int w, unsigned int dst, unsigned int src)
{
	return (struct insn){.kind = INSN_BRANCH,
			     .op = (uint8_t)op,
			     .flags = (uint8_t)w,
			     .dst = (uint8_t)dst,
			     .src = (uint8_t)src};
}

struct insn branch_imm(unsigned int op, unsigned int w, unsigned int dst, int32_t imm)
{
	return (struct insn){.kind = INSN_BRANCH,
			     .op = (uint8_t)op,
			     .flags = (uint8_t)(w | INSN_IMM),
			     .dst = (uint8_t)dst,
			     .imm = imm};
}

struct insn call(uint32_t func)
{
	return (struct insn){.kind = INSN_CALL, .target = func};
}

struct insn helper(uint32_t index)
{
	return (struct insn){.kind = INSN_HELPER, .target = index};
}

struct insn leave(void)
{
	return (struct insn){.kind = INSN_EXIT};
}

/* ---- memory ---- */

static struct jit_mem heap_mem;

static void free_heap(void)
{
	pp_heap_free(heap_mem.ctx);
}

const struct jit_mem *near_mem(void)
{
	static const char anchor;
	struct pp_opts opts = {.size = sizeof(opts), .anchor = &anchor};
	struct pp_heap *heap;

	if (heap_mem.ctx)
		return &heap_mem;
	assert_int_equal(pp_heap_new(&opts, &heap), 0);
	heap_mem = jit_mem_heap(heap);
	atexit(free_heap);
	return &heap_mem;
}

const struct jit_mem *far_mem(void)
{
	static struct jit_mem far;

	far = *near_mem();
	far.hi = far.lo + ((uintptr_t)8 << 30);
	return &far;
}

/* ---- running ---- */

bool is_turn(void)
{
	static unsigned long every, turn;
	const char *told = getenv("PROGPACK_TEST_EVERY");

	if (!every)
		every = told ? strtoul(told, NULL, 10) : 1;
	return every < 2 || turn++ % every == 0;
}

unsigned int cpu_features(void)
{
	const char *told = getenv("PROGPACK_TEST_FEATURES");

	return told ? (unsigned int)strtoul(told, NULL, 0) : jit_host_features();
}

struct native compile(const struct prog *prog, unsigned int features, const struct jit_mem *mem)
{
	const struct log silent = {0};
	const struct jit_job job = {
		.arch = jit_host_arch(),
		.features = features,
		.unit = &prog->unit,
		.mem = mem,
		.log = &silent,
		.lines = true,
	};
	struct native native = {.mem = mem};

	assert_int_equal(jit_compile(&job, &native.image), 0);
	return native;
}

void native_fini(struct native *native)
{
	assert_int_equal(jit_image_fini(&native->image, native->mem), 0);
}

uint64_t call_native(const struct native *native, uint32_t func, uint64_t r1, uint64_t r2)
{
	static const uint64_t before[JIT_KEPT] = {0x1b, 0x2b, 0x3b, 0x4b, 0x5b, 0x6b,
						  0x7b, 0x8b, 0x9b, 0xab, 0xbb, 0xcb};
	uint64_t regs[JIT_KEPT], result;

	memcpy(regs, before, sizeof(regs));
	result = call_with_regs(r1, r2, native->image.rx + native->image.entry[func], regs);
	assert_memory_equal(regs, before, sizeof(regs));
	return result;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_jit_driver.c - the driver around the passes: tables, sizes that do not depend on
 * addresses, and failures that give everything back
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit_fixture.h"

/* The fail_at-th calloc() or malloc() from now fails; 0 for never. Linked with --wrap. */
static unsigned int fail_at;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static const struct log silent;

/* ---- tables ---- */

/* entry[] and at[] partition the image; the code of each program is its own. */
static void test_tables(void **state)
{
	struct native native;
	struct prog prog;

	(void)state;
	prog_init(&prog);
	for (unsigned int f = 0; f < 3; f++) {
		prog_func(&prog, true);
		prog_add(&prog, store_imm(8, 10, -8, 1));
		prog_add(&prog, alu_imm(ALU_MOV, INSN_W64, 0, f));
		prog_add(&prog, leave());
	}
	prog_end(&prog);
	native = compile(&prog, 0, near_mem());
	assert_int_equal(native.image.entry[0], 0);
	assert_int_equal(native.image.entry[3], native.image.size);
	assert_int_equal(native.image.at[9], native.image.size);
	for (uint32_t f = 0; f < 3; f++) {
		assert_int_equal(call_native(&native, f, 0, 0), f);
		assert_true(native.image.entry[f] < native.image.at[3 * f]);
		assert_true(native.image.at[3 * f + 2] < native.image.entry[f + 1]);
	}
	native_fini(&native);
	prog_fini(&prog);
}

/* ---- memory that does what the test wants; nothing runs in it ---- */

struct fake {
	uintptr_t rx; /* what alloc says */
	int fail_alloc, fail_finalize;
	unsigned int allocs, finalizes, aborts, frees;
	uint8_t *rw; /* of the last block, kept for a look at it */
	size_t size;
};

static int fake_alloc(void *ctx, size_t size, struct pp_code *code)
{
	struct fake *fake = ctx;

	if (fake->fail_alloc)
		return fake->fail_alloc;
	fake->allocs++;
	free(fake->rw);
	fake->rw = __real_malloc(size); /* not a byte more: sanitizers watch its end */
	assert_non_null(fake->rw);
	*code = (struct pp_code){.rx = (uint8_t *)fake->rx, .rw = fake->rw, .size = size};
	return 0;
}

static int fake_finalize(void *ctx, struct pp_code *code, size_t used)
{
	struct fake *fake = ctx;

	code->rw = NULL;
	fake->size = used;
	if (fake->fail_finalize)
		return fake->fail_finalize;
	fake->finalizes++;
	return 0;
}

static int fake_abort(void *ctx, struct pp_code *code)
{
	(void)code;
	((struct fake *)ctx)->aborts++;
	return 0;
}

static int fake_free(void *ctx, const void *rx)
{
	(void)rx;
	((struct fake *)ctx)->frees++;
	return 0;
}

static struct jit_mem fake_mem(struct fake *fake, uintptr_t lo, uintptr_t hi)
{
	return (struct jit_mem){.ctx = fake,
				.lo = lo,
				.hi = hi,
				.alloc = fake_alloc,
				.finalize = fake_finalize,
				.abort = fake_abort,
				.free = fake_free};
}

static int compile_with(const struct jit_arch *arch, const struct prog *prog,
			const struct jit_mem *mem, struct jit_image *image)
{
	const struct jit_job job = {
		.arch = arch,
		.unit = &prog->unit,
		.mem = mem,
		.log = &silent,
		.lines = true,
	};

	return jit_compile(&job, image);
}

/* Aligned as code of any arch is. */
__attribute__((aligned(4))) static uint64_t a_helper(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
						     uint64_t e)
{
	return a + b + c + d + e;
}

static const struct helper helpers[] = {{.id = 1, .name = "a_helper", .fn = a_helper}};

/* Something of everything whose code could depend on its address. */
static void build_addresses(struct prog *prog)
{
	uintptr_t fn = (uintptr_t)a_helper;

	prog_init(prog);
	prog->unit.helpers = helpers;
	prog->unit.nhelpers = 1;
	prog_func(prog, true);
	prog_add(prog, helper(0));
	for (unsigned int bit = 0; bit < 64; bit++)
		prog_add(prog, imm64(0, (uint64_t)fn ^ 1ull << bit));
	prog_add(prog, call(1));
	prog_add(prog, leave());
	prog_func(prog, false);
	prog_add(prog, leave());
	prog_end(prog);
}

/*
 * Where the call at @code, that will run at @at, goes, if that is as far from it as the arch's own
 * call reaches; else NULL.
 */
static const void *near_target(const struct jit_arch *arch, const uint8_t *code, uintptr_t at)
{
	uint32_t word[2];
	int32_t rel;

	if (arch == &jit_x86_64 && *code == 0xe8) { /* call rel32 */
		memcpy(&rel, code + 1, sizeof(rel));
		return (const void *)(at + 5 + (uintptr_t)(intptr_t)rel);
	}
	memcpy(word, code, sizeof(word));
	if (arch == &jit_arm64 && word[0] >> 26 == 0x25) { /* bl, 26 bits of words */
		rel = (int32_t)(word[0] << 6) >> 4;
		return (const void *)(at + (uintptr_t)(intptr_t)rel);
	}
	if (arch == &jit_riscv64 && (word[0] & 0xfff) == 0x097) { /* auipc ra; jalr ra */
		rel = (int32_t)(word[0] & 0xfffff000) + ((int32_t)word[1] >> 20);
		return (const void *)(at + (uintptr_t)(intptr_t)rel);
	}
	return NULL;
}

/* What is compiled, and for what. */
struct target {
	const struct jit_arch *arch;
	const struct prog *prog;
	const struct jit_mem *mem;
	bool is_near; /* its first call, insn 0, is in the short form */
};

/* The size of the image at @rx. */
static size_t compile_at(const struct target *t, uintptr_t rx)
{
	struct fake *fake = t->mem->ctx;
	struct jit_image image;
	const void *to;

	fake->rx = rx;
	assert_int_equal(compile_with(t->arch, t->prog, t->mem, &image), 0);
	to = near_target(t->arch, fake->rw + image.at[0], rx + image.at[0]);
	assert_int_equal(to != NULL, t->is_near);
	if (t->is_near)
		assert_ptr_equal(to, (const void *)(uintptr_t)a_helper);
	assert_int_equal(jit_image_fini(&image, t->mem), 0);
	return fake->size;
}

static void try_target(const struct target *t)
{
	uintptr_t lo = t->mem->lo, hi = t->mem->hi;
	size_t size = compile_at(t, lo);

	for (uintptr_t at = lo; at <= hi - 4096; at += ((hi - lo - 4096) / 7) & ~(uintptr_t)3)
		assert_int_equal(compile_at(t, at), size);
}

/* @range of memory that ends @gap bytes before the helper: the same size, wherever in it. */
static void try_addresses(const struct jit_arch *arch, uintptr_t gap, uintptr_t range, bool is_near)
{
	uintptr_t hi = ((uintptr_t)a_helper & ~(uintptr_t)3) - gap, lo = hi - range;
	struct fake fake = {0};
	struct jit_mem mem = fake_mem(&fake, lo, hi);
	struct prog prog;
	struct target t = {arch, &prog, &mem, is_near};

	build_addresses(&prog);
	try_target(&t);
	free(fake.rw);
	prog_fini(&prog);
}

static void test_size_independent_of_address(void **state)
{
	(void)state;
	for (const struct jit_arch *const *arch = jit_arches; *arch; arch++) {
		/* of a call: 2 GiB, but 128 MiB on arm64 */
		const uintptr_t reach = (uintptr_t)1 << (*arch == &jit_arm64 ? 27 : 31);

		try_addresses(*arch, 0, reach / 4, true);
		try_addresses(*arch, reach / 2, reach / 4, true);
		try_addresses(*arch, reach / 4 * 3, reach / 4 - 4096, true);
		/* part of it is too far away */
		try_addresses(*arch, reach / 4 * 3, reach / 4 + 4096, false);
		try_addresses(*arch, 4 * reach, reach / 4, false);
	}
}

/* ---- insns that are emitted once ---- */

static void add_alu(struct prog *prog, unsigned int w)
{
	static const int64_t imm[] = {0,    1,   -1,    8,         127,      128,
				      -128, 255, 65535, INT32_MAX, INT32_MIN};

	for (unsigned int op = 0; op < ALU_OPS; op++) {
		for (unsigned int r = 0; r < 10; r++)
			prog_add(prog, alu_reg(op, w, r, (r * 7 + 3) % 10));
		for (size_t i = 0; i < NELEMS(imm); i++)
			prog_add(prog, alu_imm(op, w, (unsigned int)i % 10, imm[i]));
	}
}

static void add_memory(struct prog *prog)
{
	for (unsigned int bytes = 1; bytes <= 8; bytes *= 2) {
		prog_add(prog, load(bytes, 1, 10, -8));
		prog_add(prog, store(bytes, 10, -16, 2));
		prog_add(prog, store_imm(bytes, 10, -300, -1));
	}
	for (unsigned int op = 0; op < ATOMIC_OPS; op++)
		prog_add(prog, (struct insn){.kind = INSN_ATOMIC,
					     .op = (uint8_t)op,
					     .flags = INSN_FETCH,
					     .bytes = 8,
					     .dst = 10,
					     .src = 1,
					     .off = -24});
}

/* All kinds, with jumps among them that grow short, and two functions. */
static void build_all(struct prog *prog)
{
	prog_init(prog);
	prog->unit.helpers = helpers;
	prog->unit.nhelpers = 1;
	for (unsigned int f = 0; f < 2; f++) {
		prog_func(prog, true);
		add_alu(prog, 0);
		prog_add(prog, helper(0));
		prog_add(prog, branch_imm(COND_EQ, INSN_W64, 1, 5));
		prog->unit.ins[prog->unit.nins - 1].target = prog->unit.nins + 1;
		prog_add(prog, imm64(3, (uintptr_t)a_helper));
		add_memory(prog);
		add_alu(prog, INSN_W64);
		prog_add(prog, leave());
	}
	prog_end(prog);
}

/* Copied or emitted again: the same bytes, wherever the image lies. */
static void try_fixed_kinds(const struct jit_arch *arch, const struct prog *prog)
{
	struct jit_arch none_fixed = *arch;
	uintptr_t lo = (uintptr_t)a_helper & ~(uintptr_t)4095;
	struct fake first = {.rx = lo}, again = {.rx = lo};
	struct jit_image image, image_again;

	none_fixed.fixed = 0;
	for (int i = 0; i < 2; i++) {
		struct jit_mem mem = fake_mem(&first, lo, lo + (1 << 20));
		struct jit_mem mem_again = fake_mem(&again, lo, lo + (1 << 20));

		assert_int_equal(compile_with(arch, prog, &mem, &image), 0);
		assert_int_equal(compile_with(&none_fixed, prog, &mem_again, &image_again), 0);
		assert_int_equal(image.size, image_again.size);
		assert_memory_equal(first.rw, again.rw, image.size);
		assert_int_equal(jit_image_fini(&image, &mem), 0);
		assert_int_equal(jit_image_fini(&image_again, &mem_again), 0);
		first.rx = again.rx = lo + 65536;
	}
	free(first.rw);
	free(again.rw);
}

static void test_fixed_kinds(void **state)
{
	struct prog prog;

	(void)state;
	build_all(&prog);
	for (const struct jit_arch *const *arch = jit_arches; *arch; arch++)
		try_fixed_kinds(*arch, &prog);
	prog_fini(&prog);
}

/* ---- failures ---- */

static void build_small(struct prog *prog)
{
	prog_init(prog);
	prog_func(prog, true);
	prog_add(prog, alu_imm(ALU_MOV, INSN_W64, 0, 1));
	prog_add(prog, leave());
	prog_end(prog);
}

static void test_memory_fails(void **state)
{
	struct fake fake = {.fail_alloc = -ENOSPC};
	struct jit_mem mem = fake_mem(&fake, 4096, 1 << 20);
	struct jit_image image = {.size = 99};
	struct prog prog;

	(void)state;
	build_small(&prog);
	assert_int_equal(compile_with(jit_host_arch(), &prog, &mem, &image), -ENOSPC);
	fake.fail_alloc = 0;
	fake.fail_finalize = -EIO;
	assert_int_equal(compile_with(jit_host_arch(), &prog, &mem, &image), -EIO);
	/* finalize has given the block back already: a second time would be a double free */
	assert_int_equal(fake.allocs, 1);
	assert_int_equal(fake.aborts, 0);
	assert_int_equal(fake.frees, 0);
	assert_int_equal(image.size, 99);
	free(fake.rw);
	prog_fini(&prog);
}

static bool fails_now(void)
{
	return fail_at && --fail_at == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size)
{
	return fails_now() ? NULL : __real_realloc(at, size);
}

static void test_out_of_memory(void **state)
{
	struct fake fake = {0};
	struct jit_mem mem = fake_mem(&fake, 4096, 1 << 20);
	struct jit_image image = {0};
	struct prog prog;
	const struct jit_job job = {
		.arch = jit_host_arch(),
		.unit = &prog.unit,
		.mem = &mem,
		.log = &silent,
	};
	int err = -ENOMEM;
	unsigned int n;

	(void)state;
	build_small(&prog);
	for (n = 1; err && n < 100; n++) {
		fail_at = n;
		err = jit_compile(&job, &image);
		if (fail_at)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_null(image.entry);
	}
	assert_in_range(n, 8, 99);
	fail_at = 0;
	assert_int_equal(err, 0);
	assert_null(image.at);
	assert_int_equal(jit_image_fini(&image, &mem), 0);
	assert_int_equal(fake.frees, 1);
	assert_int_equal(fake.aborts, 0);
	free(fake.rw);
	prog_fini(&prog);
}

/* A back-end with insns of a mebibyte, to see the limit without waiting for it. */
static void big_emit(struct jit_ctx *jit, const struct insn *in, uint32_t i)
{
	(void)in;
	(void)i;
	jit->pos += 1 << 20;
}

static void nothing(struct jit_ctx *jit)
{
	(void)jit;
}

static void zero_nothing(struct jit_ctx *jit, uint16_t mask)
{
	(void)jit;
	(void)mask;
}

static void test_too_large(void **state)
{
	const struct jit_arch big = {.name = "big",
				     .max_ins = (1 << 20) + JIT_SLACK,
				     .prologue = nothing,
				     .zero = zero_nothing,
				     .emit = {[INSN_ALU] = big_emit, [INSN_EXIT] = big_emit}};
	struct fake fake = {0};
	struct jit_mem mem = fake_mem(&fake, 4096, 1 << 20);
	struct jit_image image;
	struct prog prog;

	(void)state;
	prog_init(&prog);
	prog_func(&prog, true);
	for (unsigned int i = 0; i < 2048; i++)
		prog_add(&prog, alu_imm(ALU_ADD, INSN_W64, 0, 1));
	prog_add(&prog, leave());
	prog_end(&prog);
	assert_int_equal(compile_with(&big, &prog, &mem, &image), -E2BIG);
	assert_int_equal(fake.allocs, 0);
	prog_fini(&prog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_size_independent_of_address),
		cmocka_unit_test(test_fixed_kinds),
		cmocka_unit_test(test_memory_fails),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests_name("jit driver", tests, NULL, NULL);
}

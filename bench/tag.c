/* SPDX-License-Identifier: MIT */
/*
 * tag.c - progpack bench tag: load, run, compare, free; the kernel's test_tag (lineage.md 5.1)
 *
 *	lengths 2 .. 4096 x { numbers of 32 bits, numbers of 64 bits } x 5 rounds = 40,945 cycles
 *
 * What it is after is the free that follows each load at once: its syncs and system calls must not
 * grow with the size of the image. The arm per-word shows what it costs when they do: one sync for
 * each word, as the first patch for RISC-V had.
 */
#include "bench/tag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "os/cpu.h"
#include "tools/cli.h"
#include "tools/progress.h"

#define LEN_MIN 2u
#define ROUNDS 5u
#define PER_WORD_NS 2000000000u /* the arm per-word stops then: a free is milliseconds there */
#define PER_WORD_STEP 64u       /* it tries every so many lengths */
#define WORD 4u

static const struct cli_option tag_options[] = {
	{"--rounds", "N", CLI_COUNT, 1000, offsetof(struct tag_settings, rounds),
	 "of 8189 cycles each; default 5, as the kernel's, at most 1000"},
	{"--quick", NULL, CLI_SWITCH, 0, offsetof(struct tag_settings, quick),
	 "every 16th length only: seconds instead of minutes"},
	{"--per-word", NULL, CLI_SWITCH, 0, offsetof(struct tag_settings, per_word),
	 "also the arm per-word: a sync for each word that a free overwrites;\n"
	 "every 64th length, until 2 s have passed"},
	{"--json", NULL, CLI_SWITCH, 0, offsetof(struct tag_settings, json),
	 "print JSON instead of lines"},
	{0},
};

static const struct cli_command tag_command = {
	.name = "bench tag",
	.summary = "load, run and free programs of every length, as the kernel's test_tag",
	.synopsis = "[--rounds N] [--quick] [--per-word] [--json]\n",
	.about =
		"The test that hung the first kernels with packed programs: programs of 2 to 4096\n"
		"instructions are loaded, run once, compared with the interpreter and freed at once,\n"
		"40,945 of them; images grow to 25 kB on x86-64. Each writer is an arm. Lines:\n"
		"\n"
		"  tag/cycle  cycles, seconds of wall clock, user and system time\n"
		"  tag/free   what a free took, mean and max: microseconds; system calls, for its\n"
		"             one write (none with alias) and its syncs (none on x86-64); instruction\n"
		"             syncs; bytes overwritten with traps\n"
		"\n"
		"Syncs and writes are the heap's own counts (pp_stats); their max is of every 256th\n"
		"free and of those of the shortest and longest programs. A free that takes as many for\n"
		"the longest as for 64 bytes stalls nobody. Not counted: the grace period that a free\n"
		"waits for (liburcu's two membarriers), and memory that the heap gives back.\n",
	.options = tag_options,
	.examples = "progpack bench tag --quick\n"
		    "progpack bench tag --rounds 1 --per-word\n",
	.failure = "no heap could be made, or a program did not return what it should",
};

/* ---- frees, counted ---- */

static void most(uint64_t *max, uint64_t value)
{
	if (value > *max)
		*max = value;
}

/* As the first RISC-V patch: each word by itself is made visible to all cores. */
static void sync_each_word(struct tag_arm *arm, const struct pp_block *block)
{
	for (size_t at = 0; at < block->size; at += WORD) {
		cpu_flush((const uint8_t *)block->rx + at, WORD);
		cpu_sync_live();
		arm->word_syncs++;
	}
}

static int timed_free(struct tag_arm *arm, const void *rx)
{
	struct pp_block block;
	uint64_t start;
	int err = pp_lookup(arm->heap, rx, &block);

	if (err)
		return err;
	start = clock_ns();
	if (arm->per_word)
		sync_each_word(arm, &block);
	err = arm->heap_mem.free(arm->heap_mem.ctx, rx);
	arm->cost.ns += clock_ns() - start;
	most(&arm->cost.ns_max, clock_ns() - start);
	if (arm->per_word)
		most(&arm->cost.syncs_max, block.size / WORD + 1);
	arm->cost.bytes += block.size;
	most(&arm->cost.bytes_max, block.size);
	return err;
}

/* The shortest and the longest, and some between. */
static bool is_sample(const struct tag_arm *arm)
{
	return arm->len <= LEN_MIN + 1 || arm->len >= TAG_LEN_MAX - 16 || arm->cycles % 256 == 0;
}

static int sampled_free(struct tag_arm *arm, const void *rx)
{
	struct pp_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	uint64_t word_syncs = arm->word_syncs;
	int err = pp_stats(arm->heap, &before);

	if (!err)
		err = timed_free(arm, rx);
	if (!err)
		err = pp_stats(arm->heap, &after);
	if (err)
		return err;
	most(&arm->cost.syncs_max, after.syncs - before.syncs + arm->word_syncs - word_syncs);
	most(&arm->cost.writes_max, after.fills - before.fills);
	return 0;
}

static int counted_free(void *ctx, const void *rx)
{
	struct tag_arm *arm = ctx;

	return is_sample(arm) ? sampled_free(arm, rx) : timed_free(arm, rx);
}

/* Finalizes sync too, once each. */
static int sum_up(struct tag_arm *arm)
{
	struct pp_stats stats = {.size = sizeof(stats)};
	int err = pp_stats(arm->heap, &stats);

	arm->cost.frees = stats.frees;
	arm->cost.writes = stats.fills;
	arm->cost.syncs = stats.syncs - stats.finalizes + arm->word_syncs;
	return err;
}

/* The heap's functions want the heap, ours the arm. */
static int pass_alloc(void *ctx, size_t size, struct pp_code *code)
{
	struct tag_arm *arm = ctx;

	return arm->heap_mem.alloc(arm->heap_mem.ctx, size, code);
}

static int pass_finalize(void *ctx, struct pp_code *code, size_t used)
{
	struct tag_arm *arm = ctx;

	return arm->heap_mem.finalize(arm->heap_mem.ctx, code, used);
}

static int pass_abort(void *ctx, struct pp_code *code)
{
	struct tag_arm *arm = ctx;

	return arm->heap_mem.abort(arm->heap_mem.ctx, code);
}

static int arm_start(struct tag_arm *arm)
{
	const struct pp_opts opts = {.size = sizeof(opts), .writer = arm->writer};
	struct pp_stats stats = {.size = sizeof(stats)};
	int err = pp_heap_new(&opts, &arm->heap);

	if (!err)
		err = pp_stats(arm->heap, &stats);
	if (err)
		return err;
	arm->poke = stats.writer == PP_WRITER_POKE;
	arm->heap_mem = jit_mem_heap(arm->heap);
	arm->mem = (struct jit_mem){
		.ctx = arm,
		.lo = arm->heap_mem.lo,
		.hi = arm->heap_mem.hi,
		.alloc = pass_alloc,
		.finalize = pass_finalize,
		.abort = pass_abort,
		.free = counted_free,
	};
	return 0;
}

/* ---- programs ---- */

static void put_slot(uint8_t *slot, unsigned int code, unsigned int dst, uint32_t imm)
{
	const uint8_t bytes[BPF_SLOT] = {
		(uint8_t)code,        (uint8_t)dst,         0, 0, (uint8_t)imm, (uint8_t)(imm >> 8),
		(uint8_t)(imm >> 16), (uint8_t)(imm >> 24),
	};

	memcpy(slot, bytes, sizeof(bytes));
}

/* r0 .. r9 in turn become numbers; the last instruction is an exit. */
static void make_short(struct tag *tag, uint32_t len)
{
	for (uint32_t i = 0; i < len - 1; i++)
		put_slot(tag->slots + i * BPF_SLOT, 0xb7, i % 10,
			 (uint32_t)random_next(&tag->random));
	put_slot(tag->slots + (len - 1) * BPF_SLOT, 0x95, 0, 0);
}

/* The same with numbers of two slots; the kernel's have the address of a map there. */
static void make_wide(struct tag *tag, uint32_t len)
{
	uint32_t i;

	for (i = 0; i + 2 < len; i += 2) {
		put_slot(tag->slots + i * BPF_SLOT, 0x18, i / 2 % 10,
			 (uint32_t)random_next(&tag->random));
		put_slot(tag->slots + (i + 1) * BPF_SLOT, 0, 0,
			 (uint32_t)random_next(&tag->random));
	}
	for (; i < len - 1; i++)
		put_slot(tag->slots + i * BPF_SLOT, 0xb7, 0, 42);
	put_slot(tag->slots + (len - 1) * BPF_SLOT, 0x95, 0, 0);
}

static int run_both(struct pp_bpf_object *object, uint32_t len)
{
	const struct pp_bpf_prog *prog = pp_bpf_prog_next(object, NULL);
	uint64_t native = 0, expected = 0;
	int err = pp_bpf_run(prog, NULL, 0, &native);

	if (!err)
		err = pp_bpf_interpret(prog, NULL, 0, &expected);
	if (err || native == expected)
		return err;
	cli_error("program of %u instructions: native code gave 0x%llx, the interpreter 0x%llx",
		  len, (unsigned long long)native, (unsigned long long)expected);
	return -EIO;
}

static void log_error_line(void *ctx, const char *message)
{
	(void)ctx;
	cli_error("%s", message);
}

static int cycle(struct tag *tag, struct tag_arm *arm, uint32_t len)
{
	const struct pp_bpf_opts opts = {.size = sizeof(opts),
					 .name = "tag",
					 .flags = PP_BPF_TRUSTED,
					 .log = log_error_line};
	struct pp_bpf_object *object;
	int err = pp_bpf_open_raw(tag->slots, (size_t)len * BPF_SLOT, &opts, &object);

	if (err)
		return err;
	arm->len = len;
	err = object_load_into(object, &arm->mem);
	if (!err)
		err = run_both(object, len);
	pp_bpf_close(object);
	arm->cycles++;
	if (len > arm->longest)
		arm->longest = len;
	return err;
}

/* ---- rounds ---- */

static bool is_over(const struct tag_arm *arm, uint64_t start)
{
	return arm->per_word && clock_ns() - start > PER_WORD_NS;
}

static int round_of(struct tag *tag, struct tag_arm *arm, uint64_t start)
{
	uint32_t step = arm->per_word ? PER_WORD_STEP : tag->settings.quick ? 16 : 1;
	int err = 0;

	for (uint32_t len = LEN_MIN; len <= TAG_LEN_MAX && !err && !is_over(arm, start);
	     len += step) {
		make_short(tag, len);
		err = cycle(tag, arm, len);
	}
	for (uint32_t len = LEN_MIN + 1; len <= TAG_LEN_MAX && !err && !is_over(arm, start);
	     len += step) {
		make_wide(tag, len);
		err = cycle(tag, arm, len);
	}
	return err;
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static int run_rounds(struct tag *tag, struct tag_arm *arm)
{
	uint64_t rounds = arm->per_word ? 1 : tag->settings.rounds, start = clock_ns();
	struct progress progress;
	struct rusage before, after;
	int err = 0;

	getrusage(RUSAGE_SELF, &before);
	progress_start(&progress, arm->name, rounds);
	for (uint64_t round = 0; round < rounds && !err; round++) {
		progress_show(&progress, round);
		err = round_of(tag, arm, start);
	}
	progress_end(&progress);
	arm->wall_ns = clock_ns() - start;
	getrusage(RUSAGE_SELF, &after);
	arm->user = seconds(&after.ru_utime) - seconds(&before.ru_utime);
	arm->sys = seconds(&after.ru_stime) - seconds(&before.ru_stime);
	return err;
}

static int run_arm(struct tag *tag, struct tag_arm *arm)
{
	int err;

	arm->err = arm_start(arm);
	if (arm->err)
		return 0; /* a machine may lack one writer */
	tag->random = 0x2545f4914f6cdd1d;
	err = run_rounds(tag, arm);
	if (!err)
		err = sum_up(arm);
	pp_heap_free(arm->heap);
	return err;
}

/* ---- arms ---- */

static int run_all(struct tag *tag)
{
	struct tag_arm arms[] = {
		{.name = "poke", .writer = PP_WRITER_POKE},
		{.name = "alias", .writer = PP_WRITER_ALIAS},
		{.name = "per-word", .writer = PP_WRITER_AUTO, .per_word = true},
	};
	unsigned int narms = tag->settings.per_word ? 3 : 2, missing = 0;
	int err = 0;

	if (!jit_host_arch()) {
		cli_error("no JIT for this machine's instruction set");
		return CLI_FAILED;
	}
	for (unsigned int a = 0; a < narms && !err; a++) {
		err = run_arm(tag, &arms[a]);
		missing += arms[a].err != 0;
	}
	if (err || missing == narms) {
		cli_error("%s", strerror(-(err ? err : arms[0].err)));
		return CLI_FAILED;
	}
	tag_report(tag, arms, narms);
	return CLI_OK;
}

int tag_main(int argc, char **argv)
{
	struct tag_settings settings = {.rounds = ROUNDS};
	struct tag *tag;
	int status = cli_parse(&tag_command, argc, argv, &settings);

	if (status != CLI_GO)
		return status;
	tag = calloc(1, sizeof(*tag));
	if (!tag) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	tag->settings = settings;
	status = run_all(tag);
	free(tag);
	return status;
}

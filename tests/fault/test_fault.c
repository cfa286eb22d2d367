/* SPDX-License-Identifier: MIT */
/*
 * test_fault.c - every call of a heap, with the 1st, 2nd, .. nth call to the system failing
 *
 * A scenario makes a heap, and then a call in it. That is tried once without a failure; then on a
 * new heap each, with each n, alone and with all later calls failing too, and with several errors,
 * until the call makes fewer than n. After a failure nothing has been leaked or changed, and the
 * same call gives what it gave in the first run.
 */
#include "fault.h"
#include "trial.h"

#include <errno.h>

struct scenario {
	const char *name;
	unsigned int flags;
	void (*prepare)(struct trial *trial);
	void (*ready)(struct trial *trial); /* again before each try; NULL */
	int (*act)(struct trial *trial);
	size_t size, align; /* of pp_alloc() */
	bool is_counted;    /* a failure is one of the stats' fail_* */
	bool may_condemn;   /* where traps cannot be written either, chunks are lost */
};

/* The scenario that is tried. */
static const struct scenario *now;

#define KIB ((size_t)1 << 10)
#define PACK (2 * MIB)

/* What is there before: live blocks that fill what has grown, or leave room. */

static void nothing(struct trial *trial)
{
	(void)trial;
}

static void one_block(struct trial *trial)
{
	trial->live[0] = trial_block(trial, 64);
}

static void full_step(struct trial *trial)
{
	trial->live[0] = trial_block(trial, 64 * KIB);
}

static void full_pack(struct trial *trial)
{
	trial->live[0] = trial_block(trial, PACK);
}

static void two_packs(struct trial *trial)
{
	trial->live[0] = trial_block(trial, PACK);
	trial->live[1] = trial_block(trial, PACK);
}

/* An empty pack beside a full one. */
static void spare_pack(struct trial *trial)
{
	two_packs(trial);
	assert_int_equal(pp_free(trial->heap, trial->live[1]), 0);
	trial->live[1] = NULL;
}

/* A spare pack is there already: one more is returned. */
static void two_packs_and_spare(struct trial *trial)
{
	two_packs(trial);
	assert_int_equal(pp_free(trial->heap, trial_block(trial, PACK)), 0);
}

static void three_blocks(struct trial *trial)
{
	for (size_t i = 0; i < 3; i++)
		trial->live[i] = trial_block(trial, 64 + 1000 * i);
}

static void three_blocks_of_packs(struct trial *trial)
{
	trial->live[0] = trial_block(trial, 100);
	trial->live[1] = trial_block(trial, PACK + 64);
	trial->live[2] = trial_block(trial, 3000);
}

/* Whole packs that are not huge yet, and two empty ones. */
static void untidy(struct trial *trial)
{
	fault_arm_only("os_collapse", EAGAIN);
	two_packs_and_spare(trial);
	fault_arm_only("os_unmap_code", ENOMEM);
	assert_int_equal(pp_free(trial->heap, trial->live[1]), 0);
	trial->live[1] = NULL;
	fault_disarm();
}

/* What the call needs, and has consumed if it failed. */

static void open_again(struct trial *trial, size_t n, size_t size, size_t used)
{
	for (size_t i = 0; i < n; i++) {
		if (trial->code[i].rw)
			continue;
		trial_open(trial, &trial->code[i], size);
		trial->used[i] = used;
		trial->allocs++;
	}
	trial->victim = trial->code[0].rx;
	trial->victim_size = n * trial->code[0].size;
}

static void open_small(struct trial *trial)
{
	open_again(trial, 1, 4 * KIB, 4 * KIB);
}

static void open_long(struct trial *trial)
{
	open_again(trial, 1, 16 * KIB, 192);
}

static void open_three(struct trial *trial)
{
	open_again(trial, 3, 640, 320);
}

static void open_packs(struct trial *trial)
{
	open_again(trial, 1, 2 * PACK + 64, 2 * PACK + 64);
}

/* All but one chunk is given back, and with it the second pack. */
static void open_packs_for_little(struct trial *trial)
{
	open_again(trial, 1, 2 * PACK, 64);
}

/* The last of them first, so that two packs are empty with the second. */
static void open_two_packs(struct trial *trial)
{
	open_again(trial, 2, PACK, PACK);
	assert_int_equal(pp_abort(trial->heap, &trial->code[1]), 0);
}

static void doom(struct trial *trial)
{
	trial->victim = trial->live[0];
	trial->victim_size = (size_t)4 * PACK;
}

/* The calls. */

static int allocate(struct trial *trial)
{
	const struct pp_block_opts opts = {.size = sizeof(opts),
					   .align = now->align,
					   .name = now->align ? "block" : NULL};
	struct pp_code *code = &trial->code[0];
	int err = pp_alloc_with(trial->heap, now->size, &opts, code);

	if (err) {
		assert_null(code->rx);
		return err;
	}
	assert_true(is_traps(code->rw, PP_CHUNK));
	assert_int_equal((uintptr_t)code->rx % (now->align ? now->align : PP_CHUNK), 0);
	trial->at = (size_t)((uint8_t *)code->rx - trial->base);
	trial->size = code->size;
	return 0;
}

static int finalize(struct trial *trial)
{
	int err = pp_finalize(trial->heap, &trial->code[0], trial->used[0]);

	assert_null(trial->code[0].rw);
	trial->at = (size_t)((uint8_t *)trial->code[0].rx - trial->base);
	trial->size = err ? 0 : trial->code[0].size;
	return err;
}

static int finalize_batch(struct trial *trial)
{
	int err = pp_finalize_batch(trial->heap, trial->code, trial->used, 3);

	for (size_t i = 0; i < 3; i++)
		assert_null(trial->code[i].rw);
	return err;
}

static int give_up(struct trial *trial)
{
	return pp_abort(trial->heap, &trial->code[0]);
}

static int free_first(struct trial *trial)
{
	return pp_free(trial->heap, trial->live[0]);
}

static int free_second(struct trial *trial)
{
	return pp_free(trial->heap, trial->live[1]);
}

static int free_three(struct trial *trial)
{
	return pp_free_batch(trial->heap, (const void *const *)trial->live, 3);
}

/* To what is there already, as another byte would be wrong code; the way is the same. */
static int patch(struct trial *trial)
{
	uint8_t *at = (uint8_t *)trial->live[0] + 32;

	return pp_patch(trial->heap, at, at, 8);
}

/* Two bytes that differ, one after the other: what a code's pattern has, and back. */
static int patch_byte(struct trial *trial)
{
	uint8_t *at = (uint8_t *)trial->live[0] + 40, was = *at, other = (uint8_t)~was;
	int err = pp_patch(trial->heap, at, &other, 1), back;

	if (err)
		return err;
	assert_int_equal(*at, other);
	back = pp_patch(trial->heap, at, &was, 1);
	if (!back)
		return 0;
	fault_disarm();
	assert_int_equal(pp_patch(trial->heap, at, &was, 1), 0);
	return 0;
}

static int tidy(struct trial *trial)
{
	return pp_heap_tidy(trial->heap);
}

static int stats(struct trial *trial)
{
	struct pp_stats stats = {.size = sizeof(stats)};
	int err = pp_stats(trial->heap, &stats);

	if (!err)
		trial->size = stats.used;
	else
		assert_int_equal(stats.reserved, 0);
	return err;
}

static int walk(struct trial *trial)
{
	return trial_check(trial) ? 0 : -EIO;
}

static int look_up(struct trial *trial)
{
	struct pp_block block;
	int err = pp_lookup(trial->heap, (uint8_t *)trial->live[1] + 999, &block);

	trial->at = (size_t)((const uint8_t *)block.rx - trial->base);
	trial->size = block.size;
	return err;
}

#define ALLOC(what, before, bytes, alignment)                                                      \
	{                                                                                          \
		.name = "pp_alloc " what, .prepare = before, .act = allocate, .size = bytes,       \
		.align = alignment, .is_counted = true                                             \
	}
#define FINALIZE(what, before, again, call)                                                        \
	{                                                                                          \
		.name = "pp_finalize " what, .prepare = before, .ready = again, .act = call,       \
		.is_counted = true, .may_condemn = true                                            \
	}
#define FREE(what, before, call)                                                                   \
	{                                                                                          \
		.name = "pp_free " what, .prepare = before, .ready = doom, .act = call,            \
		.is_counted = true                                                                 \
	}

static const struct scenario scenarios[] = {
	ALLOC("in grown memory", one_block, 200, 0),
	ALLOC("aligned, with a name", one_block, 200, 4096),
	ALLOC("with a buffer too large to keep", nothing, 48 * KIB, 0),
	ALLOC("that grows a step", full_step, 64, 0),
	ALLOC("that grows three steps", full_step, 300 * KIB, 0),
	ALLOC("that makes a pack whole", full_step, 2 * MIB - 64 * KIB, 0),
	ALLOC("of a new pack", full_pack, 64, 0),
	ALLOC("of a new pack beside a growing one", one_block, PACK, 0),
	ALLOC("aligned, of a new pack", full_pack, 100 * KIB, 2048),
	ALLOC("of packs", one_block, 2 * PACK + 1, 0),
	ALLOC("of packs, a growing one among them", nothing, 3 * PACK, 0),
	ALLOC("of all packs with a name", nothing, 4 * PACK, 64),
	ALLOC("in a spare pack", spare_pack, PACK, 0),
	FINALIZE("all", one_block, open_small, finalize),
	FINALIZE("the start", one_block, open_long, finalize),
	FINALIZE("packs", one_block, open_packs, finalize),
	FINALIZE("the start of packs", full_pack, open_packs_for_little, finalize),
	FINALIZE("a batch", one_block, open_three, finalize_batch),
	{.name = "pp_abort", .prepare = one_block, .ready = open_small, .act = give_up},
	{.name = "pp_abort that returns a pack",
	 .prepare = full_pack,
	 .ready = open_two_packs,
	 .act = give_up},
	FREE("of a block", three_blocks, free_second),
	FREE("of the only block", one_block, free_first),
	FREE("of packs", three_blocks_of_packs, free_second),
	FREE("that leaves a spare pack", two_packs, free_second),
	FREE("that returns a pack", two_packs_and_spare, free_second),
	FREE("of a batch", three_blocks, free_three),
	FREE("of a batch with packs", three_blocks_of_packs, free_three),
	{.name = "pp_patch", .prepare = one_block, .act = patch, .is_counted = true},
	{.name = "pp_patch of a byte", .prepare = one_block, .act = patch_byte, .is_counted = true},
	{.name = "pp_heap_tidy", .prepare = untidy, .act = tidy},
	{.name = "pp_stats", .prepare = three_blocks, .act = stats},
	{.name = "pp_walk", .prepare = three_blocks, .act = walk},
	{.name = "pp_lookup", .prepare = three_blocks, .act = look_up},
	{.name = "pp_alloc on small pages",
	 .flags = PP_SMALL_PAGES,
	 .prepare = full_step,
	 .act = allocate,
	 .size = PACK,
	 .is_counted = true},
	{.name = "pp_alloc without fork",
	 .flags = PP_NOFORK,
	 .prepare = full_step,
	 .act = allocate,
	 .size = PACK,
	 .is_counted = true},
};

/* How a heap is after the call, and after what the call may have left to pp_heap_tidy(). */
struct outcome {
	int err;
	size_t at, size;
	struct view tidied;
};

static void set_up(struct trial *trial, enum pp_writer writer)
{
	trial_start(trial, writer, now->flags);
	now->prepare(trial);
	if (now->ready)
		now->ready(trial);
}

/* What remains of a block that could be neither copied nor filled is somebody's no more. */
static struct outcome finish(struct trial *trial, int err)
{
	struct outcome outcome = {.err = err, .at = trial->at, .size = trial->size};

	assert_int_equal(pp_heap_tidy(trial->heap), 0);
	trial->victim = NULL;
	trial->victim_size = 0;
	outcome.tidied = trial_look(trial);
	outcome.tidied.stats.allocs -= trial->allocs;
	trial_end(trial);
	return outcome;
}

static void compare(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->err, b->err);
	assert_int_equal(a->at, b->at);
	assert_int_equal(a->size, b->size);
	trial_compare(&a->tidied, &b->tidied);
}

/*
 * One more failed call in the figures, and nothing else; but finalize gives its blocks back, and
 * tidy does what can be done.
 */
static void check_failed(struct trial *trial, const struct view *before)
{
	struct view after = trial_look(trial);
	uint64_t failures = trial_count_failures(&after.stats);

	assert_int_equal(failures - trial_count_failures(&before->stats), now->is_counted);
	if (now->act == finalize || now->act == finalize_batch)
		assert_int_equal(after.stats.open, 0);
	else if (now->act == tidy)
		assert_int_equal(after.stats.used, before->stats.used);
	else
		trial_compare(before, &after);
}

/* What fails, and whether the heap is to end with that. */
struct how {
	unsigned int nth;
	int err;
	bool all_later, then_end;
};

static void check_after(struct trial *trial, const struct how *how, int err,
			const struct view *before, const struct outcome *want)
{
	struct outcome got;

	if (err && now->may_condemn && how->all_later) {
		assert_true(trial_check(trial));
		trial_end(trial);
		return;
	}
	if (err) {
		check_failed(trial, before);
		if (now->ready)
			now->ready(trial);
		err = now->act(trial);
	}
	got = finish(trial, err);
	compare(want, &got);
}

/* True if something failed: with a larger n there may be more. */
static bool try_nth(enum pp_writer writer, const struct how *how, const struct outcome *want)
{
	struct trial trial;
	struct view before;
	int err;

	set_up(&trial, writer);
	before = trial_look(&trial);
	trial.may_stay = how->all_later;
	fault_arm(how->nth, how->err, how->all_later);
	err = now->act(&trial);
	if (how->then_end)
		trial_end(&trial);
	fault_disarm();
	if (!how->then_end)
		check_after(&trial, how, err, &before, want);
	return fault.injected;
}

static unsigned int try_all(enum pp_writer writer, struct how how, const struct outcome *want)
{
	struct balance before = fault_balance();
	bool failed;

	do {
		how.nth++;
		failed = try_nth(writer, &how, want);
		assert_true(fault_is_balanced(&before));
	} while (failed);
	return how.nth - 1;
}

/* ENOSPC is an answer of the heap's own, too. */
static unsigned int try_each_way(enum pp_writer writer, const struct outcome *want)
{
	try_all(writer, (struct how){.err = ENOMEM, .all_later = true}, want);
	try_all(writer, (struct how){.err = EACCES, .all_later = true, .then_end = true}, want);
	try_all(writer, (struct how){.err = EMFILE, .then_end = true}, want);
	try_all(writer, (struct how){.err = ENOSPC}, want);
	return try_all(writer, (struct how){.err = ENOMEM}, want);
}

/* A scenario with a writer: what a test is given. */
struct pair {
	const struct scenario *scenario;
	enum pp_writer writer;
};

static void call_survives(void **state)
{
	const struct pair *pair = *state;
	struct trial trial;
	struct outcome want;

	now = pair->scenario;
	set_up(&trial, pair->writer);
	want = finish(&trial, now->act(&trial));
	assert_int_equal(want.err, 0);
	print_message("# %u calls that can fail\n", try_each_way(pair->writer, &want));
}

#define NTESTS (2 * sizeof(scenarios) / sizeof(*scenarios))

int main(void)
{
	static struct CMUnitTest tests[NTESTS];
	static struct pair pairs[NTESTS];
	static char names[NTESTS][80];

	for (size_t i = 0; i < NTESTS; i++) {
		pairs[i].scenario = &scenarios[i / 2];
		pairs[i].writer = i % 2 ? PP_WRITER_ALIAS : PP_WRITER_POKE;
		snprintf(names[i], sizeof(names[i]), "%s/%s", pairs[i].scenario->name,
			 pp_writer_name(pairs[i].writer));
		tests[i] = (struct CMUnitTest){.name = names[i],
					       .test_func = call_survives,
					       .initial_state = &pairs[i]};
	}
	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}

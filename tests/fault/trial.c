/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include "os/cpu.h"

#define PACKS 4u

void trial_start(struct trial *trial, enum pp_writer writer, unsigned int flags)
{
	struct pp_opts opts = test_opts(writer, PACKS);
	uintptr_t lo, hi;

	*trial = (struct trial){0};
	opts.flags = flags;
	assert_int_equal(pp_heap_new(&opts, &trial->heap), 0);
	pp_heap_range(trial->heap, &lo, &hi);
	trial->base = (uint8_t *)lo;
}

void trial_end(struct trial *trial)
{
	pp_heap_free(trial->heap);
	trial->heap = NULL;
}

static size_t chunk_of(const struct trial *trial, const void *rx)
{
	return (size_t)((const uint8_t *)rx - trial->base) / PP_CHUNK;
}

/* Repeats after PERIOD bytes, so that most of it is copied and compared as a whole. */
#define PERIOD 256u

static uint8_t pattern(size_t chunk, size_t i)
{
	return (uint8_t)(chunk * 31 + i * 7);
}

static size_t emit(uint8_t *rw, size_t size, size_t chunk)
{
	size_t code = emit_return(rw, (uint32_t)chunk), at = code;

	for (; at < size && at < code + PERIOD; at++)
		rw[at] = pattern(chunk, at);
	for (; at < size; at += PERIOD)
		memcpy(rw + at, rw + at - PERIOD, size - at < PERIOD ? size - at : PERIOD);
	return code;
}

static bool repeats(const uint8_t *at, size_t size, size_t period)
{
	return size <= period || !memcmp(at, at + period, size - period);
}

static bool all_traps(const uint8_t *at, size_t size)
{
	return is_traps(at, PP_CHUNK) && repeats(at, size, PP_CHUNK);
}

void trial_open(struct trial *trial, struct pp_code *code, size_t size)
{
	assert_int_equal(pp_alloc(trial->heap, size, code), 0);
	emit(code->rw, code->size, chunk_of(trial, code->rx));
}

void *trial_block(struct trial *trial, size_t size)
{
	struct pp_code code;

	trial_open(trial, &code, size);
	assert_int_equal(pp_finalize(trial->heap, &code, code.size), 0);
	return code.rx;
}

static bool holds_code(const struct trial *trial, const uint8_t *rx, size_t size)
{
	uint8_t head[PP_CHUNK + PERIOD];
	size_t here = size < sizeof(head) ? size : sizeof(head), chunk = chunk_of(trial, rx);

	emit(head, here, chunk);
	return !memcmp(rx, head, here) && repeats(rx + PP_CHUNK, size - PP_CHUNK, PERIOD) &&
	       call(rx) == chunk;
}

/* Every byte is the code's or a trap's. */
static bool holds_some(const struct trial *trial, const uint8_t *rx, size_t size)
{
	uint8_t first[PP_CHUNK], traps[PP_CHUNK];
	size_t chunk = chunk_of(trial, rx), code = emit(first, sizeof(first), chunk);

	cpu_fill_traps(traps, sizeof(traps));
	for (size_t i = 0; i < size; i++) {
		uint8_t want = i < code ? first[i] : pattern(chunk, i);

		if (rx[i] != want && rx[i] != traps[i % PP_CHUNK])
			return false;
	}
	return true;
}

/* What pp_walk() is given. */
struct walk {
	struct trial *trial;
	struct view *view;
};

static bool is_right(const struct trial *trial, const struct pp_run *run)
{
	const uint8_t *rx = run->rx;

	switch (run->state) {
	case PP_RUN_UNGROWN: return true;
	case PP_RUN_FREE:
	case PP_RUN_OPEN: return all_traps(rx, run->size);
	default: break;
	}
	if (rx >= trial->victim && rx < trial->victim + trial->victim_size)
		return holds_some(trial, rx, run->size);
	return holds_code(trial, rx, run->size);
}

/* 1 stops the walk: something is wrong. */
static int see_run(void *ctx, const struct pp_run *run)
{
	struct walk *walk = ctx;
	struct view *view = walk->view;
	struct trial_run *seen = &view->run[view->runs];

	if (!is_right(walk->trial, run) || view->runs == TRIAL_RUNS - 1)
		return 1;
	*seen = (struct trial_run){
		.at = (size_t)((const uint8_t *)run->rx - walk->trial->base),
		.size = run->size,
		.state = run->state,
	};
	if (run->name)
		snprintf(seen->name, sizeof(seen->name), "%s", run->name);
	view->runs++;
	return 0;
}

bool trial_check(struct trial *trial)
{
	struct view view = {0};
	struct walk walk = {.trial = trial, .view = &view};

	return !pp_walk(trial->heap, see_run, &walk);
}

/* Executable bytes of an area. */
struct area {
	uintptr_t lo, hi;
	size_t size;
};

static bool add_executable(const struct mapping *mapping, void *arg)
{
	struct area *area = arg;

	if (mapping->lo >= area->lo && mapping->hi <= area->hi && mapping->perms[2] == 'x')
		area->size += mapping->hi - mapping->lo;
	return true;
}

static size_t count_executable(const struct trial *trial)
{
	struct area area = {0};

	pp_heap_range(trial->heap, &area.lo, &area.hi);
	each_mapping(add_executable, &area);
	return area.size;
}

struct view trial_look(struct trial *trial)
{
	struct view view = {0};
	struct walk walk = {.trial = trial, .view = &view};

	assert_int_equal(pp_walk(trial->heap, see_run, &walk), 0);
	view.stats = test_stats(trial->heap);
	view.stats.huge = 0;
	if (!trial->may_stay)
		assert_int_equal(count_executable(trial), view.stats.committed);
	return view;
}

uint64_t trial_count_failures(const struct pp_stats *stats)
{
	return stats->fail_args + stats->fail_stale + stats->fail_limit + stats->fail_space +
	       stats->fail_memory + stats->fail_write;
}

void trial_compare(const struct view *a, const struct view *b)
{
	assert_same_state(&a->stats, &b->stats);
	assert_int_equal(a->runs, b->runs);
	for (size_t i = 0; i < a->runs; i++) {
		assert_int_equal(a->run[i].at, b->run[i].at);
		assert_int_equal(a->run[i].size, b->run[i].size);
		assert_int_equal(a->run[i].state, b->run[i].state);
		assert_string_equal(a->run[i].name, b->run[i].name);
	}
}

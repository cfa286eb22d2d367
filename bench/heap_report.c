/* SPDX-License-Identifier: MIT */
/* heap_report.c - what bench heap found, as lines that can be grepped or as JSON */
#include "bench/heap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/json.h"

/* The figures that the heap is judged by: one median over another. */
static const struct ratio {
	const char *what;
	enum heap_phase phase;
	const char *over, *under;
	uint32_t over_threads, under_threads;
} ratios[] = {
	{"alias-churn/asmjit-dual-churn", HEAP_CHURN, "alias", "asmjit-dual", 1, 1},
	{"alias-churn/asmjit-dual-pools-churn", HEAP_CHURN, "alias", "asmjit-dual-pools", 1, 1},
	{"alias-churn/malloc-churn", HEAP_CHURN, "alias", "malloc", 1, 1},
	{"poke-churn/mmap-per-block-churn", HEAP_CHURN, "poke", "mmap-per-block", 1, 1},
	{"poke-churn/mmap-per-block-churn", HEAP_CHURN, "poke", "mmap-per-block", 2, 2},
	{"alias-call/mmap-per-block-call", HEAP_CALL, "alias", "mmap-per-block", 1, 1},
	/* Nanoseconds of one thread over those of two are operations of two over those of one. */
	{"alias-churn-ops-2-threads/1-thread", HEAP_CHURN, "alias", "alias", 1, 2},
	{"poke-churn-ops-2-threads/1-thread", HEAP_CHURN, "poke", "poke", 1, 2},
	/* What the machine itself gives to a second thread now. */
	{"malloc-churn-ops-2-threads/1-thread", HEAP_CHURN, "malloc", "malloc", 1, 2},
};
#define RATIOS (sizeof(ratios) / sizeof(ratios[0]))

/* 0: one of both was not measured. */
static double ratio_of(const struct heap_bench *bench, const struct ratio *ratio, uint32_t wanted)
{
	const struct heap_row *over, *under;

	over = heap_row_of(bench, ratio->over, wanted, ratio->over_threads);
	under = heap_row_of(bench, ratio->under, wanted, ratio->under_threads);
	return over && under ? over->ns[ratio->phase].med / under->ns[ratio->phase].med : 0;
}

static const char *reason(const struct heap_row *row)
{
	return row->err == -ETIME ? "no time left" : strerror(-row->err);
}

static void put_phases(const struct heap_bench *bench, enum heap_phase phase)
{
	for (unsigned int i = 0; i < bench->nrows; i++) {
		const struct heap_row *row = &bench->rows[i];
		const struct spread *ns = &row->ns[phase];

		printf("heap/%s arm=%s live=%u threads=%u ", heap_phase_names[phase],
		       row->arm->name, row->live, row->threads);
		if (row->err)
			printf("skipped reason=\"%s\"\n", reason(row));
		else
			printf("ns/op min=%.1f med=%.1f max=%.1f runs=%u\n", ns->min, ns->med,
			       ns->max, row->runs);
	}
}

/* With one thread: two do not change what is called, or how much of it there is. */
static bool is_shown(const struct heap_row *row, double figure)
{
	return row->threads == 1 && !row->err && figure > 0;
}

static void put_calls(const struct heap_bench *bench)
{
	for (unsigned int i = 0; i < bench->nrows; i++) {
		const struct heap_row *row = &bench->rows[i];
		const struct spread *ns = &row->ns[HEAP_CALL];

		if (is_shown(row, ns->med))
			printf("heap/call arm=%s live=%u threads=1 ns/op min=%.2f med=%.2f max=%.2f "
			       "runs=%u\n",
			       row->arm->name, row->live, ns->min, ns->med, ns->max, row->runs);
	}
}

static void put_memory(const struct heap_bench *bench)
{
	for (unsigned int i = 0; i < bench->nrows; i++) {
		const struct heap_row *row = &bench->rows[i];

		if (is_shown(row, row->percent))
			printf("heap/density arm=%s live=%u percent=%.1f\n", row->arm->name,
			       row->live, row->percent);
	}
	for (unsigned int i = 0; i < bench->nrows; i++) {
		const struct heap_row *row = &bench->rows[i];

		if (is_shown(row, row->arm->is_code))
			printf("heap/mappings arm=%s live=%u count=%.0f\n", row->arm->name,
			       row->live, row->mappings);
	}
	for (unsigned int a = 0; a < heap_arms_count; a++) {
		if (bench->resident[a])
			printf("heap/resident arm=%s bytes=%llu\n", heap_arms[a].name,
			       (unsigned long long)bench->resident[a]);
	}
}

static uint32_t wanted_of(const struct heap_bench *bench, unsigned int i)
{
	return bench->settings.live ? (uint32_t)bench->settings.live : heap_lives[i];
}

static unsigned int count_wanted(const struct heap_bench *bench)
{
	return bench->settings.live ? 1 : HEAP_LIVES;
}

static void each_ratio(const struct heap_bench *bench,
		       void (*put)(void *ctx, const struct ratio *ratio, uint32_t live,
				   double value),
		       void *ctx)
{
	for (size_t r = 0; r < RATIOS; r++) {
		for (unsigned int i = 0; i < count_wanted(bench); i++) {
			uint32_t wanted = wanted_of(bench, i);
			double value = ratio_of(bench, &ratios[r], wanted);

			if (value > 0)
				put(ctx, &ratios[r], wanted, value);
		}
	}
}

static void put_ratio(void *ctx, const struct ratio *ratio, uint32_t live, double value)
{
	(void)ctx;
	printf("heap/ratio what=%s live=%u threads=%u value=%.3f\n", ratio->what, live,
	       ratio->under_threads, value);
}

static void put_lines(const struct heap_bench *bench)
{
	put_phases(bench, HEAP_FILL);
	put_phases(bench, HEAP_CHURN);
	put_phases(bench, HEAP_DRAIN);
	put_calls(bench);
	put_memory(bench);
	each_ratio(bench, put_ratio, NULL);
}

static void json_spread(struct json *json, const char *key, const struct spread *spread)
{
	json_open(json, key, '{');
	json_real(json, "min", spread->min, 2);
	json_real(json, "med", spread->med, 2);
	json_real(json, "max", spread->max, 2);
	json_close(json, '}');
}

static void json_figures(struct json *json, const struct heap_row *row)
{
	for (int phase = 0; phase < HEAP_CALL; phase++)
		json_spread(json, heap_phase_names[phase], &row->ns[phase]);
	if (row->arm->is_code)
		json_spread(json, heap_phase_names[HEAP_CALL], &row->ns[HEAP_CALL]);
	else
		json_null(json, heap_phase_names[HEAP_CALL]);
	if (row->percent > 0)
		json_real(json, "density_percent", row->percent, 1);
	else
		json_null(json, "density_percent");
	json_real(json, "mappings", row->mappings, 0);
}

static void json_row(struct json *json, const struct heap_row *row)
{
	json_open(json, NULL, '{');
	json_text(json, "arm", row->arm->name);
	json_count(json, "wanted", row->wanted);
	json_count(json, "live", row->live);
	json_count(json, "threads", row->threads);
	json_count(json, "runs", row->runs);
	if (row->err)
		json_text(json, "skipped", reason(row));
	else
		json_figures(json, row);
	json_close(json, '}');
}

static void json_resident(struct json *json, const struct heap_bench *bench)
{
	json_open(json, "resident_bytes", '{');
	for (unsigned int a = 0; a < heap_arms_count; a++) {
		if (bench->resident[a])
			json_count(json, heap_arms[a].name, bench->resident[a]);
	}
	json_close(json, '}');
}

static void json_ratio(void *ctx, const struct ratio *ratio, uint32_t live, double value)
{
	struct json *json = ctx;

	json_open(json, NULL, '{');
	json_text(json, "what", ratio->what);
	json_count(json, "live", live);
	json_count(json, "threads", ratio->under_threads);
	json_real(json, "value", value, 3);
	json_close(json, '}');
}

static void put_json(const struct heap_bench *bench)
{
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_text(&json, "benchmark", "heap");
	json_open(&json, "arms", '[');
	for (unsigned int i = 0; i < bench->nrows; i++)
		json_row(&json, &bench->rows[i]);
	json_close(&json, ']');
	json_resident(&json, bench);
	json_open(&json, "ratios", '[');
	each_ratio(bench, json_ratio, &json);
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

void heap_report(const struct heap_bench *bench)
{
	if (bench->settings.json)
		put_json(bench);
	else
		put_lines(bench);
}

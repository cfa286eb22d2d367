/* SPDX-License-Identifier: MIT */
/* map_report.c - bench map's lines and JSON */
#include <stdio.h>
#include <string.h>

#include "bench/map.h"
#include "tools/json.h"

static const char *const arms[MAP_ARMS] = {[MAP_JIT] = "jit", [MAP_KERNEL] = "kernel"};

static bool is_there(const struct map_bench *bench, unsigned int arm)
{
	return arm != MAP_KERNEL || bench->kernel;
}

static void put_cell(const struct map_bench *bench, unsigned int what, unsigned int arm,
		     unsigned int threads)
{
	const struct spread *spread = &bench->cells[what][arm][threads - 1].spread;

	printf("map/%s arm=%s threads=%u ns/op min=%.2f med=%.2f max=%.2f runs=%llu\n",
	       map_names[what], arms[arm], threads, spread->min, spread->med, spread->max,
	       (unsigned long long)bench->settings.runs);
}

/* Of the kernel's time: above 1, ours is faster. */
static double ratio(const struct map_bench *bench, unsigned int what, unsigned int threads)
{
	return bench->cells[what][MAP_KERNEL][threads - 1].spread.med /
	       bench->cells[what][MAP_JIT][threads - 1].spread.med;
}

static void put_lines(const struct map_bench *bench)
{
	for (unsigned int what = 0; what < MAP_WHATS; what++) {
		for (unsigned int threads = 1; threads <= MAP_THREADS; threads++) {
			for (unsigned int arm = 0; arm < MAP_ARMS; arm++) {
				if (is_there(bench, arm))
					put_cell(bench, what, arm, threads);
			}
		}
	}
	if (!bench->kernel)
		printf("map/ratio skipped: the kernel's maps cannot be had: %s\n",
		       strerror(-bench->why));
	for (unsigned int what = 0; what < MAP_WHATS && bench->kernel; what++) {
		for (unsigned int threads = 1; threads <= MAP_THREADS; threads++)
			printf("map/ratio what=%s threads=%u kernel/jit=%.3f\n", map_names[what],
			       threads, ratio(bench, what, threads));
	}
}

static void put_json_cell(struct json *json, const struct map_bench *bench, unsigned int what,
			  unsigned int cell)
{
	unsigned int arm = cell % MAP_ARMS, threads = cell / MAP_ARMS + 1;
	const struct spread *spread = &bench->cells[what][arm][threads - 1].spread;

	if (!is_there(bench, arm))
		return;
	json_open(json, NULL, '{');
	json_text(json, "what", map_names[what]);
	json_text(json, "arm", arms[arm]);
	json_count(json, "threads", threads);
	json_real(json, "ns_min", spread->min, 3);
	json_real(json, "ns_med", spread->med, 3);
	json_real(json, "ns_max", spread->max, 3);
	if (arm == MAP_JIT && bench->kernel)
		json_real(json, "kernel_over_jit", ratio(bench, what, threads), 3);
	json_close(json, '}');
}

static void put_json(const struct map_bench *bench)
{
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_text(&json, "benchmark", "map");
	json_count(&json, "runs", bench->settings.runs);
	json_open(&json, "cells", '[');
	for (unsigned int what = 0; what < MAP_WHATS; what++) {
		for (unsigned int cell = 0; cell < MAP_THREADS * MAP_ARMS; cell++)
			put_json_cell(&json, bench, what, cell);
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

void map_report(const struct map_bench *bench)
{
	(bench->settings.json ? put_json : put_lines)(bench);
}

/* SPDX-License-Identifier: MIT */
/* tag_report.c - bench tag's lines and JSON */
#include <stdio.h>
#include <string.h>

#include "bench/tag.h"
#include "os/cpu.h"
#include "tools/json.h"

static double mean(const struct tag_arm *arm, uint64_t sum)
{
	return arm->cost.frees ? (double)sum / (double)arm->cost.frees : 0;
}

/* System calls of writes and syncs: what the writer and the arch need. */
static double calls(const struct tag_arm *arm, double writes, double syncs)
{
	bool syncs_call = cpu_sync_is_call() || arm->per_word;

	return (arm->poke ? writes : 0) + (syncs_call ? syncs : 0);
}

static void put_lines(const struct tag_arm *arm)
{
	const struct tag_cost *cost = &arm->cost;

	if (arm->err) {
		printf("tag/cycle arm=%s skipped: %s\n", arm->name, strerror(-arm->err));
		return;
	}
	printf("tag/cycle arm=%s cycles=%llu longest=%u wall_s=%.3f user_s=%.3f sys_s=%.3f\n",
	       arm->name, (unsigned long long)arm->cycles, arm->longest, (double)arm->wall_ns / 1e9,
	       arm->user, arm->sys);
	printf("tag/free arm=%s us mean=%.2f max=%.2f syscalls mean=%.2f max=%.0f syncs mean=%.2f "
	       "max=%llu bytes mean=%.0f max=%llu\n",
	       arm->name, mean(arm, cost->ns) / 1e3, (double)cost->ns_max / 1e3,
	       calls(arm, mean(arm, cost->writes), mean(arm, cost->syncs)),
	       calls(arm, (double)cost->writes_max, (double)cost->syncs_max),
	       mean(arm, cost->syncs), (unsigned long long)cost->syncs_max, mean(arm, cost->bytes),
	       (unsigned long long)cost->bytes_max);
}

static void put_json_arm(struct json *json, const struct tag_arm *arm)
{
	const struct tag_cost *cost = &arm->cost;

	if (arm->err)
		return;
	json_open(json, NULL, '{');
	json_text(json, "arm", arm->name);
	json_count(json, "cycles", arm->cycles);
	json_count(json, "longest", arm->longest);
	json_real(json, "wall_s", (double)arm->wall_ns / 1e9, 3);
	json_real(json, "user_s", arm->user, 3);
	json_real(json, "sys_s", arm->sys, 3);
	json_count(json, "frees", cost->frees);
	json_real(json, "free_us_mean", mean(arm, cost->ns) / 1e3, 3);
	json_real(json, "free_us_max", (double)cost->ns_max / 1e3, 3);
	json_real(json, "syscalls_mean",
		  calls(arm, mean(arm, cost->writes), mean(arm, cost->syncs)), 3);
	json_real(json, "syscalls_max",
		  calls(arm, (double)cost->writes_max, (double)cost->syncs_max), 0);
	json_real(json, "syncs_mean", mean(arm, cost->syncs), 3);
	json_count(json, "syncs_max", cost->syncs_max);
	json_real(json, "bytes_mean", mean(arm, cost->bytes), 1);
	json_count(json, "bytes_max", cost->bytes_max);
	json_close(json, '}');
}

void tag_report(const struct tag *tag, const struct tag_arm *arms, unsigned int narms)
{
	struct json json = {.to = stdout};

	if (!tag->settings.json) {
		for (unsigned int a = 0; a < narms; a++)
			put_lines(&arms[a]);
		return;
	}
	json_open(&json, NULL, '{');
	json_text(&json, "benchmark", "tag");
	json_count(&json, "rounds", tag->settings.rounds);
	json_open(&json, "arms", '[');
	for (unsigned int a = 0; a < narms; a++)
		put_json_arm(&json, &arms[a]);
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

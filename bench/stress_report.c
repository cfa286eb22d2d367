/* SPDX-License-Identifier: MIT */
/* stress_report.c - what bench stress found: table, JSON, CSV */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/stress.h"
#include "tools/cli.h"
#include "tools/json.h"

static double exec_each(const struct stress *stress, const struct stress_arm *arm)
{
	return (double)arm->exec_bytes / stress->loaded;
}

static void put_row(const struct stress *stress, const struct stress_arm *arm)
{
	const struct spread *ns = &arm->ns_per_call;

	printf("%-12s %-9s %7.2f %7.2f %7.2f %8.2f %8.2f %8.0f %6ld %8llu ", arm->kind->name,
	       arm->kind->writer_name, ns->min, ns->med, ns->max, arm->load.med, arm->unload.med,
	       exec_each(stress, arm), arm->maps, (unsigned long long)arm->huge_bytes >> 10);
	if (stress->counter < 0)
		puts(" not counted here");
	else
		printf("%12.1f\n", arm->itlb_misses.med);
}

static const struct stress_arm *find_arm(const struct stress *stress, const char *name,
					 const char *writer)
{
	const struct stress_arm *arm = stress->arms;

	while (strcmp(arm->kind->name, name) || strcmp(arm->kind->writer_name, writer))
		arm++;
	return arm;
}

static void put_table(const struct stress *stress)
{
	const struct stress_arm *page = find_arm(stress, "page", "mprotect"),
				*packed = find_arm(stress, "arena-2m", "poke");

	printf("stress: %u programs loaded, %u called; native code %.0f bytes a program, %.0f %% below "
	       "500, %.0f %% below 2000\n\n",
	       stress->loaded, stress->called, (double)page->native_bytes / stress->loaded,
	       100.0 * page->below_500 / stress->loaded, 100.0 * page->below_2000 / stress->loaded);
	puts("                        ns/call                 load   unload exec B/         huge\n"
	     "arm          writer        min     med     max  us/prog  us/prog     prog   maps       kB"
	     "  iTLB-load-misses");
	for (unsigned int a = 0; a < stress->narms; a++)
		put_row(stress, &stress->arms[a]);
	printf("\npacked calls are %.2fx as fast as page: %s/%s %.2f ns, page/%s %.2f ns a call, "
	       "medians of %llu runs\n",
	       page->ns_per_call.med / packed->ns_per_call.med, packed->kind->name,
	       packed->kind->writer_name, packed->ns_per_call.med, page->kind->writer_name,
	       page->ns_per_call.med, (unsigned long long)stress->settings.runs);
}

void stress_json_times(struct json *json, const struct stress_arm *arm)
{
	json_text(json, "name", arm->kind->name);
	json_text(json, "writer", arm->kind->writer_name);
	json_open(json, "ns_per_call", '{');
	json_real(json, "min", arm->ns_per_call.min, 3);
	json_real(json, "med", arm->ns_per_call.med, 3);
	json_real(json, "max", arm->ns_per_call.max, 3);
	json_close(json, '}');
}

static void put_json_arm(struct json *json, const struct stress *stress,
			 const struct stress_arm *arm)
{
	json_open(json, NULL, '{');
	stress_json_times(json, arm);
	json_real(json, "load_us", arm->load.med, 3);
	json_real(json, "unload_us", arm->unload.med, 3);
	json_count(json, "native_bytes", arm->native_bytes);
	json_count(json, "exec_bytes", arm->exec_bytes);
	json_real(json, "mappings", (double)arm->maps, 0);
	json_count(json, "huge_kb", arm->huge_bytes >> 10);
	if (stress->counter < 0)
		json_null(json, "itlb_misses");
	else
		json_real(json, "itlb_misses", arm->itlb_misses.med, 1);
	json_close(json, '}');
}

static void put_json(const struct stress *stress)
{
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_text(&json, "benchmark", "stress");
	json_count(&json, "loaded", stress->loaded);
	json_count(&json, "called", stress->called);
	json_count(&json, "runs", stress->settings.runs);
	json_open(&json, "arms", '[');
	for (unsigned int a = 0; a < stress->narms; a++)
		put_json_arm(&json, stress, &stress->arms[a]);
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

static void put_csv(const struct stress *stress, FILE *to)
{
	fputs("arm,writer,loaded,called,runs,ns_min,ns_med,ns_max,load_us,unload_us,native_bytes,"
	      "exec_bytes,mappings,huge_kb,itlb_misses\n",
	      to);
	for (unsigned int a = 0; a < stress->narms; a++) {
		const struct stress_arm *arm = &stress->arms[a];

		fprintf(to, "%s,%s,%u,%u,%llu,%.3f,%.3f,%.3f,%.3f,%.3f,%llu,%llu,%ld,%llu,",
			arm->kind->name, arm->kind->writer_name, stress->loaded, stress->called,
			(unsigned long long)stress->settings.runs, arm->ns_per_call.min,
			arm->ns_per_call.med, arm->ns_per_call.max, arm->load.med, arm->unload.med,
			(unsigned long long)arm->native_bytes, (unsigned long long)arm->exec_bytes,
			arm->maps, (unsigned long long)arm->huge_bytes >> 10);
		if (stress->counter >= 0)
			fprintf(to, "%.1f", arm->itlb_misses.med);
		putc('\n', to);
	}
}

/* Whatever the file held before goes now. */
static int write_csv(const struct stress *stress)
{
	if (ftruncate(fileno(stress->csv), 0) && errno != EINVAL) {
		int err = -errno;

		cli_error("%s: %s", stress->settings.csv, strerror(-err));
		return err;
	}
	put_csv(stress, stress->csv);
	return 0;
}

int stress_report(const struct stress *stress)
{
	if (stress->settings.json)
		put_json(stress);
	else
		put_table(stress);
	return stress->csv ? write_csv(stress) : 0;
}

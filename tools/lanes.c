/* SPDX-License-Identifier: MIT */
#include "lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

static bool has_ctx(const struct lanes *lanes)
{
	return lanes->ctx->at;
}

static int init_lane(const struct lanes *lanes, struct lane *lane)
{
	if (input_copy(lanes->data, &lane->data))
		return -1;
	return input_copy(lanes->ctx, &lane->ctx);
}

int lanes_init(struct lanes *lanes, unsigned int count, const struct bytes *data,
	       const struct bytes *ctx)
{
	int err = 0;

	*lanes = (struct lanes){.data = data, .ctx = ctx, .count = count};
	lanes->lane = calloc(count, sizeof(*lanes->lane));
	if (!lanes->lane) {
		cli_error("%s", strerror(ENOMEM));
		return -1;
	}
	for (unsigned int i = 0; i < count && !err; i++)
		err = init_lane(lanes, &lanes->lane[i]);
	return err;
}

void lanes_fini(struct lanes *lanes)
{
	for (unsigned int i = 0; lanes->lane && i < lanes->count; i++) {
		input_free(&lanes->lane[i].data);
		input_free(&lanes->lane[i].ctx);
	}
	free(lanes->lane);
	lanes->lane = NULL;
}

int lanes_allow(const struct lanes *lanes, struct pp_bpf_object *object)
{
	int err = 0;

	if (!has_ctx(lanes))
		return 0;
	for (unsigned int i = 0; i < lanes->count && !err; i++) {
		const struct bytes *data = &lanes->lane[i].data;

		if (data->size)
			err = pp_bpf_allow(object, data->at, data->size, PP_BPF_WRITABLE);
	}
	return err;
}

static void refresh(const struct lanes *lanes, struct lane *lane)
{
	const struct pp_bpf_packet packet = {lane->data.at, lane->data.size};

	if (lane->data.size)
		memcpy(lane->data.at, lanes->data->at, lane->data.size);
	if (!has_ctx(lanes))
		return;
	memcpy(lane->ctx.at, lanes->ctx->at, lane->ctx.size);
	memcpy(lane->ctx.at, &packet, sizeof(packet));
}

/* The functions of programs without guard are called as directly as possible. */
static void run_slice(const struct pp_bpf_prog *prog, struct lane *lane, uint64_t runs)
{
	const struct bytes *r1 = lane->ctx.at ? &lane->ctx : &lane->data;
	pp_bpf_entry_fn entry = pp_bpf_prog_entry(prog);

	if (!entry) {
		while (runs-- && !lane->err)
			lane->err =
				pp_bpf_run_stop(prog, r1->at, r1->size, &lane->result, &lane->stop);
		return;
	}
	pp_bpf_enter();
	while (runs--)
		lane->result = entry(r1->at, r1->size);
	pp_bpf_leave();
}

/*
 * All runs, in slices that double from one run on until a slice takes 10 ms: the clock is read
 * seldom enough not to show, and progress is shown in time.
 */
static void run_lane(const struct pp_bpf_prog *prog, struct lane *lane, uint64_t runs,
		     struct progress *progress)
{
	uint64_t start, before, now, slice = 1, done = 0;

	pp_bpf_enter(); /* a thread's first one registers it: not the program's time */
	pp_bpf_leave();
	lane->err = 0;
	start = now = clock_ns();
	while (done < runs && !lane->err) {
		if (slice > runs - done)
			slice = runs - done;
		run_slice(prog, lane, slice);
		done += slice;
		before = now;
		now = clock_ns();
		if (now - before < 10000000u)
			slice *= 2;
		if (progress)
			progress_show(progress, done);
	}
	lane->ns = (double)(now - start) / (double)done;
}

struct job {
	const struct pp_bpf_prog *prog;
	struct lane *lane;
	uint64_t runs;
	pthread_t thread;
};

static void *run_job(void *arg)
{
	const struct job *job = arg;

	run_lane(job->prog, job->lane, job->runs, NULL);
	return NULL;
}

/* Lane 0 is this thread's; the others have theirs, as far as there are threads to be had. */
static int run_jobs(struct job *jobs, unsigned int count)
{
	struct progress progress;
	unsigned int started = 1;
	int err = 0;

	while (started < count && !err) {
		err = pthread_create(&jobs[started].thread, NULL, run_job, &jobs[started]);
		started += !err;
	}
	if (!err) {
		progress_start(&progress, pp_bpf_prog_name(jobs->prog), jobs->runs);
		run_lane(jobs->prog, jobs->lane, jobs->runs, &progress);
		progress_end(&progress);
	}
	while (--started)
		pthread_join(jobs[started].thread, NULL);
	return err;
}

static const struct lane *first_to_report(const struct lanes *lanes)
{
	for (unsigned int i = 0; i < lanes->count; i++) {
		if (lanes->lane[i].err)
			return &lanes->lane[i];
	}
	return lanes->lane;
}

int lanes_run(struct lanes *lanes, const struct pp_bpf_prog *prog, uint64_t runs,
	      const struct lane **first)
{
	struct job *jobs = calloc(lanes->count, sizeof(*jobs));
	int err = ENOMEM;

	for (unsigned int i = 0; jobs && i < lanes->count; i++) {
		refresh(lanes, &lanes->lane[i]);
		jobs[i] = (struct job){.prog = prog, .lane = &lanes->lane[i], .runs = runs};
	}
	if (jobs)
		err = run_jobs(jobs, lanes->count);
	if (err)
		cli_error("%s: %s", pp_bpf_prog_name(prog), strerror(err));
	free(jobs);
	*first = first_to_report(lanes);
	return err ? -1 : 0;
}

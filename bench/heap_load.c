/* SPDX-License-Identifier: MIT */
/* heap_load.c - one trial of bench heap: fill, churn, call, drain, by one or more threads */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench/heap.h"
#include "tools/progress.h"

const char *const heap_phase_names[HEAP_PHASES] = {"fill", "churn", "drain", "call"};

/* Calls are timed over about as many, whatever the number of blocks. */
#define TRIAL_CALLS 200000u

/* How often a churn looks at the clock. */
#define CLOCK_OPS 64u

struct worker;

/*
 * struct crew - the threads of a trial, which live through all of its phases: allocators that give
 * each thread memory of its own find its blocks in its hands again
 * @phase: what is done next, the @nth; NULL: go home
 * @ready: threads that are there for it; none begins before all do run
 * @done: threads that are through
 */
struct crew {
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	void (*phase)(struct worker *worker);
	unsigned int nth;
	uint32_t size, ready, done;
};

/* A thread and its share of the blocks. */
struct worker {
	const struct heap_arm_kind *arm;
	void *state;
	const struct heap_image *image;
	struct heap_block *blocks;
	uint32_t room, n; /* blocks wanted, blocks there are */
	uint64_t random;
	uint64_t churns, churn_ns;
	uint64_t ops, began, ended; /* of the phase */
	int err;
	uint32_t number;
	struct crew *crew;
	pthread_t thread;
};

static int add_block(struct worker *w, struct heap_block *block)
{
	return w->arm->add(w->state, w->image, random_block_size(&w->random), block);
}

static void fill(struct worker *w)
{
	while (w->n < w->room && !w->err) {
		w->err = add_block(w, &w->blocks[w->n]);
		w->n += !w->err;
	}
	w->ops = w->n;
}

static void churn(struct worker *w)
{
	uint64_t deadline = w->began + w->churn_ns;

	while (w->ops < w->churns && !w->err) {
		struct heap_block *block = &w->blocks[random_next(&w->random) % w->n];

		w->err = w->arm->del(w->state, block);
		if (w->err)
			break;
		w->err = add_block(w, block);
		if (w->err)
			*block = w->blocks[--w->n];
		if (++w->ops % CLOCK_OPS == 0 && clock_ns() > deadline)
			break;
	}
}

static void drain(struct worker *w)
{
	while (w->n && !w->err) {
		w->err = w->arm->del(w->state, &w->blocks[w->n - 1]);
		w->n -= !w->err;
		w->ops += !w->err;
	}
}

/* Two threads that the scheduler has put on one CPU for the few ms of a phase would show nothing.
 */
static void keep_to_one_cpu(uint32_t number)
{
	cpu_set_t all, own;
	uint32_t left;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	left = number % (uint32_t)CPU_COUNT(&all);
	CPU_ZERO(&own);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all) && !left--)
			CPU_SET(cpu, &own);
	}
	(void)sched_setaffinity(0, sizeof(own), &own);
}

static void wait_for_others(struct crew *crew)
{
	__atomic_fetch_add(&crew->ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&crew->ready, __ATOMIC_ACQUIRE) < crew->size)
		sched_yield();
}

/* The @nth phase, when it is said; NULL: that was the last. */
static void (*await(struct crew *crew, unsigned int nth))(struct worker *worker)
{
	void (*phase)(struct worker * worker);

	pthread_mutex_lock(&crew->lock);
	while (crew->nth < nth)
		pthread_cond_wait(&crew->begin, &crew->lock);
	phase = crew->phase;
	pthread_mutex_unlock(&crew->lock);
	return phase;
}

static void report_done(struct crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	if (++crew->done == crew->size)
		pthread_cond_signal(&crew->end);
	pthread_mutex_unlock(&crew->lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	void (*phase)(struct worker * worker);

	keep_to_one_cpu(w->number);
	for (unsigned int nth = 1; (phase = await(w->crew, nth)); nth++) {
		wait_for_others(w->crew);
		w->began = clock_ns();
		phase(w);
		w->ended = clock_ns();
		report_done(w->crew);
	}
	return NULL;
}

/* With the lock held. */
static void begin(struct crew *crew, void (*phase)(struct worker *worker))
{
	crew->phase = phase;
	crew->nth++;
	crew->ready = crew->done = 0;
	pthread_cond_broadcast(&crew->begin);
}

static int run_phase(struct worker *workers, uint32_t n, void (*phase)(struct worker *worker))
{
	struct crew *crew = workers->crew;
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		workers[i].ops = 0;
	pthread_mutex_lock(&crew->lock);
	begin(crew, phase);
	while (crew->done < crew->size)
		pthread_cond_wait(&crew->end, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
	for (uint32_t i = 0; i < n && !err; i++)
		err = workers[i].err;
	return err;
}

static void send_home(struct crew *crew, struct worker *workers, uint32_t n)
{
	pthread_mutex_lock(&crew->lock);
	begin(crew, NULL);
	pthread_mutex_unlock(&crew->lock);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Threads also where there is one: libc is faster in processes that never had a second. */
static int hire(struct crew *crew, struct worker *workers, uint32_t n)
{
	uint32_t started = 0;
	int err = 0;

	crew->size = n;
	while (started < n && !err) {
		struct worker *w = &workers[started];

		w->number = started;
		w->crew = crew;
		err = -pthread_create(&w->thread, NULL, work, w);
		started += !err;
	}
	if (err)
		send_home(crew, workers, started);
	return err;
}

static double ns_per_op(const struct worker *workers, uint32_t n)
{
	uint64_t began = UINT64_MAX, ended = 0, ops = 0;

	for (uint32_t i = 0; i < n; i++) {
		began = workers[i].began < began ? workers[i].began : began;
		ended = workers[i].ended > ended ? workers[i].ended : ended;
		ops += workers[i].ops;
	}
	return ops ? (double)(ended - began) / (double)ops : 0;
}

/*
 * A process has so many mappings, 65,530 by default. Who ran out of them goes on with what there
 * is, less a part: freeing in the middle may need one more.
 */
static int settle_for_less(struct worker *workers, uint32_t n, int err)
{
	if (err != -ENOMEM && err != -ENOSPC)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		struct worker *w = &workers[i];
		uint32_t keep = w->n - w->n / 16;

		if (keep < w->room / 8)
			return err;
		w->err = 0;
		while (w->n > keep && !w->err)
			w->err = w->arm->del(w->state, &w->blocks[--w->n]);
		if (w->err)
			return w->err;
	}
	return 0;
}

static uint32_t count_blocks(const struct worker *workers, uint32_t n)
{
	uint32_t blocks = 0;

	for (uint32_t i = 0; i < n; i++)
		blocks += workers[i].n;
	return blocks;
}

static uint64_t live_bytes(const struct worker *workers, uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < workers[i].n; k++)
			bytes += workers[i].blocks[k].size;
	}
	return bytes;
}

typedef uint32_t (*block_fn)(void);

/* The blocks of all workers in an order that has nothing to do with their addresses. */
static block_fn *list_calls(const struct worker *workers, uint32_t n, uint32_t blocks)
{
	block_fn *calls = malloc(blocks * sizeof(*calls));
	uint32_t *order = malloc(blocks * sizeof(*order)), at = 0;

	if (!calls || !order) {
		free(calls);
		free(order);
		return NULL;
	}
	shuffle(order, blocks);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < workers[i].n; k++)
			memcpy(&calls[order[at++]], &workers[i].blocks[k].rx, sizeof(*calls));
	}
	free(order);
	return calls;
}

static uint32_t call_all(const block_fn *calls, uint32_t n, uint32_t passes)
{
	uint32_t sum = 0;

	for (uint32_t pass = 0; pass < passes; pass++) {
		for (uint32_t i = 0; i < n; i++)
			sum += calls[i]();
	}
	return sum;
}

static int time_calls(const struct worker *workers, uint32_t n, double *ns)
{
	uint32_t blocks = count_blocks(workers, n), passes, sum;
	block_fn *calls = blocks ? list_calls(workers, n, blocks) : NULL;
	uint64_t start;

	if (!calls)
		return -ENOMEM;
	passes = TRIAL_CALLS / blocks + 1;
	sum = call_all(calls, blocks, 1); /* whatever was touched last */
	start = clock_ns();
	sum += call_all(calls, blocks, passes);
	*ns = (double)(clock_ns() - start) / blocks / passes;
	free(calls);
	return sum == workers->image->result * blocks * (passes + 1) ? 0 : -EILSEQ;
}

/* The arm's part of what there is now. */
static int look_since(const struct heap_look *before, struct heap_look *since)
{
	int err = look(since);

	since->exec_bytes -= before->exec_bytes;
	since->mappings -= before->mappings;
	return err;
}

static int look_at(const struct worker *workers, uint32_t n, const struct heap_look *before,
		   struct heap_trial *trial)
{
	struct heap_look arm;
	int err = look_since(before, &arm);

	if (err)
		return err;
	trial->mappings = (double)arm.mappings;
	if (workers->arm->is_code && arm.exec_bytes)
		trial->percent = 100.0 * (double)live_bytes(workers, n) / (double)arm.exec_bytes;
	return 0;
}

static int run_phases(struct worker *workers, uint32_t n, const struct heap_look *before,
		      struct heap_trial *trial)
{
	int err = run_phase(workers, n, fill);

	trial->ns[HEAP_FILL] = ns_per_op(workers, n);
	if (err)
		err = settle_for_less(workers, n, err);
	if (err)
		return err;
	trial->live = count_blocks(workers, n);
	err = run_phase(workers, n, churn);
	trial->ns[HEAP_CHURN] = ns_per_op(workers, n);
	if (!err)
		err = look_at(workers, n, before, trial);
	if (!err && workers->arm->is_code)
		err = time_calls(workers, n, &trial->ns[HEAP_CALL]);
	if (err)
		return err;
	err = run_phase(workers, n, drain);
	trial->ns[HEAP_DRAIN] = ns_per_op(workers, n);
	return err;
}

static void share_out(struct worker *workers, const struct heap_load *load,
		      struct heap_block *blocks)
{
	uint32_t share = load->live / load->threads;

	for (uint32_t i = 0; i < load->threads; i++) {
		workers[i].image = load->image;
		workers[i].blocks = blocks + (size_t)i * share;
		workers[i].room = share;
		workers[i].random = 0x9e3779b97f4a7c15u * (i + 1);
		workers[i].churns = load->churns / load->threads;
		workers[i].churn_ns = load->churn_ns;
	}
}

/* What a failed phase left; errors are told already. */
static void drop_all(struct worker *workers, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct worker *w = &workers[i];

		while (w->n)
			(void)w->arm->del(w->state, &w->blocks[--w->n]);
	}
}

static int with_crew(struct worker *workers, uint32_t n, const struct heap_look *before,
		     struct heap_trial *trial)
{
	struct crew crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
			    .begin = PTHREAD_COND_INITIALIZER,
			    .end = PTHREAD_COND_INITIALIZER};
	int err = hire(&crew, workers, n);

	if (err)
		return err;
	err = run_phases(workers, n, before, trial);
	send_home(&crew, workers, n);
	return err;
}

static int with_arm(const struct heap_arm_kind *arm, struct worker *workers, uint32_t n,
		    const struct heap_look *before, struct heap_trial *trial)
{
	void *state;
	int err = arm->open(arm->variant, &state);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		workers[i].arm = arm;
		workers[i].state = state;
	}
	err = with_crew(workers, n, before, trial);
	drop_all(workers, n);
	arm->close(state);
	return err;
}

/* Some allocators serve the whole process and keep what they have: it is theirs next time too. */
static int with_looks(const struct heap_arm_kind *arm, const struct heap_load *load,
		      struct worker *workers, struct heap_trial *trial)
{
	struct heap_look before, after = {0};
	int err = look(&before);

	if (err)
		return err;
	before.exec_bytes -= load->kept->exec_bytes;
	before.mappings -= load->kept->mappings;
	err = with_arm(arm, workers, load->threads, &before, trial);
	if (!err)
		err = look_since(&before, &after);
	if (!err)
		*load->kept = after;
	return err;
}

int heap_run_trial(const struct heap_arm_kind *arm, const struct heap_load *load,
		   struct heap_trial *trial)
{
	struct worker *workers = calloc(load->threads, sizeof(*workers));
	struct heap_block *blocks = calloc(load->live, sizeof(*blocks));
	int err = -ENOMEM;

	*trial = (struct heap_trial){0};
	if (workers && blocks) {
		share_out(workers, load, blocks);
		err = with_looks(arm, load, workers, trial);
	}
	free(blocks);
	free(workers);
	return err;
}

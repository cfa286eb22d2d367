/* SPDX-License-Identifier: MIT */
/* test_fault_shard.c - a thread that would have a shard of its own, and the system that has none */
#include "fault.h"
#include "heap/heap.h"
#include "trial.h"

#include <errno.h>
#include <pthread.h>

static void *allocate(void *arg)
{
	struct trial *trial = arg;

	trial->live[1] = trial_block(trial, 64);
	return NULL;
}

/* The thread finds the only shard locked: it asks for another, and waits. */
static void wait_for_the_first(enum pp_writer writer, const char *denied)
{
	struct trial trial;
	struct balance then;
	pthread_t thread;

	trial_start(&trial, writer, 0);
	trial.live[0] = trial_block(&trial, 64);
	then = fault_balance();
	lock_take(&trial.heap->first.lock);
	fault_arm_only(denied, ENOMEM);
	assert_int_equal(pthread_create(&thread, NULL, allocate, &trial), 0);
	for (int i = 0; i < 5000 && !__atomic_load_n(&fault.injected, __ATOMIC_RELAXED); i++)
		usleep(1000);
	lock_give(&trial.heap->first.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(fault_disarm() > 0);
	assert_int_equal(shard_count(trial.heap), 1);
	assert_int_equal(fault_balance().bytes, then.bytes);
	assert_true(trial_check(&trial));
	assert_int_equal(test_stats(trial.heap).blocks, 2);
	trial_end(&trial);
}

static void no_memory_for_a_shard(void **state)
{
	wait_for_the_first(WRITER(state), "aligned_alloc");
}

static void no_memory_for_its_index(void **state)
{
	wait_for_the_first(WRITER(state), "os_map_rw");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(no_memory_for_a_shard),
		EACH_WRITER(no_memory_for_its_index),
	};

	return cmocka_run_group_tests_name("fault_shard", tests, NULL, NULL);
}

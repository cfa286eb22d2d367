/* SPDX-License-Identifier: MIT */
/*
 * map_fork.c - children of fork(): one thread is left, of readers and of holders of locks
 *
 * liburcu must forget the parent's other threads, or a grace period in the child waits for sections
 * that nobody will end. Locks of maps are free again (map_lock.h). Maps are private memory: from
 * here on the child has its own, but for ring buffers, whose memory both share.
 *
 * Handlers are installed with the first map or load: a process that never makes one has none of it.
 */
#include <pthread.h>

#include "bpf/map.h"
#include "bpf/map_lock.h"
#include "bpf/rcu.h"

/*
 * liburcu's own lock is held over whole grace periods: a thread that forks inside a section cannot
 * wait for it. Its child has no such threads to forget as could be waited for in vain, unless it
 * has others in sections, too: that is in the manual.
 */
static _Thread_local bool prepared;

static void prepare(void)
{
	prepared = !urcu_bp_read_ongoing();
	if (prepared)
		urcu_bp_before_fork();
}

static void in_parent(void)
{
	if (prepared)
		urcu_bp_after_fork_parent();
}

static void in_child(void)
{
	map_lock_own++;
	map_fork_child();
	if (prepared)
		urcu_bp_after_fork_child();
}

static void install(void)
{
	/* Only memory can be missing: then forks are as they would be without this file. */
	(void)pthread_atfork(prepare, in_parent, in_child);
}

void map_fork_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
}

/* SPDX-License-Identifier: MIT */
/*
 * rcu.h - read-side sections and grace periods (liburcu, flavour bp: no registration)
 *
 * liburcu is not instrumented, so ThreadSanitizer cannot see what its barriers order: here
 * it is told. An element is published before it is linked, and seen before it is read; all
 * of a section comes before the end of a grace period that waited for it.
 */
#ifndef BPF_RCU_H
#define BPF_RCU_H

#include <urcu-bp.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RCU_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define RCU_TSAN 1
#endif

#ifdef RCU_TSAN
void __tsan_acquire(void *at);
void __tsan_release(void *at);
#define rcu_publish(at) __tsan_release(at)
#define rcu_see(at) __tsan_acquire(at)
#else
#define rcu_publish(at) ((void)(at))
#define rcu_see(at) ((void)(at))
#endif

/* Stands for all sections in what ThreadSanitizer is told. */
extern char rcu_sections;

static inline void rcu_enter(void)
{
	urcu_bp_read_lock();
}

static inline void rcu_leave(void)
{
	rcu_publish(&rcu_sections);
	urcu_bp_read_unlock();
}

/* rcu_wait - until every section has ended that has begun; not from inside one */
static inline void rcu_wait(void)
{
	urcu_bp_synchronize_rcu();
	rcu_see(&rcu_sections);
}

#endif

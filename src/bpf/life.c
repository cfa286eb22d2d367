/* SPDX-License-Identifier: MIT */
/*
 * life.c - the end of objects
 *
 *	last reference -> out of arrays of programs -> a batch -> grace period -> freed
 *	                                    \-> dead, if within a run: a later batch takes it
 *
 * A batch is a list by next_dead. Who takes the dead takes all of them, so a batch is one thread's.
 */
#include "bpf/life.h"

#include <stdlib.h>

#include "bpf/helper.h"
#include "bpf/map_slots.h"
#include "bpf/rcu.h"

static struct pp_bpf_object *dead;

void pp_bpf_hold(struct pp_bpf_object *object)
{
	__atomic_add_fetch(&object->refs, 1, __ATOMIC_RELAXED);
}

/* ---- batches ---- */

static bool shares_memory(const struct pp_bpf_object *a, const struct pp_bpf_object *b)
{
	return b->image.rx && a->mem.ctx == b->mem.ctx && a->mem.free_batch == b->mem.free_batch;
}

static size_t count_sharing(const struct pp_bpf_object *first)
{
	size_t n = 0;

	for (const struct pp_bpf_object *at = first; at; at = at->next_dead)
		n += shares_memory(first, at);
	return n;
}

static void forget_images(struct pp_bpf_object *first, size_t n)
{
	const struct jit_mem mem = first->mem;

	for (struct pp_bpf_object *at = first; n; at = at->next_dead) {
		if (!at->image.rx || at->mem.ctx != mem.ctx || at->mem.free_batch != mem.free_batch)
			continue;
		jit_image_forget(&at->image);
		n--;
	}
}

/*
 * The code of @first, and of those behind it that is in the same memory. What cannot be freed so,
 * for want of memory, is freed one by one with the rest of its object.
 */
static void free_code(struct pp_bpf_object *first)
{
	size_t n = count_sharing(first), i = 0;
	const void **rx;

	if (n < 2 || !first->mem.free_batch)
		return;
	rx = reallocarray(NULL, n, sizeof(*rx));
	if (!rx)
		return;
	for (const struct pp_bpf_object *at = first; at; at = at->next_dead) {
		if (shares_memory(first, at))
			rx[i++] = at->image.rx;
	}
	if (!first->mem.free_batch(first->mem.ctx, rx, n))
		forget_images(first, n);
	free(rx);
}

static void free_batch(struct pp_bpf_object *batch)
{
	struct pp_bpf_object *next;

	for (struct pp_bpf_object *at = batch; at; at = at->next_dead)
		trace_remove(at);
	for (struct pp_bpf_object *at = batch; at; at = at->next_dead) {
		if (at->image.rx)
			free_code(at);
	}
	for (; batch; batch = next) {
		next = batch->next_dead;
		load_undo(batch);
		object_free(batch);
	}
}

static struct pp_bpf_object *take_dead(void)
{
	return __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQUIRE);
}

static void bury(struct pp_bpf_object *batch)
{
	struct pp_bpf_object *last = batch;

	while (last->next_dead)
		last = last->next_dead;
	last->next_dead = __atomic_load_n(&dead, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&dead, &last->next_dead, batch, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* For runs, and so for maps that were in other maps. */
static void free_after_runs(struct pp_bpf_object *batch)
{
	rcu_wait();
	free_batch(batch);
}

void life_reclaim(void)
{
	struct pp_bpf_object *batch;

	if (!__atomic_load_n(&dead, __ATOMIC_RELAXED) || urcu_bp_read_ongoing())
		return;
	batch = take_dead();
	if (batch)
		free_after_runs(batch);
}

/* ---- references ---- */

/* Adds the object to a batch if this was the last one. */
static void drop(struct pp_bpf_object *object, struct pp_bpf_object **batch)
{
	if (!object || __atomic_sub_fetch(&object->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (!object->loaded) {
		object_free(object);
		return;
	}
	map_forget_progs(object);
	object->next_dead = *batch;
	*batch = object;
}

void pp_bpf_close_batch(struct pp_bpf_object *const *objects, size_t n)
{
	struct pp_bpf_object *batch = NULL;

	for (size_t i = 0; i < n; i++)
		drop(objects[i], &batch);
	if (!batch)
		return;
	if (urcu_bp_read_ongoing())
		bury(batch);
	else
		free_after_runs(batch);
}

void pp_bpf_close(struct pp_bpf_object *object)
{
	pp_bpf_close_batch(&object, 1);
}

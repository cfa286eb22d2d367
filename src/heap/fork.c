/* SPDX-License-Identifier: MIT */
#include "heap/fork.h"

#include "heap/heap.h"
#include "heap/pack.h"
#include "heap/room.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

/*
 * All heaps but those with PP_NOFORK. One store adds a heap or takes it out, so that a child finds
 * the list whole whenever it was made.
 */
static struct pp_heap *all;

/*
 * The list's lock, which comes before any lock of a heap: the id of the process that has it, or 0.
 * Another process's was held by a thread of the parent when a raw system call made this one, and
 * nobody here will give it.
 */
static pid_t all_owner;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lock_all(void)
{
	pid_t own = os_process(), seen = 0;

	while (!__atomic_compare_exchange_n(&all_owner, &seen, own, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (seen != own)
			continue; /* given meanwhile, or another process's: take it from there */
		lock_pause();
		seen = 0;
	}
}

static void unlock_all(void)
{
	__atomic_store_n(&all_owner, 0, __ATOMIC_RELEASE);
}

static bool is_alias(const struct pp_heap *heap)
{
	return heap->mem.writer->id == PP_WRITER_ALIAS;
}

static void lock_heap(struct pp_heap *heap)
{
	pthread_mutex_lock(&heap->grow);
	pthread_mutex_lock(&heap->patch);
	shard_lock(heap, shard_all(heap));
}

static void unlock_heap(struct pp_heap *heap)
{
	shard_unlock(heap, shard_all(heap));
	pthread_mutex_unlock(&heap->patch);
	pthread_mutex_unlock(&heap->grow);
}

/* Where no handlers ran, threads may have held them that are not there. */
static void renew_locks(struct pp_heap *heap)
{
	pthread_mutex_init(&heap->grow, NULL);
	pthread_mutex_init(&heap->patch, NULL);
	for (unsigned int i = 0; i < heap->shards; i++) {
		heap->shard[i]->lock = (struct lock){0};
		heap->shard[i]->patched = INDEX_NONE;
	}
}

static void rebuild_indices(struct pp_heap *heap)
{
	for (unsigned int i = 0; i < heap->shards; i++) {
		if (heap->shard[i]->lock.held)
			index_rebuild(&heap->shard[i]->index);
	}
}

/* Call @see for the grown part of each pack and its place in the snapshot, until it fails. */
static int each_part(struct pp_heap *heap,
		     int (*see)(struct pp_heap *heap, size_t p, uint8_t *copy, size_t size))
{
	uint8_t *copy = heap->fork.snapshot;
	int err = 0;

	for (size_t p = 0; p < heap->index.packs && !err; p++) {
		size_t size = heap->index.pack[p].grown * (size_t)PP_CHUNK;

		if (size)
			err = see(heap, p, copy, size);
		copy += size;
	}
	return err;
}

static int save_part(struct pp_heap *heap, size_t p, uint8_t *copy, size_t size)
{
	memcpy(copy, pack_rx(&heap->mem, p), size);
	return 0;
}

/* Without memory for it the child's heap is frozen; the fork goes on. */
static void take_snapshot(struct pp_heap *heap)
{
	void *memory;

	heap->fork.snapshot = NULL;
	heap->fork.snapshot_size = heap->stats.committed;
	if (heap->fork.frozen || os_map_rw(heap->fork.snapshot_size, &memory))
		return;
	heap->fork.snapshot = memory;
	(void)each_part(heap, save_part);
}

static void drop_snapshot(struct pp_heap *heap)
{
	os_unmap(heap->fork.snapshot, heap->fork.snapshot_size);
	heap->fork.snapshot = NULL;
}

static int restore_part(struct pp_heap *heap, size_t p, uint8_t *copy, size_t size)
{
	heap->index.pack[p].huge = false;
	return writer_alias_replace(&heap->mem, p, copy, size);
}

static void declare_alive(struct pp_heap *heap)
{
	__atomic_store_n(&heap->fork.pid, os_process(), __ATOMIC_RELEASE);
	if (heap->fork.alive)
		__atomic_store_n(heap->fork.alive, FORK_ALIVE, __ATOMIC_RELEASE);
}

/* Private memory is copied on write, page by page, by parent and child: huge pages fall apart. */
static void forget_huge(struct index *ix)
{
	for (size_t p = 0; p < ix->packs; p++) {
		if (ix->pack[p].grown)
			ix->pack[p].huge = false;
	}
}

/* The first call in a child: from a fork that ran no handlers, or for what those left to it. */
static void revive(struct pp_heap *heap)
{
	struct fork_state *fork = &heap->fork;

	if (heap->mem.flags & PP_NOFORK) {
		fork->lost = true;
		return;
	}
	room_check_libc();
	rebuild_indices(heap);
	heap_recount(heap); /* packs come and go without the lock */
	renew_locks(heap);
	forget_huge(&heap->index);
	fork->frozen = is_alias(heap) || heap->mem.writer->reopen(&heap->mem);
}

static bool claim_by_page(struct fork_state *fork)
{
	uint32_t seen = 0;

	return __atomic_compare_exchange_n(fork->alive, &seen, FORK_ENTERING, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Unless a thread of this very process has: one of the parent may have been lost while it did. */
static bool claim_by_id(struct fork_state *fork)
{
	pid_t own = os_process(), seen = __atomic_load_n(&fork->pid, __ATOMIC_RELAXED);

	while (seen != own && seen != -own) {
		if (__atomic_compare_exchange_n(&fork->pid, &seen, -own, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* One thread of the child does it, and the others wait for it. */
static void enter_child(struct pp_heap *heap)
{
	struct fork_state *fork = &heap->fork;

	if (fork->alive ? claim_by_page(fork) : claim_by_id(fork)) {
		revive(heap);
		declare_alive(heap);
		return;
	}
	while (heap_is_in_child(heap))
		lock_pause();
}

/*
 * The handlers hold the list's lock, which the caller's log function may want: it is told nothing
 * here. Calls that are refused for what failed here say so.
 */
static void before_fork(void)
{
	struct log_held held;

	lock_all();
	log_hold(&held);
	for (struct pp_heap *heap = all; heap; heap = heap->fork.next) {
		if (heap_is_in_child(heap))
			enter_child(heap); /* whose locks may be held by nobody */
		lock_heap(heap);
		if (is_alias(heap))
			take_snapshot(heap);
	}
	log_drop();
}

static void after_fork_in_parent(void)
{
	for (struct pp_heap *heap = all; heap; heap = heap->fork.next) {
		if (is_alias(heap))
			drop_snapshot(heap);
		else
			forget_huge(&heap->index);
		unlock_heap(heap);
	}
	unlock_all();
}

/* The locks are ours: what they guard is whole. The rest is done at the heap's first use. */
static void after_fork_in_child(void)
{
	struct log_held held;

	room_trust_libc();
	log_hold(&held);
	for (struct pp_heap *heap = all; heap; heap = heap->fork.next) {
		unlock_heap(heap);
		if (!is_alias(heap))
			continue;
		if (heap->fork.snapshot && !each_part(heap, restore_part))
			declare_alive(heap);
		drop_snapshot(heap);
	}
	log_drop();
	unlock_all();
}

static void install_handlers(void)
{
	room_trust_libc();
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void add_to_all(struct pp_heap *heap)
{
	lock_all();
	heap->fork.next = all;
	__atomic_store_n(&all, heap, __ATOMIC_RELEASE);
	unlock_all();
}

int fork_init(struct pp_heap *heap)
{
	void *page;
	int err = 0;

	if (!os_map_wiped(&page))
		heap->fork.alive = page;
	declare_alive(heap);
	pthread_once(&once, install_handlers);
	if (!(heap->mem.flags & PP_NOFORK)) {
		add_to_all(heap);
		return 0;
	}
	err = os_dont_fork(heap->mem.base, heap->mem.size + os_page_size());
	if (!err)
		err = fork_keep_out(heap, 0);
	if (err)
		os_unmap(heap->fork.alive, os_page_size());
	return err;
}

static void take_from_all(struct pp_heap *heap)
{
	struct pp_heap **link = &all;

	lock_all();
	while (*link != heap)
		link = &(*link)->fork.next;
	__atomic_store_n(link, heap->fork.next, __ATOMIC_RELEASE);
	unlock_all();
}

void fork_fini(struct pp_heap *heap)
{
	if (!(heap->mem.flags & PP_NOFORK))
		take_from_all(heap);
	os_unmap(heap->fork.alive, os_page_size());
}

int fork_keep_out(struct pp_heap *heap, size_t p)
{
	uint8_t *rw = heap->mem.pack[p].rw;
	int err;

	if (!(heap->mem.flags & PP_NOFORK))
		return 0;
	err = os_dont_fork(pack_rx(&heap->mem, p), PACK_SIZE);
	return err || !rw ? err : os_dont_fork(rw, PACK_SIZE);
}

void fork_enter_child(struct pp_heap *heap)
{
	struct log_held held;

	log_hold(&held);
	enter_child(heap);
	log_let_go(&heap->mem.log, &held);
}

/* const promises that the heap's blocks stay as they are. */
int heap_enter(const struct pp_heap *heap)
{
	if (heap_is_in_child(heap))
		fork_enter_child((struct pp_heap *)(uintptr_t)heap);
	if (heap->fork.lost)
		return log_error(&heap->mem.log, -EPERM,
				 "PP_NOFORK: a child of fork() has no code");
	return 0;
}

int heap_enter_writing(struct pp_heap *heap)
{
	int err = heap_enter(heap);

	if (!err && heap->fork.frozen)
		err = log_error(
			&heap->mem.log, -EPERM, "%s",
			is_alias(heap)
				? "this child shares its code with its parent: no copy was made at the fork"
				: "this child cannot open /proc/self/mem");
	return err;
}

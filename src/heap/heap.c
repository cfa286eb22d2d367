/* SPDX-License-Identifier: MIT */
/* heap.c - lifetime of a heap, its options, and questions about addresses */
#include "heap/heap.h"

#include "base/opts.h"
#include "heap/pack.h"
#include "heap/room.h"
#include "os/cpu.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FLAGS (PP_SMALL_PAGES | PP_NOFORK | PP_SEAL | PP_WHOLE_PACKS)

_Static_assert(PACK_SIZE == OS_HUGE, "a pack is one huge page");

static struct log log_of(const struct pp_opts *opts)
{
	return (struct log){.fn = opts->log, .ctx = opts->log_ctx};
}

static int check_opts(struct pp_opts *opts)
{
	const struct log log = log_of(opts);

	if (opts->flags & ~FLAGS)
		return log_error(&log, -EINVAL, "unknown flags %#x", opts->flags);
	if (!pp_writer_name(opts->writer))
		return log_error(&log, -EINVAL, "no writer %d", (int)opts->writer);
	if (opts->reserve > SIZE_MAX / 2)
		return log_error(&log, -EINVAL, "a reservation of %zu bytes", opts->reserve);
	if (!opts->reserve)
		opts->reserve = cpu_default_reserve();
	opts->reserve = (opts->reserve + PACK_SIZE - 1) / PACK_SIZE * PACK_SIZE;
	if (!opts->anchor)
		opts->anchor = os_program_text();
	return 0;
}

/*
 * One page more than the packs, never mapped: what runs off the last pack faults, and the kernel
 * cannot merge it with another heap's first into one line of smaps.
 */
static size_t guarded(size_t size)
{
	return size + os_page_size();
}

/* Addresses and what keeps account of them. */
static int reserve(struct pp_heap *heap, size_t packs, const void *anchor)
{
	void *base;
	int err = os_reserve(guarded(packs * PACK_SIZE), anchor, &base);

	if (err)
		return err;
	err = index_init(&heap->index, packs);
	if (err)
		goto unreserve;
	err = names_init(&heap->names, packs * PACK_CHUNKS);
	if (err)
		goto fini_index;
	heap->mem.pack = room_new(ROOM_ALIGN, packs * sizeof(*heap->mem.pack));
	if (!heap->mem.pack) {
		err = -ENOMEM;
		goto fini_names;
	}
	memset(heap->mem.pack, 0, packs * sizeof(*heap->mem.pack));
	heap->mem.base = base;
	heap->mem.size = packs * PACK_SIZE;
	return 0;
fini_names:
	names_fini(&heap->names);
fini_index:
	index_fini(&heap->index);
unreserve:
	os_unmap(base, guarded(packs * PACK_SIZE));
	return err;
}

/* Sealed packs stay for the process's life, full of traps: unmapping over one would do nothing. */
static void unmap_reservation(struct memory *mem, const struct index *ix)
{
	size_t start = 0;

	for (size_t p = 0; p < ix->packs; p++) {
		if (!ix->pack[p].sealed)
			continue;
		os_unmap(pack_rx(mem, start), (p - start) * PACK_SIZE);
		start = p + 1;
	}
	os_unmap(pack_rx(mem, start), guarded(mem->size - start * PACK_SIZE));
}

static void unreserve(struct pp_heap *heap)
{
	if (!heap->fork.lost)
		unmap_reservation(&heap->mem, &heap->index);
	room_free(heap->mem.pack);
	shard_fini_all(heap);
	names_fini(&heap->names);
	index_fini(&heap->index);
}

static int reserve_and_choose(struct pp_heap *heap, const struct pp_opts *opts, size_t packs)
{
	int err = reserve(heap, packs, opts->anchor);

	if (err)
		return log_error(&heap->mem.log, err, "no %zu bytes of addresses: %s",
				 packs * PACK_SIZE, strerror(-err));
	err = writer_choose(&heap->mem, opts->writer);
	if (err)
		unreserve(heap);
	return err;
}

/* Writers need addresses of their own, so that a reservation may be too large for them too. */
static int reserve_most(struct pp_heap *heap, const struct pp_opts *opts)
{
	size_t packs = opts->reserve / PACK_SIZE;
	int err = reserve_and_choose(heap, opts, packs);

	while (err == -ENOMEM && packs > 1) {
		packs /= 2;
		log_line(&heap->mem.log, "trying a reservation of %zu bytes", packs * PACK_SIZE);
		err = reserve_and_choose(heap, opts, packs);
	}
	return err;
}

/* Cut short rather than refused: it is there to be read. */
static void set_name(struct memory *mem, const char *name)
{
	if (name)
		snprintf(mem->name, sizeof(mem->name), "progpack:%.70s", name);
	else
		memcpy(mem->name, "progpack", sizeof("progpack"));
}

/* Where a child has no code, its addresses may be anybody's: it has the descriptors only. */
static void close_all(const struct memory *mem)
{
	os_close(mem->fd);
	for (size_t p = 0; p < mem->size / PACK_SIZE; p++) {
		if (mem->pack[p].rw)
			os_close(mem->pack[p].fd);
	}
}

static void unmap_all(struct pp_heap *heap)
{
	if (!heap->fork.lost && !heap->fork.frozen)
		pack_fill_sealed(&heap->mem, &heap->index);
	if (heap->fork.lost) {
		close_all(&heap->mem);
	} else {
		pack_unmap_all(&heap->mem, &heap->index);
		heap->mem.writer->close(&heap->mem);
	}
	unreserve(heap);
	pthread_mutex_destroy(&heap->patch);
	pthread_mutex_destroy(&heap->grow);
}

/* More than CPUs would be of no use; a second one lets who finds the first locked go on. */
static unsigned int most_shards(size_t packs)
{
	unsigned int cpus = os_cpus(), most = cpus < SHARDS_MAX ? cpus : SHARDS_MAX;

	if (most < 2)
		most = 2;
	return packs < most ? (unsigned int)packs : most;
}

static int heap_init(struct pp_heap *heap, const struct pp_opts *opts)
{
	int err;

	heap->mem.log = log_of(opts);
	heap->mem.flags = opts->flags;
	set_name(&heap->mem, opts->name);
	heap->mem.fd = -1;
	if (opts->flags & PP_SEAL && os_seal_code(NULL, 0))
		return log_error(&heap->mem.log, -ENOSYS, "PP_SEAL: this kernel has no mseal");
	err = reserve_most(heap, opts);
	if (err)
		return err;
	heap->shards_max = most_shards(heap->index.packs);
	shard_init_first(heap);
	index_grow(&heap->first.index, 0, PACK_STEP_CHUNKS);
	heap->stats.writer = heap->mem.writer->id;
	heap->stats.reserved = heap->mem.size;
	heap->stats.limit = opts->limit;
	heap->stats.packs = 1;
	heap->stats.committed = PACK_STEP;
	pthread_mutex_init(&heap->grow, NULL);
	pthread_mutex_init(&heap->patch, NULL);
	err = heap_start(heap);
	if (err)
		goto unmap;
	err = fork_init(heap);
	if (!err)
		return 0;
	log_error(&heap->mem.log, err, "keeping code out of children of fork()");
unmap:
	unmap_all(heap);
	return err;
}

/* Options of a later version have all fields of this one; where @size is wrong, nobody knows. */
static int copy_opts(struct pp_opts *own, const struct pp_opts *opts)
{
	int err = opts_copy(own, sizeof(*own), opts, sizeof(*own));
	struct log log;

	if (!err)
		return check_opts(own);
	if (err != -E2BIG)
		return err;
	log = log_of(opts);
	return log_error(&log, err, "options that this version does not know");
}

int pp_heap_new(const struct pp_opts *opts, struct pp_heap **out)
{
	struct pp_opts own;
	struct pp_heap *heap;
	struct log log;
	int err = copy_opts(&own, opts);

	if (err)
		return err;
	log = log_of(&own);
	room_check_libc();
	heap = room_new(SHARD_ALIGN, sizeof(*heap));
	if (!heap)
		return log_error(&log, -ENOMEM, "no memory for a heap");
	memset(heap, 0, sizeof(*heap));
	err = heap_init(heap, &own);
	if (err) {
		room_free(heap);
		return err;
	}
	*out = heap;
	return 0;
}

/* In a child that has no code, its addresses may be anybody's by now. */
void pp_heap_free(struct pp_heap *heap)
{
	if (!heap)
		return;
	room_check_libc();
	(void)heap_enter(heap);
	fork_fini(heap);
	unmap_all(heap);
	room_free(heap);
}

int pp_lookup(const struct pp_heap *heap, const void *pc, struct pp_block *block)
{
	size_t chunk = heap_chunk(heap, pc), first, chunks;

	if (chunk == INDEX_NONE)
		return -ENOENT;
	if (heap->fork.lost || (heap->mem.flags & PP_NOFORK && heap_is_in_child(heap)))
		return -ENOENT; /* there is no code */
	first = index_block(&heap->index, chunk);
	if (first == INDEX_NONE)
		return -ENOENT;
	chunks = index_size(&heap->index, first);
	if (chunk >= first + chunks)
		return -ENOENT; /* the block that @pc was in went away meanwhile */
	block->rx = heap_rx(heap, first);
	block->size = chunks * PP_CHUNK;
	return 0;
}

void pp_heap_range(const struct pp_heap *heap, uintptr_t *lo, uintptr_t *hi)
{
	*lo = (uintptr_t)heap->mem.base;
	*hi = *lo + heap->mem.size;
}

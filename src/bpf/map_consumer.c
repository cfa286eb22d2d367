/* SPDX-License-Identifier: MIT */
/* map_consumer.c - the host's side of ring buffers: wait, read, hand on */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bpf/map_ring.h"
#include "bpf/rcu.h"

struct pp_bpf_ring {
	struct map *map;
	pp_bpf_ring_fn fn;
	void *ctx;
	int event;
};

/* One consumer a map: the position is one. */
static int attach(struct map_ring *ring, int event)
{
	int none = -1;

	return __atomic_compare_exchange_n(&ring->event, &none, event, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED)
		       ? 0
		       : -EBUSY;
}

int pp_bpf_ring_new(const struct pp_bpf_map *map, pp_bpf_ring_fn fn, void *ctx,
		    struct pp_bpf_ring **out)
{
	struct pp_bpf_ring *ring;
	int event, err;

	if (!map->core || map->core->ops != &map_ring_ops)
		return -EINVAL;
	ring = malloc(sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = event < 0 ? -errno : attach(map->core->ring, event);
	if (err) {
		if (event >= 0)
			close(event);
		free(ring);
		return err;
	}
	*ring = (struct pp_bpf_ring){map_hold(map->core), fn, ctx, event};
	*out = ring;
	return 0;
}

void pp_bpf_ring_free(struct pp_bpf_ring *ring)
{
	if (!ring)
		return;
	__atomic_store_n(&ring->map->ring->event, -1, __ATOMIC_RELEASE);
	rcu_wait(); /* for programs that are about to write to it */
	close(ring->event);
	map_put(ring->map);
	free(ring);
}

int pp_bpf_ring_fd(const struct pp_bpf_ring *ring)
{
	return ring->event;
}

/* The record at @pos, or NULL: there is none yet, or it is not ready. */
static struct ring_record *ready_at(struct map_ring *ring, uint64_t pos, uint32_t *len)
{
	struct ring_record *record = ring_at(ring, pos);

	if (__atomic_load_n(&ring->produced, __ATOMIC_SEQ_CST) == pos)
		return NULL;
	*len = __atomic_load_n(&record->len, __ATOMIC_SEQ_CST);
	return *len & RING_BUSY ? NULL : record;
}

/* Hand one on and give its place back, whatever @fn says. 1, 0 if it was discarded, or @fn's error
 */
static int hand_on(struct pp_bpf_ring *ring, struct ring_record *record, uint32_t len)
{
	uint32_t size = len & ~RING_DISCARD;
	int err = 1;

	if (!(len & RING_DISCARD)) {
		err = ring->fn(ring->ctx, record + 1, size);
		err = err < 0 ? err : 1;
	} else {
		err = 0;
	}
	__atomic_store_n(&ring->map->ring->consumed,
			 ring->map->ring->consumed + (size + RING_HEADER + 7) / 8 * 8,
			 __ATOMIC_SEQ_CST);
	return err;
}

int pp_bpf_ring_consume(struct pp_bpf_ring *ring)
{
	struct map_ring *memory = ring->map->ring;
	struct ring_record *record;
	uint32_t len;
	int count = 0, got;

	while (count < INT32_MAX && (record = ready_at(memory, memory->consumed, &len))) {
		got = hand_on(ring, record, len);
		if (got < 0)
			return got;
		count += got;
	}
	return count;
}

/* Wakeups that are older than what is read next are of no use. */
static void drain(const struct pp_bpf_ring *ring)
{
	uint64_t wakeups;

	while (read(ring->event, &wakeups, sizeof(wakeups)) > 0)
		;
}

int pp_bpf_ring_poll(struct pp_bpf_ring *ring, int timeout_ms)
{
	struct pollfd fd = {.fd = ring->event, .events = POLLIN};
	int count;

	drain(ring);
	count = pp_bpf_ring_consume(ring);
	if (count)
		return count;
	if (poll(&fd, 1, timeout_ms) < 0)
		return -errno;
	drain(ring);
	return pp_bpf_ring_consume(ring);
}

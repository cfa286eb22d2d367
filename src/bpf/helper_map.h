/* SPDX-License-Identifier: MIT */
/* helper_map.h - the helpers that work on maps: Linux's numbers, arguments and results */
#ifndef BPF_HELPER_MAP_H
#define BPF_HELPER_MAP_H

#include <stdint.h>

enum {
	HELPER_MAP_LOOKUP = 1,
	HELPER_MAP_UPDATE = 2,
	HELPER_MAP_DELETE = 3,
	HELPER_MAP_PUSH = 87,
	HELPER_MAP_POP = 88,
	HELPER_MAP_PEEK = 89,
	HELPER_RINGBUF_OUTPUT = 130,
	HELPER_RINGBUF_RESERVE = 131,
	HELPER_RINGBUF_SUBMIT = 132,
	HELPER_RINGBUF_DISCARD = 133,
	HELPER_RINGBUF_QUERY = 134,
	HELPER_FOR_EACH_MAP = 164,
	HELPER_MAP_LOOKUP_PERCPU = 195,
};

uint64_t map_lookup_elem(uint64_t map, uint64_t key, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t map_update_elem(uint64_t map, uint64_t key, uint64_t value, uint64_t flags, uint64_t r5);
uint64_t map_delete_elem(uint64_t map, uint64_t key, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t map_push_elem(uint64_t map, uint64_t value, uint64_t flags, uint64_t r4, uint64_t r5);
uint64_t map_pop_elem(uint64_t map, uint64_t value, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t map_peek_elem(uint64_t map, uint64_t value, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t map_lookup_percpu_elem(uint64_t map, uint64_t key, uint64_t cpu, uint64_t r4, uint64_t r5);
uint64_t for_each_map_elem(uint64_t map, uint64_t callback, uint64_t ctx, uint64_t flags,
			   uint64_t r5);
uint64_t ringbuf_output(uint64_t map, uint64_t data, uint64_t size, uint64_t flags, uint64_t r5);
uint64_t ringbuf_reserve(uint64_t map, uint64_t size, uint64_t flags, uint64_t r4, uint64_t r5);
uint64_t ringbuf_submit(uint64_t sample, uint64_t flags, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t ringbuf_discard(uint64_t sample, uint64_t flags, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t ringbuf_query(uint64_t map, uint64_t what, uint64_t r3, uint64_t r4, uint64_t r5);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * map_fixture.h - maps of ours and of the kernel behind one table of operations
 *
 * A test written for struct side runs on both, so that the kernel says what is right. Where it
 * does not let us call bpf(), that is said, and ours is tested alone.
 */
#ifndef MAP_FIXTURE_H
#define MAP_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <progpack_bpf.h>

/* A map: one of ours, or the kernel's. */
struct map_side {
	struct pp_bpf_map *ours;
	int fd;
	bool kernel;
};

/* map_kernel_open - may we make maps in the kernel? 0, or -errno */
int map_kernel_open(void);

/*
 * Errors are 0 or -errno; ENOTSUPP, which user space has no word for, is -ENOTSUP.
 * @inner: of maps of maps, of the same side; else NULL
 */
int side_new(struct map_side *side, bool kernel, const struct pp_bpf_map_info *info,
	     const struct map_side *inner);
void side_free(struct map_side *side);
int side_lookup(const struct map_side *side, const void *key, void *value, uint64_t flags);
int side_update(const struct map_side *side, const void *key, const void *value, uint64_t flags);
int side_delete(const struct map_side *side, const void *key);
int side_take(const struct map_side *side, const void *key, void *value);
int side_next(const struct map_side *side, const void *key, void *next);
int side_freeze(const struct map_side *side);
int side_set_map(const struct map_side *side, const void *key, const struct map_side *inner,
		 uint64_t flags);

/* Batches; @batch as progpack_bpf_map.h has it. */
enum side_batch { SIDE_LOOKUP, SIDE_TAKE, SIDE_UPDATE, SIDE_DELETE };
int side_batch(const struct map_side *side, enum side_batch what, struct pp_bpf_batch *batch);

#endif

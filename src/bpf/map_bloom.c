/* SPDX-License-Identifier: MIT */
/*
 * map_bloom.c - bloom filters: what was pushed is found; of what was not, little is
 *
 * Each value sets as many bits as the filter has hash functions (map_extra, 5 unless told). With
 * max_entries values in it, about half of the bits are set: n * k / ln 2 bits, rounded up to a
 * power of two. The bits' numbers come from one hash of two words, by Kirsch and Mitzenmacher
 * (2006).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bpf/map.h"
#include "bpf/map_words.h"

#define FLAGS ((uint32_t)(MAP_NUMA_NODE | MAP_ZERO_SEED | MAP_ACCESS))
#define HASHES_MASK 0xfu
#define HASHES_DEFAULT 5u
/* 7/5 is a little less than 1 / ln 2. */
#define BITS_EACH(entries) ((entries)*7 / 5)
#define BITS_MAX ((uint64_t)1 << 32)

struct map_bloom {
	uint64_t mask, seed; /* of bits */
	uint32_t hashes;
	uint64_t words[];
};

static uint64_t bits_for(uint64_t wanted)
{
	uint64_t bits = 64;

	while (bits < wanted && bits < BITS_MAX)
		bits *= 2;
	return bits;
}

static void seed_it(struct map_bloom *bloom, uint32_t flags)
{
	if (flags & MAP_ZERO_SEED)
		return;
	if (getrandom(&bloom->seed, sizeof(bloom->seed), GRND_NONBLOCK) < 0)
		bloom->seed = (uintptr_t)bloom;
}

static int bloom_create(struct map *map)
{
	const struct pp_bpf_map_info *info = &map->info;
	uint32_t hashes = info->extra ? (uint32_t)info->extra : HASHES_DEFAULT;
	uint64_t bits;

	if (info->key_size || !info->value_size || !info->max_entries || info->flags & ~FLAGS ||
	    info->extra & ~(uint64_t)HASHES_MASK)
		return -EINVAL;
	if (info->value_size > MAP_MAX_ELEMENT)
		return -E2BIG;
	bits = bits_for(BITS_EACH((uint64_t)info->max_entries * hashes));
	map->bloom = calloc(1, sizeof(*map->bloom) + bits / 8);
	if (!map->bloom)
		return -ENOMEM;
	map->bloom->mask = bits - 1;
	map->bloom->hashes = hashes;
	seed_it(map->bloom, info->flags);
	return 0;
}

static void bloom_destroy(struct map *map)
{
	free(map->bloom);
}

struct bits {
	uint64_t at, step;
};

static struct bits bits_of(const struct map *map, const void *value)
{
	uint64_t hash = map_hash_bytes(value, map->info.value_size, map->bloom->seed);

	return (struct bits){hash, hash >> 32 | 1};
}

static int bloom_push(struct map *map, const void *value, uint64_t flags)
{
	struct map_bloom *bloom = map->bloom;
	struct bits bits;

	if (flags != MAP_ANY)
		return -EINVAL;
	bits = bits_of(map, value);
	for (uint32_t i = 0; i < bloom->hashes; i++, bits.at += bits.step) {
		uint64_t bit = bits.at & bloom->mask;

		__atomic_fetch_or(&bloom->words[bit / 64], (uint64_t)1 << bit % 64,
				  __ATOMIC_RELAXED);
	}
	return 0;
}

static int bloom_peek(struct map *map, void *value)
{
	const struct map_bloom *bloom = map->bloom;
	struct bits bits = bits_of(map, value);

	for (uint32_t i = 0; i < bloom->hashes; i++, bits.at += bits.step) {
		uint64_t bit = bits.at & bloom->mask;

		if (!(__atomic_load_n(&bloom->words[bit / 64], __ATOMIC_RELAXED) >> bit % 64 & 1))
			return -ENOENT;
	}
	return 0;
}

const struct map_ops map_bloom_ops = {
	.create = bloom_create,
	.destroy = bloom_destroy,
	.lookup = map_none,
	.push = bloom_push,
	.peek = bloom_peek,
	.none = -ENOTSUP,
};

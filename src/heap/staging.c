/* SPDX-License-Identifier: MIT */
#include "heap/staging.h"

#include "os/cpu.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 64u

struct staging *staging_new(size_t size)
{
	struct staging *staging;

	if (size > SIZE_MAX - sizeof(*staging) - GUARD)
		return NULL;
	staging = aligned_alloc(STAGING_ALIGN, sizeof(*staging) + size + GUARD);
	if (staging)
		staging->size = size;
	return staging;
}

void staging_free(struct staging *staging)
{
	free(staging);
}

void staging_fill(struct staging *staging)
{
	cpu_fill_traps(staging->rw, staging->size + GUARD);
}

bool staging_is_intact(const struct staging *staging)
{
	uint8_t traps[GUARD];

	cpu_fill_traps(traps, sizeof(traps));
	return !memcmp(staging->rw + staging->size, traps, GUARD);
}

void staging_put(struct staging_table *table, struct staging *staging)
{
	struct staging **list = &table->list[staging->chunk % STAGING_LISTS];

	staging->next = *list;
	*list = staging;
}

struct staging *staging_claim(struct staging_table *table, size_t chunk, const void *rw)
{
	struct staging **link = &table->list[chunk % STAGING_LISTS];

	for (; *link; link = &(*link)->next) {
		struct staging *staging = *link;

		if (staging->chunk == chunk && staging->rw == rw) {
			*link = staging->next;
			return staging;
		}
	}
	return NULL;
}

void staging_free_all(struct staging_table *table)
{
	for (size_t i = 0; i < STAGING_LISTS; i++) {
		while (table->list[i]) {
			struct staging *staging = table->list[i];

			table->list[i] = staging->next;
			staging_free(staging);
		}
	}
}

/* SPDX-License-Identifier: MIT */
#include "heap/staging.h"

#include "heap/room.h"
#include "os/cpu.h"

#include <string.h>

#define GUARD 64u
#define ROOM_MIN 128u

/* The kind whose room holds a buffer of @size; STAGING_KINDS if none is so large. */
static size_t kind_of(size_t size)
{
	size_t kind = 0;

	while (kind < STAGING_KINDS && size + GUARD > (size_t)ROOM_MIN << kind)
		kind++;
	return kind;
}

struct staging *staging_new(size_t size)
{
	size_t kind, room;
	struct staging *staging;

	if (size > SIZE_MAX - sizeof(*staging) - GUARD)
		return NULL;
	kind = kind_of(size);
	room = kind < STAGING_KINDS ? (size_t)ROOM_MIN << kind : size + GUARD;
	staging = room_new(STAGING_ALIGN, sizeof(*staging) + room);
	if (staging) {
		staging->size = size;
		staging->room = room;
	}
	return staging;
}

void staging_free(struct staging *staging)
{
	room_free(staging);
}

struct staging *staging_reuse(struct staging_table *table, size_t size)
{
	size_t kind = kind_of(size);
	struct staging *staging = kind < STAGING_KINDS ? table->kept[kind] : NULL;

	if (!staging)
		return NULL;
	table->kept[kind] = staging->next;
	table->nkept[kind]--;
	staging->size = size;
	return staging;
}

bool staging_keep(struct staging_table *table, struct staging *staging)
{
	size_t kind = kind_of(staging->room - GUARD);

	if (kind == STAGING_KINDS || table->nkept[kind] == STAGING_KEPT)
		return false;
	staging->next = table->kept[kind];
	table->kept[kind] = staging;
	table->nkept[kind]++;
	return true;
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

static void free_lists(struct staging **list, size_t lists)
{
	for (size_t i = 0; i < lists; i++) {
		while (list[i]) {
			struct staging *staging = list[i];

			list[i] = staging->next;
			staging_free(staging);
		}
	}
}

void staging_free_all(struct staging_table *table)
{
	free_lists(table->list, STAGING_LISTS);
	free_lists(table->kept, STAGING_KINDS);
}

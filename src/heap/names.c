/* SPDX-License-Identifier: MIT */
#include "heap/names.h"

#include "heap/room.h"
#include "os/os.h"

#include <string.h>

static size_t bytes(size_t lists)
{
	size_t page = os_page_size();

	return (lists * sizeof(struct name *) + page - 1) / page * page;
}

int names_init(struct names *names, size_t chunks)
{
	size_t lists = (chunks + NAMES_SPAN - 1) / NAMES_SPAN;
	void *memory;
	int err = os_map_rw(bytes(lists), &memory);

	if (err)
		return err;
	os_want_small(memory, bytes(lists));
	*names = (struct names){.list = memory, .lists = lists};
	return 0;
}

struct names names_share(const struct names *names)
{
	return (struct names){.list = names->list, .lists = names->lists};
}

void names_fini(struct names *names)
{
	for (size_t i = 0; names->count && i < names->lists; i++) {
		while (names->list[i]) {
			struct name *name = names->list[i];

			names->list[i] = name->next;
			names->count--;
			name_free(name);
		}
	}
	os_unmap(names->list, bytes(names->lists));
}

struct name *name_new(const char *text)
{
	size_t size = strlen(text) + 1;
	struct name *name = room_new(ROOM_ALIGN, sizeof(*name) + size);

	if (name)
		memcpy(name->text, text, size);
	return name;
}

void name_free(struct name *name)
{
	room_free(name);
}

void names_put(struct names *names, size_t chunk, struct name *name)
{
	struct name **list = &names->list[chunk / NAMES_SPAN];

	name->chunk = chunk;
	name->next = *list;
	*list = name;
	names->count++;
}

/* The link to a block's name, or to the NULL at the end of its list. */
static struct name **find(const struct names *names, size_t chunk)
{
	struct name **link = &names->list[chunk / NAMES_SPAN];

	while (*link && (*link)->chunk != chunk)
		link = &(*link)->next;
	return link;
}

struct name *names_take(struct names *names, size_t chunk)
{
	struct name **link, *name;

	if (!names->count)
		return NULL;
	link = find(names, chunk);
	name = *link;
	if (name) {
		*link = name->next;
		names->count--;
	}
	return name;
}

const char *names_get(const struct names *names, size_t chunk)
{
	const struct name *name = names->count ? *find(names, chunk) : NULL;

	return name ? name->text : NULL;
}

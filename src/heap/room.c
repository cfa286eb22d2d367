/* SPDX-License-Identifier: MIT */
#include "heap/room.h"

#include "os/os.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

/* Right in front of each room. */
struct head {
	void *start;   /* of what was taken, head included */
	size_t mapped; /* bytes; 0: libc's */
};

static pid_t trusted; /* the process whose malloc() is whole, or 0: not known */
static bool is_lost;  /* it is not, and there is no way back */

static bool libc_is_lost(void)
{
	return __atomic_load_n(&is_lost, __ATOMIC_RELAXED);
}

static struct head *head_of(void *room)
{
	return (struct head *)room - 1;
}

void *room_new(size_t align, size_t size)
{
	bool mapped = libc_is_lost();
	uint8_t *start;
	void *room;

	if (size > SIZE_MAX - 2 * align)
		return NULL;
	size = (size + 2 * align - 1) / align * align; /* the head's part is a multiple too */
	if (mapped && os_map_rw(size, (void **)&start))
		return NULL;
	if (!mapped)
		start = aligned_alloc(align, size);
	if (!start)
		return NULL;
	room = start + align;
	*head_of(room) = (struct head){.start = start, .mapped = mapped ? size : 0};
	return room;
}

void room_free(void *room)
{
	struct head head;

	if (!room)
		return;
	head = *head_of(room);
	if (head.mapped)
		os_unmap(head.start, head.mapped);
	else if (!libc_is_lost())
		free(head.start);
}

void room_trust_libc(void)
{
	__atomic_store_n(&trusted, os_process(), __ATOMIC_RELAXED);
}

void room_check_libc(void)
{
	pid_t known = __atomic_load_n(&trusted, __ATOMIC_RELAXED);

	if (known && known != os_process())
		__atomic_store_n(&is_lost, true, __ATOMIC_RELAXED);
}

/* SPDX-License-Identifier: MIT */
/*
 * trace.c - bpf_trace_printk() and _vprintk(): to the print function of the object
 *
 * A helper is told r1 .. r5 and nothing of its caller. But it is called from the caller's
 * own code: the return address lies in the object's image, which is looked up in a tree of
 * images, however the program was entered. A return address in no image is the
 * interpreter's, and then the thread knows whose program it interprets. Both are true of
 * programs that run, so neither object can go away meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <string.h>

#include "bpf/format.h"
#include "bpf/helper.h"

#define TEXT_MAX 1023 /* MAX_BPRINTF_BUF, less its NUL */
#define TRACE_ARGS 3  /* MAX_TRACE_PRINTK_VARARGS */

static pthread_mutex_t images_lock = PTHREAD_MUTEX_INITIALIZER;
static void *images; /* tree of struct jit_image *, by address */
static _Thread_local const struct pp_bpf_object *interpreted;

/* Images are disjoint, and an address is an image of one byte: overlapping is equal. */
static int compare_images(const void *a, const void *b)
{
	const struct jit_image *left = a, *right = b;

	if (left->rx + left->size <= right->rx)
		return -1;
	return left->rx >= right->rx + right->size;
}

int trace_add(struct pp_bpf_object *object)
{
	void *node;

	pthread_mutex_lock(&images_lock);
	node = tsearch(&object->image, &images, compare_images);
	pthread_mutex_unlock(&images_lock);
	return node ? 0 : -ENOMEM;
}

void trace_remove(struct pp_bpf_object *object)
{
	if (!object->image.rx)
		return;
	pthread_mutex_lock(&images_lock);
	tdelete(&object->image, &images, compare_images);
	pthread_mutex_unlock(&images_lock);
}

const struct pp_bpf_object *trace_interpreted(void)
{
	return interpreted;
}

const struct pp_bpf_object *trace_enter(const struct pp_bpf_object *object)
{
	const struct pp_bpf_object *before = interpreted;

	interpreted = object;
	return before;
}

static const struct pp_bpf_object *caller_at(const void *address)
{
	const struct jit_image wanted = {.rx = address, .size = 1};
	struct jit_image *const *found;
	struct jit_image *image;

	pthread_mutex_lock(&images_lock);
	found = tfind(&wanted, &images, compare_images);
	image = found ? *found : NULL;
	pthread_mutex_unlock(&images_lock);
	if (!image)
		return interpreted;
	return (const struct pp_bpf_object *)((const char *)image -
					      offsetof(struct pp_bpf_object, image));
}

/*
 * To where the caller's object prints: the length of all of it, though TEXT_MAX bytes are printed.
 * The format is copied: other threads may change a program's while it is read.
 */
static int64_t print(const struct pp_bpf_object *object, uint64_t fmt, uint64_t fmt_size,
		     const uint64_t *args, size_t nargs)
{
	const char *from = (const char *)(uintptr_t)fmt;
	size_t most = (uint32_t)fmt_size, len = from ? strnlen(from, most) : most;
	char copy[TEXT_MAX + 1], text[TEXT_MAX];
	struct output out = {.text = text, .size = sizeof(text)};
	int err;

	if (len == most)
		return -EINVAL;
	if (len > TEXT_MAX)
		return -E2BIG;
	memcpy(copy, from, len);
	copy[len] = 0;
	err = format(&out, copy, args, nargs);
	if (err)
		return err;
	if (object && object->opts.print)
		object->opts.print(object->opts.print_ctx, text,
				   out.len < sizeof(text) ? out.len : sizeof(text));
	return (int64_t)out.len;
}

uint64_t trace_printk(uint64_t fmt, uint64_t fmt_size, uint64_t a1, uint64_t a2, uint64_t a3)
{
	const uint64_t args[TRACE_ARGS] = {a1, a2, a3};

	return (uint64_t)print(caller_at(__builtin_return_address(0)), fmt, fmt_size, args,
			       TRACE_ARGS);
}

uint64_t trace_vprintk(uint64_t fmt, uint64_t fmt_size, uint64_t at, uint64_t size, uint64_t r5)
{
	uint64_t args[FORMAT_ARGS];
	int nargs = format_args(args, at, size);

	(void)r5;
	if (nargs < 0)
		return (uint64_t)(int64_t)nargs;
	return (uint64_t)print(caller_at(__builtin_return_address(0)), fmt, fmt_size, args,
			       (size_t)nargs);
}

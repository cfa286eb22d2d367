/* SPDX-License-Identifier: MIT */
/*
 * trace.c - bpf_trace_printk(): the kernel's formats, to the print function of the object
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
#include <stdio.h>
#include <string.h>

#include "bpf/helper.h"

#define TEXT_MAX 1024
#define ARGS_MAX 3

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

/* @len may grow past TEXT_MAX: what does not fit is dropped, not printed elsewhere. */
struct output {
	char text[TEXT_MAX];
	size_t len;
};

static void put(struct output *out, const char *text, size_t len)
{
	size_t room = out->len < TEXT_MAX ? TEXT_MAX - out->len : 0;

	if (len > room)
		len = room;
	memcpy(out->text + out->len, text, len);
	out->len += len;
}

static void put_string(struct output *out, uint64_t arg)
{
	const char *text = arg ? (const char *)(uintptr_t)arg : "(null)";

	put(out, text, strnlen(text, TEXT_MAX));
}

/* @spec: "%", flags and width, as in the format; NUL-terminated. */
static void put_number(struct output *out, char *spec, char type, int longs, uint64_t arg)
{
	char text[128];
	int len;

	if (!longs)
		arg = type == 'd' || type == 'i' ? (uint64_t)(int64_t)(int32_t)arg : (uint32_t)arg;
	strcat(spec, "ll");
	strncat(spec, &type, 1);
	/* The checks in conversion() leave nothing but flags, two digits of width and diuxX. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	len = snprintf(text, sizeof(text), spec, (unsigned long long)arg);
#pragma GCC diagnostic pop
	put(out, text, (size_t)len);
}

/* What follows a '%': its bytes, or 0 where the kernel would refuse it too. */
static size_t conversion(struct output *out, const char *at, uint64_t arg)
{
	size_t flags = strspn(at, "0 +-");
	size_t width = strspn(at + flags, "0123456789");
	size_t longs = strspn(at + flags + width, "l");
	size_t len = flags + width + longs;
	char spec[16] = "%", type = at[len];

	if (flags > 2 || width > 2 || longs > 2 || (longs && !strchr("diuxX", type)))
		return 0;
	strncat(spec, at, flags + width);
	switch (type) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X': put_number(out, spec, type, longs > 0, arg); break;
	case 'p': put_number(out, strcpy(spec, "0x%"), 'x', 1, arg); break;
	case 's': put_string(out, arg); break;
	case 'c': put(out, &(char){(char)arg}, 1); break;
	default: return 0;
	}
	return len + 1;
}

static int format(struct output *out, const char *fmt, const uint64_t *args)
{
	size_t used = 0;

	for (size_t taken; *fmt; fmt += taken) {
		taken = strcspn(fmt, "%");
		if (taken) {
			put(out, fmt, taken);
		} else if (fmt[1] == '%') {
			put(out, "%", 1);
			taken = 2;
		} else {
			taken = used < ARGS_MAX ? conversion(out, fmt + 1, args[used++]) : 0;
			if (!taken)
				return -EINVAL;
			taken++;
		}
	}
	return 0;
}

uint64_t trace_printk(uint64_t fmt, uint64_t fmt_size, uint64_t a1, uint64_t a2, uint64_t a3)
{
	const char *text = (const char *)(uintptr_t)fmt;
	const uint64_t args[ARGS_MAX] = {a1, a2, a3};
	const struct pp_bpf_object *object = caller_at(__builtin_return_address(0));
	struct output out = {.len = 0};

	if (!text || !memchr(text, 0, (uint32_t)fmt_size) || format(&out, text, args))
		return (uint64_t)-EINVAL;
	if (object && object->opts.print)
		object->opts.print(object->opts.print_ctx, out.text, out.len);
	return out.len;
}

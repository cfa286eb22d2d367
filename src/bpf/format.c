/* SPDX-License-Identifier: MIT */
/*
 * format.c - the kernel's formats, in its two steps
 *
 * The first checks the whole format and takes from the arguments what is text: a format that is
 * refused in its middle has written nothing. The second writes, and cannot fail.
 */
#include "bpf/format.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/helper_list.h"
#include "os/fault.h"

#define ROOM 512u /* of all arguments: MAX_BPRINTF_BIN_ARGS */
#define WIDTH_MAX ((1u << 23) - 1)
#define DIGITS_MAX 20 /* 2^64 - 1 */
#define POINTER_DIGITS 16

enum kind { KIND_PERCENT, KIND_NUMBER, KIND_CHAR, KIND_STRING, KIND_ADDRESS, KIND_SYMBOL, KIND_IP };

/*
 * struct spec - a '%' and what belongs to it
 * @len: all of its text
 * @type: the letter of a number; of an IP address '4' or '6'
 * @plain: write the text without regard to width
 * @long_form: of an IP address: pi, not pI
 */
struct spec {
	enum kind kind;
	size_t len;
	char type;
	bool left, plus, space, zero, wide, plain, long_form;
	unsigned int width;
};

/* struct taken - text of arguments, by their number; NULL for others; @used of the room */
struct taken {
	const char *text[FORMAT_ARGS];
	char room[ROOM];
	size_t used;
};

/* ---- reading a format; not <ctype.h>'s, which is the locale's ---- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

/* UTF-8 outside of what a '%' begins is fine since Linux 6.18. */
static bool is_text(char c)
{
	return is_printable(c) || is_space(c) || c & 0x80;
}

static bool ends_word(char c)
{
	return !c || is_space(c) || (is_printable(c) && !is_alnum(c));
}

static const char *read_flags(const char *at, struct spec *spec)
{
	for (;; at++) {
		switch (*at) {
		case '0': spec->zero = true; break;
		case '+': spec->plus = true; break;
		case '-': spec->left = true; break;
		case ' ': spec->space = true; break;
		default: return at;
		}
	}
}

static const char *read_width(const char *at, struct spec *spec)
{
	for (; *at >= '0' && *at <= '9'; at++) {
		spec->width = spec->width * 10 + (unsigned int)(*at - '0');
		if (spec->width > WIDTH_MAX)
			spec->width = WIDTH_MAX;
	}
	return at;
}

static const char *skip_word(const char *at)
{
	while (is_alnum(*at))
		at++;
	return at;
}

/* Behind a "%p". NULL: refused. */
static const char *read_pointer(const char *at, struct spec *spec)
{
	if ((*at == 'k' || *at == 'u') && at[1] == 's') {
		spec->kind = KIND_STRING;
		spec->plain = true;
		return ends_word(at[2]) ? at + 2 : NULL;
	}
	if ((*at == 'i' || *at == 'I') && (at[1] == '4' || at[1] == '6')) {
		spec->kind = KIND_IP;
		spec->plain = true;
		spec->long_form = *at == 'i';
		spec->type = at[1];
		return skip_word(at);
	}
	if (!ends_word(*at) && !strchr("KxsSB", *at))
		return NULL;
	spec->kind = *at == 's' || *at == 'S' || *at == 'B' ? KIND_SYMBOL : KIND_ADDRESS;
	spec->plain = *at == 'B';
	return skip_word(at);
}

static const char *read_number(const char *at, struct spec *spec)
{
	spec->kind = KIND_NUMBER;
	spec->wide = *at == 'l';
	if (*at == 'l')
		at++;
	if (*at == 'l')
		at++;
	spec->type = *at;
	return *at && strchr("diuxX", *at) ? at + 1 : NULL;
}

static const char *read_type(const char *at, struct spec *spec)
{
	switch (*at) {
	case 'p': return read_pointer(at + 1, spec);
	case 'c': spec->kind = KIND_CHAR; return at + 1;
	case 's': spec->kind = KIND_STRING; return ends_word(at[1]) ? at + 1 : NULL;
	default: return read_number(at, spec);
	}
}

/* @at: a '%' */
static bool read_spec(const char *at, struct spec *spec)
{
	const char *end;

	*spec = (struct spec){.kind = KIND_PERCENT, .len = 2};
	if (at[1] == '%')
		return true;
	end = read_type(read_width(read_flags(at + 1, spec), spec), spec);
	spec->len = end ? (size_t)(end - at) : 0;
	return end;
}

/* ---- the first step ---- */

static bool take_room(struct taken *taken, size_t size, size_t align)
{
	size_t at = (taken->used + align - 1) / align * align;

	if (at + size > ROOM)
		return false;
	taken->used = at + size;
	return true;
}

static void put_ip(char *text, size_t room, const struct spec *spec, const uint8_t *ip)
{
	const char *colon = spec->long_form ? "" : ":";
	size_t len = 0;

	if (spec->type == '4') {
		snprintf(text, room, spec->long_form ? "%03u.%03u.%03u.%03u" : "%u.%u.%u.%u", ip[0],
			 ip[1], ip[2], ip[3]);
		return;
	}
	for (unsigned int i = 0; i < 16 && len < room; i += 2)
		len += (size_t)snprintf(text + len, room - len, "%s%02x%02x", i ? colon : "", ip[i],
					ip[i + 1]);
}

static bool take_ip(struct taken *taken, const struct spec *spec, uint64_t arg)
{
	char *text = taken->room + taken->used;
	size_t room = ROOM - taken->used, size = spec->type == '4' ? 4 : 16;
	uint8_t ip[16];

	if (room < size)
		return false;
	if (fault_copy(ip, (const void *)(uintptr_t)arg, size))
		memset(ip, 0, sizeof(ip));
	put_ip(text, room, spec, ip);
	taken->used += strlen(text) + 1;
	return true;
}

static bool take_string(struct taken *taken, uint64_t arg)
{
	char *text = taken->room + taken->used;
	int64_t got;

	if (taken->used == ROOM)
		return false;
	got = probe_string(text, ROOM - taken->used, arg);
	if (got < 0)
		*text = 0;
	taken->used += got < 0 ? 1 : (size_t)got;
	return true;
}

static bool take_arg(struct taken *taken, size_t number, const struct spec *spec, uint64_t arg)
{
	switch (spec->kind) {
	case KIND_STRING:
		taken->text[number] = taken->room + taken->used;
		return take_string(taken, arg);
	case KIND_IP:
		taken->text[number] = taken->room + taken->used;
		return take_ip(taken, spec, arg);
	case KIND_CHAR: return take_room(taken, 1, 1);
	case KIND_NUMBER: return take_room(taken, spec->wide ? 8 : 4, 4);
	default: return take_room(taken, 8, 4);
	}
}

static int take(struct taken *taken, const char *fmt, const uint64_t *args, size_t nargs)
{
	struct spec spec = {.len = 1};
	size_t number = 0;

	for (; *fmt; fmt += spec.len) {
		spec.len = 1;
		if (!is_text(*fmt))
			return -EINVAL;
		if (*fmt != '%')
			continue;
		if (!read_spec(fmt, &spec))
			return -EINVAL;
		if (spec.kind == KIND_PERCENT)
			continue;
		if (number == nargs)
			return -EINVAL;
		if (!take_arg(taken, number, &spec, args[number]))
			return -ENOSPC;
		number++;
	}
	return 0;
}

/* ---- the second ---- */

static size_t room_for(const struct output *out, size_t len)
{
	size_t room = out->len < out->size ? out->size - out->len : 0;

	return len < room ? len : room;
}

static void put(struct output *out, const char *text, size_t len)
{
	size_t fits = room_for(out, len);

	if (fits)
		memcpy(out->text + out->len, text, fits);
	out->len += len;
}

static void put_fill(struct output *out, char c, size_t count)
{
	size_t fits = room_for(out, count);

	if (fits)
		memset(out->text + out->len, c, fits);
	out->len += count;
}

static void put_text(struct output *out, const struct spec *spec, const char *text, size_t len)
{
	size_t padding = !spec->plain && spec->width > len ? spec->width - len : 0;

	put_fill(out, ' ', spec->left ? 0 : padding);
	put(out, text, len);
	put_fill(out, ' ', spec->left ? padding : 0);
}

/* @end: of DIGITS_MAX bytes; returns where the digits begin */
static char *digits(char *end, uint64_t value, unsigned int base, bool capital)
{
	const char *letters = capital ? "0123456789ABCDEF" : "0123456789abcdef";

	do
		*--end = letters[value % base];
	while (value /= base);
	return end;
}

/* @sign: before everything, or 0 */
static void put_digits(struct output *out, const struct spec *spec, char sign, const char *text,
		       size_t len)
{
	size_t all = len + (sign ? 1 : 0), padding = spec->width > all ? spec->width - all : 0;
	bool zeros = spec->zero && !spec->left;

	put_fill(out, ' ', spec->left || zeros ? 0 : padding);
	put(out, &sign, sign ? 1 : 0);
	put_fill(out, '0', zeros ? padding : 0);
	put(out, text, len);
	put_fill(out, ' ', spec->left ? padding : 0);
}

static bool is_signed(const struct spec *spec)
{
	return spec->type == 'd' || spec->type == 'i';
}

/* Or 0: none */
static char sign_of(const struct spec *spec, bool negative)
{
	if (!is_signed(spec))
		return 0;
	if (negative)
		return '-';
	if (spec->plus)
		return '+';
	return spec->space ? ' ' : 0;
}

static void put_number(struct output *out, const struct spec *spec, uint64_t arg)
{
	bool negative;
	char text[DIGITS_MAX], *end = text + DIGITS_MAX, *at;

	if (!spec->wide)
		arg = is_signed(spec) ? (uint64_t)(int64_t)(int32_t)arg : (uint32_t)arg;
	negative = is_signed(spec) && (int64_t)arg < 0;
	at = digits(end, negative ? -arg : arg, spec->type == 'x' || spec->type == 'X' ? 16 : 10,
		    spec->type == 'X');
	put_digits(out, spec, sign_of(spec, negative), at, (size_t)(end - at));
}

static void put_address(struct output *out, const struct spec *spec, uint64_t arg)
{
	char text[DIGITS_MAX], *end = text + DIGITS_MAX, *at = digits(end, arg, 16, false);
	struct spec wide = *spec;

	if (!wide.width) {
		wide.width = POINTER_DIGITS;
		wide.zero = true;
	}
	put_digits(out, &wide, 0, at, (size_t)(end - at));
}

static void put_symbol(struct output *out, const struct spec *spec, uint64_t arg)
{
	char text[2 + DIGITS_MAX + 1], *end = text + sizeof(text),
				       *at = digits(end, arg, 16, false);

	*--at = 'x';
	*--at = '0';
	put_text(out, spec, at, (size_t)(end - at));
}

static void put_arg(struct output *out, const struct spec *spec, const char *text, uint64_t arg)
{
	if (text) {
		put_text(out, spec, text, strlen(text));
		return;
	}
	switch (spec->kind) {
	case KIND_NUMBER: put_number(out, spec, arg); break;
	case KIND_CHAR: put_text(out, spec, &(char){(char)arg}, 1); break;
	case KIND_ADDRESS: put_address(out, spec, arg); break;
	case KIND_SYMBOL: put_symbol(out, spec, arg); break;
	default: break;
	}
}

int format_args(uint64_t *args, uint64_t at, uint64_t size)
{
	size_t bytes = (uint32_t)size;

	if (bytes % sizeof(*args) || bytes > FORMAT_ARGS * sizeof(*args) || (bytes && !at))
		return -EINVAL;
	if (bytes)
		memcpy(args, (const void *)(uintptr_t)at, bytes);
	return (int)(bytes / sizeof(*args));
}

int format(struct output *out, const char *fmt, const uint64_t *args, size_t nargs)
{
	struct taken taken = {.used = 0};
	int err = take(&taken, fmt, args, nargs);
	struct spec spec;

	for (size_t number = 0; !err && *fmt; fmt += spec.len) {
		spec.len = strcspn(fmt, "%");
		if (spec.len) {
			put(out, fmt, spec.len);
			continue;
		}
		read_spec(fmt, &spec);
		if (spec.kind == KIND_PERCENT) {
			put(out, "%", 1);
		} else {
			put_arg(out, &spec, taken.text[number], args[number]);
			number++;
		}
	}
	return err;
}

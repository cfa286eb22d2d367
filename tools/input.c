/* SPDX-License-Identifier: MIT */
/* input.c - bytes from files, standard input and hex text; see input.h */
#include "input.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define FIRST_READ 65536u

void input_free(struct bytes *bytes)
{
	free(bytes->at);
	*bytes = (struct bytes){0};
}

/* Room for one more read. The size is found by reading: pipes have none to ask for. */
static int grow(struct bytes *bytes, size_t *room)
{
	size_t wish = *room ? 2 * *room : FIRST_READ;
	void *at;

	if (bytes->size < *room)
		return 0;
	at = realloc(bytes->at, wish);
	if (!at)
		return -ENOMEM;
	bytes->at = at;
	*room = wish;
	return 0;
}

/* One read: the count, 0 at the end, -errno. */
static ssize_t read_some(int fd, struct bytes *bytes, size_t *room)
{
	ssize_t got;
	int err = grow(bytes, room);

	if (err)
		return err;
	do {
		got = read(fd, bytes->at + bytes->size, *room - bytes->size);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	bytes->size += (size_t)got;
	return bytes->size > INPUT_MAX ? -EFBIG : got;
}

static int read_all(int fd, struct bytes *bytes)
{
	size_t room = 0;
	ssize_t got;

	do {
		got = read_some(fd, bytes, &room);
	} while (got > 0);
	if (got < 0 || !bytes->size)
		input_free(bytes);
	return (int)got;
}

const char *input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

int input_read(const char *path, struct bytes *bytes)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int err;

	*bytes = (struct bytes){0};
	err = fd < 0 ? -errno : read_all(fd, bytes);
	if (fd >= 0 && !is_stdin)
		close(fd);
	if (!err)
		return 0;
	if (err == -EFBIG)
		cli_error("%s: larger than %zu MiB", input_name(path), INPUT_MAX >> 20);
	else
		cli_error("%s: %s", input_name(path), strerror(-err));
	return -1;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20); /* lower case */
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_separator(char c)
{
	return c == ':' || isspace((unsigned char)c);
}

static int bad_hex(const char *what, const char *text, size_t at, size_t len)
{
	unsigned char byte = at < len ? (unsigned char)text[at] : 0;

	if (at == len || is_separator(text[at]))
		cli_error("%s: half a byte before character %zu: hex digits come in pairs", what,
			  at + 1);
	else if (isprint(byte))
		cli_error("%s: '%c' (character %zu) is not a hex digit", what, byte, at + 1);
	else
		cli_error("%s: 0x%02x (character %zu) is not a hex digit", what, byte, at + 1);
	return -EINVAL;
}

int input_hex(const char *what, const char *text, size_t len, struct bytes *bytes)
{
	uint8_t *out = malloc(len / 2 + 1);
	size_t size = 0, at = 0;

	if (!out) {
		cli_error("%s: %s", what, strerror(ENOMEM));
		return -ENOMEM;
	}
	while (at < len) {
		int high = hex_digit(text[at]);
		int low = at + 1 < len ? hex_digit(text[at + 1]) : -1;

		if (is_separator(text[at])) {
			at++;
			continue;
		}
		if (high < 0 || low < 0) {
			free(out);
			return bad_hex(what, text, high < 0 ? at : at + 1, len);
		}
		out[size++] = (uint8_t)(high << 4 | low);
		at += 2;
	}
	*bytes = (struct bytes){.at = size ? out : NULL, .size = size};
	if (!size)
		free(out);
	return 0;
}

int input_copy(const struct bytes *from, struct bytes *to)
{
	*to = (struct bytes){0};
	if (!from->size)
		return 0;
	to->at = malloc(from->size); /* of exactly its size: sanitizers see a program's overrun */
	if (!to->at) {
		cli_error("%zu bytes of data: %s", from->size, strerror(ENOMEM));
		return -1;
	}
	memcpy(to->at, from->at, from->size);
	to->size = from->size;
	return 0;
}

int input_fill(struct bytes *bytes, size_t size)
{
	void *at;

	if (bytes->size >= size)
		return 0;
	at = realloc(bytes->at, size);
	if (!at) {
		cli_error("%s", strerror(ENOMEM));
		return -1;
	}
	bytes->at = at;
	memset(bytes->at + bytes->size, 0, size - bytes->size);
	bytes->size = size;
	return 0;
}

int input_write(const char *path, const struct bytes *bytes)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *to = standard ? stdout : fopen(path, "wb");
	bool failed = !to || (bytes->size && fwrite(bytes->at, bytes->size, 1, to) != 1);

	if (to && !standard)
		failed |= fclose(to) != 0;
	if (!failed)
		return 0;
	cli_error("%s: %s", path, strerror(errno));
	return -1;
}

/* SPDX-License-Identifier: MIT */
/* input.h - bytes from files, standard input and hex text; failures are reported here */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger inputs are refused: a million instructions are 8 MB. */
#define INPUT_MAX ((size_t)256 << 20)

/* struct bytes - @at is malloc()ed, and NULL if there are none */
struct bytes {
	uint8_t *at;
	size_t size;
};

/* input_name - what messages call a file: "standard input" for "-" */
const char *input_name(const char *path);

/* input_read - a whole file, or standard input for "-": 0, or -1 after an error message */
int input_read(const char *path, struct bytes *bytes);

/*
 * input_hex - pairs of hex digits; white space and colons may stand between pairs
 * @what: where it comes from, for messages
 * Return: 0, or after an error message -EINVAL (the text) or -ENOMEM.
 */
int input_hex(const char *what, const char *text, size_t len, struct bytes *bytes);

/* input_copy - 0, or -1 after an error message */
int input_copy(const struct bytes *from, struct bytes *to);

/* input_fill - zeros behind what there is, up to @size bytes: 0, or -1 after an error message */
int input_fill(struct bytes *bytes, size_t size);

/* input_write - to a file, or to standard output for "-": 0, or -1 after an error message */
int input_write(const char *path, const struct bytes *bytes);

void input_free(struct bytes *bytes);

#endif

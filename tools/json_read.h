/* SPDX-License-Identifier: MIT */
/* json_read.h - a JSON reader (RFC 8259): text to a tree; what is wrong is said with its line */
#ifndef TOOLS_JSON_READ_H
#define TOOLS_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

/*
 * struct json_node - a value
 * @key: of a member of an object, else NULL; @next: what follows on the same level
 * @number: of numbers, which are whole; two's complement if @negative. Of booleans 0 or 1
 * @text: of texts, with a zero behind; @first: of arrays and objects
 */
struct json_node {
	enum json_kind kind;
	bool negative;
	char *key, *text;
	uint64_t number;
	struct json_node *first, *next;
};

/*
 * json_read - parse @size bytes of what messages call @name
 * Return: the root, or NULL after an error message. Numbers with fractions or exponents and beyond
 * 64 bits are refused: keys and values of maps have none.
 */
struct json_node *json_read(const char *name, const uint8_t *bytes, size_t size);
void json_free(struct json_node *node);

/* json_member - of an object, by name, or NULL */
const struct json_node *json_member(const struct json_node *object, const char *key);

#endif

/* SPDX-License-Identifier: MIT */
/* json_read.c - see json_read.h: recursive descent, as deep as types of C are nested */
#include "json_read.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define MAX_DEPTH 32

struct reader {
	const char *name;
	const uint8_t *at, *end;
	unsigned int line, depth;
	bool failed;
};

static struct json_node *fail(struct reader *reader, const char *what)
{
	if (!reader->failed)
		cli_error("%s:%u: %s", reader->name, reader->line, what);
	reader->failed = true;
	return NULL;
}

/* The next byte that is no space, not taken; 0 at the end. */
static int peek(struct reader *reader)
{
	for (; reader->at < reader->end; reader->at++) {
		if (*reader->at == '\n')
			reader->line++;
		else if (!strchr(" \t\r", *reader->at) || !*reader->at)
			return *reader->at;
	}
	return 0;
}

static bool take(struct reader *reader, char c)
{
	if (peek(reader) != c)
		return false;
	reader->at++;
	return true;
}

static struct json_node *new_node(struct reader *reader, enum json_kind kind)
{
	struct json_node *node = calloc(1, sizeof(*node));

	if (!node)
		return fail(reader, "no memory");
	node->kind = kind;
	return node;
}

void json_free(struct json_node *node)
{
	struct json_node *next;

	for (; node; node = next) {
		next = node->next;
		json_free(node->first);
		free(node->key);
		free(node->text);
		free(node);
	}
}

/* Behind the quote: up to the next one. Escapes of one character; names of C need no others. */
static char *read_text(struct reader *reader)
{
	char *text = malloc((size_t)(reader->end - reader->at) + 1), *to = text;

	for (; text && reader->at < reader->end; reader->at++) {
		uint8_t c = *reader->at;

		if (c == '"') {
			reader->at++;
			*to = '\0';
			return text;
		}
		if (c < ' ')
			break;
		if (c == '\\' && (++reader->at == reader->end || !strchr("\"\\/", *reader->at)))
			break;
		*to++ = (char)*reader->at;
	}
	free(text);
	fail(reader, "a text without an end, or with an escape that is not \\\", \\\\ or \\/");
	return NULL;
}

static struct json_node *read_number(struct reader *reader)
{
	struct json_node *node = new_node(reader, JSON_NUMBER);
	uint64_t digits = 0, limit;
	const uint8_t *first;

	if (!node)
		return NULL;
	node->negative = take(reader, '-');
	limit = node->negative ? (uint64_t)1 << 63 : UINT64_MAX;
	for (first = reader->at; reader->at < reader->end; reader->at++) {
		unsigned int digit = *reader->at - (unsigned int)'0';

		if (digit > 9)
			break;
		if (digits > (limit - digit) / 10)
			fail(reader, "a number of more than 64 bits");
		digits = digits * 10 + digit;
	}
	if (reader->at == first || (reader->at < reader->end && strchr(".eE", *reader->at)))
		fail(reader, "a number that is not whole");
	node->number = node->negative ? 0 - digits : digits;
	return node;
}

static struct json_node *read_value(struct reader *reader);

static struct json_node *read_member(struct reader *reader)
{
	struct json_node *value = NULL;
	char *key;

	if (!take(reader, '"'))
		return fail(reader, "an object wants a name in quotes");
	key = read_text(reader);
	if (key && !take(reader, ':'))
		fail(reader, "an object wants ':' behind a name");
	else if (key)
		value = read_value(reader);
	if (value)
		value->key = key;
	else
		free(key);
	return value;
}

static struct json_node *read_list(struct reader *reader, enum json_kind kind, char end)
{
	struct json_node *list = new_node(reader, kind), **last = list ? &list->first : NULL;

	if (!list || take(reader, end))
		return list;
	do {
		*last = kind == JSON_OBJECT ? read_member(reader) : read_value(reader);
		if (!*last)
			return list;
		last = &(*last)->next;
	} while (take(reader, ','));
	if (!take(reader, end))
		fail(reader, kind == JSON_OBJECT ? "an object wants ',' or '}'"
						 : "an array wants ',' or ']'");
	return list;
}

static struct json_node *read_word(struct reader *reader)
{
	static const struct {
		const char *word;
		enum json_kind kind;
		uint64_t number;
	} words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i].word);
		struct json_node *node;

		if ((size_t)(reader->end - reader->at) < len ||
		    memcmp(reader->at, words[i].word, len) != 0)
			continue;
		reader->at += len;
		node = new_node(reader, words[i].kind);
		if (node)
			node->number = words[i].number;
		return node;
	}
	return fail(reader, "no JSON value");
}

static struct json_node *read_any(struct reader *reader)
{
	struct json_node *node;
	int c = peek(reader);

	if (c == '-' || (c >= '0' && c <= '9'))
		return read_number(reader);
	if (take(reader, '{'))
		return read_list(reader, JSON_OBJECT, '}');
	if (take(reader, '['))
		return read_list(reader, JSON_ARRAY, ']');
	if (!take(reader, '"'))
		return read_word(reader);
	node = new_node(reader, JSON_TEXT);
	if (node)
		node->text = read_text(reader);
	return node;
}

static struct json_node *read_value(struct reader *reader)
{
	struct json_node *node;

	if (++reader->depth > MAX_DEPTH)
		return fail(reader, "nested too deep");
	node = read_any(reader);
	reader->depth--;
	return node;
}

struct json_node *json_read(const char *name, const uint8_t *bytes, size_t size)
{
	struct reader reader = {.name = name, .at = bytes, .end = bytes + size, .line = 1};
	struct json_node *root = read_value(&reader);

	if (!reader.failed && (peek(&reader) || reader.at != reader.end))
		fail(&reader, "text behind the value");
	if (!reader.failed)
		return root;
	json_free(root);
	return NULL;
}

const struct json_node *json_member(const struct json_node *object, const char *key)
{
	const struct json_node *node = object->kind == JSON_OBJECT ? object->first : NULL;

	while (node && strcmp(node->key, key) != 0)
		node = node->next;
	return node;
}

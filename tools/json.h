/* SPDX-License-Identifier: MIT */
/*
 * json.h - a JSON writer: commas, quotes and escapes
 *
 *	struct json json = { .to = stdout };
 *	json_open(&json, NULL, '{');
 *	json_text(&json, "name", name);
 *	json_close(&json, '}');
 *
 * @key is NULL for the elements of an array and for the outermost value. Write errors stay
 * in the stream; cli_finish() reports them.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *to;
	bool comma; /* a value was written on this level */
};

/* json_open, json_close - an object or an array: '{' '}' or '[' ']' */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* json_text - bytes that are no UTF-8 become U+FFFD */
void json_text(struct json *json, const char *key, const char *text);
void json_hex(struct json *json, const char *key, uint64_t value); /* as text: "0x2a" */
void json_count(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_real(struct json *json, const char *key, double value, int decimals);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif

/* SPDX-License-Identifier: MIT */
/* json.c - a JSON writer (RFC 8259); see json.h */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Length of the UTF-8 sequence at @at, or 0 if it is none. RFC 3629 section 4: no overlong
 * forms, no surrogates, nothing above U+10FFFF; they show in the first two bytes.
 */
static size_t utf8_len(const unsigned char *at)
{
	static const struct {
		unsigned char first, last, low, high, len;
	} forms[] = {
		{0x01, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (at[0] < forms[i].first || at[0] > forms[i].last)
			continue;
		if (at[1] < forms[i].low || at[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < forms[i].len; k++) {
			if ((at[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].len;
	}
	return 0;
}

static void put_quoted(FILE *to, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putc('"', to);
	while (*at) {
		size_t len = utf8_len(at);

		if (!len)
			fputs("\\ufffd", to);
		else if (*at < ' ')
			fprintf(to, "\\u%04x", *at);
		else
			fprintf(to, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "", (int)len,
				(const char *)at);
		at += len ? len : 1;
	}
	putc('"', to);
}

static void put_key(struct json *json, const char *key)
{
	if (json->comma)
		putc(',', json->to);
	json->comma = true;
	if (!key)
		return;
	put_quoted(json->to, key);
	putc(':', json->to);
}

void json_open(struct json *json, const char *key, char bracket)
{
	put_key(json, key);
	putc(bracket, json->to);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	putc(bracket, json->to);
	json->comma = true;
}

void json_text(struct json *json, const char *key, const char *text)
{
	put_key(json, key);
	put_quoted(json->to, text);
}

void json_hex(struct json *json, const char *key, uint64_t value)
{
	put_key(json, key);
	fprintf(json->to, "\"0x%" PRIx64 "\"", value);
}

void json_count(struct json *json, const char *key, uint64_t value)
{
	put_key(json, key);
	fprintf(json->to, "%" PRIu64, value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
	put_key(json, key);
	fprintf(json->to, "%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value, int decimals)
{
	if (!isfinite(value)) { /* JSON has no infinity */
		json_null(json, key);
		return;
	}
	put_key(json, key);
	fprintf(json->to, "%.*f", decimals, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_key(json, key);
	fputs(value ? "true" : "false", json->to);
}

void json_null(struct json *json, const char *key)
{
	put_key(json, key);
	fputs("null", json->to);
}

/* SPDX-License-Identifier: MIT */
/* helper_text.c - helpers on strings, and sums over bytes */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/format.h"
#include "bpf/helper_list.h"

#define BASE_MASK 0x1fu /* BPF_STRTOX_BASE_MASK */
#define NUMBER_MAX 63u  /* bytes behind space and sign that are looked at */

static uint64_t result(int64_t value)
{
	return (uint64_t)value;
}

/* ---- bpf_strtol(), bpf_strtoul() ---- */

/* The kernel's isspace(), in which Latin-1 has a hard space. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (unsigned char)c == 0xa0;
}

/* 16 and more: no digit. */
static unsigned int digit_of(char c)
{
	char low = (char)(c | 0x20);

	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	return low >= 'a' && low <= 'f' ? (unsigned int)(low - 'a') + 10 : 16;
}

static bool has_0x(const char *text)
{
	return text[0] == '0' && (text[1] | 0x20) == 'x';
}

static unsigned int base_of(const char *text)
{
	if (text[0] != '0')
		return 10;
	return has_0x(text) && digit_of(text[2]) < 16 ? 16 : 8;
}

/* The digits at @text: how many, -EINVAL (none), -ERANGE. */
static int read_digits(const char *text, unsigned int base, uint64_t *value)
{
	bool overflow = false;
	int count = 0;

	for (*value = 0; digit_of(text[count]) < base; count++) {
		overflow |= __builtin_mul_overflow(*value, base, value);
		overflow |= __builtin_add_overflow(*value, digit_of(text[count]), value);
	}
	if (overflow)
		return -ERANGE;
	return count ? count : -EINVAL;
}

/* struct number - what was read: @used bytes, the sign among them */
struct number {
	uint64_t value;
	bool negative;
	int used;
};

static int read_unsigned(const char *text, unsigned int base, struct number *number)
{
	int before, digits;

	if (!base)
		base = base_of(text);
	before = base == 16 && has_0x(text) ? 2 : 0;
	digits = read_digits(text + before, base, &number->value);
	if (digits < 0)
		return digits;
	number->used += before + digits;
	return 0;
}

static int read_number(const char *at, size_t size, uint64_t flags, struct number *number)
{
	unsigned int base = (unsigned int)(flags & BASE_MASK);
	char text[NUMBER_MAX + 1] = "";
	size_t skip = 0;

	if (!at || !size || flags & ~(uint64_t)BASE_MASK ||
	    (base && base != 8 && base != 10 && base != 16))
		return -EINVAL;
	while (skip < size && is_space(at[skip]))
		skip++;
	number->negative = skip < size && at[skip] == '-';
	skip += number->negative;
	if (skip == size)
		return -EINVAL;
	memcpy(text, at + skip, size - skip < NUMBER_MAX ? size - skip : NUMBER_MAX);
	number->used = (int)skip;
	return read_unsigned(text, base, number);
}

/* -2^63 .. 2^63 - 1, and 0 with any sign */
static bool fits_signed(const struct number *number)
{
	if (number->negative)
		return number->value <= (uint64_t)1 << 63;
	return number->value <= INT64_MAX;
}

uint64_t strtol_helper(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	void *to = (void *)(uintptr_t)r4;
	struct number number = {.used = 0};
	int err;

	(void)r5;
	memset(to, 0, sizeof(number.value));
	err = read_number((const char *)(uintptr_t)r1, (uint32_t)r2, r3, &number);
	if (!err && !fits_signed(&number))
		err = -ERANGE;
	if (err)
		return result(err);
	number.value = number.negative ? -number.value : number.value;
	memcpy(to, &number.value, sizeof(number.value));
	return result(number.used);
}

uint64_t strtoul_helper(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	void *to = (void *)(uintptr_t)r4;
	struct number number = {.used = 0};
	int err;

	(void)r5;
	memset(to, 0, sizeof(number.value));
	err = read_number((const char *)(uintptr_t)r1, (uint32_t)r2, r3, &number);
	if (!err && number.negative)
		err = -EINVAL;
	if (err)
		return result(err);
	memcpy(to, &number.value, sizeof(number.value));
	return result(number.used);
}

uint64_t strncmp_helper(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	int order;

	(void)r4, (void)r5;
	order = strncmp((const char *)(uintptr_t)r1, (const char *)(uintptr_t)r3, (uint32_t)r2);
	return result((order > 0) - (order < 0));
}

/* ---- bpf_snprintf() ---- */

/* What there is room for is terminated; the result counts all of it, and the NUL. */
uint64_t snprintf_helper(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	size_t size = (uint32_t)r2;
	struct output out = {.text = (char *)(uintptr_t)r1, .size = size ? size - 1 : 0};
	uint64_t args[FORMAT_ARGS];
	int nargs = format_args(args, r4, r5), err;

	if (nargs < 0)
		return result(nargs);
	err = format(&out, (const char *)(uintptr_t)r3, args, (size_t)nargs);
	if (err)
		return result(err);
	if (size)
		out.text[out.len < size ? out.len : size - 1] = 0;
	return out.len + 1;
}

/* ---- bpf_csum_diff() ---- */

/* RFC 1071: one's complement, any number of bytes at a time; folded to 32 bits. */
static uint32_t sum_bytes(const void *at, size_t size, uint32_t seed)
{
	const uint8_t *bytes = at;
	uint64_t sum = seed;

	for (; size >= 4; size -= 4, bytes += 4) {
		uint32_t word;

		memcpy(&word, bytes, sizeof(word));
		sum += word;
	}
	for (size_t i = 0; i < size; i++)
		sum += (uint64_t)bytes[i] << 8 * i;
	sum = (sum & UINT32_MAX) + (sum >> 32);
	return (uint32_t)(sum + (sum >> 32));
}

static uint32_t add_sums(uint32_t a, uint32_t b)
{
	uint64_t sum = (uint64_t)a + b;

	return (uint32_t)(sum + (sum >> 32));
}

static uint32_t sum_diff(const void *from, size_t from_size, const void *to, size_t to_size,
			 uint32_t seed)
{
	if (from_size && to_size)
		return add_sums(sum_bytes(to, to_size, seed), ~sum_bytes(from, from_size, 0));
	if (to_size)
		return sum_bytes(to, to_size, seed);
	return from_size ? ~sum_bytes(from, from_size, ~seed) : seed;
}

uint64_t csum_diff(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const void *from = (const void *)(uintptr_t)r1, *to = (const void *)(uintptr_t)r3;
	uint32_t sum = sum_diff(from, (uint32_t)r2, to, (uint32_t)r4, (uint32_t)r5);

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

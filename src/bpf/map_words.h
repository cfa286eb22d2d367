/* SPDX-License-Identifier: MIT */
/*
 * map_words.h - copies between maps and everybody's memory, eight bytes at a time
 *
 * Values of maps are read while others write them. As in the kernel, each aligned eight bytes of
 * one are then old or new, never a mixture; the value as a whole may be one. What lies in the map
 * is 8-byte aligned and padded to whole words; what lies outside is neither.
 *
 * Loads acquire and stores release, so that a counter read behind a copy tells whether it was
 * disturbed (map_hash.c).
 */
#ifndef BPF_MAP_WORDS_H
#define BPF_MAP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORD sizeof(uint64_t)

static inline size_t words_round(size_t size)
{
	return (size + WORD - 1) / WORD * WORD;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word's first bytes are its low ones");

/* The first @size < 8 bytes of a word, the rest zero. Sizes vary: memcpy() would be a call. */
static inline uint64_t words_tail(const uint8_t *bytes, size_t size)
{
	uint64_t word = 0;
	uint32_t four;
	uint16_t two;

	if (size & 1)
		word = bytes[size & 6];
	if (size & 2) {
		memcpy(&two, bytes + (size & 4), sizeof(two));
		word = word << 16 | two;
	}
	if (size & 4) {
		memcpy(&four, bytes, sizeof(four));
		word = word << 32 | four;
	}
	return word;
}

/* words_key - of at most eight bytes, as words_put() would store them */
static inline uint64_t words_key(const void *bytes, size_t size)
{
	uint64_t word;

	if (size < WORD)
		return words_tail(bytes, size);
	memcpy(&word, bytes, WORD);
	return word;
}

/* words_mix - a step of hashing: the halves of a product, folded */
static inline uint64_t words_mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* words_put - set @size bytes at @to, in a map; padding becomes zero */
static inline void words_put(void *to, const void *from, size_t size)
{
	const uint8_t *bytes = from;
	uint64_t *words = to, word;

	for (; size >= WORD; size -= WORD, bytes += WORD) {
		memcpy(&word, bytes, WORD);
		__atomic_store_n(words++, word, __ATOMIC_RELEASE);
	}
	if (!size)
		return;
	__atomic_store_n(words, words_tail(bytes, size), __ATOMIC_RELEASE);
}

/* words_zero - the same with zeros */
static inline void words_zero(void *to, size_t size)
{
	uint64_t *words = to;

	for (size_t i = 0; i < words_round(size) / WORD; i++)
		__atomic_store_n(words + i, 0, __ATOMIC_RELEASE);
}

/* words_get - read @size bytes of a map */
static inline void words_get(void *to, const void *from, size_t size)
{
	const uint64_t *words = from;
	uint8_t *bytes = to;
	uint64_t word;

	for (; size >= WORD; size -= WORD, bytes += WORD) {
		word = __atomic_load_n(words++, __ATOMIC_ACQUIRE);
		memcpy(bytes, &word, WORD);
	}
	if (!size)
		return;
	word = __atomic_load_n(words, __ATOMIC_ACQUIRE);
	memcpy(bytes, &word, size);
}

/* words_equal - are @size bytes of a map those at @with? */
static inline bool words_equal(const void *in, const void *with, size_t size)
{
	const uint64_t *words = in;
	const uint8_t *bytes = with;
	uint64_t word;

	for (; size >= WORD; size -= WORD, bytes += WORD) {
		memcpy(&word, bytes, WORD);
		if (__atomic_load_n(words++, __ATOMIC_ACQUIRE) != word)
			return false;
	}
	return !size || __atomic_load_n(words, __ATOMIC_ACQUIRE) == words_tail(bytes, size);
}

#endif

/* SPDX-License-Identifier: MIT */
/* measure.c - spreads of repeated measurements, orders and sizes that repeat */
#include <stdlib.h>

#include "bench/bench.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct spread spread_of(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return (struct spread){
		.min = values[0],
		.med = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
		.max = values[n - 1],
	};
}

/* xorshift64 (Marsaglia 2003) */
uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

uint32_t random_block_size(uint64_t *state)
{
	uint64_t random = random_next(state);
	uint32_t within = (uint32_t)(random >> 16);

	switch (random % 4) {
	case 0: return 501 + within % (2048 - 500);
	case 1: return 2049 + within % (BLOCK_SIZE_MAX - 2048);
	default: return 64 + within % (501 - 64);
	}
}

void shuffle(uint32_t *order, uint32_t n)
{
	uint64_t state = 0x9e3779b97f4a7c15u;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		/* Its bias over n is nothing here. */
		uint32_t other = (uint32_t)(random_next(&state) % i), last = order[i - 1];

		order[i - 1] = order[other];
		order[other] = last;
	}
}

/* SPDX-License-Identifier: MIT */
/* measure.c - spreads of repeated measurements, orders that repeat */
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

void shuffle(uint32_t *order, uint32_t n)
{
	uint64_t state = 0x9e3779b97f4a7c15u;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t other, last = order[i - 1];

		/* xorshift64 (Marsaglia 2003); its bias over n is nothing here. */
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		other = (uint32_t)(state % i);
		order[i - 1] = order[other];
		order[other] = last;
	}
}

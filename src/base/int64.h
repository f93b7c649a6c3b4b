/* The smaller and the larger of two numbers, and sums that stop at the largest one. */
#ifndef BASE_INT64_H
#define BASE_INT64_H

#include <stdint.h>

static inline int64_t int64_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t int64_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t int64_saturated(__int128 value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

#endif

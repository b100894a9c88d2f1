/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_BF16_H
#define MOEPLAN_TEST_BF16_H

#include <stdint.h>
#include <string.h>

/* Round to nearest, ties to even; no NaN. */
static inline uint16_t
bf16_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (value != value)
		return 0x7fff;
	return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

static inline float
float_of(uint16_t value)
{
	uint32_t bits = (uint32_t)value << 16;
	float result;

	memcpy(&result, &bits, sizeof(result));
	return result;
}

#endif

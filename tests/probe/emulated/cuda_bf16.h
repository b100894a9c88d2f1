/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EMULATED_CUDA_BF16_H
#define EMULATED_CUDA_BF16_H

/* As much of CUDA's header of that name as the probe's kernels use: bf16 rounds to nearest even. */
#include <stdint.h>
#include <string.h>

struct __nv_bfloat16 {
	uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
	__nv_bfloat16 x, y;
};
struct alignas(8) float2 {
	float x, y;
};

static inline float
__bfloat162float(__nv_bfloat16 value)
{
	uint32_t bits = (uint32_t)value.bits << 16;
	float result;

	memcpy(&result, &bits, sizeof(result));
	return result;
}

static inline __nv_bfloat16
__float2bfloat16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (value != value)
		return {0x7fff};
	return {(uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

static inline float2
__bfloat1622float2(__nv_bfloat162 pair)
{
	return {__bfloat162float(pair.x), __bfloat162float(pair.y)};
}

static inline __nv_bfloat162
__floats2bfloat162_rn(float x, float y)
{
	return {__float2bfloat16(x), __float2bfloat16(y)};
}

#endif

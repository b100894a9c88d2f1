/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How do float values become bf16 on the device, and back? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cuda_private.h"

/* Round to nearest, ties to even, as the device does; what is no number stays none. */
static uint16_t
to_bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (isnan(value))
		return 0x7fff;
	return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

static float
from_bf16(uint16_t value)
{
	uint32_t bits = (uint32_t)value << 16;
	float result;

	memcpy(&result, &bits, sizeof(result));
	return result;
}

static uint16_t *
words_for(struct cuda *c, int64_t n)
{
	uint16_t *words = malloc((size_t)n * sizeof(*words) + 1);

	if (!words)
		snprintf(
		    c->error, sizeof(c->error), "no host memory to copy %lld values", (long long)n);
	return words;
}

int
cuda_put(struct backend *b, enum element element, void *to, const void *from, int64_t n)
{
	const float *values = from;
	uint16_t *words;
	int64_t i;
	int result;

	if (element != ELEMENT_ACT)
		return cuda_upload(b->state, to, from, (size_t)n * 4);
	words = words_for(b->state, n);
	if (!words)
		return -1;
	for (i = 0; i < n; i++)
		words[i] = to_bf16(values[i]);
	result = cuda_upload(b->state, to, words, (size_t)n * sizeof(*words));
	free(words);
	return result;
}

int
cuda_get(struct backend *b, enum element element, void *to, const void *from, int64_t n)
{
	float *values = to;
	uint16_t *words;
	int64_t i;
	int result;

	if (element != ELEMENT_ACT)
		return cuda_download(b->state, to, from, (size_t)n * 4);
	words = words_for(b->state, n);
	if (!words)
		return -1;
	result = cuda_download(b->state, words, from, (size_t)n * sizeof(*words));
	for (i = 0; i < n && result == 0; i++)
		values[i] = from_bf16(words[i]);
	free(words);
	return result;
}

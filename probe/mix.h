/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PROBE_MIX_H
#define MOEPLAN_PROBE_MIX_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of x moves every bit of the result. */
static inline uint64_t
mix_bits(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

#endif

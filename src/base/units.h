/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_UNITS_H
#define MOEPLAN_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/*
 * The only place that parses and prints sizes, times, rates and counts.
 * GB = 1e9 bytes, GiB = 2^30 bytes; the text says which. Locale-free.
 */
#define GIB ((double)(1ULL << 30))

/* "70GiB", "512 MiB", "80GB", "1024" (bytes). False on junk, sign, overflow. */
bool units_parse_bytes(const char *text, uint64_t *bytes);
/* "18.2s", "250ms", "3us", "2min", "1h", bare number = seconds. */
bool units_parse_seconds(const char *text, double *seconds);
/* "450GB/s", "50 GBps", "400Gb/s", "400Gbps" -> bytes per second. Unit required. */
bool units_parse_rate(const char *text, double *bytes_per_second);
/* Whole text is an integer in int64 range. */
bool units_parse_integer(const char *text, int64_t *value);
/* Whole text is a finite decimal number, '.' as the point whatever the locale. */
bool units_parse_number(const char *text, double *value);

/* "71.3 GiB", rounded up at the last digit printed: a need is never shown smaller than it is. */
const char *units_gib(struct arena *arena, double bytes);
/* The bare number of units_gib, for columns whose head has the unit. */
const char *units_gib_number(struct arena *arena, double bytes);
/* "11.2 s", "3.1 ms", "41 us". */
const char *units_seconds(struct arena *arena, double seconds);
/* "2,926": digits in groups of three. */
const char *units_grouped(struct arena *arena, int64_t value);
/* "671.0 B", "15.7 B", "440.5 M": parameters, base 1000. */
const char *units_count(struct arena *arena, double value);
/* "249.5 GFLOP", "2.52 TFLOP". */
const char *units_flop(struct arena *arena, double flop);
/* "450 GB/s". */
const char *units_rate(struct arena *arena, double bytes_per_second);
/* "12.5 %". */
const char *units_percent(struct arena *arena, double fraction);

/* Overflow-checked; false leaves *out alone. */
bool units_mul_u64(uint64_t a, uint64_t b, uint64_t *out);
bool units_add_u64(uint64_t a, uint64_t b, uint64_t *out);

#endif

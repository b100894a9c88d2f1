/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do "70GiB", "250ms" and "400Gb/s" mean, and how are bytes, seconds and
 * rates shown?
 *
 * A quantity is a decimal number, blanks or none, and a unit from a table of
 * the kind: value * factor. Decimal prefixes are powers of 1000, the ones with
 * an i powers of 1024 (IEC 80000-13); b is a bit, B a byte. Letters count as
 * they are written: 80Gb and 80GB differ by eight.
 */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"

struct unit {
	const char *name;
	double factor;
};

static const struct unit byte_units[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1e3},
    {"KB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"PB", 1e15},
    {"KiB", 0x1p10},
    {"MiB", 0x1p20},
    {"GiB", 0x1p30},
    {"TiB", 0x1p40},
    {"PiB", 0x1p50},
    {NULL, 0},
};

static const struct unit second_units[] = {
    {"", 1},
    {"s", 1},
    {"ms", 1e-3},
    {"us", 1e-6},
    {"min", 60},
    {"h", 3600},
    {NULL, 0},
};

static const struct unit rate_prefixes[] = {
    {"", 1},
    {"k", 1e3},
    {"K", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"Ki", 0x1p10},
    {"Mi", 0x1p20},
    {"Gi", 0x1p30},
    {"Ti", 0x1p40},
    {NULL, 0},
};

/* In bytes per second. */
static const struct unit rate_units[] = {
    {"B/s", 1},
    {"Bps", 1},
    {"b/s", 0.125},
    {"bps", 0.125},
    {"bit/s", 0.125},
    {NULL, 0},
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *
skip_digits(const char *text)
{
	while (is_digit(*text))
		text++;
	return text;
}

/* End of [sign] digits [. digits] [e [sign] digits] at `text`, or NULL when there is none. */
static const char *
decimal_end(const char *text)
{
	const char *whole;
	const char *end;
	const char *exponent;

	if (*text == '-' || *text == '+')
		text++;
	whole = skip_digits(text);
	end = whole;
	if (*end == '.')
		end = skip_digits(end + 1);
	if (end - text == (*whole == '.' ? 1 : 0))
		return NULL;
	if (*end != 'e' && *end != 'E')
		return end;
	exponent = end + 1;
	if (*exponent == '-' || *exponent == '+')
		exponent++;
	return is_digit(*exponent) ? skip_digits(exponent) : end;
}

/* A finite number at the start of `text`; *end is where it stops. */
static bool
parse_decimal(const char *text, double *value, const char **end)
{
	double number;

	*end = decimal_end(text);
	if (!*end)
		return false;
	number = numeric_strtod(text, NULL);
	if (!isfinite(number))
		return false;
	*value = number;
	return true;
}

static const struct unit *
find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++) {
		if (strcmp(units->name, name) == 0)
			return units;
	}
	return NULL;
}

/* An unsigned quantity: its number and its unit. */
static bool
parse_quantity(const char *text, const struct unit *units, double *number, const struct unit **unit)
{
	const char *rest;

	if (*text == '-' || *text == '+' || !parse_decimal(text, number, &rest))
		return false;
	while (*rest == ' ')
		rest++;
	*unit = find_unit(units, rest);
	return *unit != NULL;
}

/* Exact for whole numbers, where a double would round above 2^53. */
static bool
parse_whole_bytes(const char *text, uint64_t factor, uint64_t *bytes)
{
	uint64_t value = 0;

	for (; is_digit(*text); text++) {
		if (!units_mul_u64(value, 10, &value) ||
		    !units_add_u64(value, (uint64_t)(*text - '0'), &value))
			return false;
	}
	return units_mul_u64(value, factor, bytes);
}

bool
units_parse_bytes(const char *text, uint64_t *bytes)
{
	const struct unit *unit;
	const char *whole = skip_digits(text);
	double number;
	double product;

	if (!parse_quantity(text, byte_units, &number, &unit))
		return false;
	if (whole > text && *whole != '.' && *whole != 'e' && *whole != 'E')
		return parse_whole_bytes(text, (uint64_t)unit->factor, bytes);
	product = number * unit->factor;
	if (!(product < 0x1p64) || (unit->factor <= 1 && product != floor(product)))
		return false;
	product = round(product);
	if (!(product < 0x1p64))
		return false;
	*bytes = (uint64_t)product;
	return true;
}

bool
units_parse_seconds(const char *text, double *seconds)
{
	const struct unit *unit;
	double number;

	if (!parse_quantity(text, second_units, &number, &unit) || !isfinite(number * unit->factor))
		return false;
	/* 250ms is 250 / 1000: 1e-3 itself is not exact */
	*seconds = unit->factor < 1 ? number / round(1 / unit->factor) : number * unit->factor;
	return true;
}

bool
units_parse_rate(const char *text, double *bytes_per_second)
{
	const char *rest;
	double number;

	if (*text == '-' || *text == '+' || !parse_decimal(text, &number, &rest))
		return false;
	while (*rest == ' ')
		rest++;
	for (const struct unit *prefix = rate_prefixes; prefix->name; prefix++) {
		size_t length = strlen(prefix->name);
		const struct unit *unit;

		if (strncmp(rest, prefix->name, length) != 0)
			continue;
		unit = find_unit(rate_units, rest + length);
		if (!unit)
			continue;
		number *= prefix->factor * unit->factor;
		if (!isfinite(number))
			return false;
		*bytes_per_second = number;
		return true;
	}
	return false;
}

bool
units_parse_integer(const char *text, int64_t *value)
{
	bool negative = *text == '-';
	uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	uint64_t magnitude = 0;

	if (*text == '-' || *text == '+')
		text++;
	if (!is_digit(*text))
		return false;
	for (; is_digit(*text); text++) {
		if (!units_mul_u64(magnitude, 10, &magnitude) ||
		    !units_add_u64(magnitude, (uint64_t)(*text - '0'), &magnitude) ||
		    magnitude > limit)
			return false;
	}
	if (*text != '\0')
		return false;
	if (!negative)
		*value = (int64_t)magnitude;
	else
		*value = magnitude == limit ? INT64_MIN : -(int64_t)magnitude;
	return true;
}

bool
units_parse_number(const char *text, double *value)
{
	const char *end;
	double number;

	if (!parse_decimal(text, &number, &end) || *end != '\0')
		return false;
	*value = number;
	return true;
}

bool
units_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	if (b != 0 && a > UINT64_MAX / b)
		return false;
	*out = a * b;
	return true;
}

bool
units_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	if (a > UINT64_MAX - b)
		return false;
	*out = a + b;
	return true;
}

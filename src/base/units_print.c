/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How are bytes, seconds, rates and counts shown to a person?
 *
 * A scale is a table of steps, smallest first. The first step is taken at which
 * the number as printed stays below the next step, so that 999.96 M becomes
 * 1.0 B and never "1000.0 M". Numbers that are not finite are shown as nan and inf.
 */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"

struct step {
	const char *unit; /* with the blank before it */
	double factor;
	int digits;	  /* after the point */
	int small_digits; /* after the point below 10 */
};

static const struct step second_steps[] = {
    {" us", 1e-6, 0, 1},
    {" ms", 1e-3, 1, 1},
    {" s", 1, 1, 1},
    {NULL, 0, 0, 0},
};

static const struct step count_steps[] = {
    {"", 1, 0, 0},
    {" K", 1e3, 1, 1},
    {" M", 1e6, 1, 1},
    {" B", 1e9, 1, 1},
    {" T", 1e12, 1, 1},
    {NULL, 0, 0, 0},
};

static const struct step flop_steps[] = {
    {" FLOP", 1, 0, 0},
    {" kFLOP", 1e3, 1, 2},
    {" MFLOP", 1e6, 1, 2},
    {" GFLOP", 1e9, 1, 2},
    {" TFLOP", 1e12, 1, 2},
    {" PFLOP", 1e15, 1, 2},
    {" EFLOP", 1e18, 1, 2},
    {" ZFLOP", 1e21, 1, 2},
    {NULL, 0, 0, 0},
};

static const struct step rate_steps[] = {
    {" B/s", 1, 0, 0},
    {" kB/s", 1e3, 1, 2},
    {" MB/s", 1e6, 1, 2},
    {" GB/s", 1e9, 1, 2},
    {" TB/s", 1e12, 1, 2},
    {NULL, 0, 0, 0},
};

static double
power_of_ten(int digits)
{
	return digits == 2 ? 100 : digits == 1 ? 10 : 1;
}

static double
rounded(double value, int digits)
{
	double unit = power_of_ten(digits);

	return round(value * unit) / unit;
}

static int
step_digits(const struct step *step, double value)
{
	bool small = rounded(fabs(value) / step->factor, step->small_digits) < 10;

	return small ? step->small_digits : step->digits;
}

static const struct step *
find_step(const struct step *steps, double value)
{
	for (; steps[1].unit; steps++) {
		double ratio = round(steps[1].factor / steps[0].factor);

		if (rounded(fabs(value) / steps->factor, step_digits(steps, value)) < ratio)
			break;
	}
	return steps;
}

static const char *
print_scaled(struct arena *arena, const struct step *steps, double value)
{
	const struct step *step = find_step(steps, value);
	double scaled = value / step->factor;

	return arena_printf(arena, "%.*f%s", step_digits(step, value), scaled, step->unit);
}

static const char *
not_finite(double value)
{
	return isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

const char *
units_seconds(struct arena *arena, double seconds)
{
	if (!isfinite(seconds))
		return arena_printf(arena, "%s s", not_finite(seconds));
	if (seconds == 0)
		return "0 s";
	return print_scaled(arena, second_steps, seconds);
}

const char *
units_grouped(struct arena *arena, int64_t value)
{
	char digits[32];
	char text[48];
	size_t length = sizeof(text) - 1;
	uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	size_t n_digits = 0;

	do {
		digits[n_digits++] = (char)('0' + magnitude % 10);
		magnitude /= 10;
	} while (magnitude != 0);
	text[length] = '\0';
	for (size_t i = 0; i < n_digits; i++) {
		if (i != 0 && i % 3 == 0)
			text[--length] = ',';
		text[--length] = digits[i];
	}
	if (value < 0)
		text[--length] = '-';
	return arena_strdup(arena, text + length);
}

const char *
units_gib_number(struct arena *arena, double bytes)
{
	double tenths = ceil(bytes * 10 / GIB);
	double whole = trunc(tenths / 10);

	if (!isfinite(bytes))
		return not_finite(bytes);
	if (tenths == 0)
		return "0.0"; /* and not -0.0 */
	if (fabs(whole) < 1000 || fabs(whole) > 1e15)
		return arena_printf(arena, "%.1f", tenths / 10);
	return arena_printf(arena, "%s.%d", units_grouped(arena, (int64_t)whole),
	    (int)fabs(tenths - 10 * whole));
}

const char *
units_gib(struct arena *arena, double bytes)
{
	return arena_printf(arena, "%s GiB", units_gib_number(arena, bytes));
}

const char *
units_count(struct arena *arena, double value)
{
	return isfinite(value) ? print_scaled(arena, count_steps, value) : not_finite(value);
}

const char *
units_flop(struct arena *arena, double flop)
{
	if (!isfinite(flop))
		return arena_printf(arena, "%s FLOP", not_finite(flop));
	return print_scaled(arena, flop_steps, flop);
}

/* A rate without the zeros at the end of its fraction: 450 GB/s, 3.35 TB/s. */
static const char *
without_zeros(struct arena *arena, const char *text)
{
	size_t number = strcspn(text, " ");
	size_t kept = number;

	if (!memchr(text, '.', number))
		return text;
	while (text[kept - 1] == '0')
		kept--;
	if (text[kept - 1] == '.')
		kept--;
	return arena_printf(arena, "%.*s%s", (int)kept, text, text + number);
}

const char *
units_rate(struct arena *arena, double bytes_per_second)
{
	if (!isfinite(bytes_per_second))
		return arena_printf(arena, "%s B/s", not_finite(bytes_per_second));
	return without_zeros(arena, print_scaled(arena, rate_steps, bytes_per_second));
}

const char *
units_percent(struct arena *arena, double fraction)
{
	double percent = rounded(fraction * 100, 1);

	if (!isfinite(percent))
		return arena_printf(arena, "%s %%", not_finite(percent));
	return arena_printf(arena, "%.1f %%", percent == 0 ? 0 : percent);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes, times, rates and counts: read and printed. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/numeric.h"
#include "base/units.h"
#include "scratch.h"

TestSuite(units, .init = scratch_open, .fini = scratch_close);

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

Test(units, bytes_are_read)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
	    {"0", 0},
	    {"1024", 1024},
	    {"1024B", 1024},
	    {"70GiB", UINT64_C(70) << 30},
	    {"512 MiB", UINT64_C(512) << 20},
	    {"80GB", UINT64_C(80000000000)},
	    {"80 GB", UINT64_C(80000000000)},
	    {"1.5GiB", UINT64_C(3) << 29},
	    {"0.5KiB", 512},
	    {".5KiB", 512},
	    {"1e3", 1000},
	    {"1.5e3KB", 1500000},
	    {"2kB", 2000},
	    {"2KB", 2000},
	    {"3TiB", UINT64_C(3) << 40},
	    {"1PB", UINT64_C(1000000000000000)},
	    {"9007199254740993", UINT64_C(9007199254740993)},
	    {"18446744073709551615", UINT64_MAX},
	    {"16383PiB", UINT64_C(16383) << 50},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		uint64_t bytes = 1;

		cr_assert(units_parse_bytes(rows[i].text, &bytes), "%s", rows[i].text);
		cr_assert_eq(bytes, rows[i].bytes, "%s: %" PRIu64, rows[i].text, bytes);
	}
}

Test(units, what_is_no_size_is_refused)
{
	static const char *const rows[] = {"", " ", "GiB", "70 gib", "80Gb", "80G", "70GiB ",
	    " 70GiB", "-1", "+1", "-1GiB", "1.5", "1,5GiB", "0x10", "nan", "inf", "infGB", "1e400",
	    "18446744073709551616", "16384PiB", "16384.5PiB", "1e30GB", "1..2GB", ".", ".GB", "1 2",
	    "70GiBx", "1e", "1e+", "1_000"};

	for (size_t i = 0; i < ROWS(rows); i++) {
		uint64_t bytes = 12345;

		cr_assert_not(units_parse_bytes(rows[i], &bytes), "'%s'", rows[i]);
		cr_assert_eq(bytes, 12345, "'%s' changed the result", rows[i]);
	}
}

Test(units, seconds_are_read)
{
	static const struct {
		const char *text;
		double seconds;
	} rows[] = {
	    {"18.2s", 18.2},
	    {"18.2", 18.2},
	    {"250ms", 0.25},
	    {"3us", 3e-6},
	    {"2min", 120},
	    {"1h", 3600},
	    {"1.5 h", 5400},
	    {"0", 0},
	    {"1e-3", 1e-3},
	    {"3ms", 0.003},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		double seconds = -1;

		cr_assert(units_parse_seconds(rows[i].text, &seconds), "%s", rows[i].text);
		cr_assert_eq(seconds, rows[i].seconds, "%s: %.17g", rows[i].text, seconds);
	}
}

Test(units, what_is_no_time_is_refused)
{
	static const char *const rows[] = {
	    "", "s", "-1s", "1 sec", "1m", "1S", "nan", "inf", "1e308h", "1,5s", "0x1s", "2 days"};
	double seconds = 7;

	for (size_t i = 0; i < ROWS(rows); i++)
		cr_assert_not(units_parse_seconds(rows[i], &seconds), "'%s'", rows[i]);
	cr_assert_eq(seconds, 7);
}

Test(units, rates_are_read)
{
	static const struct {
		const char *text;
		double Bps;
	} rows[] = {
	    {"450GB/s", 450e9},
	    {"50 GBps", 50e9},
	    {"400Gb/s", 50e9},
	    {"400Gbps", 50e9},
	    {"400 Gbit/s", 50e9},
	    {"1.8TB/s", 1.8e12},
	    {"64GiB/s", 64 * GIB},
	    {"100MB/s", 100e6},
	    {"8b/s", 1},
	    {"5B/s", 5},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		double Bps = -1;

		cr_assert(units_parse_rate(rows[i].text, &Bps), "%s", rows[i].text);
		cr_assert_float_eq(Bps, rows[i].Bps, rows[i].Bps * 1e-15, "%s", rows[i].text);
	}
}

Test(units, a_rate_needs_its_unit)
{
	static const char *const rows[] = {"", "450", "450GB", "450G", "GB/s", "-1GB/s", "1 gb/s",
	    "1GB/min", "1GB/ss", "1XB/s", "infGB/s", "1e300TB/sTB/s", "1e308TB/s"};
	double Bps = 7;

	for (size_t i = 0; i < ROWS(rows); i++)
		cr_assert_not(units_parse_rate(rows[i], &Bps), "'%s'", rows[i]);
	cr_assert_eq(Bps, 7);
}

Test(units, integers)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
	    {"0", 0},
	    {"-0", 0},
	    {"+7", 7},
	    {"-7", -7},
	    {"007", 7},
	    {"9223372036854775807", INT64_MAX},
	    {"-9223372036854775808", INT64_MIN},
	};
	static const char *const bad[] = {"", "-", "+", "1.0", "1e3", "9223372036854775808",
	    "-9223372036854775809", "99999999999999999999999", "0x10", " 1", "1 ", "--1", "one"};
	int64_t value = 7;

	for (size_t i = 0; i < ROWS(bad); i++)
		cr_assert_not(units_parse_integer(bad[i], &value), "'%s'", bad[i]);
	cr_assert_eq(value, 7);
	for (size_t i = 0; i < ROWS(rows); i++) {
		cr_assert(units_parse_integer(rows[i].text, &value), "%s", rows[i].text);
		cr_assert_eq(value, rows[i].value, "%s", rows[i].text);
	}
}

Test(units, numbers)
{
	static const struct {
		const char *text;
		double value;
	} rows[] = {{"0", 0}, {"-1.5", -1.5}, {"+2", 2}, {"1e-3", 0.001}, {".5", 0.5}, {"5.", 5},
	    {"1E2", 100}};
	static const char *const bad[] = {"", ".", "-", "e5", "1e", "1e+", "1e400", "nan", "inf",
	    "0x1p3", "1,5", " 1", "1 ", "1.2.3", "Infinity"};
	double value = 7;

	for (size_t i = 0; i < ROWS(bad); i++)
		cr_assert_not(units_parse_number(bad[i], &value), "'%s'", bad[i]);
	cr_assert_eq(value, 7);
	for (size_t i = 0; i < ROWS(rows); i++) {
		cr_assert(units_parse_number(rows[i].text, &value), "%s", rows[i].text);
		cr_assert_eq(value, rows[i].value, "%s", rows[i].text);
	}
}

Test(units, a_need_is_never_shown_smaller_than_it_is)
{
	static const struct {
		double bytes;
		const char *text;
	} rows[] = {
	    {0, "0.0 GiB"},
	    {1, "0.1 GiB"},
	    {0.1 * GIB, "0.1 GiB"},
	    {GIB, "1.0 GiB"},
	    {GIB + 1, "1.1 GiB"},
	    {71.25 * GIB, "71.3 GiB"},
	    {71.3 * GIB, "71.3 GiB"},
	    {71.3 * GIB + 1, "71.4 GiB"},
	    {79.95 * GIB, "80.0 GiB"},
	    {-0.01 * GIB, "0.0 GiB"},
	    {-1.55 * GIB, "-1.5 GiB"},
	    {999.9 * GIB, "999.9 GiB"},
    {999.91 * GIB, "1,000.0 GiB"},
    {12345.5 * GIB, "12,345.5 GiB"},
    {-2048.5 * GIB, "-2,048.5 GiB"},
	    {NAN, "nan GiB"},
	    {INFINITY, "inf GiB"},
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		cr_assert_str_eq(units_gib(arena, rows[i].bytes), rows[i].text, "row %zu: %s", i,
		    units_gib(arena, rows[i].bytes));
	cr_assert_str_eq(units_gib_number(arena, 71.25 * GIB), "71.3");
}

/* Over many sizes: what is printed is at least the size, and less than a tenth above it. */
Test(units, gib_brackets_the_size)
{
	uint64_t bytes = 1;

	for (int i = 0; i < 20000; i++) {
		double shown;

		bytes = bytes * 6364136223846793005u + 1442695040888963407u;
		double need = (double)(bytes >> 25);
		cr_assert(units_parse_number(units_gib_number(arena, need), &shown));
		cr_assert_geq(shown * GIB, need * (1 - 1e-15));
		cr_assert_lt(shown * GIB, need + 0.1 * GIB + 1);
	}
}

struct printed {
	double value;
	const char *text;
};

static void
check_printed(const char *print(struct arena *, double), const struct printed *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = print(arena, rows[i].value);

		cr_assert_str_eq(text, rows[i].text, "row %zu: '%s'", i, text);
	}
}

Test(units, seconds_are_printed)
{
	static const struct printed rows[] = {
	    {11.23, "11.2 s"},
	    {3600, "3600.0 s"},
	    {1, "1.0 s"},
	    {0.99996, "1.0 s"},
	    {0.9994, "999.4 ms"},
	    {0.0031, "3.1 ms"},
	    {41e-6, "41 us"},
	    {999.7e-6, "1.0 ms"},
	    {3.5e-6, "3.5 us"},
	    {9.96e-6, "10 us"},
	    {2e-7, "0.2 us"},
	    {0, "0 s"},
	    {-0.25, "-250.0 ms"},
	    {INFINITY, "inf s"},
	    {NAN, "nan s"},
	};

	check_printed(units_seconds, rows, ROWS(rows));
}

Test(units, counts_are_printed)
{
	static const struct printed rows[] = {
	    {671.026e9, "671.0 B"},
	    {15.7e9, "15.7 B"},
	    {440.5e6, "440.5 M"},
	    {999.96e6, "1.0 B"},
	    {1.04e12, "1.0 T"},
	    {1500, "1.5 K"},
	    {999, "999"},
	    {0, "0"},
	    {-2e9, "-2.0 B"},
	    {5e15, "5000.0 T"},
	};

	check_printed(units_count, rows, ROWS(rows));
}

Test(units, flop_rates_and_shares_are_printed)
{
	static const struct printed flop[] = {
	    {249.5e9, "249.5 GFLOP"},
	    {2.524e12, "2.52 TFLOP"},
	    {9.999e12, "10.0 TFLOP"},
	    {999.96e9, "1.00 TFLOP"},
	    {5e21, "5.00 ZFLOP"},
	    {12, "12 FLOP"},
	    {0, "0 FLOP"},
	};
	static const struct printed rates[] = {
	    {450e9, "450 GB/s"},
	    {12.5e9, "12.5 GB/s"},
	    {3.35e12, "3.35 TB/s"},
	    {999.99e9, "1 TB/s"},
	    {100e6, "100 MB/s"},
	    {10, "10 B/s"},
	    {0, "0 B/s"},
	    {INFINITY, "inf B/s"},
	};
	static const struct printed shares[] = {{0.125, "12.5 %"}, {1, "100.0 %"}, {0, "0.0 %"},
	    {-0.051, "-5.1 %"}, {-1e-9, "0.0 %"}, {NAN, "nan %"}};

	check_printed(units_flop, flop, ROWS(flop));
	check_printed(units_rate, rates, ROWS(rates));
	check_printed(units_percent, shares, ROWS(shares));
}

Test(units, digits_in_groups)
{
	static const struct {
		int64_t value;
		const char *text;
	} rows[] = {
	    {0, "0"},
	    {999, "999"},
	    {1000, "1,000"},
	    {2926, "2,926"},
	    {-1234567, "-1,234,567"},
	    {INT64_MAX, "9,223,372,036,854,775,807"},
	    {INT64_MIN, "-9,223,372,036,854,775,808"},
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		cr_assert_str_eq(units_grouped(arena, rows[i].value), rows[i].text);
}

Test(units, arithmetic_reports_overflow)
{
	uint64_t out = 5;

	cr_assert_not(units_mul_u64(UINT64_MAX, 2, &out));
	cr_assert_not(units_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
	cr_assert_not(units_add_u64(UINT64_MAX, 1, &out));
	cr_assert_eq(out, 5);
	cr_assert(units_mul_u64(UINT64_MAX, 1, &out));
	cr_assert_eq(out, UINT64_MAX);
	cr_assert(units_mul_u64(UINT64_MAX, 0, &out));
	cr_assert_eq(out, 0);
	cr_assert(units_add_u64(UINT64_MAX - 1, 1, &out));
	cr_assert_eq(out, UINT64_MAX);
}

/* A locale of this machine that writes the point as a comma, or NULL. */
static const char *
comma_locale(void)
{
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "it_IT.UTF-8", "de_DE"};

	for (size_t i = 0; i < ROWS(names); i++) {
		if (setlocale(LC_ALL, names[i]) && localeconv()->decimal_point[0] == ',')
			return names[i];
	}
	return NULL;
}

Test(units, the_locale_changes_nothing)
{
	double number = 0;
	uint64_t bytes = 0;

	if (!comma_locale())
		cr_skip_test("no locale with a decimal comma is installed");
	cr_assert_str_eq(units_gib(arena, 71.25 * GIB), "71.3 GiB");
	cr_assert_str_eq(units_rate(arena, 12.5e9), "12.5 GB/s");
	cr_assert_str_eq(arena_printf(arena, "%.2f", 1.5), "1.50");
	cr_assert(units_parse_number("1.5", &number));
	cr_assert_eq(number, 1.5);
	cr_assert(units_parse_bytes("1.5GiB", &bytes));
	cr_assert_eq(bytes, UINT64_C(3) << 29);
	cr_assert_eq(numeric_strtod("2.5", NULL), 2.5);
	cr_assert_str_eq(localeconv()->decimal_point, ",");
}

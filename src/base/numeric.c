/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How are numbers printed and read the same way in every locale?
 *
 * The calling thread works in the "C" locale for the length of one call
 * (POSIX.1-2008 uselocale). newlocale("C") allocates nothing in glibc and musl;
 * where it fails, the caller's locale stays in force.
 */
#include "base/numeric.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

struct c_locale {
	locale_t c;
	locale_t before;
};

static struct c_locale
c_locale_enter(void)
{
	struct c_locale state = {(locale_t)0, (locale_t)0};

	state.c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (state.c != (locale_t)0)
		state.before = uselocale(state.c);
	return state;
}

static void
c_locale_leave(struct c_locale state)
{
	if (state.c == (locale_t)0)
		return;
	uselocale(state.before);
	freelocale(state.c);
}

int
numeric_vsnprintf(char *buffer, size_t size, const char *format, va_list arguments)
{
	struct c_locale state = c_locale_enter();
	int length = vsnprintf(buffer, size, format, arguments);

	c_locale_leave(state);
	return length;
}

int
numeric_snprintf(char *buffer, size_t size, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = numeric_vsnprintf(buffer, size, format, arguments);
	va_end(arguments);
	return length;
}

double
numeric_strtod(const char *text, char **end)
{
	struct c_locale state = c_locale_enter();
	double value = strtod(text, end);

	c_locale_leave(state);
	return value;
}

int64_t
numeric_gcd(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
numeric_sort(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
}

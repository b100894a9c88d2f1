/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_NUMERIC_H
#define MOEPLAN_NUMERIC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/*
 * printf and strtod as they are in the C locale, whatever setlocale() says:
 * the point is '.', and no group separators are printed or read.
 */
int numeric_vsnprintf(char *buffer, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
int numeric_snprintf(char *buffer, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
double numeric_strtod(const char *text, char **end);

/* The greatest common divisor; of zero and n, n. Neither may be negative. */
int64_t numeric_gcd(int64_t a, int64_t b);
/* Least first. */
void numeric_sort(double *values, size_t n);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a training log say of step time and memory?
 *
 * Megatron-LM (megatron/training/training.py): "elapsed time per iteration (ms): 1234.5", and
 * once "max allocated: 12345.6" in MB of 2^20 bytes. DeepSpeed: the pipeline engine's "iter time
 * (s): 1.234", and "MaxMemAllocated=12.34GB" or "MA … Max_MA 12.3 GB" lines, GB of 2^30 bytes.
 * The median over lines, without the first fifth: they are warming up.
 */
#include <stdlib.h>
#include <string.h>

#include "base/numeric.h"
#include "model/calibrate.h"

static const struct {
	const char *before, *format;
	double seconds;
} step_keys[] = {
    {"elapsed time per iteration (ms):", "Megatron-LM", 1e-3},
    {"iter time (s):", "DeepSpeed", 1},
};

static const struct {
	const char *before;
	double bytes;
} memory_keys[] = {
    {"max allocated:", 0x1p20},
    {"MaxMemAllocated=", 0x1p30},
    {"Max_MA ", 0x1p30},
};

enum { MOST_STEPS = 65536 };

/* The number after `before` on this line; 0 when there is none. */
static double
number_after(const char *line, size_t length, const char *before)
{
	size_t n = strlen(before), i;
	char digits[40];

	for (i = 0; i + n < length; i++) {
		size_t j, start;

		if (strncmp(line + i, before, n) != 0)
			continue;
		for (start = i + n; start < length && line[start] == ' '; start++)
			;
		for (j = 0; j + 1 < sizeof(digits) && start + j < length && line[start + j] &&
			    strchr("0123456789.eE+-", line[start + j]);
		     j++)
			digits[j] = line[start + j];
		digits[j] = '\0';
		return j ? numeric_strtod(digits, NULL) : 0;
	}
	return 0;
}

static void
read_line(const char *line, size_t length, struct step_facts *facts, double *steps)
{
	size_t i;

	for (i = 0; i < sizeof(step_keys) / sizeof(step_keys[0]); i++) {
		double value =
		    number_after(line, length, step_keys[i].before) * step_keys[i].seconds;

		if (!(value > 0) || value > 1e6 || facts->lines == MOST_STEPS)
			continue;
		facts->format = step_keys[i].format;
		steps[facts->lines++] = value;
	}
	for (i = 0; i < sizeof(memory_keys) / sizeof(memory_keys[0]); i++) {
		double value =
		    number_after(line, length, memory_keys[i].before) * memory_keys[i].bytes;

		if (value > facts->peak_bytes && value < 1e15)
			facts->peak_bytes = value;
	}
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

bool
log_read(const char *text, size_t length, struct step_facts *facts)
{
	double *steps = calloc(MOST_STEPS, sizeof(*steps));
	size_t at = 0;
	int64_t first, n;

	memset(facts, 0, sizeof(*facts));
	while (steps && at < length) {
		const char *newline = memchr(text + at, '\n', length - at);
		size_t line = newline ? (size_t)(newline - text) - at : length - at;

		read_line(text + at, line, facts, steps);
		at += line + 1;
	}
	first = facts->lines / 5;
	n = facts->lines - first;
	if (steps && n > 0) {
		qsort(steps + first, (size_t)n, sizeof(*steps), compare_doubles);
		facts->step_s = (steps[first + (n - 1) / 2] + steps[first + n / 2]) / 2;
	}
	free(steps);
	return facts->lines > 0 || facts->peak_bytes > 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which loads does the user want made up? A list of name=value, one of them a distribution. */
#include "model/loads_spec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "model/loads.h"

static const struct popularity_row {
	const char *name;
	enum popularity kind;
	double min, max;
} popularity_rows[] = {
    {"cv", POPULARITY_LOGNORMAL, 0, 10},
    {"lognormal", POPULARITY_LOGNORMAL, 0, 5},
    {"zipf", POPULARITY_ZIPF, 0, 10},
    {"power", POPULARITY_POWER, 1.1, 100},
    {"balanced", POPULARITY_LOGNORMAL, 0, 0},
};

static const struct count_row {
	const char *name;
	size_t offset;
	int64_t min, max;
} count_rows[] = {
    {"experts", offsetof(struct loads_spec, experts), 2, LOADS_MAX_EXPERTS},
    {"layers", offsetof(struct loads_spec, layers), 1, LOADS_MAX_LAYERS},
    {"nodes", offsetof(struct loads_spec, nodes), 1, LOADS_MAX_SOURCES},
    {"snapshots", offsetof(struct loads_spec, snapshots), 1, LOADS_MAX_SNAPSHOTS},
    {"tokens", offsetof(struct loads_spec, tokens), 1, 1000000000000},
    {"top_k", offsetof(struct loads_spec, top_k), 1, LOADS_MAX_EXPERTS},
};

static const struct factor_row {
	const char *name;
	size_t offset;
} factor_rows[] = {
    {"affinity", offsetof(struct loads_spec, affinity)},
    {"drift", offsetof(struct loads_spec, drift)},
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

void
loads_spec_init(struct loads_spec *spec)
{
	*spec = (struct loads_spec){
	    .experts = 64, .layers = 1, .nodes = 1, .snapshots = 1, .tokens = 1000000, .top_k = 1};
}

static int
refuse(
    struct diags *diags, struct loc loc, const char *name, const char *text, double min, double max)
{
	return diag_error(diags, loc, "%s is '%.40s', allowed is %g to %g", name, text, min, max);
}

/* 1: not a name of this table. */
static int
read_popularity(struct diags *diags, struct loc loc, const char *name, const char *text,
    struct loads_spec *spec)
{
	for (size_t i = 0; i < ROWS(popularity_rows); i++) {
		const struct popularity_row *row = &popularity_rows[i];

		if (strcmp(row->name, name) != 0)
			continue;
		spec->kind = row->kind;
		spec->value = 0;
		if (row->max == 0 && !text)
			return 0;
		if (!text || !units_parse_number(text, &spec->value) ||
		    !(spec->value >= row->min && spec->value <= row->max))
			return refuse(diags, loc, name, text ? text : "", row->min, row->max);
		if (i ==
		    0) /* the coefficient of variation of a lognormal: sqrt(exp(sigma^2) - 1) */
			spec->value = sqrt(log(1 + spec->value * spec->value));
		return 0;
	}
	return 1;
}

static int
read_number(struct diags *diags, struct loc loc, const char *name, const char *text,
    struct loads_spec *spec)
{
	for (size_t i = 0; i < ROWS(count_rows); i++) {
		const struct count_row *row = &count_rows[i];
		int64_t *value = (int64_t *)(void *)((char *)spec + row->offset);

		if (strcmp(row->name, name) != 0)
			continue;
		if (text && units_parse_integer(text, value) && *value >= row->min &&
		    *value <= row->max)
			return 0;
		return refuse(
		    diags, loc, name, text ? text : "", (double)row->min, (double)row->max);
	}
	for (size_t i = 0; i < ROWS(factor_rows); i++) {
		double *value = (double *)(void *)((char *)spec + factor_rows[i].offset);

		if (strcmp(factor_rows[i].name, name) != 0)
			continue;
		if (text && units_parse_number(text, value) && *value >= 0 && *value <= 5)
			return 0;
		return refuse(diags, loc, name, text ? text : "", 0, 5);
	}
	return 1;
}

static int
unknown(struct diags *diags, struct loc loc, const char *name)
{
	static const char *const names[] = {"balanced", "cv", "lognormal", "zipf", "power",
	    "experts", "layers", "nodes", "snapshots", "tokens", "top_k", "affinity", "drift",
	    NULL};
	const char *near = str_nearest(name, names);

	diag_error(diags, loc, "'%.40s' does not describe loads", name);
	if (near)
		diag_last_hint(diags, "did you mean '%s'?", near);
	else
		diag_last_hint(diags,
		    "write a distribution and what else is wanted: cv=0.4,experts=64,layers=8");
	return -1;
}

static int
check_size(struct diags *diags, struct loc loc, const struct loads_spec *spec)
{
	double cells = (double)spec->layers * (double)spec->snapshots * (double)spec->nodes *
		       (double)spec->experts;

	if (cells <= LOADS_MAX_CELLS)
		return 0;
	return diag_error(
	    diags, loc, "that is %.3g counts, allowed are %d", cells, LOADS_MAX_CELLS);
}

int
loads_spec_parse(struct arena *arena, struct diags *diags, struct loc loc, const char *text,
    struct loads_spec *spec)
{
	bool has_popularity = false;
	int result = 0;

	for (const char *at = text; at;) {
		const char *comma = strchr(at, ',');
		char *name = arena_strndup(arena, at, comma ? (size_t)(comma - at) : strlen(at));
		char *equals = strchr(name, '=');
		int read;

		if (equals)
			*equals++ = '\0';
		read = read_popularity(diags, loc, name, equals, spec);
		has_popularity = has_popularity || read == 0;
		if (read == 1)
			read = read_number(diags, loc, name, equals, spec);
		result |= read == 1 ? unknown(diags, loc, name) : read;
		at = comma ? comma + 1 : NULL;
	}
	if (result == 0 && !has_popularity)
		return diag_error(diags, loc,
		    "'%.60s' has none of balanced, cv=X, lognormal=X, zipf=X, power=X", text);
	return result == 0 ? check_size(diags, loc, spec) : -1;
}

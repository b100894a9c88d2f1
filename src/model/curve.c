/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does a rate change with size? Measured points, straight lines between them on logarithmic
 * axes, and the nearest curve where one was measured for several numbers of nodes.
 */
#include "model/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double
curve_value(const struct curve *c, double at)
{
	double part;
	int i = 0;

	if (c->n == 0)
		return 0;
	if (at <= c->at[0])
		return c->value[0];
	while (i + 1 < c->n && at > c->at[i + 1])
		i++;
	if (i + 1 == c->n)
		return c->value[i];
	part = log(at / c->at[i]) / log(c->at[i + 1] / c->at[i]);
	return c->value[i] * pow(c->value[i + 1] / c->value[i], part);
}

bool
curve_add(struct curve *c, double at, double value)
{
	int i = 0;

	while (i < c->n && c->at[i] < at)
		i++;
	if (c->n == CURVE_POINTS || (i < c->n && c->at[i] <= at))
		return false;
	memmove(&c->at[i + 1], &c->at[i], (size_t)(c->n - i) * sizeof(c->at[0]));
	memmove(&c->value[i + 1], &c->value[i], (size_t)(c->n - i) * sizeof(c->value[0]));
	c->at[i] = at;
	c->value[i] = value;
	c->n++;
	return true;
}

static int
by_place(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int order = (x->at > y->at) - (x->at < y->at);

	return order ? order : (x->value > y->value) - (x->value < y->value);
}

struct curve
curve_of(struct point *points, int n)
{
	struct curve curve = {0};
	int first, end;

	qsort(points, (size_t)n, sizeof(*points), by_place);
	for (first = 0; first < n; first = end) {
		for (end = first + 1; end < n && points[end].at <= points[first].at; end++)
			;
		curve_add(&curve, points[first].at,
		    (points[(first + end - 1) / 2].value + points[(first + end) / 2].value) / 2);
	}
	return curve;
}

const struct curve_range grouped_ranges[GROUPED_COLUMNS] = {
    {"rows an expert", 1e-3, 1e9}, {"shares of the ceiling", 1e-4, 2}};
const struct curve_range traffic_ranges[TRAFFIC_COLUMNS] = {
    {"units", 1, 1 << 20}, {"bytes", 1, 1e15}, {"GB/s", 1e-6, 1e6}};

bool
range_holds(const struct curve_range *range, double number)
{
	return number >= range->low && number <= range->high;
}

/* As many numbers as there are ranges. */
static int
read_row(const char *name, const struct doc *row, const struct curve_range *ranges, size_t wanted,
    double *numbers, struct field_context *context)
{
	const struct doc *item = row->first;
	size_t i;

	for (i = 0; row->kind == DOC_LIST && item && i < wanted; i++, item = item->next) {
		if (item->kind != DOC_NUMBER)
			break;
		if (!range_holds(&ranges[i], item->number))
			return diag_error(context->diags, item->loc,
			    "'%s' takes %s from %g to %g, not %g", name, ranges[i].name,
			    ranges[i].low, ranges[i].high, item->number);
		numbers[i] = item->number;
	}
	if (row->kind == DOC_LIST && i == wanted && !item)
		return 0;
	return diag_error(context->diags, row->loc, "'%s' takes rows of %zu numbers, such as %s",
	    name, wanted, wanted == GROUPED_COLUMNS ? "[512, 0.6]" : "[2, 1048576, 38.5]");
}

static int
check_list(const char *name, const struct doc *list, struct field_context *context)
{
	if (list->kind == DOC_LIST && list->count > 0)
		return 0;
	return diag_error(context->diags, list->loc, "'%s' takes a list of rows, not %s", name,
	    list->kind == DOC_LIST ? "an empty list" : doc_kind_name(list->kind));
}

int
curve_read(
    struct curve *curve, const char *name, const struct doc *list, struct field_context *context)
{
	const struct doc *row;
	double numbers[GROUPED_COLUMNS] = {0};

	if (check_list(name, list, context) != 0)
		return -1;
	for (row = list->first; row; row = row->next) {
		if (read_row(name, row, grouped_ranges, GROUPED_COLUMNS, numbers, context) != 0)
			return -1;
		if (!curve_add(curve, numbers[0], numbers[1]))
			return diag_error(context->diags, row->loc,
			    "'%s' has two rows of one size, or more than %d rows", name,
			    CURVE_POINTS);
	}
	return 0;
}

void
curve_write(const struct curve *curve, struct str *out)
{
	int i;

	for (i = 0; i < curve->n; i++)
		str_addf(out, "%s[%.6g, %.4g]", i > 0 ? ", " : "[", curve->at[i], curve->value[i]);
	str_addc(out, ']');
}

/* --- by units --------------------------------------------------------------------------------- */

double
traffic_Bps(const struct traffic_curves *t, double units, double bytes)
{
	int nearest = 0, i;

	if (t->n == 0)
		return 0;
	for (i = 1; i < t->n; i++)
		if (fabs(log(t->units[i] / units)) < fabs(log(t->units[nearest] / units)))
			nearest = i;
	return curve_value(&t->Bps[nearest], bytes);
}

bool
traffic_add(struct traffic_curves *t, double units, double bytes, double Bps)
{
	int i = 0;

	while (i < t->n && fabs(t->units[i] - units) > 1e-9)
		i++;
	if (i == TRAFFIC_CURVES)
		return false;
	if (i == t->n) {
		t->n++;
		t->units[i] = units;
	}
	return curve_add(&t->Bps[i], bytes, Bps);
}

int
traffic_read(struct traffic_curves *curves, const char *name, const struct doc *list,
    struct field_context *context)
{
	const struct doc *row;
	double numbers[TRAFFIC_COLUMNS] = {0};

	if (check_list(name, list, context) != 0)
		return -1;
	for (row = list->first; row; row = row->next) {
		if (read_row(name, row, traffic_ranges, TRAFFIC_COLUMNS, numbers, context) != 0)
			return -1;
		if (!traffic_add(curves, numbers[0], numbers[1], 1e9 * numbers[2]))
			return diag_error(context->diags, row->loc,
			    "'%s' has two rows of one size, more than %d numbers of units, or "
			    "more than %d rows of one",
			    name, TRAFFIC_CURVES, CURVE_POINTS);
	}
	return 0;
}

void
traffic_write(const struct traffic_curves *t, struct str *out)
{
	int i, j;

	for (i = 0; i < t->n; i++)
		for (j = 0; j < t->Bps[i].n; j++)
			str_addf(out, "%s[%g, %.0f, %.4g]", i + j > 0 ? ", " : "[", t->units[i],
			    t->Bps[i].at[j], t->Bps[i].value[j] / 1e9);
	str_addc(out, ']');
}

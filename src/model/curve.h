/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CURVE_H
#define MOEPLAN_CURVE_H

#include "base/field.h"
#include "base/str.h"

/* What was measured at some sizes: pairs, sizes rising. No points: not measured. */
enum { CURVE_POINTS = 24 };
struct curve {
	int n;
	double at[CURVE_POINTS], value[CURVE_POINTS];
};

/* Straight between points on logarithmic axes; at the ends as there. 0 without points. */
double curve_value(const struct curve *curve, double at);
/* Puts a point in its place. False when full, or when there is one of this size. */
bool curve_add(struct curve *curve, double at, double value);

struct point {
	double at, value;
};
/* Of every size the median, whatever order the points have (they are sorted); no sizes beyond
 * CURVE_POINTS. */
struct curve curve_of(struct point *points, int n);

/* What a column of a list of rows may hold; nothing else is written either. */
enum { GROUPED_COLUMNS = 2, TRAFFIC_COLUMNS = 3 };
struct curve_range {
	const char *name;
	double low, high;
};
extern const struct curve_range grouped_ranges[GROUPED_COLUMNS]; /* rows, share */
extern const struct curve_range traffic_ranges[TRAFFIC_COLUMNS]; /* units, bytes, GB/s */
bool range_holds(const struct curve_range *range, double number);

/* "[[16, 0.21], [64, 0.55]]"; -1 after adding errors. */
int curve_read(
    struct curve *curve, const char *name, const struct doc *list, struct field_context *context);
void curve_write(const struct curve *curve, struct str *out);

/*
 * All-to-all over a level: bytes a second that leave a GPU, by those bytes, for each number of
 * units of the level below that took part (nodes of a network, GPUs of an NVLink domain).
 */
enum { TRAFFIC_CURVES = 8 };
struct traffic_curves {
	int n;
	double units[TRAFFIC_CURVES];
	struct curve Bps[TRAFFIC_CURVES];
};
/* Of the nearest number of units; 0 without any. */
double traffic_Bps(const struct traffic_curves *curves, double units, double bytes);
bool traffic_add(struct traffic_curves *curves, double units, double bytes, double Bps);
/* "[[2, 65536, 1.2], …]": units, bytes, GB/s. */
int traffic_read(struct traffic_curves *curves, const char *name, const struct doc *list,
    struct field_context *context);
void traffic_write(const struct traffic_curves *curves, struct str *out);

#endif
